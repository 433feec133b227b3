//! What new nodes and all pods get: the first taint, and how long to stay where a node went away.

use roost_object::Value;
use serde_json::json;

use super::{Attributes, Verb};

/// How long a pod stays on a node that went away, unless it says otherwise.
const DEFAULT_TOLERATION_SECONDS: i64 = 300;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// `TaintNodesByCondition`: a node is not ready before it says so.
pub(super) fn taint(attributes: &Attributes<'_>, node: &mut Value) {
    if attributes.verb != Verb::Create || !attributes.is("", "nodes") {
        return;
    }
    let taints = list_at(&mut node["spec"], "taints");
    if !taints.iter().any(|taint| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule") {
        taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
}

/// `DefaultTolerationSeconds`.
pub(super) fn tolerate(attributes: &Attributes<'_>, pod: &mut Value) {
    if attributes.verb == Verb::Delete || !attributes.is("", "pods") {
        return;
    }
    let tolerations = pod["spec"]["tolerations"].as_array().map(Vec::as_slice).unwrap_or_default();
    let missing = [NOT_READY, UNREACHABLE].into_iter().filter(|key| !is_tolerated(tolerations, key));
    let missing: Vec<&str> = missing.collect();
    if missing.is_empty() {
        return;
    }
    list_at(&mut pod["spec"], "tolerations").extend(missing.into_iter().map(|key| {
        json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": DEFAULT_TOLERATION_SECONDS})
    }));
}

fn is_tolerated(tolerations: &[Value], key: &str) -> bool {
    let fits = |given: &Value, wanted: &str| given.as_str().is_none_or(|given| given.is_empty() || given == wanted);
    tolerations.iter().any(|toleration| fits(&toleration["key"], key) && fits(&toleration["effect"], "NoExecute"))
}

/// The list at a field, made when there is none.
pub(super) fn list_at<'a>(holder: &'a mut Value, field: &str) -> &'a mut Vec<Value> {
    if !holder[field].is_array() {
        holder[field] = json!([]);
    }
    holder[field].as_array_mut().expect("it was just made a list")
}
