//! From changes to work: who has to look when an object comes, changes or goes.

use std::collections::BTreeMap;

use bytes::Bytes;
use roost_workloads::{Pod, Source};

use super::super::metadata::Metadata;
use super::{Controller, Work, Workloads};
use crate::cluster::Cluster;
use crate::stored::Stored;

/// The work that a change asks for.
pub(crate) fn tasks(
    cluster: &Cluster,
    resource: (&str, &str),
    metadata: &Metadata,
    value: Option<&Bytes>,
    previous: Option<&Bytes>,
) -> Vec<Work> {
    let Some(workloads) = cluster.workloads.as_deref() else { return Vec::new() };
    let change = Change { cluster, workloads, metadata, value, previous };
    match resource {
        ("", "pods") => change.of_pod(),
        ("", "nodes") if workloads.is_busy() => vec![Work::schedule()],
        ("apps", "deployments") => change.of_owner(Controller::Deployment),
        ("apps", "replicasets") => change.of_replica_set(),
        _ => Vec::new(),
    }
}

struct Change<'a> {
    cluster: &'a Cluster,
    workloads: &'a Workloads,
    metadata: &'a Metadata,
    value: Option<&'a Bytes>,
    previous: Option<&'a Bytes>,
}

impl Change<'_> {
    fn work(&self, controller: Controller, name: &str) -> Work {
        Work { controller, namespace: self.metadata.namespace.clone(), name: name.to_owned() }
    }

    /// An object that makes others.
    fn of_owner(&self, controller: Controller) -> Vec<Work> {
        self.workloads.set_busy();
        if self.value.is_some() { vec![self.work(controller, &self.metadata.name)] } else { Vec::new() }
    }

    fn of_replica_set(&self) -> Vec<Work> {
        let mut work = self.of_owner(Controller::ReplicaSet);
        for bytes in self.value.into_iter().chain(self.previous) {
            match owner(bytes) {
                Some((kind, name)) if kind == "Deployment" => work.push(self.work(Controller::Deployment, &name)),
                _ => {}
            }
        }
        if let Some(labels) = self.value.filter(|value| owner(value).is_none()).map(labels) {
            let selecting = |source| {
                let namespace = &self.metadata.namespace;
                self.workloads.ask(&self.cluster.store, |index| index.selecting(source, namespace, &labels))
            };
            work.extend(selecting(Source::Deployments).iter().map(|name| self.work(Controller::Deployment, name)));
        }
        work.dedup();
        work
    }

    fn of_pod(&self) -> Vec<Work> {
        self.workloads.set_busy();
        let (now, before) = (self.value.and_then(read), self.previous.and_then(read));
        let mut work = Vec::new();
        let mut orphan = false;
        for pod in now.iter().chain(&before) {
            match pod.metadata.controller() {
                Some(owner) => {
                    let controller = match owner.kind.as_str() {
                        "ReplicaSet" => Controller::ReplicaSet,
                        _ => continue,
                    };
                    work.push(self.work(controller, &owner.name));
                }
                None => orphan = true,
            }
        }
        if let Some(pod) = now.as_ref().filter(|_| orphan) {
            let namespace = &self.metadata.namespace;
            let sets = self.workloads.ask(&self.cluster.store, |index| {
                index.selecting(Source::ReplicaSets, namespace, &pod.metadata.labels)
            });
            work.extend(sets.iter().map(|name| self.work(Controller::ReplicaSet, name)));
        }
        if self.matters_to_scheduler(now.as_ref(), before.as_ref()) {
            work.push(Work::schedule());
        }
        work.dedup();
        work
    }

    /// Whether a pod now waits for a node, or made room for others.
    fn matters_to_scheduler(&self, now: Option<&Pod>, before: Option<&Pod>) -> bool {
        let unassigned = |pod: &Pod| pod.spec.node_name.is_empty() && pod.is_active();
        let placed = |pod: &Pod| !pod.spec.node_name.is_empty() && !pod.has_ended();
        match (now, before) {
            (Some(pod), None) => unassigned(pod) || self.anyone_waits(),
            (Some(pod), Some(before)) => {
                let regated = before.spec.scheduling_gates.len() != pod.spec.scheduling_gates.len();
                let relabelled = before.metadata.labels != pod.metadata.labels;
                (unassigned(pod) && (regated || relabelled)) || (placed(before) != placed(pod) && self.anyone_waits())
            }
            (None, Some(before)) => placed(before) && self.anyone_waits(),
            (None, None) => false,
        }
    }

    fn anyone_waits(&self) -> bool {
        self.workloads.ask(&self.cluster.store, |index| !index.waiting.is_empty())
    }
}

fn read(bytes: &Bytes) -> Option<Pod> {
    Pod::from_json(Stored::new(bytes.clone()).ok()?.json())
}

/// The kind and name of the owner that cares for a stored object.
fn owner(bytes: &Bytes) -> Option<(String, String)> {
    let metadata = about(bytes)?;
    let owner = metadata.controller()?;
    Some((owner.kind.clone(), owner.name.clone()))
}

fn labels(bytes: &Bytes) -> BTreeMap<String, String> {
    about(bytes).map(|metadata| metadata.labels).unwrap_or_default()
}

fn about(bytes: &Bytes) -> Option<roost_workloads::metadata::Metadata> {
    #[derive(serde::Deserialize)]
    struct Object {
        #[serde(default)]
        metadata: roost_workloads::metadata::Metadata,
    }
    let stored = Stored::new(bytes.clone()).ok()?;
    serde_json::from_slice::<Object>(stored.json()).ok().map(|object| object.metadata)
}
