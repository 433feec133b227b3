//! What becomes of a node, by what it last said and how long ago: pure functions of the object and the time.

use std::time::Duration;

use roost_object::{Map, Value};
use serde_json::json;

use crate::write::metadata_text;

/// How long a node may be silent before nobody knows how it is.
pub(super) const GRACE: Duration = Duration::from_secs(50);
/// How long a node may take from its registration to its first word.
pub(super) const STARTUP_GRACE: Duration = Duration::from_mins(1);

/// How long a node that has not said anything yet keeps the taints that it was made with: whoever made it is likely not
/// done with it.
pub(super) const FIRST_WORD: Duration = Duration::from_secs(10);

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// The conditions that are unknown on a silent node. The network is the control plane's to judge.
const SPOKEN: [&str; 4] = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// Which condition in which state brings which taint.
const TAINTS: [(&str, &str, &str); 6] = [
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

/// Labels that are kept equal to others: the old name of a thing follows the new one.
const LABELS: [(&str, &str); 2] =
    [("kubernetes.io/os", "beta.kubernetes.io/os"), ("kubernetes.io/arch", "beta.kubernetes.io/arch")];

/// Whether pods may be driven off nodes that do not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Eviction {
    /// One node after the other.
    Allowed(Duration),
    /// Not for now: so much of a small zone is down that the fault is likely elsewhere.
    Held,
    /// Not at all: no node of the cluster answers, so that the fault is likely here.
    Lifted,
}

/// The time between two nodes of a zone that are emptied.
const EVICTION_INTERVAL: Duration = Duration::from_secs(10);
/// The same in a large zone that is mostly down.
const SLOW_EVICTION_INTERVAL: Duration = Duration::from_secs(100);
/// The most nodes of a small zone.
const SMALL_ZONE: usize = 50;

/// A condition of a node.
pub(super) fn condition<'a>(node: &'a Value, kind: &str) -> Option<&'a Value> {
    node["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// The state of the Ready condition.
pub(super) fn readiness(node: &Value) -> Option<&str> {
    condition(node, "Ready")?["status"].as_str()
}

/// How long the node may be silent.
pub(super) fn grace(node: &Value) -> Duration {
    if condition(node, "Ready").is_some() { GRACE } else { STARTUP_GRACE }
}

/// The conditions of a node that has been silent for so long, when that changes what is known of it.
pub(super) fn silence(node: &Value, silent: Duration, now: &str) -> Option<Vec<Value>> {
    if silent <= grace(node) || readiness(node) == Some("Unknown") {
        return None;
    }
    let mut conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
    for kind in SPOKEN {
        match conditions.iter_mut().find(|condition| condition["type"] == kind) {
            Some(condition) if condition["status"] == "Unknown" => {}
            Some(condition) => {
                condition["status"] = "Unknown".into();
                condition["reason"] = "NodeStatusUnknown".into();
                condition["message"] = "Kubelet stopped posting node status.".into();
                condition["lastTransitionTime"] = now.into();
            }
            None => conditions.push(json!({
                "type": kind, "status": "Unknown", "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
                "lastHeartbeatTime": metadata_text(node, "creationTimestamp"), "lastTransitionTime": now,
            })),
        }
    }
    Some(conditions)
}

/// The zone that a node counts in.
pub(super) fn zone(node: &Value) -> String {
    let label = |names: [&str; 2]| {
        let labels = &node["metadata"]["labels"];
        names.iter().find_map(|name| labels[*name].as_str()).unwrap_or_default()
    };
    let zone = label(["failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"]);
    let region = label(["failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"]);
    if zone.is_empty() && region.is_empty() { String::new() } else { format!("{region}:\0:{zone}") }
}

/// Whether pods may be driven off the nodes of a zone, given all nodes of the cluster.
pub(super) fn eviction(nodes: &[Value], of: &str) -> Eviction {
    let counted = || {
        let excluded = |node: &Value| node["metadata"]["labels"].get("node.kubernetes.io/exclude-disruption").is_some();
        nodes.iter().filter(move |node| !excluded(node))
    };
    let ready = |node: &Value| readiness(node) == Some("True");
    if counted().next().is_some() && !counted().any(ready) {
        return Eviction::Lifted;
    }
    let mine: Vec<&Value> = counted().filter(|node| zone(node) == of).collect();
    let down = mine.iter().filter(|node| !ready(node)).count();
    let mostly_down = down > 2 && down < mine.len() && down * 100 >= mine.len() * 55;
    if !mostly_down {
        Eviction::Allowed(EVICTION_INTERVAL)
    } else if mine.len() > SMALL_ZONE {
        Eviction::Allowed(SLOW_EVICTION_INTERVAL)
    } else {
        Eviction::Held
    }
}

/// The taint that drives pods off the node, which it should have and has not.
pub(super) fn wants_eviction(node: &Value) -> bool {
    let (wanted, other) = match readiness(node) {
        Some("False") => (NOT_READY, UNREACHABLE),
        Some("Unknown") => (UNREACHABLE, NOT_READY),
        _ => return false,
    };
    // One that is driven off already only changes the reason, for which it need not queue.
    !has_taint(node, wanted, "NoExecute") && !has_taint(node, other, "NoExecute")
}

fn has_taint(node: &Value, key: &str, effect: &str) -> bool {
    node["spec"]["taints"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|taint| taint["key"] == key && taint["effect"] == effect)
}

/// The taints that a node should have, when they are not those it has. `evict` says whether it is its turn.
pub(super) fn taints(node: &Value, eviction: Eviction, evict: bool, now: &str) -> Option<Vec<Value>> {
    let mut wanted: Vec<(&str, &str)> = Vec::new();
    for known in node["status"]["conditions"].as_array().into_iter().flatten() {
        let row = TAINTS.iter().find(|(kind, status, _)| known["type"] == *kind && known["status"] == *status);
        wanted.extend(row.map(|(_, _, key)| (*key, "NoSchedule")));
    }
    if node["spec"]["unschedulable"] == true {
        wanted.push((UNSCHEDULABLE, "NoSchedule"));
    }
    let driven_off = [NOT_READY, UNREACHABLE].iter().any(|key| has_taint(node, key, "NoExecute"));
    if eviction != Eviction::Lifted && (evict || driven_off) {
        match readiness(node) {
            Some("False") => wanted.push((NOT_READY, "NoExecute")),
            Some("Unknown") => wanted.push((UNREACHABLE, "NoExecute")),
            _ => {}
        }
    }
    let current = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let is_ours = |taint: &Value| match taint["effect"].as_str() {
        Some("NoSchedule") => taint["key"] == UNSCHEDULABLE || TAINTS.iter().any(|(_, _, key)| taint["key"] == *key),
        // A node that has never said how it is keeps what it registered with.
        Some("NoExecute") => (taint["key"] == NOT_READY || taint["key"] == UNREACHABLE) && readiness(node).is_some(),
        _ => false,
    };
    let is_wanted =
        |taint: &Value| wanted.iter().any(|(key, effect)| taint["key"] == *key && taint["effect"] == *effect);
    let mut next: Vec<Value> = current.iter().filter(|taint| !is_ours(taint) || is_wanted(taint)).cloned().collect();
    for (key, effect) in wanted {
        if !has_taint(node, key, effect) {
            next.push(json!({"key": key, "effect": effect, "timeAdded": now}));
        }
    }
    (next != current).then_some(next)
}

/// The labels to set so that old names of things say the same as new ones.
pub(super) fn labels(node: &Value) -> Map<String, Value> {
    let labels = &node["metadata"]["labels"];
    LABELS
        .iter()
        .filter_map(|(new, old)| labels.get(*new).map(|value| (*old, value)))
        .filter(|(old, value)| labels.get(*old) != Some(*value))
        .map(|(old, value)| (old.to_owned(), value.clone()))
        .collect()
}

/// A pod's conditions once its node does not answer, when that changes them.
pub(super) fn pod_conditions(pod: &Value, now: &str) -> Option<Vec<Value>> {
    let mut conditions = pod["status"]["conditions"].as_array()?.clone();
    let ready = conditions.iter_mut().find(|condition| condition["type"] == "Ready")?;
    if ready["status"] == "False" {
        return None;
    }
    ready["status"] = "False".into();
    ready["lastTransitionTime"] = now.into();
    Some(conditions)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-01T00:10:00Z";

    fn node(ready: Option<&str>) -> Value {
        let mut node =
            json!({"metadata": {"name": "n", "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {}, "status": {}});
        if let Some(status) = ready {
            node["status"]["conditions"] = json!([
                {"type": "Ready", "status": status, "reason": "KubeletReady", "lastHeartbeatTime": "h", "lastTransitionTime": "t"},
                {"type": "MemoryPressure", "status": "False", "lastTransitionTime": "t"},
            ]);
        }
        node
    }

    fn tainted(ready: &str, taints: &[(&str, &str)]) -> Value {
        let mut node = node(Some(ready));
        node["spec"]["taints"] = taints.iter().map(|(key, effect)| json!({"key": key, "effect": effect})).collect();
        node
    }

    fn shown(taints: Option<Vec<Value>>) -> Option<Vec<String>> {
        let text = |value: &Value| value.as_str().unwrap_or_default().replace("node.kubernetes.io/", "");
        Some(taints?.iter().map(|taint| format!("{}:{}", text(&taint["key"]), text(&taint["effect"]))).collect())
    }

    #[test]
    fn silent_nodes_are_unknown_after_their_grace() {
        let cases = [
            (Some("True"), 50, None),
            (Some("True"), 51, Some(["NodeStatusUnknown", "NodeStatusUnknown", "NodeStatusNeverUpdated"])),
            (Some("False"), 51, Some(["NodeStatusUnknown", "NodeStatusUnknown", "NodeStatusNeverUpdated"])),
            (Some("Unknown"), 500, None),
            (None, 60, None),
            (None, 61, Some(["NodeStatusNeverUpdated"; 3])),
        ];
        for (ready, silent, reasons) in cases {
            let found = silence(&node(ready), Duration::from_secs(silent), NOW);
            let found = found.map(|conditions| {
                assert!(conditions.iter().all(|condition| condition["status"] == "Unknown"), "{conditions:?}");
                assert_eq!(conditions.len(), 4);
                [0, 1, 2].map(|index| conditions[index]["reason"].as_str().unwrap_or_default().to_owned())
            });
            assert_eq!(found, reasons.map(|reasons| reasons.map(str::to_owned)), "{ready:?} silent for {silent} s");
        }
    }

    #[test]
    fn conditions_bring_taints_and_take_them_away() {
        let full = |name: &'static str| format!("node.kubernetes.io/{name}");
        let (not_ready, unreachable) = (full("not-ready"), full("unreachable"));
        let allowed = Eviction::Allowed(EVICTION_INTERVAL);
        let cases = [
            ("healthy", tainted("True", &[]), allowed, true, None),
            (
                "down",
                tainted("Unknown", &[]),
                allowed,
                true,
                Some(vec!["unreachable:NoSchedule", "unreachable:NoExecute"]),
            ),
            ("down, not its turn", tainted("Unknown", &[]), allowed, false, Some(vec!["unreachable:NoSchedule"])),
            ("all down", tainted("Unknown", &[]), Eviction::Lifted, false, Some(vec!["unreachable:NoSchedule"])),
            (
                "all down now",
                tainted("Unknown", &[(&unreachable, "NoSchedule"), (&unreachable, "NoExecute")]),
                Eviction::Lifted,
                false,
                Some(vec!["unreachable:NoSchedule"]),
            ),
            (
                "another reason",
                tainted("False", &[(&unreachable, "NoSchedule"), (&unreachable, "NoExecute")]),
                Eviction::Held,
                false,
                Some(vec!["not-ready:NoSchedule", "not-ready:NoExecute"]),
            ),
            (
                "healthy again",
                tainted("True", &[("mine", "NoExecute"), (&not_ready, "NoSchedule"), (&not_ready, "NoExecute")]),
                allowed,
                false,
                Some(vec!["mine:NoExecute"]),
            ),
        ];
        for (what, node, eviction, evict, expected) in cases {
            let expected = expected.map(|list| list.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(shown(taints(&node, eviction, evict, NOW)), expected, "{what}");
        }
        let mut node = node(Some("True"));
        node["spec"]["unschedulable"] = true.into();
        node["status"]["conditions"][1]["status"] = "True".into();
        let expected = Some(vec!["memory-pressure:NoSchedule".to_owned(), "unschedulable:NoSchedule".to_owned()]);
        assert_eq!(shown(taints(&node, allowed, false, NOW)), expected);
    }

    #[test]
    fn eviction_depends_on_how_much_is_down() {
        let nodes = |up: usize, down: usize| -> Vec<Value> {
            let of = |status, count| std::iter::repeat_n(node(Some(status)), count);
            of("True", up).chain(of("Unknown", down)).collect()
        };
        let cases = [
            ((0, 1), Eviction::Lifted),
            ((1, 1), Eviction::Allowed(EVICTION_INTERVAL)),
            ((1, 2), Eviction::Allowed(EVICTION_INTERVAL)),
            ((1, 3), Eviction::Held),
            ((5, 4), Eviction::Allowed(EVICTION_INTERVAL)),
            ((20, 60), Eviction::Allowed(SLOW_EVICTION_INTERVAL)),
        ];
        for ((up, down), expected) in cases {
            assert_eq!(eviction(&nodes(up, down), ""), expected, "{up} up, {down} down");
        }
    }

    #[test]
    fn pods_of_a_silent_node_are_not_ready_once() {
        let pod = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "t"}]}});
        let conditions = pod_conditions(&pod, NOW).expect("the pod was ready");
        assert_eq!(conditions[0], json!({"type": "Ready", "status": "False", "lastTransitionTime": NOW}));
        assert_eq!(pod_conditions(&json!({"status": {"conditions": conditions}}), NOW), None);
        assert_eq!(pod_conditions(&json!({"status": {}}), NOW), None);
    }

    #[test]
    fn old_labels_follow_new_ones() {
        let mut node = node(None);
        assert!(labels(&node).is_empty());
        node["metadata"]["labels"] =
            json!({"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "arm64"});
        assert_eq!(Value::Object(labels(&node)), json!({"beta.kubernetes.io/os": "linux"}));
    }
}
