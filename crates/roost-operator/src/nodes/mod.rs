//! The nodes of hosted clusters and their requests for certificates, followed where there are node pools.
//!
//! One task for each such cluster. A cluster without pools has none.

mod answer;
mod follow;
mod memory;
mod pod_networks;

use std::collections::HashMap;
use std::sync::Arc;

use ipnet::IpNet;
use parking_lot::Mutex;
use roost_runtime::{PlaneId, Runtime};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub(crate) use pod_networks::{PodNetwork, pod_networks};

use crate::approver::Networks;
use crate::fleet::Fleet;
use crate::object::Objects;
use crate::queue::Queue;
use memory::Memory;

/// What of a cluster's spec matters to its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) networks: Networks,
    pub(crate) pods: Vec<PodNetwork>,
}

/// The clusters whose nodes are followed.
pub(crate) struct Nodes<R> {
    runtime: Arc<R>,
    objects: Objects,
    queue: Arc<Queue>,
    fleet: Arc<Fleet>,
    running: Mutex<HashMap<PlaneId, Running>>,
}

struct Running {
    cluster: Arc<Cluster>,
    task: JoinHandle<()>,
}

/// One hosted cluster.
struct Cluster {
    plane: PlaneId,
    /// The control plane's namespace.
    namespace: String,
    objects: Objects,
    queue: Arc<Queue>,
    fleet: Arc<Fleet>,
    settings: Mutex<Settings>,
    memory: Mutex<Memory>,
    /// What all open requests may have waited for changed.
    settings_changed: Notify,
    /// What the open requests of some nodes may have waited for changed.
    node_changed: Notify,
    /// These nodes.
    touched: Mutex<Vec<String>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<R: Runtime> Nodes<R> {
    pub(crate) fn new(runtime: Arc<R>, objects: Objects, queue: Arc<Queue>, fleet: Arc<Fleet>) -> Self {
        Self { runtime, objects, queue, fleet, running: Mutex::default() }
    }

    /// Follows a cluster's nodes from now on.
    pub(crate) fn ensure(&self, plane: &PlaneId, namespace: &str, settings: Settings) {
        let mut running = self.running.lock();
        if let Some(known) = running.get(plane).filter(|known| !known.task.is_finished()) {
            let mut current = known.cluster.settings.lock();
            if *current != settings {
                *current = settings;
                known.cluster.settings_changed.notify_one();
            }
            return;
        }
        let cluster = Arc::new(Cluster {
            plane: plane.clone(),
            namespace: namespace.to_owned(),
            objects: self.objects.clone(),
            queue: Arc::clone(&self.queue),
            fleet: Arc::clone(&self.fleet),
            settings: Mutex::new(settings),
            memory: Mutex::default(),
            settings_changed: Notify::new(),
            node_changed: Notify::new(),
            touched: Mutex::default(),
        });
        let task = tokio::spawn(follow::follow(Arc::clone(&cluster), Arc::clone(&self.runtime)));
        running.insert(plane.clone(), Running { cluster, task });
    }

    /// Follows a cluster's nodes no longer.
    pub(crate) fn remove(&self, plane: &PlaneId) {
        self.running.lock().remove(plane);
    }

    /// Looks at the open requests of a node again.
    pub(crate) fn look_again(&self, plane: &PlaneId, node: &str) {
        if let Some(known) = self.running.lock().get(plane) {
            known.cluster.touched.lock().push(node.to_owned());
            known.cluster.node_changed.notify_one();
        }
    }

    /// A node's parts of the pod networks, which it gets now if it has none. Empty while not all nodes are known.
    pub(crate) fn pod_networks(&self, plane: &PlaneId, name: &str, node: &Value) -> Vec<IpNet> {
        let has = pod_networks::parts_of(node);
        if !has.is_empty() {
            return has;
        }
        let running = self.running.lock();
        let Some(known) = running.get(plane) else { return Vec::new() };
        let networks = known.cluster.settings.lock().pods.clone();
        let mut memory = known.cluster.memory.lock();
        if memory.knows_nodes { memory.book.assign(name, &networks) } else { Vec::new() }
    }
}
