//! The server's own credential for kubelets, and whom it takes for one.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use roost_pki::AnyServerCertificate;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::identity::Identity;

/// Who the server is to a kubelet, which asks the server back what that one may do.
const USER: &str = "kube-apiserver-kubelet-client";
const GROUP: &str = "system:masters";
/// How long a credential of its own making lives; it exists in memory only.
const LIFETIME: SignedDuration = SignedDuration::from_hours(24);

/// TLS to the kubelets of one tenant.
#[derive(Default)]
pub(crate) struct Kubelets {
    kept: Mutex<Option<Kept>>,
}

struct Kept {
    identity: Arc<Identity>,
    renewed_at: Timestamp,
    verified: Arc<ClientConfig>,
    unverified: Arc<ClientConfig>,
}

impl Kubelets {
    /// TLS with the server's credential. Kubelets show a certificate of the tenant's authority, which `verify` can
    /// leave unchecked, where a caller asks for it.
    pub(crate) fn tls(&self, identity: &Arc<Identity>, verify: bool) -> Result<Arc<ClientConfig>, String> {
        let now = Timestamp::now();
        let mut kept = self.kept.lock();
        let is_good = |kept: &Kept| Arc::ptr_eq(&kept.identity, identity) && now < kept.renewed_at;
        if !kept.as_ref().is_some_and(is_good) {
            *kept = Some(Kept::new(Arc::clone(identity), now)?);
        }
        let config = kept.as_ref().map(|kept| if verify { &kept.verified } else { &kept.unverified });
        config.map(Arc::clone).ok_or_else(String::new)
    }
}

impl Kept {
    fn new(identity: Arc<Identity>, now: Timestamp) -> Result<Kept, String> {
        let words = |error: roost_pki::Error| error.to_string();
        let made;
        let issued = if let Some(given) = &identity.kubelet_client {
            given
        } else {
            made = identity.authority.issue_client(USER, &[GROUP], now, LIFETIME).map_err(words)?;
            &made
        };
        let key = issued.key.to_pkcs8_der().map_err(words)?;
        let key = || PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.expose().clone()));
        let mut roots = RootCertStore::empty();
        let trusted = identity.client_trust.certificates().iter().chain([identity.authority.certificate()]);
        roots.add_parsable_certificates(trusted.map(roost_pki::Certificate::to_tls));
        let provider = Arc::new(default_provider());
        let builder = || {
            ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_safe_default_protocol_versions()
                .map_err(|error| error.to_string())
        };
        let chain = vec![issued.certificate.to_tls()];
        // One that was given is renewed by whoever gave it, with the rest of the identity.
        let renewed_at = if identity.kubelet_client.is_some() { Timestamp::MAX } else { now + LIFETIME / 2 };
        let verified = builder()?.with_root_certificates(roots).with_client_auth_cert(chain.clone(), key());
        let anyone = Arc::new(AnyServerCertificate::new(Arc::clone(&provider)));
        let unverified =
            builder()?.dangerous().with_custom_certificate_verifier(anyone).with_client_auth_cert(chain, key());
        let finish = |config: Result<ClientConfig, rustls::Error>| {
            let mut config = config.map_err(|error| error.to_string())?;
            // Streams switch protocols, which HTTP/2 cannot.
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            Ok::<_, String>(Arc::new(config))
        };
        Ok(Kept { identity, renewed_at, verified: finish(verified)?, unverified: finish(unverified)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_kept_until_the_authority_changes() {
        let identity = || Arc::new(Identity::generate(Timestamp::now(), "https://issuer.test").expect("an identity"));
        let (one, other, kubelets) = (identity(), identity(), Kubelets::default());
        let first = kubelets.tls(&one, true).expect("TLS");
        assert!(Arc::ptr_eq(&first, &kubelets.tls(&one, true).expect("TLS")));
        assert!(!Arc::ptr_eq(&first, &kubelets.tls(&one, false).expect("TLS")));
        assert!(!Arc::ptr_eq(&first, &kubelets.tls(&other, true).expect("TLS")));
    }
}
