//! Bearer tokens of one tenant: service accounts and bootstrap tokens, checked against the objects behind them.

use std::sync::Arc;

use jiff::Timestamp;
use roost_access::token::{Authenticated, BootstrapToken, Error, TokenObjects, TokenVerifier, authenticate_bootstrap};
use roost_object::Value;

use crate::cluster::Cluster;

/// Whom a token speaks for; none when it is not good. `audiences` are those that a review asks for; empty means this
/// API's own.
pub(crate) fn authenticate(
    cluster: &Cluster,
    token: &str,
    audiences: &[String],
) -> Result<Option<Authenticated>, Error> {
    let now = Timestamp::now();
    if let Some(bootstrap) = BootstrapToken::parse(token) {
        let secret = cluster.find("", "secrets", "kube-system", &bootstrap.secret_name());
        let user = secret.and_then(|secret| authenticate_bootstrap(&bootstrap, &secret, now));
        return Ok(user.map(|user| Authenticated {
            user: user.authenticated(),
            audiences: audiences.to_vec(),
            secret: None,
        }));
    }
    let wanted = (!audiences.is_empty()).then_some(audiences);
    let Some(verified) = verifier(cluster).verify(token, wanted)? else { return Ok(None) };
    let found = verified.validate(&Objects(cluster), now)?;
    Ok(Some(Authenticated { user: found.user.authenticated(), ..found }))
}

/// The audiences that this API itself answers to.
pub(crate) fn own_audiences(cluster: &Cluster) -> Vec<String> {
    vec![cluster.identity().token_issuer.issuer().to_owned()]
}

fn verifier(cluster: &Cluster) -> TokenVerifier {
    let audiences = own_audiences(cluster);
    TokenVerifier::new(audiences.clone(), cluster.identity().token_trust.clone(), audiences)
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
