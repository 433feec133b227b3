//! The signers of Kubernetes: what each asks of a request, and what certificates it gives.

use jiff::SignedDuration;

use crate::Error;
use crate::request::CertificateRequest;
use crate::subject::AlternativeName;

/// The shortest lifetime that a request gets: twice the backdating.
const SHORTEST: SignedDuration = SignedDuration::from_mins(10);

/// What a certificate may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is named as the standard and the API name it")]
pub enum Usage {
    DigitalSignature,
    ContentCommitment,
    KeyEncipherment,
    DataEncipherment,
    KeyAgreement,
    CertSign,
    CrlSign,
    EncipherOnly,
    DecipherOnly,
    Any,
    ServerAuth,
    ClientAuth,
    CodeSigning,
    EmailProtection,
    IpsecEndSystem,
    IpsecTunnel,
    IpsecUser,
    Timestamping,
    OcspSigning,
    MicrosoftSgc,
    NetscapeSgc,
}

impl Usage {
    /// Reads a usage of a `CertificateSigningRequest`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "signing" | "digital signature" => Self::DigitalSignature,
            "content commitment" => Self::ContentCommitment,
            "key encipherment" => Self::KeyEncipherment,
            "data encipherment" => Self::DataEncipherment,
            "key agreement" => Self::KeyAgreement,
            "cert sign" => Self::CertSign,
            "crl sign" => Self::CrlSign,
            "encipher only" => Self::EncipherOnly,
            "decipher only" => Self::DecipherOnly,
            "any" => Self::Any,
            "server auth" => Self::ServerAuth,
            "client auth" => Self::ClientAuth,
            "code signing" => Self::CodeSigning,
            "email protection" | "s/mime" => Self::EmailProtection,
            "ipsec end system" => Self::IpsecEndSystem,
            "ipsec tunnel" => Self::IpsecTunnel,
            "ipsec user" => Self::IpsecUser,
            "timestamping" => Self::Timestamping,
            "ocsp signing" => Self::OcspSigning,
            "microsoft sgc" => Self::MicrosoftSgc,
            "netscape sgc" => Self::NetscapeSgc,
            _ => return None,
        })
    }

    /// The bit of the key usage extension.
    pub(crate) fn flag(self) -> Option<u16> {
        let place = match self {
            Self::DigitalSignature => 0,
            Self::ContentCommitment => 1,
            Self::KeyEncipherment => 2,
            Self::DataEncipherment => 3,
            Self::KeyAgreement => 4,
            Self::CertSign => 5,
            Self::CrlSign => 6,
            Self::EncipherOnly => 7,
            Self::DecipherOnly => 8,
            _ => return None,
        };
        Some(1 << place)
    }

    /// The rank and object identifier of the extended key usage extension.
    pub(crate) fn purpose(self) -> Option<(u8, &'static [u64])> {
        Some(match self {
            Self::Any => (0, &[2, 5, 29, 37, 0]),
            Self::ServerAuth => (1, &[1, 3, 6, 1, 5, 5, 7, 3, 1]),
            Self::ClientAuth => (2, &[1, 3, 6, 1, 5, 5, 7, 3, 2]),
            Self::CodeSigning => (3, &[1, 3, 6, 1, 5, 5, 7, 3, 3]),
            Self::EmailProtection => (4, &[1, 3, 6, 1, 5, 5, 7, 3, 4]),
            Self::IpsecEndSystem => (5, &[1, 3, 6, 1, 5, 5, 7, 3, 5]),
            Self::IpsecTunnel => (6, &[1, 3, 6, 1, 5, 5, 7, 3, 6]),
            Self::IpsecUser => (7, &[1, 3, 6, 1, 5, 5, 7, 3, 7]),
            Self::Timestamping => (8, &[1, 3, 6, 1, 5, 5, 7, 3, 8]),
            Self::OcspSigning => (9, &[1, 3, 6, 1, 5, 5, 7, 3, 9]),
            Self::MicrosoftSgc => (10, &[1, 3, 6, 1, 4, 1, 311, 10, 3, 3]),
            Self::NetscapeSgc => (11, &[2, 16, 840, 1, 113_730, 4, 1]),
            _ => return None,
        })
    }
}

/// What a signer puts into the certificates that it gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningProfile {
    /// What the certificate may be used for.
    pub usages: Vec<Usage>,
    /// How long it is good, unless the authority ends before.
    pub lifetime: SignedDuration,
}

impl SigningProfile {
    /// The profile for a `CertificateSigningRequest`: its usages, and its `expirationSeconds` where they are shorter
    /// than the signer's own lifetime.
    pub fn for_request<S: AsRef<str>>(
        usages: &[S],
        expiration_seconds: Option<i32>,
        longest: SignedDuration,
    ) -> Result<Self, Error> {
        let mut read = Vec::with_capacity(usages.len());
        let mut unknown = Vec::new();
        for name in usages.iter().map(AsRef::as_ref) {
            match Usage::from_name(name) {
                Some(usage) => read.push(usage),
                None => unknown.push(format!("{name:?}")),
            }
        }
        if !unknown.is_empty() {
            return Err(Error::UnrecognizedUsages(format!("[{}]", unknown.join(" "))));
        }
        let wanted = expiration_seconds.map(|seconds| SignedDuration::from_secs(seconds.into()));
        let lifetime = match wanted {
            Some(wanted) if wanted > longest => longest,
            Some(wanted) => wanted.max(SHORTEST),
            None => longest,
        };
        Ok(Self { usages: read, lifetime })
    }
}

/// The signers that a cluster has of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KubernetesSigner {
    /// `kubernetes.io/kube-apiserver-client`.
    ApiServerClient,
    /// `kubernetes.io/kube-apiserver-client-kubelet`.
    KubeletClient,
    /// `kubernetes.io/kubelet-serving`.
    KubeletServing,
    /// `kubernetes.io/legacy-unknown`.
    LegacyUnknown,
}

impl KubernetesSigner {
    /// The signer with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "kubernetes.io/kube-apiserver-client" => Self::ApiServerClient,
            "kubernetes.io/kube-apiserver-client-kubelet" => Self::KubeletClient,
            "kubernetes.io/kubelet-serving" => Self::KubeletServing,
            "kubernetes.io/legacy-unknown" => Self::LegacyUnknown,
            _ => return None,
        })
    }

    /// Checks a request against the signer's rules; the words go into the request's `Failed` condition.
    pub fn check<S: AsRef<str>>(self, request: &CertificateRequest, usages: &[S]) -> Result<(), String> {
        match self {
            Self::LegacyUnknown => Ok(()),
            Self::ApiServerClient => check_client_usages(usages),
            Self::KubeletClient => check_kubelet_client(request, usages),
            Self::KubeletServing => check_kubelet_serving(request, usages),
        }
    }
}

fn check_client_usages<S: AsRef<str>>(usages: &[S]) -> Result<(), String> {
    let is_fine = |usage: &&str| matches!(*usage, "digital signature" | "key encipherment" | "client auth");
    if let Some(odd) = usages.iter().map(AsRef::as_ref).find(|usage| !is_fine(usage)) {
        return Err(format!("invalid usage for client certificate: {odd}"));
    }
    if usages.iter().any(|usage| usage.as_ref() == "client auth") {
        Ok(())
    } else {
        Err("missing required usage for client certificate: client auth".to_owned())
    }
}

fn check_kubelet_client<S: AsRef<str>>(request: &CertificateRequest, usages: &[S]) -> Result<(), String> {
    check_nodes_organization(request)?;
    let names = request.alternative_names();
    if names.iter().any(|name| matches!(name, AlternativeName::Dns(_))) {
        return Err("DNS subjectAltNames are not allowed".into());
    }
    check_no_email(names)?;
    if names.iter().any(|name| matches!(name, AlternativeName::Ip(_))) {
        return Err("IP subjectAltNames are not allowed".into());
    }
    check_no_uri(names)?;
    check_node_name(request)?;
    check_exact_usages(usages, "client auth")
}

fn check_kubelet_serving<S: AsRef<str>>(request: &CertificateRequest, usages: &[S]) -> Result<(), String> {
    check_nodes_organization(request)?;
    let names = request.alternative_names();
    if !names.iter().any(|name| matches!(name, AlternativeName::Dns(_) | AlternativeName::Ip(_))) {
        return Err("DNS or IP subjectAltName is required".into());
    }
    check_no_email(names)?;
    check_no_uri(names)?;
    check_exact_usages(usages, "server auth")?;
    check_node_name(request)
}

fn check_nodes_organization(request: &CertificateRequest) -> Result<(), String> {
    if request.subject().organizations() == ["system:nodes"] {
        Ok(())
    } else {
        Err("subject organization is not system:nodes".into())
    }
}

fn check_node_name(request: &CertificateRequest) -> Result<(), String> {
    if request.subject().common_name.starts_with("system:node:") {
        Ok(())
    } else {
        Err("subject common name does not begin with system:node:".into())
    }
}

fn check_no_email(names: &[AlternativeName]) -> Result<(), String> {
    if names.iter().any(|name| matches!(name, AlternativeName::Email(_))) {
        return Err("Email subjectAltNames are not allowed".into());
    }
    Ok(())
}

fn check_no_uri(names: &[AlternativeName]) -> Result<(), String> {
    if names.iter().any(|name| matches!(name, AlternativeName::Uri(_))) {
        return Err("URI subjectAltNames are not allowed".into());
    }
    Ok(())
}

/// Keys other than RSA cannot encipher, so that usage may be left out.
fn check_exact_usages<S: AsRef<str>>(usages: &[S], main: &str) -> Result<(), String> {
    let mut set: Vec<&str> = usages.iter().map(AsRef::as_ref).collect();
    set.sort_unstable();
    set.dedup();
    let mut full = vec!["digital signature", "key encipherment", main];
    full.sort_unstable();
    let mut short = vec!["digital signature", main];
    short.sort_unstable();
    if set == full || set == short { Ok(()) } else { Err(format!("usages did not match [{}]", full.join(" "))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::PrivateKey;
    use crate::subject::Subject;

    fn request(name: &str, organizations: &[&str], names: &[&str]) -> CertificateRequest {
        let key = PrivateKey::generate().unwrap();
        let names: Vec<_> = names
            .iter()
            .map(|name| match name.split_once(':') {
                Some(("mail", text)) => AlternativeName::Email(text.into()),
                Some(("uri", text)) => AlternativeName::Uri(text.into()),
                _ => AlternativeName::host(name),
            })
            .collect();
        CertificateRequest::new(&Subject::new(name, organizations.iter().copied()), &names, &key).unwrap()
    }

    #[test]
    fn signers_refuse_in_stock_words() {
        use KubernetesSigner::{ApiServerClient, KubeletClient, KubeletServing, LegacyUnknown};
        let node = || request("system:node:a", &["system:nodes"], &[]);
        let client = ["digital signature", "client auth"];
        let serving = ["key encipherment", "digital signature", "server auth"];
        let cases: [(KubernetesSigner, CertificateRequest, &[&str], &str); 16] = [
            (KubeletClient, node(), &client, ""),
            (KubeletClient, node(), &serving, "usages did not match [client auth digital signature key encipherment]"),
            (
                KubeletClient,
                request("a", &["system:nodes"], &[]),
                &client,
                "subject common name does not begin with system:node:",
            ),
            (KubeletClient, request("system:node:a", &["x"], &[]), &client, "subject organization is not system:nodes"),
            (
                KubeletClient,
                request("system:node:a", &["system:nodes", "x"], &[]),
                &client,
                "subject organization is not system:nodes",
            ),
            (
                KubeletClient,
                request("system:node:a", &["system:nodes"], &["a"]),
                &client,
                "DNS subjectAltNames are not allowed",
            ),
            (
                KubeletClient,
                request("system:node:a", &["system:nodes"], &["1.2.3.4"]),
                &client,
                "IP subjectAltNames are not allowed",
            ),
            (
                KubeletClient,
                request("system:node:a", &["system:nodes"], &["mail:a@b"]),
                &client,
                "Email subjectAltNames are not allowed",
            ),
            (
                KubeletClient,
                request("system:node:a", &["system:nodes"], &["uri:x://y"]),
                &client,
                "URI subjectAltNames are not allowed",
            ),
            (KubeletServing, request("system:node:a", &["system:nodes"], &["a", "1.2.3.4"]), &serving, ""),
            (KubeletServing, node(), &serving, "DNS or IP subjectAltName is required"),
            (
                KubeletServing,
                request("system:node:a", &["system:nodes"], &["a"]),
                &client,
                "usages did not match [digital signature key encipherment server auth]",
            ),
            (ApiServerClient, request("u", &["g"], &[]), &client, ""),
            (ApiServerClient, request("u", &["g"], &[]), &serving, "invalid usage for client certificate: server auth"),
            (
                ApiServerClient,
                request("u", &["g"], &[]),
                &["digital signature"],
                "missing required usage for client certificate: client auth",
            ),
            (LegacyUnknown, request("u", &["g"], &[]), &[], ""),
        ];
        for (signer, request, usages, expected) in cases {
            assert_eq!(signer.check(&request, usages).err().unwrap_or_default(), expected, "{signer:?} {request:?}");
        }
        assert_eq!(KubernetesSigner::from_name("kubernetes.io/kubelet-serving"), Some(KubeletServing));
        assert_eq!(KubernetesSigner::from_name("example.com/x"), None);
    }

    #[test]
    fn lifetimes_are_kept_within_bounds() {
        let year = SignedDuration::from_hours(24 * 365);
        let lifetime = |seconds| SigningProfile::for_request(&["client auth"], seconds, year).unwrap().lifetime;
        assert_eq!(lifetime(None), year);
        assert_eq!(lifetime(Some(i32::MAX)), year);
        assert_eq!(lifetime(Some(3600)), SignedDuration::from_hours(1));
        assert_eq!(lifetime(Some(60)), SHORTEST);
        assert_eq!(lifetime(Some(-60)), SHORTEST);
        let refused = SigningProfile::for_request(&["fun", "client auth", "profit"], None, year).unwrap_err();
        assert_eq!(refused.to_string(), r#"unrecognized usage values: ["fun" "profit"]"#);
    }
}
