//! Pods that must leave: driven off by taints, or left behind by nodes and time.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::action::Reference;
use crate::pod::Toleration;
use crate::scheduler::Node;
use crate::{Action, Event, Pod};

/// Who the events of taints are from.
pub const TAINT_COMPONENT: &str = "taint-eviction-controller";

/// What the taints of its node mean for a pod: now, later, or never.
pub fn by_taints(pod: &Pod, node: &Node, placed: Timestamp, now: Timestamp) -> Vec<Action> {
    if pod.metadata.is_going() {
        return Vec::new();
    }
    let mut shortest: Option<i64> = None;
    let mut untouched = true;
    for taint in node.taints.iter().filter(|taint| taint.effect == "NoExecute") {
        untouched = false;
        let bears = |own: &&Toleration| own.bears(&taint.key, &taint.value, &taint.effect);
        let borne: Vec<&Toleration> = pod.spec.tolerations.iter().filter(bears).collect();
        if borne.is_empty() {
            return drive_off(pod);
        }
        for seconds in borne.iter().filter_map(|own| own.toleration_seconds) {
            shortest = Some(shortest.map_or(seconds, |shortest| shortest.min(seconds)));
        }
    }
    let Some(seconds) = shortest.filter(|_| !untouched) else { return Vec::new() };
    let left = (placed + SignedDuration::from_secs(seconds.max(0))).duration_since(now);
    if left <= SignedDuration::ZERO { drive_off(pod) } else { vec![Action::LookAgain(left)] }
}

fn drive_off(pod: &Pod) -> Vec<Action> {
    let object = Reference::of_pod(pod);
    let message = format!("Marking for deletion Pod {}/{}", object.namespace, object.name);
    vec![
        Event::about(object.clone(), TAINT_COMPONENT, false, "TaintManagerEviction", message),
        Action::SetCondition {
            object: object.clone(),
            condition: json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
                "message": "Taint manager: deleting due to NoExecute taint"}),
        },
        Action::Delete { object, propagation: None, grace_seconds: None },
    ]
}

/// What becomes of a pod that nobody runs any more: its node is gone, or it was asked to go before it had one.
pub fn by_absence(pod: &Pod, node_exists: bool) -> Vec<Action> {
    let orphaned = !pod.spec.node_name.is_empty() && !node_exists;
    let never_placed = pod.spec.node_name.is_empty() && pod.metadata.is_going();
    if !orphaned && !never_placed {
        return Vec::new();
    }
    vec![Action::Delete { object: Reference::of_pod(pod), propagation: None, grace_seconds: Some(0) }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taints_drive_off_what_does_not_bear_them_and_others_in_time() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().expect("a time");
        let placed: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let node = Node::from_value(&json!({"metadata": {"name": "n"}, "spec": {"taints": [
            {"key": "k", "effect": "NoExecute"}]}}))
        .expect("a node");
        for (tolerations, expected) in [
            (json!([]), 3),
            (json!([{"key": "k", "operator": "Exists"}]), 0),
            (json!([{"key": "k", "operator": "Exists", "tolerationSeconds": 300}]), 1),
            (json!([{"key": "k", "operator": "Exists", "tolerationSeconds": 30}]), 3),
        ] {
            let pod = serde_json::from_value(json!({"spec": {"tolerations": tolerations}})).expect("a pod");
            assert_eq!(by_taints(&pod, &node, placed, now).len(), expected, "{tolerations}");
        }
    }

    #[test]
    fn pods_of_nodes_that_are_gone_go() {
        let pod: Pod = serde_json::from_value(json!({"spec": {"nodeName": "n"}})).expect("a pod");
        assert_eq!(by_absence(&pod, true), []);
        assert_eq!(by_absence(&pod, false).len(), 1);
    }
}
