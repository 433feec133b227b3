//! Nodes, namespaces, events, and what else describes the cluster itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

use crate::column::{AGE, Cell, Column, NAME, Table};
use crate::duration;
use crate::read::{at, being_deleted, condition, filled, flag, integer, list, plain, text};

const EVENT: &[Column] = &[
    Column::text("Last Seen", Cell::Made(last_seen)).doc("lastTimestamp"),
    Column::field("Type", "type"),
    Column::field("Reason", "reason"),
    Column::text("Object", Cell::Made(event_object)).doc("involvedObject"),
    Column::text("Subobject", Cell::Made(|event, _| text(subject(event), "fieldPath").into()))
        .doc("involvedObject.fieldPath")
        .wide(),
    Column::text("Source", Cell::Made(event_source)).doc("source").wide(),
    Column::text("Message", Cell::Made(event_message)).doc("message"),
    Column::text("First Seen", Cell::Made(first_seen)).doc("firstTimestamp").wide(),
    Column::text("Count", Cell::Made(event_count)).doc("count").wide(),
    NAME.wide(),
];

pub(crate) static TABLES: &[Table] = &[
    Table {
        kind: "Namespace",
        columns: &[NAME, Column::text("Status", Cell::Text("status.phase")).says("The status of the namespace"), AGE],
        ..Table::EMPTY
    },
    Table {
        kind: "Node",
        columns: &[
            NAME,
            Column::text("Status", Cell::Made(node_status)).says("The status of the node"),
            Column::text("Roles", Cell::Made(node_roles)).says("The roles of the node"),
            AGE,
            Column::field("Version", "status.nodeInfo.kubeletVersion"),
            Column::text("Internal-IP", Cell::Made(|node, _| node_address(node, "InternalIP")))
                .doc("status.addresses")
                .wide(),
            Column::text("External-IP", Cell::Made(|node, _| node_address(node, "ExternalIP")))
                .doc("status.addresses")
                .wide(),
            Column::text("OS-Image", Cell::FilledOr("status.nodeInfo.osImage", "<unknown>"))
                .doc("status.nodeInfo.osImage")
                .wide(),
            Column::text("Kernel-Version", Cell::Made(kernel_version)).doc("status.nodeInfo.kernelVersion").wide(),
            Column::text("Container-Runtime", Cell::FilledOr("status.nodeInfo.containerRuntimeVersion", "<unknown>"))
                .doc("status.nodeInfo.containerRuntimeVersion")
                .wide(),
        ],
        ..Table::EMPTY
    },
    Table { kind: "Event", columns: EVENT, ..Table::EMPTY },
    Table { group: "events.k8s.io", kind: "Event", columns: EVENT, documented_by: Some(("", "Event")), ..Table::EMPTY },
    Table {
        kind: "ConfigMap",
        columns: &[NAME, Column::text("Data", Cell::Count(&["data", "binaryData"])).doc("data"), AGE],
        ..Table::EMPTY
    },
    Table {
        kind: "Secret",
        columns: &[NAME, Column::field("Type", "type"), Column::text("Data", Cell::Count(&["data"])).doc("data"), AGE],
        ..Table::EMPTY
    },
    Table {
        kind: "ComponentStatus",
        columns: &[
            NAME,
            Column::text("Status", Cell::Made(component_status)).says("Whether the component is healthy."),
            Column::text("Message", Cell::Made(|object, _| component_text(object, "message")))
                .says("What the component says."),
            Column::text("Error", Cell::Made(|object, _| component_text(object, "error")))
                .says("What is wrong with the component."),
        ],
        ..Table::EMPTY
    },
    Table {
        kind: "ResourceQuota",
        columns: &[
            NAME,
            Column::text("Request", Cell::Made(|quota, _| quota_use(quota, false).into()))
                .says("What is requested, of what may be."),
            Column::text("Limit", Cell::Made(|quota, _| quota_use(quota, true).into()))
                .says("What is limited to, of what may be."),
            AGE,
        ],
        ..Table::EMPTY
    },
    Table {
        group: "coordination.k8s.io",
        kind: "Lease",
        columns: &[NAME, Column::field("Holder", "spec.holderIdentity"), AGE],
        ..Table::EMPTY
    },
    Table {
        group: "node.k8s.io",
        kind: "RuntimeClass",
        columns: &[NAME, Column::text("Handler", Cell::Text("handler")), AGE],
        ..Table::EMPTY
    },
    Table {
        group: "apiregistration.k8s.io",
        kind: "APIService",
        columns: &[
            NAME,
            Column::text("Service", Cell::Made(backing_service)).says("The service that answers for this API."),
            Column::text("Available", Cell::Made(available)).says("Whether this service is available."),
            AGE,
        ],
        ..Table::EMPTY
    },
    Table { group: "resource.k8s.io", kind: "DeviceClass", columns: &[NAME, AGE], ..Table::EMPTY },
    Table {
        group: "resource.k8s.io",
        kind: "ResourceClaim",
        columns: &[
            NAME,
            Column::text("State", Cell::Made(resource_claim_state))
                .says("Whether the claim is pending, allocated, reserved."),
            AGE,
        ],
        ..Table::EMPTY
    },
    Table { group: "resource.k8s.io", kind: "ResourceClaimTemplate", columns: &[NAME, AGE], ..Table::EMPTY },
    Table {
        group: "resource.k8s.io",
        kind: "ResourceSlice",
        columns: &[
            NAME,
            Column::field("Node", "spec.nodeName"),
            Column::field("Driver", "spec.driver"),
            Column::field("Pool", "spec.pool.name"),
            AGE,
        ],
        ..Table::EMPTY
    },
];

fn node_status(node: &Value, _now: i64) -> Value {
    let conditions = list(node, "status.conditions");
    let ready = conditions.iter().rev().find(|condition| text(condition, "type") == "Ready");
    let status = match ready.map(|condition| text(condition, "status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    if flag(node, "spec.unschedulable") { format!("{status},SchedulingDisabled").into() } else { status.into() }
}

fn node_roles(node: &Value, _now: i64) -> Value {
    let mut roles = BTreeSet::new();
    for (key, value) in at(node, "metadata.labels").and_then(Value::as_object).into_iter().flatten() {
        let role = match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => role,
            None if key == "kubernetes.io/role" => value.as_str().unwrap_or_default(),
            None => "",
        };
        if !role.is_empty() {
            roles.insert(role);
        }
    }
    if roles.is_empty() { "<none>".into() } else { roles.into_iter().collect::<Vec<_>>().join(",").into() }
}

fn node_address(node: &Value, r#type: &str) -> Value {
    condition(list(node, "status.addresses"), r#type).map_or("<none>", |address| text(address, "address")).into()
}

fn kernel_version(node: &Value, _now: i64) -> Value {
    let version = filled(node, "status.nodeInfo.kernelVersion").unwrap_or("<unknown>");
    match filled(node, "status.nodeInfo.architecture") {
        Some(architecture) => format!("{version} ({architecture})").into(),
        None => version.into(),
    }
}

/// The object of an event, in either of the groups that serve events.
fn subject(event: &Value) -> &Value {
    event.get("involvedObject").or_else(|| event.get("regarding")).unwrap_or(&Value::Null)
}

/// A field of an event by its core name, or by the name it has in `events.k8s.io`.
fn either<'a>(event: &'a Value, name: &str, other: &str) -> &'a str {
    filled(event, name).unwrap_or_else(|| text(event, other))
}

fn first_seen(event: &Value, now: i64) -> Value {
    let first = either(event, "firstTimestamp", "deprecatedFirstTimestamp");
    duration::since(if first.is_empty() { text(event, "eventTime") } else { first }, now).into()
}

fn last_seen(event: &Value, now: i64) -> Value {
    if let Some(series) = at(event, "series") {
        return duration::since(text(series, "lastObservedTime"), now).into();
    }
    match either(event, "lastTimestamp", "deprecatedLastTimestamp") {
        "" => first_seen(event, now),
        last => duration::since(last, now).into(),
    }
}

fn event_count(event: &Value, _now: i64) -> Value {
    match at(event, "series") {
        Some(series) => integer(series, "count").into(),
        None => integer(event, "count").max(integer(event, "deprecatedCount")).max(1).into(),
    }
}

fn event_object(event: &Value, _now: i64) -> Value {
    let subject = subject(event);
    let kind = text(subject, "kind").to_lowercase();
    match text(subject, "name") {
        "" => kind.into(),
        name => format!("{kind}/{name}").into(),
    }
}

fn event_message(event: &Value, _now: i64) -> Value {
    either(event, "message", "note").trim().into()
}

fn event_source(event: &Value, _now: i64) -> Value {
    let source = at(event, "source").or_else(|| at(event, "deprecatedSource")).unwrap_or(&Value::Null);
    let component = filled(source, "component")
        .or_else(|| filled(event, "reportingComponent"))
        .unwrap_or_else(|| text(event, "reportingController"));
    match filled(source, "host").unwrap_or_else(|| text(event, "reportingInstance")) {
        "" => component.into(),
        instance => format!("{component}, {instance}").into(),
    }
}

fn component_status(object: &Value, _now: i64) -> Value {
    match condition(list(object, "conditions"), "Healthy").map(|healthy| text(healthy, "status")) {
        Some("True") => "Healthy".into(),
        Some(_) => "Unhealthy".into(),
        None => "Unknown".into(),
    }
}

fn component_text(object: &Value, field: &str) -> Value {
    condition(list(object, "conditions"), "Healthy").map_or("", |healthy| text(healthy, field)).into()
}

/// The used and the allowed amounts of a quota, either of limits or of all the rest.
fn quota_use(quota: &Value, limits: bool) -> String {
    let mut shown = String::new();
    let used = at(quota, "status.used").unwrap_or(&Value::Null);
    for (resource, hard) in at(quota, "status.hard").and_then(Value::as_object).into_iter().flatten() {
        if resource.starts_with("limits.") == limits {
            let separator = if shown.is_empty() { "" } else { ", " };
            let _ = write!(shown, "{separator}{resource}: {}/{}", plain(used.get(resource)), plain(Some(hard)));
        }
    }
    shown
}

fn backing_service(object: &Value, _now: i64) -> Value {
    match at(object, "spec.service") {
        Some(service) => format!("{}/{}", text(service, "namespace"), text(service, "name")).into(),
        None => "Local".into(),
    }
}

fn available(object: &Value, _now: i64) -> Value {
    let Some(condition) = condition(list(object, "status.conditions"), "Available") else { return "Unknown".into() };
    match (text(condition, "status"), text(condition, "reason")) {
        (status @ "True", _) | (status, "") => status.into(),
        (status, reason) => format!("{status} ({reason})").into(),
    }
}

fn resource_claim_state(claim: &Value, _now: i64) -> Value {
    let deleted = being_deleted(claim);
    let mut states = Vec::new();
    if deleted {
        states.push("deleted");
    }
    if at(claim, "status.allocation").is_none() {
        if !deleted {
            states.push("pending");
        }
    } else {
        states.push("allocated");
        if !list(claim, "status.reservedFor").is_empty() {
            states.push("reserved");
        }
    }
    states.join(",").into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn nodes_show_readiness_roles_and_addresses() {
        let node = json!({"metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "infra"}},
            "spec": {"unschedulable": true},
            "status": {"conditions": [{"type": "Ready", "status": "False"}], "addresses": [{"type": "InternalIP", "address": "10.1.1.1"}],
                "nodeInfo": {"kubeletVersion": "v1.36.3", "kernelVersion": "6.1", "architecture": "amd64"}}});
        let cells = crate::cells("", "Node", &node, 0);
        assert_eq!(
            cells[1..],
            [
                json!("NotReady,SchedulingDisabled"),
                json!("infra,worker"),
                json!("<unknown>"),
                json!("v1.36.3"),
                json!("10.1.1.1"),
                json!("<none>"),
                json!("<unknown>"),
                json!("6.1 (amd64)"),
                json!("<unknown>")
            ]
        );
    }

    #[test]
    fn events_of_both_groups_look_alike() {
        let core = json!({"involvedObject": {"kind": "Pod", "name": "p"}, "message": " hello\n", "reason": "R", "type": "Normal",
            "firstTimestamp": "1970-01-01T00:00:00Z", "lastTimestamp": "1970-01-01T00:01:00Z", "count": 2, "source": {"component": "c", "host": "h"}});
        let new = json!({"regarding": {"kind": "Pod", "name": "p"}, "note": " hello\n", "reason": "R", "type": "Normal",
            "deprecatedFirstTimestamp": "1970-01-01T00:00:00Z", "deprecatedLastTimestamp": "1970-01-01T00:01:00Z", "deprecatedCount": 2,
            "deprecatedSource": {"component": "c", "host": "h"}});
        let cells = crate::cells("", "Event", &core, 90);
        assert_eq!(cells, crate::cells("events.k8s.io", "Event", &new, 90));
        assert_eq!(
            cells[..9],
            [
                json!("30s"),
                json!("Normal"),
                json!("R"),
                json!("pod/p"),
                json!(""),
                json!("c, h"),
                json!("hello"),
                json!("90s"),
                json!(2)
            ]
        );
    }

    #[test]
    fn quotas_part_requests_from_limits() {
        let quota = json!({"metadata": {"name": "q"}, "status": {"hard": {"limits.cpu": "2", "pods": "10", "requests.cpu": "1"}, "used": {"pods": "3"}}});
        assert_eq!(
            crate::cells("", "ResourceQuota", &quota, 0)[1..3],
            [json!("pods: 3/10, requests.cpu: 0/1"), json!("limits.cpu: 0/2")]
        );
    }
}
