//! The certificate that a listener shows, which can be replaced while connections are open.

use std::sync::Arc;

use arc_swap::ArcSwap;
use roost_pki::{AnyClientCertificate, Secret};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Why a certificate cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The text has no certificate or no key.
    #[error("a serving certificate and its key are expected in PEM")]
    Pem,
    /// Certificate and key do not belong together, or are of a kind that nobody speaks.
    #[error("the serving certificate cannot be used")]
    Unusable(#[source] rustls::Error),
}

/// A certificate and its key.
#[derive(Debug)]
pub struct ServingCertificate(ArcSwap<CertifiedKey>);

impl ServingCertificate {
    /// A chain in PEM, leaf first, and the leaf's key.
    pub fn from_pem(chain: &str, key: &Secret<String>) -> Result<Arc<Self>, CertificateError> {
        Ok(Arc::new(Self(ArcSwap::from_pointee(certified(chain, key)?))))
    }

    /// Shows another certificate to those who connect from now on. Open connections go on.
    pub fn replace(&self, chain: &str, key: &Secret<String>) -> Result<(), CertificateError> {
        self.0.store(Arc::new(certified(chain, key)?));
        Ok(())
    }
}

fn certified(chain: &str, key: &Secret<String>) -> Result<CertifiedKey, CertificateError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(chain.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|_| CertificateError::Pem)?;
    if chain.is_empty() {
        return Err(CertificateError::Pem);
    }
    let key = PrivateKeyDer::from_pem_slice(key.expose().as_bytes()).map_err(|_| CertificateError::Pem)?;
    CertifiedKey::from_der(chain, key, &default_provider()).map_err(CertificateError::Unusable)
}

impl ResolvesServerCert for ServingCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

/// TLS 1.2 and 1.3, with a client certificate where the machine has one. HTTP/1.1 only, as upstream.
pub fn tls_config(certificate: Arc<ServingCertificate>) -> Result<ServerConfig, CertificateError> {
    let provider = Arc::new(default_provider());
    let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(CertificateError::Unusable)?
        .with_client_cert_verifier(Arc::new(AnyClientCertificate::new(provider)))
        .with_cert_resolver(certificate);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
