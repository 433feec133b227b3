//! Nodes: who has stopped answering, what follows for them and for their pods.
//!
//! A node says that it is alive through the heartbeat in its status and through its Lease. Of each node the time of the
//! last sign is remembered, by this machine's clock; a timer comes back to it when its grace ends.

mod judge;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use roost_object::{Status, Value};
use serde::Deserialize;
use tokio::time::Instant;

use super::edit::{self, Object};
use super::record::{self, Subject};
use super::{Inside, Task};
use crate::clock;
use crate::cluster::Cluster;
use crate::stored::Stored;
use crate::write::{CONTROLLERS, metadata_text};
use judge::Eviction;

/// The namespace of the Leases that nodes renew.
pub(super) const LEASES: &str = "kube-node-lease";
/// The component that the events name.
const COMPONENT: &str = "node-controller";

/// What is remembered of the nodes of all tenants.
#[derive(Default)]
pub(crate) struct Nodes {
    tenants: HashMap<String, Tenant>,
}

#[derive(Default)]
struct Tenant {
    health: HashMap<String, Health>,
    /// When the next node of a zone may be emptied.
    turns: HashMap<String, Instant>,
    /// Whether no node answered when it was last looked at.
    all_down: bool,
}

struct Health {
    seen: Instant,
    heartbeat: Option<String>,
    renewed: String,
    ready: bool,
}

impl Nodes {
    /// Takes in a Lease that was written.
    pub(super) fn renew(&mut self, tenant: &str, node: &str, bytes: &Bytes) {
        let Some(health) = self.tenants.get_mut(tenant).and_then(|tenant| tenant.health.get_mut(node)) else { return };
        let renewed = Stored::new(bytes.clone()).ok().and_then(|stored| serde_json::from_slice(stored.json()).ok());
        let Some(Lease { spec: LeaseSpec { renew_time: Some(renewed) } }) = renewed else { return };
        if renewed > health.renewed {
            health.renewed = renewed;
            health.seen = Instant::now();
        }
    }

    /// Forgets a node.
    pub(super) fn forget(&mut self, tenant: &str, node: &str) {
        if let Some(known) = self.tenants.get_mut(tenant) {
            known.health.remove(node);
            if known.health.is_empty() {
                self.tenants.remove(tenant);
            }
        }
    }

    /// Forgets a tenant.
    pub(super) fn forget_tenant(&mut self, tenant: &str) {
        self.tenants.remove(tenant);
    }

    /// Whether some node of the tenant is not ready, so that pods that come to it matter.
    pub(super) fn any_down(&self, tenant: &str) -> bool {
        self.tenants.get(tenant).is_some_and(|known| known.health.values().any(|health| !health.ready))
    }

    /// Takes in a node and says how long it has been silent.
    fn look(&mut self, tenant: &str, node: &Value, lease: Option<&Value>) -> Duration {
        let now = Instant::now();
        let ready = judge::condition(node, "Ready");
        let heartbeat = ready.map(|ready| ready["lastHeartbeatTime"].as_str().unwrap_or_default().to_owned());
        let age = clock::parse(metadata_text(node, "creationTimestamp"))
            .and_then(|created| Duration::try_from(Timestamp::now().duration_since(created)).ok())
            .unwrap_or_default();
        let known = self.tenants.entry(tenant.to_owned()).or_default();
        let health = known.health.entry(metadata_text(node, "name").to_owned()).or_insert_with(|| Health {
            // A node that is met for the first time has its grace from now on, unless it never spoke.
            seen: if heartbeat.is_some() { now } else { now.checked_sub(age).unwrap_or(now) },
            heartbeat: heartbeat.clone(),
            renewed: String::new(),
            ready: true,
        });
        if health.heartbeat != heartbeat {
            health.heartbeat = heartbeat;
            health.seen = now;
        }
        if let Some(renewed) = lease.and_then(|lease| lease["spec"]["renewTime"].as_str())
            && *renewed > *health.renewed
        {
            renewed.clone_into(&mut health.renewed);
            health.seen = now;
        }
        health.ready = judge::readiness(node) == Some("True");
        now.duration_since(health.seen)
    }

    fn set_ready(&mut self, tenant: &str, node: &str, ready: bool) {
        if let Some(health) = self.tenants.get_mut(tenant).and_then(|tenant| tenant.health.get_mut(node)) {
            health.ready = ready;
        }
    }

    /// Notes whether all nodes are down. When some answer again, all have their grace anew: it was our fault.
    fn note_all_down(&mut self, tenant: &str, all_down: bool) -> bool {
        let Some(known) = self.tenants.get_mut(tenant) else { return false };
        let changed = known.all_down != all_down;
        if changed && !all_down {
            let now = Instant::now();
            known.health.values_mut().for_each(|health| health.seen = now);
        }
        known.all_down = all_down;
        changed
    }

    fn was_all_down(&self, tenant: &str) -> bool {
        self.tenants.get(tenant).is_some_and(|known| known.all_down)
    }

    /// Takes the zone's turn to empty a node, or says how long it is until there is one.
    fn take_turn(&mut self, tenant: &str, zone: String, interval: Duration) -> Result<(), Duration> {
        let known = self.tenants.entry(tenant.to_owned()).or_default();
        let now = Instant::now();
        let next = known.turns.entry(zone).or_insert(now);
        if *next > now {
            return Err(next.duration_since(now));
        }
        *next = now + interval;
        Ok(())
    }
}

#[derive(Deserialize)]
struct Lease {
    #[serde(default)]
    spec: LeaseSpec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LeaseSpec {
    renew_time: Option<String>,
}

/// Looks at a node and brings its conditions, taints and labels up to date.
pub(super) async fn check(cluster: &Arc<Cluster>, inside: &Inside, name: &str) -> Result<(), Status> {
    let tenant = cluster.tenant.as_str();
    let object = Object::of_cluster("", "nodes", name);
    let Some(mut node) = object.find(cluster) else {
        inside.nodes.lock().forget(tenant, name);
        return Ok(());
    };
    let lease = cluster.find("coordination.k8s.io", "leases", LEASES, name);
    let silent = inside.nodes.lock().look(tenant, &node, lease.as_ref());
    let was_ready = judge::readiness(&node) == Some("True");
    if let Some(conditions) = judge::silence(&node, silent, &clock::now_text()) {
        let transform = |live: &Value| {
            let mut next = live.clone();
            if let Some(conditions) = judge::silence(live, silent, &clock::now_text()) {
                next["status"]["conditions"] = conditions.into();
            }
            Ok(next)
        };
        edit::change(cluster, object, "status", CONTROLLERS, &transform).await?;
        node["status"]["conditions"] = conditions.into();
        inside.nodes.lock().set_ready(tenant, name, false);
        if was_ready {
            let message = format!("Node {name} status is now: NodeNotReady");
            record::event(cluster, &subject(&node), record::NORMAL, "NodeNotReady", &message, COMPONENT).await;
            inside.queue.add(tenant, Task::MarkPods(name.to_owned()));
        }
    } else if silent <= judge::grace(&node) {
        inside.timers.after(tenant, Task::CheckNode(name.to_owned()), judge::grace(&node).saturating_sub(silent));
    }
    if judge::readiness(&node).is_none() && silent < judge::FIRST_WORD {
        inside.timers.after(tenant, Task::CheckNode(name.to_owned()), judge::FIRST_WORD.saturating_sub(silent));
        return Ok(());
    }
    let (eviction, evict) = turn(cluster, inside, &node);
    let now = clock::now_text();
    if judge::taints(&node, eviction, evict, &now).is_some() || !judge::labels(&node).is_empty() {
        let transform = |live: &Value| {
            let mut next = live.clone();
            if let Some(taints) = judge::taints(live, eviction, evict, &now)
                && let Some(spec) = next["spec"].as_object_mut()
            {
                spec.remove("taints");
                if !taints.is_empty() {
                    spec.insert("taints".into(), taints.into());
                }
            }
            for (label, value) in judge::labels(live) {
                next["metadata"]["labels"][label] = value;
            }
            Ok(next)
        };
        edit::change(cluster, object, "", CONTROLLERS, &transform).await?;
    }
    Ok(())
}

/// Whether pods may be driven off the node, and whether it is its turn. All nodes are looked at only when one is down.
fn turn(cluster: &Cluster, inside: &Inside, node: &Value) -> (Eviction, bool) {
    let tenant = cluster.tenant.as_str();
    let is_down = matches!(judge::readiness(node), Some("False" | "Unknown"));
    if !is_down && !inside.nodes.lock().was_all_down(tenant) {
        return (Eviction::Allowed(Duration::ZERO), false);
    }
    let nodes = cluster.find_all("", "nodes", "");
    let zone = judge::zone(node);
    let eviction = judge::eviction(&nodes, &zone);
    if inside.nodes.lock().note_all_down(tenant, eviction == Eviction::Lifted) {
        for other in &nodes {
            inside.queue.add(tenant, Task::CheckNode(metadata_text(other, "name").to_owned()));
        }
    }
    let Eviction::Allowed(interval) = eviction else { return (eviction, false) };
    if !judge::wants_eviction(node) {
        return (eviction, false);
    }
    match inside.nodes.lock().take_turn(tenant, zone, interval) {
        Ok(()) => (eviction, true),
        Err(wait) => {
            inside.timers.after(tenant, Task::CheckNode(metadata_text(node, "name").to_owned()), wait);
            (eviction, false)
        }
    }
}

/// Says of all pods of a node that they are not ready.
pub(super) async fn mark_pods(cluster: &Arc<Cluster>, name: &str) -> Result<(), Status> {
    for pod in cluster.find_all("", "pods", "").iter().filter(|pod| pod["spec"]["nodeName"] == name) {
        mark_pod(cluster, pod).await?;
    }
    Ok(())
}

/// Says of a pod that came to a node which is not ready that it is not ready either.
pub(super) async fn check_pod(cluster: &Arc<Cluster>, namespace: &str, name: &str) -> Result<(), Status> {
    let Some(pod) = cluster.find("", "pods", namespace, name) else { return Ok(()) };
    let node = pod["spec"]["nodeName"].as_str().and_then(|node| cluster.find("", "nodes", "", node));
    match node.as_ref().and_then(judge::readiness) {
        Some("False" | "Unknown") => mark_pod(cluster, &pod).await,
        _ => Ok(()),
    }
}

async fn mark_pod(cluster: &Arc<Cluster>, pod: &Value) -> Result<(), Status> {
    let now = clock::now_text();
    if judge::pod_conditions(pod, &now).is_none() {
        return Ok(());
    }
    let (namespace, name) = (metadata_text(pod, "namespace"), metadata_text(pod, "name"));
    let transform = |live: &Value| {
        let mut next = live.clone();
        if let Some(conditions) = judge::pod_conditions(live, &now) {
            next["status"]["conditions"] = conditions.into();
        }
        Ok(next)
    };
    edit::change(cluster, Object { group: "", plural: "pods", namespace, name }, "status", CONTROLLERS, &transform)
        .await?;
    let subject = Subject { api_version: "v1", kind: "Pod", namespace, name, uid: metadata_text(pod, "uid") };
    record::event(cluster, &subject, record::WARNING, "NodeNotReady", "Node is not ready", COMPONENT).await;
    Ok(())
}

/// Tells of a node that came or went.
pub(super) async fn announce(cluster: &Arc<Cluster>, name: &str, uid: &str, came: bool) {
    let (reason, words) = if came {
        ("RegisteredNode", format!("Registered Node {name} in Controller"))
    } else {
        ("RemovingNode", format!("Removing Node {name} from Controller"))
    };
    let subject = Subject { api_version: "v1", kind: "Node", namespace: "", name, uid };
    let message = format!("Node {name} event: {words}");
    record::event(cluster, &subject, record::NORMAL, reason, &message, COMPONENT).await;
}

fn subject(node: &Value) -> Subject<'_> {
    let (name, uid) = (metadata_text(node, "name"), metadata_text(node, "uid"));
    Subject { api_version: "v1", kind: "Node", namespace: "", name, uid }
}

/// Whether a pod has just come to a node: it has one, and had none before.
pub(super) fn came_to_node(value: &Bytes, previous: Option<&Bytes>) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Spec {
        node_name: String,
    }
    #[derive(Deserialize)]
    struct Pod {
        #[serde(default)]
        spec: Spec,
    }
    let node = |bytes: &Bytes| {
        let stored = Stored::new(bytes.clone()).ok()?;
        serde_json::from_slice::<Pod>(stored.json()).ok().map(|pod| pod.spec.node_name)
    };
    let now = node(value).unwrap_or_default();
    !now.is_empty() && previous.and_then(node).unwrap_or_default() != now
}
