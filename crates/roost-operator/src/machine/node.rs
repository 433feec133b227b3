//! What a Node has to have once its host joined: a pure function of the Node, its Machine and its pool.

use std::collections::BTreeMap;

use ipnet::IpNet;
use roost_api::hypershift::names::label;
use serde_json::{Map, Value, json};

use super::names::label_value;
use crate::object::annotation;

/// What a cloud provider would have to take away, where there is one.
pub(crate) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
/// On a Node: its pool's labels and taints have been put on it.
const INITIALIZED: &str = "roost.dev/initialized";

/// What to merge into a Node; none when it has all.
pub(crate) fn change(node: &Value, machine: &Value, pool: Option<&Value>, pods: &[IpNet]) -> Option<Value> {
    let mut change = json!({});
    let spec = &node["spec"];
    if spec["providerID"].as_str().unwrap_or_default().is_empty() {
        change["spec"]["providerID"] = machine["spec"]["providerID"].clone();
    }
    if spec["podCIDR"].as_str().unwrap_or_default().is_empty() && !pods.is_empty() {
        change["spec"]["podCIDR"] = json!(pods[0].to_string());
        change["spec"]["podCIDRs"] = json!(pods.iter().map(ToString::to_string).collect::<Vec<_>>());
    }
    let before = spec["taints"].as_array().cloned().unwrap_or_default();
    let mut taints = before.clone();
    taints.retain(|taint| taint["key"] != UNINITIALIZED);
    if annotation(node, INITIALIZED).is_empty()
        && let Some(pool) = pool
    {
        let missing = missing_labels(node, pool);
        if !missing.is_empty() {
            change["metadata"]["labels"] = json!(missing);
        }
        for taint in pool["spec"]["taints"].as_array().into_iter().flatten() {
            let is_there = |present: &Value| present["key"] == taint["key"] && present["effect"] == taint["effect"];
            if !taints.iter().any(is_there) {
                taints.push(taint.clone());
            }
        }
        change["metadata"]["annotations"][INITIALIZED] = json!("true");
    }
    if taints != before {
        change["spec"]["taints"] = taints.into();
    }
    if change == json!({}) {
        return None;
    }
    // Taints are one list, which others change too.
    change["metadata"]["resourceVersion"] = node["metadata"]["resourceVersion"].clone();
    Some(change)
}

/// The labels that every node of a pool gets.
pub(crate) fn labels(pool: &Value) -> BTreeMap<String, String> {
    let name = pool["metadata"]["name"].as_str().unwrap_or_default();
    let mut labels = BTreeMap::from([
        (label::NODE_POOL.to_owned(), label_value(name)),
        ("node-role.kubernetes.io/worker".to_owned(), String::new()),
    ]);
    for (key, value) in pool["spec"]["nodeLabels"].as_object().into_iter().flatten() {
        labels.insert(key.clone(), value.as_str().unwrap_or_default().to_owned());
    }
    labels
}

fn missing_labels(node: &Value, pool: &Value) -> Map<String, Value> {
    let present = &node["metadata"]["labels"];
    let missing = labels(pool).into_iter().filter(|(key, value)| present[key] != **value);
    missing.map(|(key, value)| (key, value.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_gets_what_it_lacks_once() {
        let machine = json!({"spec": {"providerID": "roost://c/m"}});
        let pool = json!({"metadata": {"name": "workers"}, "spec": {
            "nodeLabels": {"zone": "a"}, "taints": [{"key": "gpu", "value": "", "effect": "NoSchedule"}]}});
        let mut node = json!({"metadata": {"name": "node-1", "resourceVersion": "7"}, "spec": {
            "taints": [{"key": UNINITIALIZED, "effect": "NoSchedule"}, {"key": "x", "effect": "NoExecute"}]}});
        let pods = ["10.132.2.0/23".parse().unwrap()];
        let first = change(&node, &machine, Some(&pool), &pods).expect("a change");
        assert_eq!(first["spec"]["providerID"], "roost://c/m");
        assert_eq!(first["spec"]["podCIDR"], "10.132.2.0/23");
        assert_eq!(first["metadata"]["labels"]["zone"], "a");
        assert_eq!(first["metadata"]["labels"]["hypershift.openshift.io/nodePool"], "workers");
        let taints = first["spec"]["taints"].as_array().expect("taints");
        assert_eq!(taints.iter().filter_map(|taint| taint["key"].as_str()).collect::<Vec<_>>(), ["x", "gpu"]);
        node["spec"] = first["spec"].clone();
        node["metadata"]["annotations"] = first["metadata"]["annotations"].clone();
        assert_eq!(change(&node, &machine, Some(&pool), &pods), None);
    }
}
