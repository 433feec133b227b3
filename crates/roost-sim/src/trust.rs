//! TLS of simulated hosts: whom they trust, shared by all that trust the same.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use roost_pki::CertificateBundle;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::{ClientConfig, RootCertStore};

use crate::clock::Clock;
use crate::identity::Identity;

/// Why a secured connection cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrustError {
    #[error("the certificate authorities cannot be used: {0}")]
    Authorities(String),
    #[error("TLS could not be set up")]
    Tls(#[from] rustls::Error),
}

/// Verifiers by the authorities that they trust. Nodes of one cluster trust the same, and a verifier is not small.
#[derive(Debug)]
pub(crate) struct Trust {
    provider: Arc<CryptoProvider>,
    verifiers: Mutex<HashMap<String, Arc<WebPkiServerVerifier>>>,
}

impl Default for Trust {
    fn default() -> Self {
        Self { provider: Arc::new(default_provider()), verifiers: Mutex::default() }
    }
}

impl Trust {
    pub(crate) fn provider(&self) -> Arc<CryptoProvider> {
        Arc::clone(&self.provider)
    }

    /// What a host connects with: its own certificate where it has one, by its own clock.
    pub(crate) fn client(
        &self,
        authorities: &str,
        identity: Option<&Identity>,
        clock: Clock,
        protocol: &[u8],
    ) -> Result<Arc<ClientConfig>, TrustError> {
        let verifier = self.verifier(authorities)?;
        let builder = ClientConfig::builder_with_details(self.provider(), Arc::new(clock))
            .with_safe_default_protocol_versions()?
            .with_webpki_verifier(verifier);
        let mut config = match identity {
            Some(identity) => {
                builder.with_client_auth_cert(vec![identity.certificate().to_tls()], identity.tls_key())?
            }
            None => builder.with_no_client_auth(),
        };
        // A node keeps one connection for hours: a store of sessions for each of a thousand is only memory.
        config.resumption = Resumption::disabled();
        config.alpn_protocols = vec![protocol.to_vec()];
        Ok(Arc::new(config))
    }

    fn verifier(&self, authorities: &str) -> Result<Arc<WebPkiServerVerifier>, TrustError> {
        if let Some(verifier) = self.verifiers.lock().get(authorities) {
            return Ok(Arc::clone(verifier));
        }
        let wrong = |error: &dyn std::fmt::Display| TrustError::Authorities(error.to_string());
        let bundle = CertificateBundle::from_pem(authorities).map_err(|error| wrong(&error))?;
        let mut roots = RootCertStore::empty();
        for certificate in bundle.certificates() {
            roots.add(certificate.to_tls()).map_err(|error| wrong(&error))?;
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), self.provider())
            .build()
            .map_err(|error| wrong(&error))?;
        self.verifiers.lock().insert(authorities.to_owned(), Arc::clone(&verifier));
        Ok(verifier)
    }
}
