//! What a Machine reports. A pure function of the Machine, its Node and the time.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::names::{APPROVALS, NODE_NAME};
use super::record;
use crate::approver::JOIN_WINDOW;
use crate::condition::{self, Condition, Truth};
use crate::node_pool::UPDATE_FAILED;
use crate::object::{annotation, is_deleting};

/// The whole status to write.
pub(crate) fn status(machine: &Value, node: Option<&Value>, now: Timestamp) -> Value {
    let earlier = &machine["status"];
    let phase = phase(machine, node, now);
    let mut status = Map::new();
    status.insert("phase".to_owned(), json!(phase));
    status.insert("addresses".to_owned(), addresses(machine));
    status.insert("bootstrapReady".to_owned(), json!(true));
    if let Some(node) = node {
        status.insert(
            "nodeRef".to_owned(),
            json!({"apiVersion": "v1", "kind": "Node", "name": node["metadata"]["name"], "uid": node["metadata"]["uid"]}),
        );
        let versions = &node["status"]["nodeInfo"];
        if versions.is_object() {
            status.insert(
                "nodeInfo".to_owned(),
                json!({"kubeletVersion": versions["kubeletVersion"], "osImage": versions["osImage"]}),
            );
        }
    } else if earlier["nodeRef"].is_object() {
        status.insert("nodeRef".to_owned(), earlier["nodeRef"].clone());
    }
    if phase == "Failed" {
        status.insert("failureReason".to_owned(), json!("JoinTimeout"));
        status.insert("failureMessage".to_owned(), json!(late(machine)));
    }
    let since = if earlier["phase"] == phase { earlier["lastUpdated"].clone() } else { json!(condition::time(now)) };
    status.insert("lastUpdated".to_owned(), since);
    let generation = machine["metadata"]["generation"].as_i64().unwrap_or_default();
    status.insert("observedGeneration".to_owned(), json!(generation));
    let mut conditions = condition::merge(&earlier["conditions"], now, generation, &conditions(machine, node, phase));
    for condition in conditions.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.remove("observedGeneration");
    }
    status.insert("conditions".to_owned(), conditions);
    status.into()
}

/// When the join is over time; none when it is over or done.
pub(crate) fn deadline(machine: &Value) -> Option<Timestamp> {
    if machine["status"]["nodeRef"].is_object() {
        return None;
    }
    record::read(machine).fetched_at.saturating_add(JOIN_WINDOW).ok()
}

fn phase(machine: &Value, node: Option<&Value>, now: Timestamp) -> &'static str {
    if is_deleting(machine) {
        return "Deleting";
    }
    match node {
        Some(node) if is_ready(node) || machine["status"]["phase"] == "Running" => "Running",
        None if machine["status"]["nodeRef"].is_object() => "Failed",
        None if deadline(machine).is_some_and(|deadline| now > deadline) => "Failed",
        None if annotation(machine, APPROVALS).is_empty() => "Provisioning",
        _ => "Provisioned",
    }
}

/// Whether a Node says of itself that it is well.
pub(crate) fn is_ready(node: &Value) -> bool {
    condition::is_true(node, "Ready")
}

fn late(machine: &Value) -> String {
    let node = annotation(machine, NODE_NAME);
    if machine["status"]["nodeRef"].is_object() {
        format!("the node {node} was deleted; the host has to fetch its configuration again, or delete this Machine")
    } else {
        let fetched = record::read(machine).fetched_at;
        format!(
            "the host fetched its configuration at {fetched} and has not registered as {node} since; look at its kubelet, boot it again, or delete this Machine"
        )
    }
}

fn addresses(machine: &Value) -> Value {
    let mut addresses: Vec<Value> = record::addresses(machine)
        .iter()
        .map(|address| json!({"type": "InternalIP", "address": address.to_string()}))
        .collect();
    addresses.push(json!({"type": "Hostname", "address": annotation(machine, NODE_NAME)}));
    addresses.into()
}

fn conditions(machine: &Value, node: Option<&Value>, phase: &str) -> Vec<Condition> {
    let name = annotation(machine, NODE_NAME);
    let healthy = match node {
        Some(node) => {
            let ready = condition::find(node, "Ready");
            let text = |field: &str| {
                ready.and_then(|ready| ready.get(field)).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            match text("status").as_str() {
                "True" => Condition::new("NodeHealthy", Truth::True, "NodeReady", ""),
                "False" => Condition::bad("NodeHealthy", "NodeNotReady", format!("Node {name}: {}", text("message"))),
                "Unknown" => Condition::new(
                    "NodeHealthy",
                    Truth::Unknown,
                    "NodeStatusUnknown",
                    format!("Node {name}: {}", text("message")),
                ),
                _ => Condition::bad("NodeHealthy", "NodeNotReady", format!("Node {name} has not said how it is yet")),
            }
        }
        None if phase == "Failed" => Condition::bad("NodeHealthy", "NodeNotFound", late(machine)),
        None if phase == "Provisioned" => Condition::bad(
            "NodeHealthy",
            "WaitingForNode",
            format!("the host has its certificate; Node {name} has not registered yet"),
        ),
        None => Condition::bad(
            "NodeHealthy",
            "WaitingForCertificateRequest",
            format!("the host has its configuration and has not asked for the certificate of {name} yet"),
        ),
    };
    let ready = Condition { kind: "Ready", ..healthy.clone() };
    let failed = node.map(|node| annotation(node, UPDATE_FAILED)).unwrap_or_default();
    let updated = if failed.is_empty() {
        Condition::good("Updated", "")
    } else {
        Condition::bad("Updated", "InplaceUpgradeFailed", format!("Node {name} went back from {failed}"))
    };
    vec![Condition::good("BootstrapReady", "The host fetched its configuration"), healthy, ready, updated]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::names::FETCHED_AT;

    fn node(ready: &str) -> Value {
        json!({"metadata": {"name": "node-1", "uid": "u"}, "status": {
            "conditions": [{"type": "Ready", "status": ready, "message": "words"}]}})
    }

    #[test]
    fn phases_follow_the_host() {
        let mut machine = json!({"metadata": {"name": "m", "annotations": {
            FETCHED_AT: "2026-01-01T00:00:00Z", NODE_NAME: "node-1"}}});
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let late: Timestamp = "2026-01-01T02:00:01Z".parse().unwrap();
        assert_eq!(status(&machine, None, now)["phase"], "Provisioning");
        assert_eq!(status(&machine, None, late)["phase"], "Failed");
        machine["metadata"]["annotations"][APPROVALS] = json!("abcdef:1");
        assert_eq!(status(&machine, None, now)["phase"], "Provisioned");
        assert_eq!(status(&machine, Some(&node("False")), now)["phase"], "Provisioned");
        let running = status(&machine, Some(&node("True")), now);
        assert_eq!((running["phase"].as_str(), running["nodeRef"]["uid"].as_str()), (Some("Running"), Some("u")));
        machine["status"] = running;
        let down = status(&machine, Some(&node("Unknown")), late);
        assert_eq!(down["phase"], "Running");
        assert_eq!(down["conditions"][1]["reason"], "NodeStatusUnknown");
        assert_eq!(deadline(&machine), None);
        assert_eq!(status(&machine, None, now)["phase"], "Failed");
        machine["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(status(&machine, None, now)["phase"], "Deleting");
    }
}
