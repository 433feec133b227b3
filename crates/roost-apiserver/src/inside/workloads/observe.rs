//! From changes to work: who has to look when an object comes, changes or goes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;
use roost_workloads::scheduler::Node;
use roost_workloads::{Pod, Source, job};

use super::super::metadata::Metadata;
use super::volumes::claims_of;
use super::{Controller, Work, Workloads};
use crate::cluster::Cluster;
use crate::stored::Stored;

/// How long a node must be gone before its pods are given up.
const GRACE_OF_LOST_NODES: Duration = Duration::from_secs(40);

/// Who cares for pods, and where their selectors are.
const POD_OWNERS: [(&str, Controller, Source); 5] = [
    ("ReplicaSet", Controller::ReplicaSet, Source::ReplicaSets),
    ("ReplicationController", Controller::Replication, Source::ReplicationControllers),
    ("StatefulSet", Controller::StatefulSet, Source::StatefulSets),
    ("DaemonSet", Controller::DaemonSet, Source::DaemonSets),
    ("Job", Controller::Job, Source::Jobs),
];

/// The work that a change asks for, and how long each has time.
pub(crate) fn tasks(
    cluster: &Cluster,
    resource: (&str, &str),
    metadata: &Metadata,
    value: Option<&Bytes>,
    previous: Option<&Bytes>,
) -> Vec<(Work, Option<Duration>)> {
    let Some(workloads) = cluster.workloads.as_deref() else { return Vec::new() };
    let change = Change { cluster, workloads, metadata, value, previous };
    let mut work = match resource {
        ("", "pods") => change.of_pod(),
        ("", "nodes") if workloads.is_busy() => return change.of_node(),
        ("", "services") => change.of_service(),
        ("apps", "deployments") => change.of_owner(Controller::Deployment),
        ("apps", "replicasets") => change.of_owned(Controller::ReplicaSet, "Deployment", Controller::Deployment),
        ("", "replicationcontrollers") => change.of_owner(Controller::Replication),
        ("apps", "statefulsets") => change.of_owner(Controller::StatefulSet),
        ("apps", "daemonsets") => change.of_owner(Controller::DaemonSet),
        ("batch", "jobs") => change.of_owned(Controller::Job, "CronJob", Controller::CronJob),
        ("batch", "cronjobs") => change.of_owner(Controller::CronJob),
        ("policy", "poddisruptionbudgets") => change.of_owner(Controller::Disruption),
        ("", "persistentvolumeclaims") => change.of_claim(),
        ("", "persistentvolumes") => change.of_volume(),
        ("storage.k8s.io", "storageclasses") => change.of_open_claims(),
        ("autoscaling", "horizontalpodautoscalers") => change.of_autoscaler(),
        ("discovery.k8s.io", "endpointslices") if value.is_none() => change.of_lost_slice(),
        _ => Vec::new(),
    };
    work.dedup();
    work.into_iter().map(|work| (work, None)).collect()
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

    fn selecting(&self, source: Source, labels: &BTreeMap<String, String>) -> Vec<String> {
        let namespace = &self.metadata.namespace;
        self.workloads.ask(&self.cluster.store, |index| index.selecting(source, namespace, labels))
    }

    /// An object that makes others.
    fn of_owner(&self, controller: Controller) -> Vec<Work> {
        self.workloads.set_busy();
        if self.value.is_some() { vec![self.work(controller, &self.metadata.name)] } else { Vec::new() }
    }

    /// An object that makes others and may be made by one.
    fn of_owned(&self, controller: Controller, owner_kind: &str, owner_controller: Controller) -> Vec<Work> {
        let mut work = self.of_owner(controller);
        for bytes in self.value.into_iter().chain(self.previous) {
            if let Some((_, name)) = owner(bytes).filter(|(kind, _)| kind == owner_kind) {
                work.push(self.work(owner_controller, &name));
            }
        }
        if owner_kind == "Deployment"
            && let Some(labels) = self.value.filter(|value| owner(value).is_none()).map(labels)
        {
            let names = self.selecting(Source::Deployments, &labels);
            work.extend(names.iter().map(|name| self.work(Controller::Deployment, name)));
        }
        work
    }

    /// An autoscaler that came, went or wants something else; the rest is done by the clock.
    fn of_autoscaler(&self) -> Vec<Work> {
        let spec = |bytes: &Bytes| {
            let stored = Stored::new(bytes.clone()).ok()?;
            let object: serde_json::Value = serde_json::from_slice(stored.json()).ok()?;
            Some(object["spec"].clone())
        };
        if self.value.and_then(spec) == self.previous.and_then(spec) {
            return Vec::new();
        }
        vec![self.work(Controller::Autoscaler, &self.metadata.name)]
    }

    /// A claim, the volume that it has, and the pods that wait for it.
    fn of_claim(&self) -> Vec<Work> {
        let volumes: BTreeSet<String> = self.value.into_iter().chain(self.previous).filter_map(volume_of).collect();
        let own = self.value.map(|_| self.work(Controller::Claim, &self.metadata.name));
        let volumes = volumes.into_iter().map(|name| of_cluster(Controller::Volume, &name));
        own.into_iter().chain(volumes).chain(self.let_in()).collect()
    }

    /// A volume, the claim that it is for, and all claims that have none, where it is for nobody.
    fn of_volume(&self) -> Vec<Work> {
        let own = self.value.map(|_| of_cluster(Controller::Volume, &self.metadata.name));
        let keepers = self.value.into_iter().chain(self.previous).filter_map(keeper_of);
        let keepers: BTreeSet<(String, String)> = keepers.collect();
        let open =
            if self.value.is_some_and(|value| keeper_of(value).is_none()) { self.of_open_claims() } else { vec![] };
        let claim = |(namespace, name)| Work { controller: Controller::Claim, namespace, name };
        own.into_iter().chain(keepers.into_iter().map(claim)).chain(open).chain(self.let_in()).collect()
    }

    /// All claims that have no volume yet.
    fn of_open_claims(&self) -> Vec<Work> {
        let claims = self.cluster.find_all("", "persistentvolumeclaims", "");
        let open = claims.iter().filter(|claim| !roost_workloads::volume::is_bound(claim));
        let text =
            |claim: &serde_json::Value, field: &str| claim["metadata"][field].as_str().unwrap_or_default().to_owned();
        open.map(|claim| Work {
            controller: Controller::Claim,
            namespace: text(claim, "namespace"),
            name: text(claim, "name"),
        })
        .collect()
    }

    /// Pods that found no node may find one now.
    fn let_in(&self) -> Option<Work> {
        if !self.workloads.is_busy() {
            return None;
        }
        self.workloads.ask(&self.cluster.store, |index| {
            index.waiting.something_moved();
            (!index.waiting.is_empty()).then(Work::schedule)
        })
    }

    /// A Service that selects pods, or did.
    fn of_service(&self) -> Vec<Work> {
        if self.value.into_iter().chain(self.previous).any(selects) {
            vec![self.work(Controller::Endpoints, &self.metadata.name)]
        } else {
            Vec::new()
        }
    }

    fn of_lost_slice(&self) -> Vec<Work> {
        let service = self.previous.map(labels).and_then(|mut labels| labels.remove("kubernetes.io/service-name"));
        service.iter().map(|name| self.work(Controller::Endpoints, name)).collect()
    }

    fn of_node(&self) -> Vec<(Work, Option<Duration>)> {
        let name = &self.metadata.name;
        let (sets, pods) = self.workloads.ask(&self.cluster.store, |index| {
            let own = |pod: &Pod| (pod.metadata.namespace.clone(), pod.metadata.name.clone());
            let pods: Vec<(String, String)> = if index.scheduler.node(name).is_none_or(drives_off) {
                index.pods_of_node(name).map(|pod| own(pod)).collect()
            } else {
                Vec::new()
            };
            (index.all(Source::DaemonSets), pods)
        });
        let wait = self.value.is_none().then_some(GRACE_OF_LOST_NODES);
        let work = |controller, namespace: &str, name: &str| {
            let (namespace, name) = (namespace.to_owned(), name.to_owned());
            Work { controller, namespace, name }
        };
        let sets = sets.iter().filter_map(|key| key.split_once('/'));
        [(Work::schedule(), None)]
            .into_iter()
            .chain(sets.map(|(namespace, name)| (work(Controller::DaemonSet, namespace, name), None)))
            .chain(pods.iter().map(|(namespace, name)| (work(Controller::Eviction, namespace, name), wait)))
            .collect()
    }

    fn of_pod(&self) -> Vec<Work> {
        self.workloads.set_busy();
        let (now, before) = (self.value.and_then(read), self.previous.and_then(read));
        let mut work = Vec::new();
        let mut orphan = false;
        for pod in now.iter().chain(&before) {
            match pod.metadata.controller() {
                Some(owner) => {
                    let known = POD_OWNERS.iter().find(|(kind, ..)| *kind == owner.kind);
                    work.extend(known.map(|(_, controller, _)| self.work(*controller, &owner.name)));
                }
                None => orphan = true,
            }
        }
        if let Some(pod) = now.as_ref().filter(|_| orphan) {
            for (_, controller, source) in POD_OWNERS {
                let names = self.selecting(source, &pod.metadata.labels);
                work.extend(names.iter().map(|name| self.work(controller, name)));
            }
        }
        work.extend(self.of_those_who_select(now.as_ref(), before.as_ref()));
        for pod in now.iter().chain(&before) {
            let seen = |pod: Option<&Pod>| pod.map(|pod| (!pod.spec.node_name.is_empty(), pod.has_ended()));
            if seen(now.as_ref()) != seen(before.as_ref()) {
                work.extend(claims_of(pod).map(|name| self.work(Controller::Claim, name)));
            }
        }
        if now.as_ref().is_some_and(job::may_be_left) {
            work.push(self.work(Controller::LeftPod, &self.metadata.name));
        }
        if self.may_have_to_leave(now.as_ref(), before.as_ref()) {
            work.push(self.work(Controller::Eviction, &self.metadata.name));
        }
        if self.matters_to_scheduler(now.as_ref(), before.as_ref()) {
            work.push(Work::schedule());
        }
        work
    }

    /// Services and budgets whose pods changed in what they go by.
    fn of_those_who_select(&self, now: Option<&Pod>, before: Option<&Pod>) -> Vec<Work> {
        let seen = |pod: &Pod| {
            let state = (pod.is_ready(), pod.metadata.is_going(), pod.has_ended());
            (pod.metadata.labels.clone(), state, pod.status.pod_ip.clone(), pod.spec.node_name.clone())
        };
        if now.map(seen) == before.map(seen) {
            return Vec::new();
        }
        let mut work = Vec::new();
        for pod in now.into_iter().chain(before) {
            for (controller, source) in
                [(Controller::Endpoints, Source::Services), (Controller::Disruption, Source::DisruptionBudgets)]
            {
                let names = self.selecting(source, &pod.metadata.labels);
                work.extend(names.iter().map(|name| self.work(controller, name)));
            }
        }
        work
    }

    /// Whether a pod came to a node that drives pods off.
    fn may_have_to_leave(&self, now: Option<&Pod>, before: Option<&Pod>) -> bool {
        let placed = |pod: &&Pod| !pod.spec.node_name.is_empty();
        let Some(pod) = now.filter(placed).filter(|_| before.is_none_or(|before| !placed(&before))) else {
            return false;
        };
        let name = &pod.spec.node_name;
        self.workloads.ask(&self.cluster.store, |index| index.scheduler.node(name).is_some_and(drives_off))
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

fn drives_off(node: &Node) -> bool {
    node.taints.iter().any(|taint| taint.effect == "NoExecute")
}

/// Whether a Service selects pods.
fn selects(bytes: &Bytes) -> bool {
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Service {
        spec: Spec,
    }
    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Spec {
        selector: Option<BTreeMap<String, String>>,
    }
    let stored = Stored::new(bytes.clone()).ok();
    let service = stored.and_then(|stored| serde_json::from_slice::<Service>(stored.json()).ok());
    service.and_then(|service| service.spec.selector).is_some_and(|selector| !selector.is_empty())
}

/// Work on an object outside namespaces.
fn of_cluster(controller: Controller, name: &str) -> Work {
    Work { controller, namespace: String::new(), name: name.to_owned() }
}

/// What a claim and a volume say of each other.
#[derive(serde::Deserialize)]
struct Bound {
    #[serde(default)]
    spec: BoundSpec,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BoundSpec {
    volume_name: String,
    claim_ref: Option<ClaimReference>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct ClaimReference {
    namespace: String,
    name: String,
}

fn bound(bytes: &Bytes) -> Option<BoundSpec> {
    let stored = Stored::new(bytes.clone()).ok()?;
    serde_json::from_slice::<Bound>(stored.json()).ok().map(|bound| bound.spec)
}

/// The volume that a claim names.
fn volume_of(claim: &Bytes) -> Option<String> {
    bound(claim).map(|spec| spec.volume_name).filter(|name| !name.is_empty())
}

/// The claim that a volume is kept for.
fn keeper_of(volume: &Bytes) -> Option<(String, String)> {
    bound(volume)?.claim_ref.map(|claim| (claim.namespace, claim.name))
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
