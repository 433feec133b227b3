//! What is compared at the end: objects, owners, conditions, revisions and the reasons of events, without what chance
//! decides.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::{Value, json};

use super::WorkloadsError;
use super::api::{Api, CLUSTER_KINDS, KINDS};
use super::scenario::Scenario;

/// Metadata that differs by nature.
const CHANCE: &[&str] =
    &["uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace", "selfLink", "deletionTimestamp"];
/// Fields whose value is a time, or an address.
const VOLATILE: &[&str] = &[
    "lastTransitionTime",
    "lastUpdateTime",
    "lastProbeTime",
    "startTime",
    "completionTime",
    "lastScheduleTime",
    "lastSuccessfulTime",
    "startedAt",
    "finishedAt",
    "uid",
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
    "resourceVersion",
    "batch.kubernetes.io/cronjob-scheduled-timestamp",
    "clusterIP",
    "lastPhaseTransitionTime",
    "lastScaleTime",
    "nodeName",
    "hostIP",
    "hostIPs",
    "zone",
    "topology.kubernetes.io/zone",
];

/// What stock's API server says of its own books when a Service comes at the wrong moment.
const REPAIRER: &str = "from ipallocator-repair-controller";

/// The end of a scenario as text.
pub(super) async fn snapshot(api: &Api, namespace: &str, scenario: &Scenario) -> Result<String, WorkloadsError> {
    let mut objects = Vec::new();
    for (kind, ..) in KINDS.iter().chain(CLUSTER_KINDS) {
        for object in api.list(namespace, kind).await? {
            objects.push(((*kind).to_owned(), object));
        }
    }
    let (_, events) = api.send(Method::GET, &format!("/api/v1/namespaces/{namespace}/events"), None).await?;
    let renames = renames(&objects);
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for (kind, mut object) in objects {
        strip(&mut object);
        if matches!(kind.as_str(), "ReplicaSet" | "EndpointSlice") {
            // In how many steps it came to its size depends on who is faster.
            object["metadata"]["generation"] = "*".into();
            if kind == "ReplicaSet" {
                object["status"]["observedGeneration"] = "*".into();
            }
        }
        let text = rename(&serde_json::to_string_pretty(&sorted(object)).unwrap_or_default(), &renames);
        *lines.entry(format!("{kind} {text}")).or_default() += 1;
    }
    let objects = lines.iter().map(|(line, count)| format!("{count} x {line}"));
    let text: Vec<String> = objects.chain(reasons(&events, scenario)).collect();
    Ok(text.join("\n").replace(namespace, "NAMESPACE"))
}

/// Who was told what: the kind, the type, the reason and who says so.
fn reasons(events: &Value, scenario: &Scenario) -> BTreeSet<String> {
    let events = events["items"].as_array().into_iter().flatten();
    events
        .filter(|event| !scenario.without_events.iter().any(|reason| event["reason"] == **reason))
        .map(|event| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let source = match text(&event["source"]["component"]) {
                source if source.is_empty() => text(&event["reportingComponent"]),
                source => source,
            };
            let kind = text(&event["involvedObject"]["kind"]);
            format!("event {kind} {} {} from {source}", text(&event["type"]), text(&event["reason"]))
        })
        .filter(|line| !line.ends_with(REPAIRER))
        .collect()
}

/// Generated names and hashes, by what they stand for.
fn renames(objects: &[(String, Value)]) -> Vec<(String, String)> {
    let mut renames = Vec::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for (kind, object) in objects {
        let metadata = &object["metadata"];
        let name = text(&metadata["name"]);
        let has_own_name = metadata["labels"].get("statefulset.kubernetes.io/pod-name").is_some();
        if let Some(stem) = metadata["generateName"].as_str().filter(|_| !has_own_name) {
            renames.push((name, format!("{stem}*")));
            continue;
        }
        match kind.as_str() {
            "ReplicaSet" => {
                let hash = text(&metadata["labels"]["pod-template-hash"]);
                let revision = text(&metadata["annotations"]["deployment.kubernetes.io/revision"]);
                if !hash.is_empty() {
                    renames.push((hash, format!("HASH-{revision}")));
                }
            }
            "ControllerRevision" => {
                if let Some((_, hash)) = name.rsplit_once('-') {
                    renames.push((hash.to_owned(), format!("HASH-{}", object["revision"])));
                }
            }
            "Job" => {
                if let Some((stem, _)) = name.rsplit_once('-').filter(|(_, minute)| minute.parse::<u64>().is_ok()) {
                    renames.push((name.clone(), format!("{stem}-MINUTE")));
                }
            }
            _ => {}
        }
    }
    // The longest first, so that no name is replaced inside another.
    renames.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    renames
}

fn rename(text: &str, renames: &[(String, String)]) -> String {
    let text = renames.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    // A pod that was refused has a name that nobody knows.
    let refused = regex::Regex::new("-[a-z0-9]{5}(.{1,2} is forbidden)").expect("a pattern");
    refused.replace_all(&text, "-*$1").into_owned()
}

/// Takes away what differs by nature.
fn strip(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for name in CHANCE {
            if let Some(value) = metadata.remove(*name)
                && *name == "deletionTimestamp"
            {
                metadata.insert("isGoing".to_owned(), (!value.is_null()).into());
            }
        }
    }
    // Which change came last, and so whether there is a time of it, depends on who is faster.
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.remove("endpoints.kubernetes.io/last-change-trigger-time");
        if annotations.is_empty() {
            object["metadata"]["annotations"] = Value::Null;
        }
    }
    blur(object);
}

fn blur(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // Service account tokens are mounted under random names.
            for list in ["volumes", "volumeMounts"] {
                if let Some(entries) = fields.get_mut(list).and_then(Value::as_array_mut) {
                    entries.retain(|entry| !entry["name"].as_str().unwrap_or_default().starts_with("kube-api-access-"));
                }
            }
            for (name, value) in fields.iter_mut() {
                if VOLATILE.contains(&name.as_str()) {
                    if !value.is_null() {
                        *value = json!("*");
                    }
                } else if name == "clusterIPs" {
                    *value = json!(["*"]);
                } else {
                    blur(value);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(blur),
        _ => {}
    }
}

/// Lists whose order is chance, in one order.
fn sorted(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (name, content) in fields.iter_mut() {
                *content = sorted(content.take());
                // Ports of Endpoints are in the order of a hash of what they are in Go.
                if matches!(
                    name.as_str(),
                    "ports" | "conditions" | "endpoints" | "addresses" | "notReadyAddresses" | "active"
                ) && let Some(elements) = content.as_array_mut()
                {
                    elements.sort_by_key(Value::to_string);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| *element = sorted(element.take())),
        _ => {}
    }
    value
}
