//! What hosts may fetch: for each pool its payload, and the tokens that open it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use parking_lot::Mutex;
use roost_ignition::payload::Written;
use roost_ignition_server::Token;
use roost_pki::Secret;

/// What the hosts of one pool get.
pub(crate) struct Offer {
    /// The pool's namespace and name.
    pub(crate) pool: (String, String),
    /// The control plane's namespace.
    pub(crate) namespace: String,
    pub(crate) cluster_id: String,
    pub(crate) infra_id: String,
    /// The version of Kubernetes, as `v1.36.3`.
    pub(crate) version: String,
    /// The hash of the configuration.
    pub(crate) hash: String,
    /// The Secret with the token.
    pub(crate) token_secret: String,
    /// The Secret with what a machine is booted with.
    pub(crate) user_data_secret: String,
    /// The payload, written out but for what only one node gets.
    pub(crate) written: Arc<Written>,
    /// Tokens and until when each is good.
    pub(crate) tokens: Vec<(Secret<String>, Timestamp)>,
    /// Whether a host is known to have fetched with this token.
    pub(crate) is_reached: AtomicBool,
}

type Pools = BTreeMap<(String, String), Arc<Offer>>;

/// The offers of all clusters, by cluster ID. They are made by the passes over NodePools, and so are there again soon
/// after a restart.
#[derive(Default)]
pub(crate) struct Offers(Mutex<HashMap<String, Pools>>);

impl Offers {
    pub(crate) fn put(&self, offer: Offer) {
        let mut offers = self.0.lock();
        offers.entry(offer.cluster_id.clone()).or_default().insert(offer.pool.clone(), Arc::new(offer));
    }

    /// Takes back what a pool offered.
    pub(crate) fn remove(&self, namespace: &str, pool: &str) {
        let mut offers = self.0.lock();
        offers.retain(|_, pools| {
            pools.remove(&(namespace.to_owned(), pool.to_owned()));
            !pools.is_empty()
        });
    }

    /// What a pool offers.
    pub(crate) fn of_pool(&self, cluster_id: &str, namespace: &str, pool: &str) -> Option<Arc<Offer>> {
        self.0.lock().get(cluster_id)?.get(&(namespace.to_owned(), pool.to_owned())).cloned()
    }

    /// The control plane's namespace of a cluster that has offers.
    pub(crate) fn namespace(&self, cluster_id: &str) -> Option<String> {
        self.0.lock().get(cluster_id)?.values().next().map(|offer| offer.namespace.clone())
    }

    /// The offer that a token opens. A token of another cluster opens nothing here.
    pub(crate) fn find(&self, cluster_id: &str, token: &Token, now: Timestamp) -> Option<Arc<Offer>> {
        let offers = self.0.lock();
        let mut found = None;
        for offer in offers.get(cluster_id)?.values() {
            for (known, until) in &offer.tokens {
                // All are compared, so that nobody learns by how long it took which one was nearly right.
                if token.matches(known.expose()) && *until > now {
                    found = Some(Arc::clone(offer));
                }
            }
        }
        found
    }
}
