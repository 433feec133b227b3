//! What pods and nodes get from the cluster: priority, tolerations, the first taint.

use roost_object::{Status, Value};
use serde_json::json;

use super::{Attributes, Verb};

/// How long a pod stays on a node that went away, unless it says otherwise.
const DEFAULT_TOLERATION_SECONDS: i64 = 300;

pub(super) fn complete(attributes: &Attributes<'_>, object: &mut Value) -> Result<(), Status> {
    if attributes.is("", "nodes") && attributes.verb == Verb::Create {
        add_not_ready_taint(object);
    }
    if !attributes.is("", "pods") {
        return Ok(());
    }
    if attributes.verb == Verb::Create {
        set_priority(attributes, object)?;
    }
    if attributes.verb != Verb::Delete {
        tolerate(object, "node.kubernetes.io/not-ready");
        tolerate(object, "node.kubernetes.io/unreachable");
    }
    Ok(())
}

/// `TaintNodesByCondition`: a node is not ready before it says so.
fn add_not_ready_taint(node: &mut Value) {
    let taints = &mut node["spec"]["taints"];
    if !taints.is_array() {
        *taints = json!([]);
    }
    if let Some(taints) = taints.as_array_mut()
        && !taints.iter().any(|taint| taint["key"] == "node.kubernetes.io/not-ready" && taint["effect"] == "NoSchedule")
    {
        taints.push(json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}));
    }
}

/// `DefaultTolerationSeconds`.
fn tolerate(pod: &mut Value, key: &str) {
    let tolerations = &mut pod["spec"]["tolerations"];
    if !tolerations.is_array() {
        *tolerations = json!([]);
    }
    let Some(tolerations) = tolerations.as_array_mut() else { return };
    let tolerated = tolerations.iter().any(|toleration| {
        let matches_key = toleration["key"] == key || toleration["key"].as_str().unwrap_or_default().is_empty();
        let matches_effect =
            toleration["effect"] == "NoExecute" || toleration["effect"].as_str().unwrap_or_default().is_empty();
        matches_key && matches_effect
    });
    if !tolerated {
        tolerations.push(json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": DEFAULT_TOLERATION_SECONDS}));
    }
}

/// `Priority`: the number behind the class name.
fn set_priority(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), Status> {
    let cluster = &attributes.target.call.cluster;
    let name = pod["spec"]["priorityClassName"].as_str().unwrap_or_default().to_owned();
    let class = if name.is_empty() {
        default_class(&cluster.find_all("scheduling.k8s.io", "priorityclasses", ""))
    } else {
        match cluster.find("scheduling.k8s.io", "priorityclasses", "", &name) {
            Some(class) => Some(class),
            None => return Err(attributes.forbidden(pod, &format!("no PriorityClass with name {name} was found"))),
        }
    };
    let (value, policy) = match &class {
        Some(class) => (
            class["value"].as_i64().unwrap_or(0),
            class["preemptionPolicy"].as_str().unwrap_or("PreemptLowerPriority").to_owned(),
        ),
        None => (0, "PreemptLowerPriority".to_owned()),
    };
    if let Some(class) = &class
        && name.is_empty()
    {
        pod["spec"]["priorityClassName"] = class["metadata"]["name"].clone();
    }
    if let Some(given) = pod["spec"].get("priority").and_then(Value::as_i64)
        && given != value
    {
        let why = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
        );
        return Err(attributes.forbidden(pod, &why));
    }
    if let Some(given) = pod["spec"].get("preemptionPolicy").and_then(Value::as_str)
        && given != policy
    {
        let why = format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
        );
        return Err(attributes.forbidden(pod, &why));
    }
    pod["spec"]["priority"] = value.into();
    pod["spec"]["preemptionPolicy"] = policy.into();
    Ok(())
}

/// The class that counts for pods that name none: the lowest of the global defaults.
fn default_class(classes: &[Value]) -> Option<Value> {
    classes
        .iter()
        .filter(|class| class["globalDefault"] == true)
        .min_by_key(|class| class["value"].as_i64().unwrap_or(0))
        .cloned()
}
