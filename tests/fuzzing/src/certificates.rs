//! Certificates and requests for them.

use roost_pki::{Certificate, CertificateBundle, CertificateRequest, KubernetesSigner, PublicKey};

/// Certificate requests and certificates, as PEM and as DER.
pub fn certificate_request(data: &[u8]) {
    if let Ok(request) = CertificateRequest::from_der(data) {
        check(&request);
    }
    if let Ok(certificate) = Certificate::from_der(data) {
        let again = Certificate::from_pem(&certificate.to_pem()).expect("a written certificate can be read");
        assert_eq!(again.der(), certificate.der());
        let _ = certificate.is_issued_by(&again);
    }
    let _ = PublicKey::from_der(data);
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(request) = CertificateRequest::from_pem(text) {
        check(&request);
    }
    let _ = Certificate::from_pem(text);
    let _ = PublicKey::all_from_pem(text);
    if let Ok(bundle) = CertificateBundle::from_pem(text) {
        let again = CertificateBundle::from_pem(&bundle.to_pem()).expect("a written bundle can be read");
        assert_eq!(again.certificates().len(), bundle.certificates().len());
    }
}

/// A request whose signature fits can be written and read, and judged by every signer.
fn check(request: &CertificateRequest) {
    let again = CertificateRequest::from_pem(&request.to_pem()).expect("a written request can be read");
    assert_eq!(again.der(), request.der());
    for signer in ["kube-apiserver-client", "kube-apiserver-client-kubelet", "kubelet-serving", "legacy-unknown"] {
        let signer =
            KubernetesSigner::from_name(&format!("kubernetes.io/{signer}")).expect("a signer of every cluster");
        let _ = signer.check(request, &["digital signature", "client auth"]);
    }
}
