//! `ReplicaSets`: as many pods as are wanted, no more and no fewer.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use roost_object::selector::Selector;
use serde_json::{Value, json};

use crate::action::Reference;
use crate::pod::{Doubles, compare_for_deletion};
use crate::{Action, Pod, condition, metadata, selector, template, value};

/// Who the events are from.
pub const COMPONENT: &str = "replicaset-controller";
/// Who the events about `ReplicationControllers` are from.
pub const OLDER_COMPONENT: &str = "replication-controller";
/// The most pods that are made or deleted in one pass.
const BURST: usize = 500;
const FAILURE: &str = "ReplicaFailure";

/// What a `ReplicaSet` has and what it lacks.
#[derive(Debug, Default)]
pub struct Plan {
    /// Adoptions and releases.
    pub claims: Vec<Action>,
    /// How many pods to make, each like the template.
    pub missing: usize,
    /// What each of them is like.
    pub template: Value,
    /// Pods to delete.
    pub surplus: Vec<Arc<Pod>>,
    /// Pods that count.
    pub active: Vec<Arc<Pod>>,
    /// How many pods are going.
    pub terminating: usize,
}

/// The pods of an owner: its own that it still selects, and orphans that it selects. The others of its own are let go.
pub fn claim(
    owner: &Value,
    selector: &Selector,
    pods: impl IntoIterator<Item = Arc<Pod>>,
) -> (Vec<Arc<Pod>>, Vec<Action>) {
    let own = Reference::of(owner);
    let owner_goes = !owner["metadata"]["deletionTimestamp"].is_null();
    let (mut claimed, mut actions) = (Vec::new(), Vec::new());
    for pod in pods {
        let selected = selector.matches(&pod.metadata.labels);
        match pod.metadata.controller() {
            Some(controller) if controller.uid != own.uid => {}
            Some(_) if selected => claimed.push(pod),
            Some(_) if owner_goes => {}
            Some(_) => actions.push(Action::Patch {
                object: Reference::of_pod(&pod),
                subresource: "",
                patch: metadata::release(&own.uid, &pod.metadata.owner_references),
            }),
            None if selected && !owner_goes && !pod.metadata.is_going() => {
                actions.push(Action::adopt(owner, Reference::of_pod(&pod), &pod.metadata.owner_references));
                claimed.push(pod);
            }
            None => {}
        }
    }
    (claimed, actions)
}

/// A `ReplicationController` as the `ReplicaSet` that it is but for the way in which it writes its selector.
pub fn from_older(controller: &Value) -> Value {
    let mut set = controller.clone();
    set["spec"]["selector"] = json!({"matchLabels": controller["spec"]["selector"]});
    set
}

/// What is to be done about a `ReplicaSet` as it is done about the `ReplicationController` that it stands for.
pub fn for_older(controller: &Value, actions: Vec<Action>) -> Vec<Action> {
    let back = |action| match action {
        Action::UpdateStatus(mut next) => {
            value::remove(&mut next, &["status", "terminatingReplicas"]);
            next["spec"]["selector"] = controller["spec"]["selector"].clone();
            (next != *controller).then_some(Action::UpdateStatus(next))
        }
        other => Some(other),
    };
    actions.into_iter().filter_map(back).collect()
}

/// What to make and what to delete. Pods of sibling `ReplicaSets` say which nodes have more than one.
pub fn plan(set: &Value, pods: Vec<Arc<Pod>>, siblings: &[Arc<Pod>], now: Timestamp) -> Plan {
    let selector = selector::read(&set["spec"]["selector"]);
    let terminating = pods
        .iter()
        .filter(|pod| pod.is_terminating() && selector.matches(&pod.metadata.labels))
        .filter(|pod| pod.metadata.is_controlled_by(value::text(set, &["metadata", "uid"])))
        .count();
    let (active, claims) = claim(set, &selector, pods.into_iter().filter(|pod| pod.is_active()));
    let mut plan = Plan { claims, active, terminating, ..Plan::default() };
    if !set["metadata"]["deletionTimestamp"].is_null() {
        return plan;
    }
    let wanted = usize::try_from(value::number(set, &["spec", "replicas"])).unwrap_or_default();
    if plan.active.len() < wanted {
        plan.missing = (wanted - plan.active.len()).min(BURST);
        plan.template = template::pod(set, &set["spec"]["template"]);
    } else {
        let surplus = (plan.active.len() - wanted).min(BURST);
        let mut ranked = plan.active.clone();
        if surplus < ranked.len() {
            let doubles = Doubles::count(siblings.iter().map(AsRef::as_ref));
            ranked.sort_by(|one, other| compare_for_deletion(one, other, &doubles, now));
        }
        ranked.truncate(surplus);
        plan.surplus = ranked;
    }
    plan
}

/// The status that follows, if it is another one, and when to look again. A failure is what kept pods from being made
/// or deleted.
pub fn status(set: &Value, plan: &Plan, failure: Option<&str>, now: Timestamp) -> Vec<Action> {
    let min_ready = value::number(set, &["spec", "minReadySeconds"]);
    let labels = selector::of_labels(&set["spec"]["template"]["metadata"]["labels"]);
    let count = |holds: &dyn Fn(&Pod) -> bool| plan.active.iter().filter(|pod| holds(pod)).count() as i64;
    let ready = count(&|pod| pod.is_ready());
    let available = count(&|pod| pod.is_available(min_ready, now));
    let mut next = set.clone();
    let status = &mut next["status"];
    if !status.is_object() {
        *status = json!({});
    }
    status["replicas"] = plan.active.len().into();
    value::set_count(status, &["fullyLabeledReplicas"], count(&|pod| labels.matches(&pod.metadata.labels)));
    value::set_count(status, &["readyReplicas"], ready);
    value::set_count(status, &["availableReplicas"], available);
    status["terminatingReplicas"] = plan.terminating.into();
    value::set(status, &["observedGeneration"], value::number(set, &["metadata", "generation"]));
    let failing = condition::find(set, FAILURE).is_some();
    match failure {
        Some(message) if !failing => {
            let wanted = value::number(set, &["spec", "replicas"]);
            let reason = if (plan.active.len() as i64) < wanted { "FailedCreate" } else { "FailedDelete" };
            condition::replace(
                status,
                json!({"type": FAILURE, "status": "True", "lastTransitionTime": value::seconds(now),
                    "reason": reason, "message": message}),
            );
        }
        None if failing => condition::remove(status, FAILURE),
        _ => {}
    }
    let mut actions = Vec::new();
    if next != *set {
        actions.push(Action::UpdateStatus(next));
    }
    if min_ready > 0 && ready != available {
        let soonest = plan.active.iter().filter_map(|pod| pod.until_available(min_ready, now)).min();
        actions.push(Action::LookAgain(soonest.unwrap_or(SignedDuration::from_secs(min_ready))));
    }
    actions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().expect("a time")
    }

    fn set(replicas: i64) -> Value {
        json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": "web", "namespace": "d", "uid": "u", "generation": 1},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}}},
        })
    }

    fn pod(name: &str, app: &str, owner: Option<&str>, phase: &str) -> Arc<Pod> {
        let owners: Vec<Value> =
            owner.map(|uid| json!({"uid": uid, "controller": true, "name": "web"})).into_iter().collect();
        let value = json!({
            "metadata": {"name": name, "namespace": "d", "uid": name, "labels": {"app": app}, "ownerReferences": owners},
            "status": {"phase": phase},
        });
        Arc::new(serde_json::from_value(value).expect("a pod"))
    }

    #[test]
    fn missing_pods_are_made_like_the_template() {
        let plan = plan(
            &set(3),
            vec![pod("a", "web", Some("u"), "Running"), pod("b", "web", Some("u"), "Failed")],
            &[],
            now(),
        );
        assert_eq!(plan.missing, 2);
        assert_eq!(plan.template["metadata"]["generateName"], "web-");
        assert_eq!(plan.template["metadata"]["ownerReferences"][0]["uid"], "u");
    }

    #[test]
    fn surplus_pods_go_and_strangers_stay() {
        let pods = vec![
            pod("a", "web", Some("u"), "Running"),
            pod("b", "web", Some("u"), "Pending"),
            pod("c", "web", Some("other"), "Running"),
        ];
        let plan = plan(&set(1), pods, &[], now());
        let names: Vec<&str> = plan.surplus.iter().map(|pod| pod.metadata.name.as_str()).collect();
        assert_eq!(names, ["b"]);
    }

    #[test]
    fn orphans_are_adopted_and_strays_released() {
        let pods = vec![pod("orphan", "web", None, "Running"), pod("stray", "db", Some("u"), "Running")];
        let plan = plan(&set(1), pods, &[], now());
        assert_eq!((plan.missing, plan.surplus.len(), plan.claims.len()), (0, 0, 2));
    }

    #[test]
    fn status_counts_and_says_what_failed() {
        let plan = Plan { active: vec![pod("a", "web", Some("u"), "Running")], ..Plan::default() };
        let actions = status(&set(2), &plan, Some("no room"), now());
        let [Action::UpdateStatus(next)] = actions.as_slice() else { panic!("one update, not {actions:?}") };
        assert_eq!(next["status"]["replicas"], 1);
        assert_eq!(next["status"]["conditions"][0]["reason"], "FailedCreate");
        assert_eq!(status(next, &plan, Some("no room"), now()), []);
        let actions = status(next, &plan, None, now());
        let [Action::UpdateStatus(next)] = actions.as_slice() else { panic!("one update, not {actions:?}") };
        assert!(next["status"].get("conditions").is_none());
    }
}
