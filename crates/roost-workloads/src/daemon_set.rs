//! DaemonSets: one pod on every node that should have one.

mod roll;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::action::Reference;
use crate::metadata::Metadata;
use crate::scheduler::{Node, untolerated, wants};
use crate::{Action, Event, Pod, hash, history, replica_set, selector, template, value};

/// Who the events are from.
pub const COMPONENT: &str = "daemonset-controller";

const GENERATION: &str = "deprecated.daemonset.template.generation";
const POD_GENERATION: &str = "pod-template-generation";
/// The most pods that are made or deleted in one pass.
const BURST: usize = 250;

/// What to do about a DaemonSet.
#[derive(Debug, Default)]
pub struct Plan {
    /// What comes before pods: revisions, adoptions, words.
    pub before: Vec<Action>,
    /// Pods to make.
    pub create: Vec<Value>,
    /// Pods to delete.
    pub delete: Vec<Arc<Pod>>,
    /// What comes after: the status, revisions that are no longer needed.
    pub after: Vec<Action>,
}

/// What is looked at.
struct Look<'a> {
    set: &'a Value,
    nodes: &'a [&'a Node],
    by_node: BTreeMap<String, Vec<Arc<Pod>>>,
    /// The template as a pod, to ask nodes about.
    sample: Pod,
    hash: String,
    now: Timestamp,
}

/// What to do about a DaemonSet, its revisions, its pods and the nodes.
pub fn plan(set: &Value, revisions: Vec<Value>, pods: Vec<Arc<Pod>>, nodes: &[&Node], now: Timestamp) -> Plan {
    if set["spec"]["selector"] == json!({}) {
        let message = "This daemon set is selecting all pods. A non-empty selector is required.";
        return Plan { before: vec![Event::warning(set, COMPONENT, "SelectingAll", message)], ..Plan::default() };
    }
    if !set["metadata"]["deletionTimestamp"].is_null() {
        return Plan::default();
    }
    let mut plan = Plan::default();
    let (hash, old) = revise(set, revisions, &mut plan.before);
    let (pods, claims) = replica_set::claim(set, &selector::read(&set["spec"]["selector"]), pods);
    plan.before.extend(claims);
    let mut by_node: BTreeMap<String, Vec<Arc<Pod>>> = BTreeMap::new();
    for pod in pods {
        if let Some(node) = target(&pod) {
            by_node.entry(node).or_default().push(pod);
        }
    }
    for pods in by_node.values_mut() {
        pods.sort_by_key(|pod| oldest_first(pod));
    }
    let look = Look { set, nodes, by_node, sample: sample(set), hash, now };
    look.manage(&mut plan);
    if plan.create.is_empty() && plan.delete.is_empty() && set["spec"]["updateStrategy"]["type"] == "RollingUpdate" {
        look.roll(&mut plan);
    }
    plan.create.truncate(BURST);
    plan.delete.truncate(BURST);
    look.status(&mut plan.after);
    look.forget_history(&old, &mut plan.after);
    plan
}

/// The node of a pod, or the one that it was made for.
fn target(pod: &Pod) -> Option<String> {
    if !pod.spec.node_name.is_empty() {
        return Some(pod.spec.node_name.clone());
    }
    let required = pod.spec.affinity.node_affinity.as_ref()?.required.as_ref()?;
    let fields = required.node_selector_terms.iter().flat_map(|term| &term.match_fields);
    fields.filter(|field| field.key == "metadata.name").find_map(|field| field.values.first().cloned())
}

fn oldest_first(pod: &Pod) -> (bool, Option<Timestamp>, String) {
    (pod.spec.node_name.is_empty(), pod.metadata.creation_timestamp, pod.metadata.name.clone())
}

/// The hash of the current revision, which is made or brought to the top where it is not, and the others.
fn revise(set: &Value, mut revisions: Vec<Value>, actions: &mut Vec<Action>) -> (String, Vec<Value>) {
    history::sort(&mut revisions);
    let uid = value::text(set, &["metadata", "uid"]);
    revisions.retain(|revision| {
        let about = Metadata::read(revision);
        if let Some(owner) = about.controller() {
            owner.uid == uid
        } else {
            actions.push(Action::adopt(set, Reference::of(revision), &about.owner_references));
            true
        }
    });
    let (mut current, old): (Vec<Value>, Vec<Value>) =
        revisions.into_iter().partition(|revision| history::is_current(revision, set));
    let number = old.iter().map(history::number).max().unwrap_or_default() + 1;
    let label = |revision: &Value| value::text(revision, &["metadata", "labels", history::POD_REVISION]).to_owned();
    if let Some(mut kept) = current.pop() {
        if history::number(&kept) < number {
            kept["revision"] = number.into();
            actions.push(Action::Update(kept.clone()));
        }
        (label(&kept), old)
    } else {
        let collisions = value::number_given(set, &["status", "collisionCount"]);
        let hash = hash::of_template(&set["spec"]["template"], collisions);
        let name = format!("{}-{hash}", value::text(set, &["metadata", "name"]));
        actions.push(Action::Create(history::new(set, &name, &[(history::POD_REVISION, &hash)], number)));
        (hash, old)
    }
}

/// The template with what every pod of a DaemonSet bears.
fn tolerant(set: &Value) -> Value {
    let mut template = set["spec"]["template"].clone();
    let mut borne = vec![
        ("node.kubernetes.io/not-ready", "NoExecute"),
        ("node.kubernetes.io/unreachable", "NoExecute"),
        ("node.kubernetes.io/disk-pressure", "NoSchedule"),
        ("node.kubernetes.io/memory-pressure", "NoSchedule"),
        ("node.kubernetes.io/pid-pressure", "NoSchedule"),
        ("node.kubernetes.io/unschedulable", "NoSchedule"),
    ];
    if template["spec"]["hostNetwork"] == true {
        borne.push(("node.kubernetes.io/network-unavailable", "NoSchedule"));
    }
    let mut tolerations = value::list(&template, &["spec", "tolerations"]).to_vec();
    for (key, effect) in borne {
        let own = json!({"key": key, "operator": "Exists", "effect": effect});
        if !tolerations.contains(&own) {
            tolerations.push(own);
        }
    }
    template["spec"]["tolerations"] = tolerations.into();
    template
}

fn sample(set: &Value) -> Pod {
    let template = tolerant(set);
    serde_json::from_value(json!({"metadata": template["metadata"], "spec": template["spec"]})).unwrap_or_default()
}

impl Look<'_> {
    /// Whether a node should get a pod, and whether one that is there may stay.
    fn judge(&self, node: &Node) -> (bool, bool) {
        let named = &self.sample.spec.node_name;
        if !(named.is_empty() || *named == node.name) || !wants(&self.sample, node) {
            return (false, false);
        }
        if untolerated(&self.sample, &node.taints).is_none() {
            (true, true)
        } else {
            let drives_off = node.taints.iter().filter(|taint| taint.effect == "NoExecute").any(|taint| {
                let borne = |own: &crate::pod::Toleration| own.bears(&taint.key, &taint.value, &taint.effect);
                !self.sample.spec.tolerations.iter().any(borne)
            });
            (false, !drives_off)
        }
    }

    fn surges(&self) -> bool {
        self.max_surge(self.nodes.len() as i64) > 0
    }

    fn max_surge(&self, wanted: i64) -> i64 {
        let strategy = &self.set["spec"]["updateStrategy"];
        if strategy["type"] != "RollingUpdate" {
            return 0;
        }
        value::scaled(&strategy["rollingUpdate"]["maxSurge"], wanted, true).unwrap_or_default()
    }

    fn min_ready(&self) -> i64 {
        value::number(self.set, &["spec", "minReadySeconds"])
    }

    fn is_available(&self, pod: &Pod) -> bool {
        pod.is_available(self.min_ready(), self.now)
    }

    /// Whether a pod is of the template.
    fn is_updated(&self, pod: &Pod) -> bool {
        let label = |name: &str| pod.metadata.labels.get(name).map(String::as_str);
        let generation = value::annotation(self.set, GENERATION);
        (!generation.is_empty() && label(POD_GENERATION) == Some(generation))
            || (!self.hash.is_empty() && label(history::POD_REVISION) == Some(&self.hash))
    }

    /// A pod for a node.
    fn pod_for(&self, node: &str) -> Value {
        let mut own = tolerant(self.set);
        let generation = value::annotation(self.set, GENERATION);
        if !generation.is_empty() {
            value::set(&mut own, &["metadata", "labels", POD_GENERATION], generation);
        }
        value::set(&mut own, &["metadata", "labels", history::POD_REVISION], self.hash.as_str());
        let terms = json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]);
        let way = ["spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"];
        value::set(&mut own, &[way[0], way[1], way[2], way[3], "nodeSelectorTerms"], terms);
        template::pod(self.set, &own)
    }

    /// Brings nodes to one pod each, or to an old and a new one while it surges.
    fn manage(&self, plan: &mut Plan) {
        for node in self.nodes {
            let (should_run, may_stay) = self.judge(node);
            let Some(pods) = self.by_node.get(&node.name) else {
                if should_run {
                    plan.create.push(self.pod_for(&node.name));
                }
                continue;
            };
            let staying = pods.iter().filter(|pod| !pod.metadata.is_going());
            if !may_stay {
                plan.delete.extend(staying.cloned());
                continue;
            }
            let mut running = Vec::new();
            for pod in staying {
                let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
                match pod.status.phase.as_str() {
                    "Failed" => {
                        let message = format!(
                            "Found failed daemon pod {namespace}/{name} on node {}, will try to kill it",
                            node.name
                        );
                        plan.before.push(Event::warning(self.set, COMPONENT, "FailedDaemonPod", message));
                        plan.delete.push(Arc::clone(pod));
                    }
                    "Succeeded" => {
                        let message = format!(
                            "Found succeeded daemon pod {namespace}/{name} on node {}, will try to delete it",
                            node.name
                        );
                        plan.before.push(Event::normal(self.set, COMPONENT, "SucceededDaemonPod", message));
                        plan.delete.push(Arc::clone(pod));
                    }
                    _ => running.push(pod),
                }
            }
            if self.surges() {
                self.manage_surge(&node.name, should_run, &running, plan);
            } else {
                plan.delete.extend(running.into_iter().skip(1).cloned());
            }
        }
    }

    fn manage_surge(&self, node: &str, should_run: bool, running: &[&Arc<Pod>], plan: &mut Plan) {
        if running.is_empty() && should_run {
            plan.create.push(self.pod_for(node));
        }
        if running.len() <= 1 {
            return;
        }
        let is_new = |pod: &Pod| pod.metadata.labels.get(history::POD_REVISION) == Some(&self.hash);
        let (new, old): (Vec<&Arc<Pod>>, Vec<&Arc<Pod>>) = running.iter().copied().partition(|pod| is_new(pod));
        plan.delete.extend(new.iter().skip(1).chain(old.iter().skip(1)).map(|pod| Arc::clone(pod)));
        if let (Some(new), Some(old)) = (new.first(), old.first())
            && (!old.is_ready() || self.is_available(new))
        {
            plan.delete.push(Arc::clone(old));
        }
    }

    fn status(&self, actions: &mut Vec<Action>) {
        let (mut desired, mut current, mut misplaced, mut ready, mut updated, mut available) = (0, 0, 0, 0, 0, 0);
        for node in self.nodes {
            let pod = self.by_node.get(&node.name).and_then(|pods| pods.first());
            if !self.judge(node).0 {
                misplaced += i64::from(pod.is_some());
                continue;
            }
            desired += 1;
            let Some(pod) = pod else { continue };
            current += 1;
            ready += i64::from(pod.is_ready());
            available += i64::from(self.is_available(pod));
            updated += i64::from(self.is_updated(pod));
        }
        let mut next = self.set.clone();
        for (name, count) in [
            ("currentNumberScheduled", current),
            ("numberMisscheduled", misplaced),
            ("desiredNumberScheduled", desired),
            ("numberReady", ready),
        ] {
            value::set(&mut next, &["status", name], count);
        }
        for (name, count) in [
            ("updatedNumberScheduled", updated),
            ("numberAvailable", available),
            ("numberUnavailable", desired - available),
        ] {
            value::set_count(&mut next["status"], &[name], count);
        }
        let generation = value::number(self.set, &["metadata", "generation"]);
        value::set(&mut next, &["status", "observedGeneration"], generation);
        if next != *self.set {
            actions.push(Action::UpdateStatus(next));
        }
        if self.min_ready() > 0 && ready != available {
            actions.push(Action::LookAgain(SignedDuration::from_secs(self.min_ready())));
        }
    }

    /// Deletes the oldest revisions beyond those that are kept, but none that a pod is of.
    fn forget_history(&self, old: &[Value], actions: &mut Vec<Action>) {
        let limit = usize::try_from(value::number(self.set, &["spec", "revisionHistoryLimit"])).unwrap_or(usize::MAX);
        let surplus = old.len().saturating_sub(limit);
        let live = |revision: &Value| {
            let hash = value::text(revision, &["metadata", "labels", history::POD_REVISION]);
            let mut pods = self.by_node.values().flatten();
            pods.any(|pod| pod.metadata.labels.get(history::POD_REVISION).is_some_and(|own| own == hash))
        };
        let dead = old.iter().filter(|revision| !live(revision)).take(surplus);
        actions.extend(dead.map(|revision| Action::Delete {
            object: Reference::of(revision),
            propagation: None,
            grace_seconds: None,
        }));
    }
}

#[cfg(test)]
mod tests;
