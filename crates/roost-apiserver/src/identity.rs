//! The keys and certificates of one tenant.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use roost_access::token::TokenIssuer;
use roost_object::Value;
use roost_pki::{CertificateAuthority, CertificateBundle, CertificateRequest, Issued, PrivateKey, PublicKey};

/// How long the authority of a fresh cluster lives.
pub(crate) const AUTHORITY_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 365 * 10);

/// Who a tenant trusts, and what it signs with.
pub struct Identity {
    /// Signs what certificate signing requests ask for.
    pub authority: CertificateAuthority,
    /// What clients verify the server with.
    pub serving_trust: CertificateBundle,
    /// Whose client certificates are believed; more than one while an authority is being replaced.
    pub client_trust: CertificateBundle,
    /// Signs service-account tokens, and is named in them.
    pub token_issuer: TokenIssuer,
    /// Whose service-account tokens are believed; more than one while the key is being replaced.
    pub token_trust: Vec<PublicKey>,
    /// What the server shows to kubelets; without one it makes its own.
    pub kubelet_client: Option<Issued>,
}

impl Identity {
    /// Fresh keys for a fresh cluster. The issuer is a URL that tokens name.
    pub fn generate(now: Timestamp, issuer: &str) -> Result<Identity, roost_pki::Error> {
        let authority = CertificateAuthority::new("kubernetes", now, AUTHORITY_LIFETIME)?;
        Ok(Identity::from_parts(authority, PrivateKey::generate()?, issuer))
    }

    /// Kept keys of an existing cluster.
    pub fn from_parts(authority: CertificateAuthority, token_key: PrivateKey, issuer: &str) -> Identity {
        let mut trust = CertificateBundle::default();
        trust.add(authority.certificate().clone());
        let token_trust = vec![token_key.public_key().clone()];
        Identity {
            authority,
            serving_trust: trust.clone(),
            client_trust: trust,
            token_issuer: TokenIssuer::new(issuer, token_key),
            token_trust,
            kubelet_client: None,
        }
    }
}

/// The organizations that a CertificateSigningRequest object asks for; none when its request cannot be read.
pub(crate) fn requested_organizations(request: &Value) -> Option<Vec<String>> {
    Some(parse_request(request)?.subject().organizations().to_vec())
}

/// Why the request inside a CertificateSigningRequest object cannot be used; none when it can.
pub(crate) fn request_problem(request: &Value) -> Option<String> {
    const BEGIN: &str = "-----BEGIN ";
    let encoded = request["spec"]["request"].as_str().unwrap_or_default();
    let text = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let first = text.find(BEGIN).map(|at| &text[at + BEGIN.len()..]);
    if !first.is_some_and(|first| first.starts_with("CERTIFICATE REQUEST-----")) {
        return Some("PEM block type must be CERTIFICATE REQUEST".to_owned());
    }
    match CertificateRequest::from_pem(&text) {
        Ok(_) => None,
        Err(roost_pki::Error::RequestSignature(_)) => Some("x509: ECDSA verification failure".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// The request inside a CertificateSigningRequest object.
pub(crate) fn parse_request(request: &Value) -> Option<CertificateRequest> {
    let encoded = request["spec"]["request"].as_str()?;
    let pem = STANDARD.decode(encoded).ok()?;
    CertificateRequest::from_pem(std::str::from_utf8(&pem).ok()?).ok()
}
