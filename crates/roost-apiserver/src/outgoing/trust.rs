//! Whom to trust at the other end: the authorities of a configuration, or those of the system.

use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use roost_pki::{AnyServerCertificate, Certificate};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// Where systems keep the authorities that they trust.
const SYSTEM_BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// How many configurations are kept; a tenant seldom has more webhooks with authorities of their own.
const MAX_KEPT: usize = 64;

/// TLS for calls to those whom some authorities vouch for. Reading certificates takes a while, so it is kept.
pub(super) fn client_config(authorities: &str) -> Result<Arc<ClientConfig>, String> {
    type Kept = Vec<(String, Arc<ClientConfig>)>;
    static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);
    if let Some((_, config)) = KEPT.lock().iter().find(|(kept, _)| kept == authorities) {
        return Ok(Arc::clone(config));
    }
    let config = Arc::new(build(authorities)?);
    let mut kept = KEPT.lock();
    if kept.len() >= MAX_KEPT {
        kept.remove(0);
    }
    kept.push((authorities.to_owned(), Arc::clone(&config)));
    Ok(config)
}

/// TLS without a credential, to whoever answers.
pub(crate) fn unverified() -> Result<Arc<ClientConfig>, String> {
    static CONFIG: LazyLock<Result<Arc<ClientConfig>, String>> = LazyLock::new(|| {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let anyone = Arc::new(AnyServerCertificate::new(Arc::clone(&provider)));
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?;
        let mut config = builder.dangerous().with_custom_certificate_verifier(anyone).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    });
    CONFIG.clone()
}

fn build(authorities: &str) -> Result<ClientConfig, String> {
    let own = !authorities.trim().is_empty();
    let system = || SYSTEM_BUNDLES.iter().find_map(|path| std::fs::read(path).ok()).unwrap_or_default();
    let text = if own { authorities.as_bytes().to_vec() } else { system() };
    let listed: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok).collect();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(listed.iter().cloned());
    if roots.is_empty() && own {
        return Err("unable to load root certificates: unable to parse bytes as PEM block".to_owned());
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    // Only those of a configuration are looked at one by one: nobody shows an authority of the system.
    let listed = if own { listed } else { Vec::new() };
    let verifier = TrustedServer::new(roots, listed, Arc::clone(&provider))?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Verifies as usual, and also accepts a server that shows a listed certificate itself: Go does, though the
/// certificate may be one of an authority, and many webhooks rely on that.
#[derive(Debug)]
struct TrustedServer {
    usual: Option<Arc<WebPkiServerVerifier>>,
    listed: Vec<CertificateDer<'static>>,
    provider: Arc<rustls::crypto::CryptoProvider>,
}

impl TrustedServer {
    fn new(
        roots: RootCertStore,
        listed: Vec<CertificateDer<'static>>,
        provider: Arc<rustls::crypto::CryptoProvider>,
    ) -> Result<Self, String> {
        let usual = if roots.is_empty() {
            None
        } else {
            let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
            Some(builder.build().map_err(|error| error.to_string())?)
        };
        Ok(Self { usual, listed, provider })
    }
}

impl ServerCertVerifier for TrustedServer {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let listed = self.listed.iter().any(|certificate| certificate.as_ref() == end_entity.as_ref());
        if let (true, Ok(certificate)) = (listed, Certificate::from_der(end_entity)) {
            rustls::client::verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            let time = jiff::Timestamp::from_second(now.as_secs() as i64).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
            if certificate.is_valid_at(time) {
                return Ok(ServerCertVerified::assertion());
            }
            return Err(CertificateError::Expired.into());
        }
        match &self.usual {
            Some(usual) => usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Why a handshake failed, as Go says it.
pub(super) fn words(error: &std::io::Error, host: &str) -> String {
    let Some(inner) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return if error.kind() == std::io::ErrorKind::UnexpectedEof { "EOF".into() } else { error.to_string() };
    };
    let x509 = |why: String| format!("tls: failed to verify certificate: x509: {why}");
    match inner {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                x509("certificate signed by unknown authority".into())
            }
            CertificateError::NotValidForName => {
                x509(format!("certificate is not valid for any names, but wanted to match {host}"))
            }
            CertificateError::NotValidForNameContext { presented, .. } => x509(name_words(presented, host)),
            CertificateError::ExpiredContext { time, not_after } => x509(format!(
                "certificate has expired or is not yet valid: current time {} is after {}",
                time_text(*time),
                time_text(*not_after)
            )),
            CertificateError::NotValidYetContext { time, not_before } => x509(format!(
                "certificate has expired or is not yet valid: current time {} is before {}",
                time_text(*time),
                time_text(*not_before)
            )),
            CertificateError::Expired | CertificateError::NotValidYet => {
                x509("certificate has expired or is not yet valid".into())
            }
            // An authority's own certificate that nobody listed.
            CertificateError::Other(_) => x509("certificate signed by unknown authority".into()),
            other => x509(other.to_string()),
        },
        rustls::Error::InvalidMessage(_) => "tls: first record does not look like a TLS handshake".into(),
        other => other.to_string(),
    }
}

fn time_text(time: UnixTime) -> String {
    let time = jiff::Timestamp::from_second(time.as_secs() as i64).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    crate::clock::text(time)
}

fn name_words(presented: &[String], host: &str) -> String {
    let names = |prefix: &str| -> Vec<&str> {
        presented.iter().filter_map(|name| name.strip_prefix(prefix)?.strip_suffix(')')).collect()
    };
    let (addresses, hosts) = (names("IpAddress("), names("DnsName(\""));
    if host.parse::<std::net::IpAddr>().is_ok() {
        if addresses.is_empty() {
            return format!("cannot validate certificate for {host} because it doesn't contain any IP SANs");
        }
        return format!("certificate is valid for {}, not {host}", addresses.join(", "));
    }
    let hosts: Vec<&str> = hosts.into_iter().map(|name| name.trim_end_matches('"')).collect();
    if hosts.is_empty() {
        return format!("certificate is not valid for any names, but wanted to match {host}");
    }
    format!("certificate is valid for {}, not {host}", hosts.join(", "))
}
