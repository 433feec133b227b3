//! The older Endpoints: one object a Service.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{HEADLESS, TRIGGER_TIME, View, address, ports, set_trigger_time, target};
use crate::{Action, value};

const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";
const CONTROLLER: &str = "endpoint-controller";
/// The most addresses that one object has.
const CAPACITY: usize = 1000;

/// What to do about the Endpoints of a Service, which are null when there are none.
pub fn legacy(view: &View<'_>, existing: &Value, now: Timestamp) -> Option<Action> {
    if view.service["spec"]["type"] == "ExternalName" {
        return None;
    }
    let subsets = subsets(view);
    let mut labels = view.labels();
    if !view.is_headless() {
        value::remove(&mut labels, &[HEADLESS]);
    }
    labels[MANAGED_BY] = CONTROLLER.into();
    if existing.is_null() {
        let mut made = json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": {
                "name": view.service["metadata"]["name"], "namespace": view.service["metadata"]["namespace"],
                "labels": labels, "annotations": {TRIGGER_TIME: value::seconds(now)},
            },
        });
        if !subsets.is_empty() {
            made["subsets"] = subsets.into();
        }
        return Some(Action::Create(made));
    }
    let present = value::list(existing, &["subsets"]);
    if present == subsets.as_slice() && existing["metadata"]["labels"] == labels {
        return None;
    }
    let mut next = existing.clone();
    next["metadata"]["labels"] = labels;
    let gained = subsets.iter().any(|subset| !present.contains(subset));
    set_trigger_time(&mut next, gained, now);
    if subsets.is_empty() {
        value::remove(&mut next, &["subsets"]);
    } else {
        next["subsets"] = subsets.into();
    }
    Some(Action::Update(next))
}

/// Addresses by the ports that they serve.
fn subsets(view: &View<'_>) -> Vec<Value> {
    let family = value::list(view.service, &["spec", "ipFamilies"]).first().and_then(Value::as_str).unwrap_or("IPv4");
    let mut sets: BTreeMap<String, [Vec<Value>; 2]> = BTreeMap::new();
    for pod in view.pods.iter().take(CAPACITY) {
        let going = pod.metadata.is_going() && !view.publishes_unready();
        let Some(ip) = address(pod, family).filter(|_| !pod.has_ended() && !going) else { continue };
        let mut own = json!({"ip": ip, "targetRef": target(pod)});
        if !pod.spec.node_name.is_empty() {
            own["nodeName"] = pod.spec.node_name.as_str().into();
        }
        if let Some(hostname) = view.hostname(pod) {
            own["hostname"] = hostname.into();
        }
        let mut ports = ports(view.service, pod);
        for port in &mut ports {
            if port["name"] == "" {
                value::remove(port, &["name"]);
            }
        }
        let unready = !pod.is_ready() && !view.publishes_unready();
        // A pod that serves none of the ports is no endpoint, unless nobody asks for ports.
        if ports.is_empty() && !value::list(view.service, &["spec", "ports"]).is_empty() {
            continue;
        }
        sets.entry(Value::from(ports).to_string()).or_default()[usize::from(unready)].push(own);
    }
    let subset = |(key, [mut ready, mut unready]): (String, [Vec<Value>; 2])| {
        let mut subset = json!({});
        for (name, addresses) in [("addresses", &mut ready), ("notReadyAddresses", &mut unready)] {
            addresses.sort_by(|one, other| one["ip"].as_str().cmp(&other["ip"].as_str()));
            if !addresses.is_empty() {
                subset[name] = std::mem::take(addresses).into();
            }
        }
        let ports: Value = serde_json::from_str(&key).unwrap_or_default();
        if !value::list(&ports, &[]).is_empty() {
            subset["ports"] = ports;
        }
        subset
    };
    sets.into_iter().map(subset).collect()
}
