//! What a limit range gives to containers that do not say what they need.

use roost_object::{Map, Value};

use super::{LimitRange, Subject};
use crate::amounts::Amounts;

/// Says on the pod what was added to it.
const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// Fills in the requests and limits that the containers of a pod leave out.
pub fn apply_defaults(range: &LimitRange, pod: &mut Value) {
    let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
    for limit in range.limits.iter().filter(|limit| limit.subject == Subject::Container) {
        requests.extend(limit.default_requests.iter().map(|(name, amount)| (name.clone(), amount.clone())));
        limits.extend(limit.default_limits.iter().map(|(name, amount)| (name.clone(), amount.clone())));
    }
    if requests.is_empty() && limits.is_empty() {
        return;
    }
    let mut notes = Vec::new();
    for (list, words) in [("containers", "container"), ("initContainers", "init container")] {
        let containers = pod.get_mut("spec").and_then(|spec| spec.get_mut(list)).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let name = container["name"].as_str().unwrap_or_default().to_owned();
            let added_limits = merge(container, "limits", &limits);
            let added_requests = merge(container, "requests", &requests);
            for (added, kind) in [(added_requests, "request"), (added_limits, "limit")] {
                if !added.is_empty() {
                    notes.push(format!("{} {kind} for {words} {name}", added.join(", ")));
                }
            }
        }
    }
    if notes.is_empty() {
        return;
    }
    let metadata = object_at(pod, "metadata");
    let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
    if !annotations.is_object() {
        *annotations = Value::Object(Map::new());
    }
    annotations[ANNOTATION] = format!("LimitRanger plugin set: {}", notes.join("; ")).into();
}

/// Adds what is missing, and returns the names of it, sorted.
fn merge(container: &mut Value, kind: &str, defaults: &Amounts) -> Vec<String> {
    if defaults.is_empty() {
        return Vec::new();
    }
    let resources = object_at(container, "resources");
    let list = resources.entry(kind).or_insert_with(|| Value::Object(Map::new()));
    if !list.is_object() {
        *list = Value::Object(Map::new());
    }
    let Some(list) = list.as_object_mut() else { return Vec::new() };
    let missing: Vec<_> = defaults.iter().filter(|(name, _)| !list.contains_key(*name)).collect();
    for (name, amount) in &missing {
        list.insert((*name).clone(), amount.to_string().into());
    }
    missing.into_iter().map(|(name, _)| name.clone()).collect()
}

/// The object at a field, made when there is none.
fn object_at<'a>(value: &'a mut Value, field: &str) -> &'a mut Map<String, Value> {
    if !value[field].is_object() {
        value[field] = Value::Object(Map::new());
    }
    value[field].as_object_mut().expect("it was just made an object")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn missing_amounts_are_added_and_told() {
        let range = LimitRange::read(&json!({"spec": {"limits": [
            {"type": "Container", "default": {"cpu": "1", "memory": "1Gi"}, "defaultRequest": {"cpu": "500m"}},
        ]}}));
        let mut pod = json!({"metadata": {}, "spec": {
            "containers": [{"name": "a"}, {"name": "b", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}}],
            "initContainers": [{"name": "i", "resources": {"limits": {"cpu": "2", "memory": "2Gi"}}}],
        }});
        apply_defaults(&range, &mut pod);
        let note = "LimitRanger plugin set: cpu request for container a; cpu, memory limit for container a; memory limit for container b; cpu request for init container i";
        assert_eq!(pod["metadata"]["annotations"][ANNOTATION], note);
        assert_eq!(
            pod["spec"]["containers"][0]["resources"],
            json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}})
        );
    }
}
