//! Bearer tokens of one tenant: service accounts and bootstrap tokens, checked against the objects behind them.

use std::sync::Arc;

use jiff::Timestamp;
use roost_access::token::{Authenticated, BootstrapToken, TokenObjects, TokenVerifier, authenticate_bootstrap};
use roost_object::Value;

use crate::cluster::Cluster;

/// Whom a token speaks for; none when it is not good. `audiences` are those that a review asks for; empty means this
/// API's own.
pub(crate) fn authenticate(cluster: &Cluster, token: &str, audiences: &[String]) -> Option<Authenticated> {
    let now = Timestamp::now();
    if let Some(bootstrap) = BootstrapToken::parse(token) {
        let secret = cluster.find("", "secrets", "kube-system", &bootstrap.secret_name())?;
        let user = authenticate_bootstrap(&bootstrap, &secret, now)?;
        return Some(Authenticated { user: user.authenticated(), audiences: audiences.to_vec() });
    }
    let wanted = (!audiences.is_empty()).then_some(audiences);
    match verifier(cluster).verify(token, wanted) {
        Ok(Some(verified)) => match verified.validate(&Objects(cluster), now) {
            Ok(found) => Some(Authenticated { user: found.user.authenticated(), ..found }),
            Err(error) => {
                tracing::debug!(%error, "a service-account token was refused");
                None
            }
        },
        Ok(None) => None,
        Err(error) => {
            tracing::debug!(%error, "a token was refused");
            None
        }
    }
}

/// The audiences that this API itself answers to.
pub(crate) fn own_audiences(cluster: &Cluster) -> Vec<String> {
    vec![cluster.config.identity.token_issuer.issuer().to_owned()]
}

fn verifier(cluster: &Cluster) -> TokenVerifier {
    let audiences = own_audiences(cluster);
    TokenVerifier::new(audiences.clone(), cluster.config.identity.token_trust.clone(), audiences)
}

struct Objects<'a>(&'a Cluster);

impl TokenObjects for Objects<'_> {
    fn service_account(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.0.find("", "serviceaccounts", namespace, name).map(Arc::new)
    }

    fn secret(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.0.find("", "secrets", namespace, name).map(Arc::new)
    }

    fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.0.find("", "pods", namespace, name).map(Arc::new)
    }

    fn node(&self, name: &str) -> Option<Arc<Value>> {
        self.0.find("", "nodes", "", name).map(Arc::new)
    }
}
