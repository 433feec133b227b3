//! EndpointSlices: up to a hundred endpoints each.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{SERVICE_NAME, TRIGGER_TIME, View, address, ports, set_trigger_time, target};
use crate::action::Reference;
use crate::{Action, Pod, metadata, value};

const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const CONTROLLER: &str = "endpointslice-controller.k8s.io";
/// The most endpoints in one slice.
const SLICE_SIZE: usize = 100;

/// What to do about the slices of a Service. Slices of others are left alone.
pub fn slices(view: &View<'_>, existing: &[Value], now: Timestamp) -> Vec<Action> {
    let own: Vec<&Value> =
        existing.iter().filter(|slice| value::text(slice, &["metadata", "labels", MANAGED_BY]) == CONTROLLER).collect();
    if view.service["spec"]["type"] == "ExternalName" {
        return own.iter().map(|slice| delete(slice)).collect();
    }
    let mut actions = Vec::new();
    let families = value::list(view.service, &["spec", "ipFamilies"]);
    for family in families.iter().filter_map(Value::as_str) {
        let present: Vec<&Value> = own.iter().filter(|slice| slice["addressType"] == family).copied().collect();
        family_slices(view, family, &present, now, &mut actions);
    }
    let kept = |slice: &&&Value| !families.contains(&slice["addressType"]);
    actions.extend(own.iter().filter(kept).map(|slice| delete(slice)));
    actions
}

fn delete(slice: &Value) -> Action {
    Action::Delete { object: Reference::of(slice), propagation: None, grace_seconds: None }
}

/// Endpoints by the ports that they serve: pods may mean different numbers by one name.
fn wanted(view: &View<'_>, family: &str) -> BTreeMap<String, (Vec<Value>, Vec<Value>)> {
    let mut sets: BTreeMap<String, (Vec<Value>, Vec<Value>)> = BTreeMap::new();
    for pod in view.pods {
        let Some(ip) = address(pod, family).filter(|_| !pod.has_ended()) else { continue };
        let ports = ports(view.service, pod);
        let key = json!(ports).to_string();
        sets.entry(key).or_insert_with(|| (ports, Vec::new())).1.push(endpoint(view, pod, ip));
    }
    for (_, endpoints) in sets.values_mut() {
        endpoints.sort_by(|one, other| one["addresses"][0].as_str().cmp(&other["addresses"][0].as_str()));
    }
    sets
}

fn endpoint(view: &View<'_>, pod: &Pod, ip: &str) -> Value {
    let (serving, terminating) = (pod.is_ready(), pod.metadata.is_going());
    let ready = view.publishes_unready() || (serving && !terminating);
    let mut endpoint = json!({
        "addresses": [ip],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": target(pod),
    });
    if !pod.spec.node_name.is_empty() {
        endpoint["nodeName"] = pod.spec.node_name.as_str().into();
        if let Some(zone) = (view.zone)(&pod.spec.node_name) {
            endpoint["zone"] = zone.into();
        }
    }
    if let Some(hostname) = view.hostname(pod) {
        endpoint["hostname"] = hostname.into();
    }
    endpoint
}

fn family_slices(view: &View<'_>, family: &str, present: &[&Value], now: Timestamp, actions: &mut Vec<Action>) {
    let mut unused: Vec<&Value> = present.to_vec();
    let mut chunks: Vec<(Value, Value)> = Vec::new();
    for (ports, endpoints) in wanted(view, family).into_values() {
        for chunk in endpoints.chunks(SLICE_SIZE) {
            chunks.push((ports.clone().into(), chunk.to_vec().into()));
        }
    }
    if chunks.is_empty() {
        chunks.push((Value::Null, json!([])));
    }
    for (ports, endpoints) in chunks {
        // A slice that has these ports is filled anew rather than replaced.
        let fitting =
            unused.iter().position(|slice| same(&slice["ports"], &ports)).or((!unused.is_empty()).then_some(0));
        match fitting.map(|index| unused.remove(index)) {
            None => actions.push(Action::Create(new(view, family, &ports, &endpoints, now))),
            Some(slice) => {
                let mut next = slice.clone();
                if !same(&slice["ports"], &ports) {
                    next["ports"] = ports;
                }
                if !same(&slice["endpoints"], &endpoints) {
                    next["endpoints"] = endpoints;
                }
                next["metadata"]["labels"] = labels(view);
                if next != *slice {
                    let known = value::list(slice, &["endpoints"]);
                    let gained = value::list(&next, &["endpoints"]).iter().any(|endpoint| !known.contains(endpoint));
                    set_trigger_time(&mut next, gained, now);
                    actions.push(Action::Update(next));
                }
            }
        }
    }
    actions.extend(unused.into_iter().map(delete));
}

/// Nothing and an empty list are the same.
fn same(one: &Value, other: &Value) -> bool {
    let elements = |value: &Value| value.as_array().cloned().unwrap_or_default();
    elements(one) == elements(other)
}

fn labels(view: &View<'_>) -> Value {
    let mut labels = view.labels();
    labels[SERVICE_NAME] = view.service["metadata"]["name"].clone();
    labels[MANAGED_BY] = CONTROLLER.into();
    labels
}

fn new(view: &View<'_>, family: &str, ports: &Value, endpoints: &Value, now: Timestamp) -> Value {
    let name = value::text(view.service, &["metadata", "name"]);
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {
            "generateName": format!("{name}-"), "namespace": view.service["metadata"]["namespace"],
            "labels": labels(view), "annotations": {TRIGGER_TIME: value::seconds(now)},
            "ownerReferences": [metadata::controller_reference(view.service)],
        },
        "addressType": family, "ports": ports, "endpoints": endpoints,
    })
}
