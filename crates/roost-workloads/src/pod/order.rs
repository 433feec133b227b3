//! Which of several pods is the least to be missed.

use std::cmp::Ordering;
use std::collections::HashMap;

use jiff::Timestamp;

use super::Pod;

/// How dear a pod is, as people say it.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// How many pods of the same controller each node has.
#[derive(Debug, Default)]
pub struct Doubles(HashMap<String, usize>);

impl Doubles {
    /// Counts pods by their nodes.
    pub fn count<'a>(pods: impl IntoIterator<Item = &'a Pod>) -> Doubles {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for pod in pods.into_iter().filter(|pod| pod.is_active()) {
            *counts.entry(pod.spec.node_name.clone()).or_default() += 1;
        }
        Doubles(counts)
    }

    fn of(&self, pod: &Pod) -> usize {
        self.0.get(&pod.spec.node_name).copied().unwrap_or_default()
    }
}

/// The pod that goes first is the lesser one: a total order, unlike that of stock, whose chance comes before some reasons.
pub fn compare_for_deletion(one: &Pod, other: &Pod, doubles: &Doubles, now: Timestamp) -> Ordering {
    let unassigned = |pod: &Pod| !pod.spec.node_name.is_empty();
    let ready = |pod: &Pod| rank(pod.ready_since(), now);
    let made = |pod: &Pod| rank(pod.metadata.creation_timestamp, now);
    unassigned(one)
        .cmp(&unassigned(other))
        .then_with(|| phase(one).cmp(&phase(other)))
        .then_with(|| one.is_ready().cmp(&other.is_ready()))
        .then_with(|| cost(one).cmp(&cost(other)))
        .then_with(|| doubles.of(other).cmp(&doubles.of(one)))
        .then_with(|| ready(one).cmp(&ready(other)))
        .then_with(|| restarts(other).cmp(&restarts(one)))
        .then_with(|| made(one).cmp(&made(other)))
        // Of those that are about as old, chance decides.
        .then_with(|| one.metadata.uid.cmp(&other.metadata.uid))
}

fn phase(pod: &Pod) -> u8 {
    match pod.status.phase.as_str() {
        "Unknown" => 1,
        "Running" => 2,
        _ => 0,
    }
}

fn cost(pod: &Pod) -> i64 {
    pod.metadata.annotations.get(DELETION_COST).and_then(|cost| cost.parse::<i32>().ok()).unwrap_or_default().into()
}

fn restarts(pod: &Pod) -> (i64, i64) {
    let most = |statuses: &[super::ContainerStatus]| {
        statuses.iter().map(|status| status.restart_count).max().unwrap_or_default()
    };
    let beside = pod
        .spec
        .init_containers
        .iter()
        .filter(|container| container.restart_policy == "Always")
        .filter_map(|container| pod.status.init_container_statuses.iter().find(|status| status.name == container.name))
        .map(|status| status.restart_count)
        .max()
        .unwrap_or_default();
    (most(&pod.status.container_statuses), beside)
}

/// The younger comes first, where they differ by more than a doubling of age.
fn rank(since: Option<Timestamp>, now: Timestamp) -> Option<i64> {
    let age = now.duration_since(since?).as_nanos();
    Some(if age <= 0 { -1 } else { i64::from(age.ilog2()) })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(value: Value) -> Pod {
        serde_json::from_value(value).expect("a pod")
    }

    #[test]
    fn pods_that_do_least_go_first() {
        let now: Timestamp = "2026-01-01T01:00:00Z".parse().expect("a time");
        let ready = |since: &str| json!([{"type": "Ready", "status": "True", "lastTransitionTime": since}]);
        let running = |name: &str, since: &str| {
            json!({"metadata": {"uid": name, "name": name}, "spec": {"nodeName": "n"},
                "status": {"phase": "Running", "conditions": ready(since)}})
        };
        let mut dear = running("dear", "2026-01-01T00:59:59Z");
        dear["metadata"]["annotations"] = json!({DELETION_COST: "10"});
        let mut pods: Vec<Pod> = [
            dear,
            running("old", "2026-01-01T00:00:00Z"),
            running("young", "2026-01-01T00:59:00Z"),
            json!({"metadata": {"uid": "starting", "name": "starting"}, "spec": {"nodeName": "n"},
                "status": {"phase": "Pending"}}),
            json!({"metadata": {"uid": "unassigned", "name": "unassigned"}, "status": {"phase": "Pending"}}),
        ]
        .map(pod)
        .into();
        let doubles = Doubles::count(&pods);
        pods.sort_by(|one, other| compare_for_deletion(one, other, &doubles, now));
        let names: Vec<&str> = pods.iter().map(|pod| pod.metadata.name.as_str()).collect();
        assert_eq!(names, ["unassigned", "starting", "young", "old", "dear"]);
    }

    #[test]
    fn the_order_is_total() {
        let now: Timestamp = "2026-01-01T01:00:00Z".parse().expect("a time");
        let times = ["2026-01-01T00:59:50Z", "2026-01-01T00:59:51Z", "2026-01-01T00:10:00Z"];
        let mut pods = Vec::new();
        for (number, (since, made)) in times.iter().flat_map(|since| times.map(|made| (since, made))).enumerate() {
            for restarts in 0..3 {
                // Uids that do not come in the order of anything else.
                let uid = (number * 3 + restarts) * 37 % 101;
                pods.push(pod(json!({
                    "metadata": {"uid": format!("{uid:03}"), "creationTimestamp": made},
                    "spec": {"nodeName": "n"},
                    "status": {"phase": "Running", "containerStatuses": [{"name": "c", "restartCount": restarts}],
                        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": since}]},
                })));
            }
        }
        let doubles = Doubles::count(&pods);
        let less = |one: &Pod, other: &Pod| compare_for_deletion(one, other, &doubles, now) == Ordering::Less;
        for one in &pods {
            for other in &pods {
                assert_eq!(less(one, other), !std::ptr::eq(one, other) && !less(other, one));
                for third in pods.iter().filter(|third| less(one, other) && less(other, third)) {
                    assert!(less(one, third), "{one:?} before {other:?} before {third:?}");
                }
            }
        }
    }
}
