//! All tenants of one process on one store, and the controllers that run inside.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use roost_store::Store;
use tokio::sync::Notify;

use crate::cluster::Cluster;

/// The tenants of a process.
pub struct Engine {
    pub(crate) store: Store,
    clusters: RwLock<HashMap<String, Arc<Cluster>>>,
    /// Tenants that came since the controllers last looked.
    arrived: Mutex<Vec<String>>,
    arrival: Notify,
}

impl Engine {
    /// No tenants yet.
    pub fn new(store: Store) -> Arc<Engine> {
        Arc::new(Engine { store, clusters: RwLock::default(), arrived: Mutex::default(), arrival: Notify::new() })
    }

    /// Takes in a tenant; from now on its objects are cared for.
    pub fn add(&self, cluster: Arc<Cluster>) {
        let tenant = cluster.tenant.clone();
        self.clusters.write().insert(tenant.clone(), cluster);
        self.arrived.lock().push(tenant);
        self.arrival.notify_one();
    }

    /// Lets a tenant go. Its data stay until they are dropped from the store.
    pub fn remove(&self, tenant: &str) -> Option<Arc<Cluster>> {
        self.clusters.write().remove(tenant)
    }

    /// The tenant of a name.
    pub fn cluster(&self, tenant: &str) -> Option<Arc<Cluster>> {
        self.clusters.read().get(tenant).cloned()
    }

    /// Waits for tenants to come, and says which.
    pub(crate) async fn arrivals(&self) -> Vec<String> {
        loop {
            let arrived = std::mem::take(&mut *self.arrived.lock());
            if !arrived.is_empty() {
                return arrived;
            }
            self.arrival.notified().await;
        }
    }

    /// Runs the controllers that every cluster needs, for all tenants, until the future is dropped.
    pub async fn run(self: Arc<Self>) {
        crate::inside::run(self).await;
    }
}
