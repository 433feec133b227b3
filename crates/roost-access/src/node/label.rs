//! The labels of nodes: which of them a kubelet must leave alone, so that it cannot draw others' work to itself.

use std::collections::BTreeSet;

use roost_object::{Map, Value};

/// The labels that differ and that no kubelet may touch.
pub(super) fn forbidden_labels<'a>(new: &'a Value, old: &'a Value) -> BTreeSet<&'a str> {
    let empty = &Map::new();
    let labels = |object: &'a Value| object["metadata"]["labels"].as_object();
    let (new, old) = (labels(new), labels(old));
    let differs = |key: &str| new.unwrap_or(empty).get(key) != old.unwrap_or(empty).get(key);
    let keys = new.into_iter().chain(old).flat_map(Map::keys).map(String::as_str);
    keys.filter(|key| differs(key) && is_forbidden_label(key)).collect()
}

fn is_forbidden_label(key: &str) -> bool {
    const OWN: [&str; 11] = [
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    ];
    let Some((prefix, _)) = key.split_once('/') else {
        return false;
    };
    let is_below =
        |domain: &str| prefix.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if is_below("node-restriction.kubernetes.io") {
        return true;
    }
    let is_own = OWN.contains(&key) || is_below("kubelet.kubernetes.io") || is_below("node.kubernetes.io");
    (is_below("kubernetes.io") || is_below("k8s.io")) && !is_own
}
