//! What happens to pods before they are checked: what callers may not set, and what the server adds.

use roost_object::{Map, Value};
use serde_json::json;

use super::annotations::{APP_ARMOR, app_armor_profile};
use super::resources::qos_class;
use crate::check::{elements, text};
use crate::fill::Fill;
use crate::internal;

const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];
const STATUS_LISTS: [&str; 3] = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"];

/// Takes away what belongs to features that are off by default.
fn drop_disabled(spec: &mut Value) {
    spec.drop_field("schedulingGroup");
    for projected in spec.each("volumes").filter_map(|volume| volume.at("projected")) {
        for source in projected.each("sources") {
            source.drop_field("clusterTrustBundle");
            source.drop_field("podCertificate");
        }
    }
    for list in CONTAINER_LISTS {
        for container in spec.each(list) {
            if let Some(lifecycle) = container.at("lifecycle")
                && lifecycle.at("stopSignal").is_some()
            {
                lifecycle.drop_field("stopSignal");
                if lifecycle.as_object().is_some_and(Map::is_empty) {
                    container.drop_field("lifecycle");
                }
            }
        }
    }
}

fn drop_disabled_status(status: &mut Value, old: &Value) {
    if elements(&old["nodeAllocatableResourceClaimStatuses"]).is_empty() {
        status.drop_field("nodeAllocatableResourceClaimStatuses");
    }
    for list in STATUS_LISTS {
        for mount in status.each(list).flat_map(|container| container.each("volumeMounts")) {
            mount.drop_field("volumeStatus");
        }
    }
}

/// The same for the template in a field of an object's spec.
pub(crate) fn drop_disabled_template(owner: &mut Value, field: &str) {
    if let Some(template) = owner.at(field)
        && let Some(spec) = template.at("spec")
    {
        drop_disabled(spec);
    }
}

/// A new pod waits; what it asks for decides on its service class.
pub(super) fn prepare_create(pod: &mut Value) {
    pod["status"] = json!({"phase": "Pending", "qosClass": qos_class(pod)});
    let spec = pod.at_or_empty("spec");
    drop_disabled(spec);
    if !elements(&spec["schedulingGates"]).is_empty() {
        let since = pod["metadata"]["creationTimestamp"].clone();
        pod["status"]["conditions"] = json!([{
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": null,
            "lastTransitionTime": since,
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
    }
    merge_label_keys(pod);
    profiles_from_annotations(pod);
}

/// Selectors that name labels of the pod itself get their values now, since later the labels may change.
fn merge_label_keys(pod: &mut Value) {
    let labels = pod["metadata"]["labels"].clone();
    let merge = |term: &mut Value| {
        if !term["labelSelector"].is_object() {
            return;
        }
        let mut added = Vec::new();
        for (name, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
            for key in elements(&term[name]) {
                if let Some(value) = key.as_str().and_then(|key| labels.get(key)) {
                    added.push(json!({"key": key, "operator": operator, "values": [value]}));
                }
            }
        }
        if added.is_empty() {
            return;
        }
        let selector = term.at_or_empty("labelSelector");
        selector.fill("matchExpressions", Vec::<Value>::new());
        if let Some(Value::Array(expressions)) = selector.at("matchExpressions") {
            expressions.append(&mut added);
        }
    };
    let spec = pod.at_or_empty("spec");
    if let Some(affinity) = spec.at("affinity") {
        for kind in ["podAffinity", "podAntiAffinity"] {
            let Some(terms) = affinity.at(kind) else { continue };
            let preferred = terms.each("preferredDuringSchedulingIgnoredDuringExecution");
            preferred.filter_map(|term| term.at("podAffinityTerm")).for_each(merge);
            terms.each("requiredDuringSchedulingIgnoredDuringExecution").for_each(merge);
        }
    }
    spec.each("topologySpreadConstraints").for_each(merge);
}

/// `AppArmor` profiles were annotations once; kubelets now look for fields.
fn profiles_from_annotations(pod: &mut Value) {
    let annotations = match &pod["metadata"]["annotations"] {
        Value::Object(annotations) if annotations.keys().any(|key| key.starts_with(APP_ARMOR)) => annotations.clone(),
        _ => return,
    };
    let spec = pod.at_or_empty("spec");
    if spec["os"]["name"] == "windows" {
        return;
    }
    let of_pod = spec["securityContext"]["appArmorProfile"].clone();
    for list in CONTAINER_LISTS {
        for container in spec.each(list) {
            let key = format!("{APP_ARMOR}{}", text(container, "name"));
            let annotation = annotations.get(&key).and_then(Value::as_str);
            let Some(profile) = annotation.and_then(app_armor_profile) else { continue };
            if container["securityContext"]["appArmorProfile"].is_null()
                && !internal::same("*AppArmorProfile", &profile, &of_pod)
            {
                container.at_or_empty("securityContext")["appArmorProfile"] = profile;
            }
        }
    }
}

/// Status only changes through its own resource.
pub(super) fn prepare_update(new: &mut Value, old: &Value) {
    crate::keep_status(new, old);
    drop_disabled(new.at_or_empty("spec"));
}

/// An update of the status of a pod may also change its labels and annotations.
pub(super) fn prepare_status_update(new: &mut Value, old: &Value) {
    new["spec"] = old["spec"].clone();
    crate::keep_metadata(new, old, &["deletionTimestamp", "ownerReferences"]);
    let status = new.at_or_empty("status");
    if let Some(class) = old["status"]["qosClass"].as_str() {
        status.fill_text("qosClass", class);
    }
    keep_observed_generations(status, &old["status"]);
    drop_disabled_status(status, &old["status"]);
}

/// Older kubelets do not know of observed generations, and must not take them away.
fn keep_observed_generations(status: &mut Value, old: &Value) {
    if let Some(generation) = old["observedGeneration"].as_i64().filter(|generation| *generation != 0) {
        status.fill_number("observedGeneration", generation);
    }
    let mut before: Vec<&Value> = elements(&old["conditions"]).iter().collect();
    for condition in status.each("conditions") {
        let Some(index) = before.iter().position(|earlier| earlier["type"] == condition["type"]) else { continue };
        let earlier = before.remove(index);
        if let Some(generation) = earlier["observedGeneration"].as_i64().filter(|generation| *generation != 0) {
            condition.fill_number("observedGeneration", generation);
        }
    }
}

/// Keeps all of the stored pod but the ephemeral containers.
pub fn prepare_ephemeral_containers(new: &mut Value, old: &Value) {
    let containers = new["spec"].get("ephemeralContainers").cloned();
    new["spec"] = old["spec"].clone();
    match containers {
        Some(containers) => new["spec"]["ephemeralContainers"] = containers,
        None => new["spec"].drop_field("ephemeralContainers"),
    }
    crate::keep_status(new, old);
    crate::keep_metadata(new, old, crate::METADATA_OF_STATUS);
    drop_disabled(new.at_or_empty("spec"));
}

/// Keeps all of the stored pod but what its containers ask for. Where containers come or go, all is kept as it was sent,
/// for validation to refuse.
pub fn prepare_resize(new: &mut Value, old: &Value) {
    let same_length = |list: &str| elements(&new["spec"][list]).len() == elements(&old["spec"][list]).len();
    if !same_length("containers") || !same_length("initContainers") {
        return;
    }
    let mut spec = old["spec"].clone();
    for list in ["containers", "initContainers"] {
        let sent = elements(&new["spec"][list]);
        let renamed = sent.iter().zip(elements(&spec[list])).any(|(new, old)| new["name"] != old["name"]);
        if renamed {
            spec[list] = new["spec"][list].clone();
            continue;
        }
        for (container, sent) in spec.each(list).zip(sent) {
            for name in ["resources", "resizePolicy"] {
                match sent.get(name) {
                    Some(value) => container[name] = value.clone(),
                    None => container.drop_field(name),
                }
            }
        }
    }
    match new["spec"].get("resources") {
        Some(resources) => spec["resources"] = resources.clone(),
        None => spec.drop_field("resources"),
    }
    new["spec"] = spec;
    crate::keep_status(new, old);
    crate::keep_metadata(new, old, crate::METADATA_OF_STATUS);
}
