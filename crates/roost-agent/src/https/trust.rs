//! Whom a connection trusts, and who it says it is.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs as provider};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject as _};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use x509_parser::prelude::{FromDer as _, X509Certificate};

/// Where distributions keep the authorities that everyone trusts.
const SYSTEM_BUNDLES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

/// Why nothing can be trusted, or nobody can be.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The text holds no certificate.
    #[error("there is no certificate in the CA bundle")]
    NoAuthority,
    /// A certificate cannot be used as an authority.
    #[error("a certificate of the CA bundle cannot be used: {0}")]
    Authority(String),
    /// The pin is no SHA-256.
    #[error("{0:?} is no pin; wanted: sha256: and 64 hexadecimal digits")]
    Pin(String),
    /// The client certificate or its key cannot be used.
    #[error("the client certificate cannot be used: {0}")]
    Identity(String),
    /// The distribution's authorities are nowhere.
    #[error("this host has no bundle of public authorities\nhint: install the package ca-certificates")]
    NoSystemBundle,
}

/// The SHA-256 of a public key, as kubeadm and Cluster API write it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Pin([u8; 32]);

impl Pin {
    /// Reads `sha256:` and hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, TrustError> {
        let wrong = || TrustError::Pin(text.to_owned());
        let digits = text.strip_prefix("sha256:").filter(|digits| digits.len() == 64).ok_or_else(wrong)?;
        let mut pin = [0; 32];
        for (byte, pair) in pin.iter_mut().zip(digits.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| wrong())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(Self(pin))
    }

    /// The pin of a certificate's public key.
    pub fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
        let digest = digest::digest(&digest::SHA256, parsed.public_key().raw);
        digest.as_ref().try_into().ok().map(Self)
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Whom a connection trusts.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Certificates that these authorities signed.
    Authorities(Vec<CertificateDer<'static>>),
    /// A chain that contains a certificate with this public key, and is signed by it.
    Pinned(Pin),
    /// What the operating system trusts.
    System,
}

impl Trust {
    /// The authorities of a PEM text.
    pub fn from_pem(text: &[u8]) -> Result<Self, TrustError> {
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(text)
            .collect::<Result<_, _>>()
            .map_err(|error| TrustError::Authority(error.to_string()))?;
        if certificates.is_empty() { Err(TrustError::NoAuthority) } else { Ok(Self::Authorities(certificates)) }
    }

    pub(super) fn configuration(&self, identity: Option<&Identity>) -> Result<Arc<ClientConfig>, TrustError> {
        let crypto = Arc::new(provider::default_provider());
        let verifier: Arc<dyn ServerCertVerifier> = match self {
            Self::Authorities(certificates) => by_authorities(certificates.iter().cloned(), &crypto)?,
            Self::Pinned(pin) => Arc::new(ByPin { pin: *pin, crypto: Arc::clone(&crypto) }),
            Self::System => by_authorities(system_authorities()?.into_iter(), &crypto)?,
        };
        let builder = ClientConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()
            .map_err(|error| TrustError::Identity(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut configuration = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
                .map_err(|error| TrustError::Identity(error.to_string()))?,
        };
        configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(configuration))
    }
}

fn system_authorities() -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let text = SYSTEM_BUNDLES.iter().find_map(|path| std::fs::read(path).ok()).ok_or(TrustError::NoSystemBundle)?;
    Ok(CertificateDer::pem_slice_iter(&text).filter_map(Result::ok).collect())
}

fn by_authorities(
    certificates: impl Iterator<Item = CertificateDer<'static>>,
    crypto: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, TrustError> {
    let mut roots = RootCertStore::empty();
    // One odd certificate in a bundle must not spoil the others.
    roots.add_parsable_certificates(certificates);
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(crypto))
        .build()
        .map_err(|error| TrustError::Authority(error.to_string()))
}

/// Who a client says it is.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// A certificate chain and its key from PEM texts, which may be one.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Self, TrustError> {
        let unusable = |error: rustls::pki_types::pem::Error| TrustError::Identity(error.to_string());
        let chain: Vec<_> = CertificateDer::pem_slice_iter(certificate).collect::<Result<_, _>>().map_err(unusable)?;
        if chain.is_empty() {
            return Err(TrustError::Identity("there is none".to_owned()));
        }
        Ok(Self { chain, key: PrivateKeyDer::from_pem_slice(key).map_err(unusable)? })
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Identity")
    }
}

#[derive(Debug)]
struct ByPin {
    pin: Pin,
    crypto: Arc<CryptoProvider>,
}

impl ServerCertVerifier for ByPin {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if Pin::of(end_entity) == Some(self.pin) {
            return Ok(ServerCertVerified::assertion());
        }
        let authority = intermediates
            .iter()
            .find(|certificate| Pin::of(certificate) == Some(self.pin))
            .ok_or(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer))?;
        let verifier = by_authorities(std::iter::once(authority.clone().into_owned()), &self.crypto)
            .map_err(|error| rustls::Error::General(error.to_string()))?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.crypto.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.crypto.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.crypto.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::{Pin, Trust};

    #[test]
    fn pins_are_read_and_written() {
        let text = format!("sha256:{}", "0a".repeat(32));
        assert_eq!(Pin::parse(&text).unwrap().to_string(), text);
        for wrong in ["", "sha256:", "sha256:zz", &"0a".repeat(32), &format!("sha256:{}é", "0".repeat(62))] {
            assert!(Pin::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bundle_without_certificates_is_refused() {
        assert!(Trust::from_pem(b"nothing").is_err());
    }
}
