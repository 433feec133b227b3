//! All tenants of one process on one store, and the controllers that run inside.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use roost_store::Store;

use crate::cluster::Cluster;

/// The tenants of a process.
pub struct Engine {
    pub(crate) store: Store,
    clusters: RwLock<HashMap<String, Arc<Cluster>>>,
}

impl Engine {
    /// No tenants yet.
    pub fn new(store: Store) -> Arc<Engine> {
        Arc::new(Engine { store, clusters: RwLock::new(HashMap::new()) })
    }

    /// Takes in a tenant; from now on its objects are cared for.
    pub fn add(&self, cluster: Arc<Cluster>) {
        self.clusters.write().insert(cluster.tenant.clone(), cluster);
    }

    /// Lets a tenant go. Its data stay until they are dropped from the store.
    pub fn remove(&self, tenant: &str) -> Option<Arc<Cluster>> {
        self.clusters.write().remove(tenant)
    }

    /// The tenant of a name.
    pub fn cluster(&self, tenant: &str) -> Option<Arc<Cluster>> {
        self.clusters.read().get(tenant).cloned()
    }

    /// All tenants.
    pub(crate) fn clusters(&self) -> Vec<Arc<Cluster>> {
        self.clusters.read().values().cloned().collect()
    }

    /// Runs the controllers that every cluster needs, for all tenants, until the future is dropped.
    pub async fn run(self: Arc<Self>) {
        crate::inside::run(self).await;
    }
}
