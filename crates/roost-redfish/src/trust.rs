//! Whom to believe that they are the management controller: those whom the machine trusts, or whoever answers.

use std::sync::{Arc, LazyLock};

use roost_pki::AnyServerCertificate;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;

/// Where Debian, Fedora and Alpine keep the authorities that a machine trusts.
const SYSTEM_AUTHORITIES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// TLS that asks for a certificate of one of the machine's authorities, or of one of those given.
pub(crate) fn verified(authorities: &str) -> Result<Arc<ClientConfig>, rustls::Error> {
    let mut roots = RootCertStore::empty();
    let system = SYSTEM_AUTHORITIES.iter().find_map(|path| std::fs::read(path).ok()).unwrap_or_default();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&system).flatten());
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(authorities.as_bytes()).flatten());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

/// TLS with whoever answers. Most controllers have certificates that they made themselves.
pub(crate) fn unverified() -> Result<Arc<ClientConfig>, rustls::Error> {
    static CONFIG: LazyLock<Result<Arc<ClientConfig>, rustls::Error>> = LazyLock::new(|| {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let anyone = Arc::new(AnyServerCertificate::new(Arc::clone(&provider)));
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(Arc::new(builder.dangerous().with_custom_certificate_verifier(anyone).with_no_client_auth()))
    });
    CONFIG.clone()
}
