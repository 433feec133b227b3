//! Changing what the containers of a running pod ask for.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Map, Quantity, Value};

use super::annotations::MIRROR;
use super::resources::qos_class;
use super::update;
use crate::check::{Spot, elements, text};
use crate::fill::Fill;
use crate::internal;

/// Checks a resize of a pod: only processor time and memory may change, and nothing may go.
pub fn validate_resize(new: &Value, old: &Value, errors: &mut Errors) {
    update::validate_now(new, old, errors);
    let refused = if old["metadata"]["annotations"].get(MIRROR).is_some() {
        Some("static pods cannot be resized")
    } else if old["spec"]["os"]["name"] == "windows" {
        Some("windows pods cannot be resized")
    } else {
        None
    };
    if let Some(words) = refused {
        errors.clear();
        errors.push(Error::forbidden(&Path::ROOT.key(""), words));
        return;
    }
    let root = Spot::root(new);
    let spec = root.field("spec");
    let stored_class = text(&old["status"], "qosClass");
    let old_class = if stored_class.is_empty() { qos_class(old) } else { stored_class };
    if old_class != qos_class(new) {
        let shown = text(&new["status"], "qosClass");
        errors.push(Error::invalid(&spec.path, shown, "Pod QOS Class may not change as a result of resizing"));
    }
    let running =
        elements(&old["status"]["containerStatuses"]).iter().find(|status| !status["state"]["running"].is_null());
    if running.is_some_and(|status| status["resources"].is_null()) {
        spec.forbidden("Pod running on node without support for resize", errors);
    }
    let mut restored = new["spec"].clone();
    validate_pod_level(&spec, &old["spec"], &mut restored, errors);
    if !elements(&old["status"]["nodeAllocatableResourceClaimStatuses"]).is_empty() {
        spec.forbidden("pods with node allocatable resource claims cannot be resized", errors);
    }
    if !same_containers(&spec, &old["spec"], errors) {
        return;
    }
    for list in ["initContainers", "containers"] {
        for (index, before) in elements(&old["spec"][list]).iter().enumerate() {
            let containers = spec.field(list);
            let container = containers.element(index);
            let resources = container.field("resources");
            for kind in ["requests", "limits"] {
                if lacks_some(&resources.value[kind], &before["resources"][kind]) {
                    resources.field(kind).forbidden(format!("resource {kind} cannot be removed"), errors);
                }
            }
        }
    }
    for (container, before) in restored.each("containers").zip(elements(&old["spec"]["containers"])) {
        restore_container(container, before);
        if !internal::same("Container", container, before) {
            spec.forbidden("only cpu and memory resources are mutable", errors);
        }
    }
    let init_containers = spec.field("initContainers");
    for (index, (container, before)) in
        restored.each("initContainers").zip(elements(&old["spec"]["initContainers"])).enumerate()
    {
        let spot = init_containers.element(index);
        let is_changed = !internal::same("Container", container, before);
        restore_container(container, before);
        if !internal::same("Container", container, before) {
            let words = "only cpu and memory resources for init or sidecar containers are mutable";
            spot.forbidden(words, errors);
        }
        if is_changed && text(container, "restartPolicy") != "Always" {
            let restarts = |policy: &&Value| text(policy, "restartPolicy") == "RestartContainer";
            for _ in elements(&container["resizePolicy"]).iter().filter(restarts) {
                let words = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                spot.forbidden(words, errors);
            }
        }
    }
    if errors.is_empty() && !internal::same("PodSpec", &restored, &old["spec"]) {
        spec.forbidden("only cpu and memory resources are mutable", errors);
    }
}

fn validate_pod_level(spec: &Spot<'_>, old: &Value, restored: &mut Value, errors: &mut Errors) {
    let is_set = |spec: &Value| {
        ["requests", "limits"]
            .iter()
            .any(|kind| spec["resources"][kind].as_object().is_some_and(|list| !list.is_empty()))
    };
    if !is_set(old) && !is_set(spec.value) {
        return;
    }
    let resources = spec.field("resources");
    if old["resources"].is_object() {
        if !resources.given() {
            resources.forbidden("pod-level resources cannot be removed", errors);
            return;
        }
        for kind in ["requests", "limits"] {
            if lacks_some(&resources.value[kind], &old["resources"][kind]) {
                resources.field(kind).forbidden(format!("pod-level resource {kind} cannot be removed"), errors);
            }
        }
    }
    let kept = restored.at_or_empty("resources");
    restore_compute(kept, &old["resources"]);
    let is_empty = |name: &str| kept[name].as_object().is_none_or(Map::is_empty);
    if old["resources"].is_null() && is_empty("requests") && is_empty("limits") && elements(&kept["claims"]).is_empty()
    {
        restored.drop_field("resources");
    }
    if !internal::same("*ResourceRequirements", &restored["resources"], &old["resources"]) {
        spec.forbidden("only cpu and memory resources are mutable at pod-level", errors);
    }
}

/// The features that a pod's node must declare for a resize, in the order of the alphabet.
pub fn features_of_resize(new: &Value, old: &Value) -> Vec<&'static str> {
    let mut features = Vec::new();
    let (new, old) = (&new["spec"], &old["spec"]);
    if !internal::same("*ResourceRequirements", &new["resources"], &old["resources"]) {
        features.push("InPlacePodLevelResourcesVerticalScaling");
    }
    let mut pairs = elements(&old["initContainers"]).iter().zip(elements(&new["initContainers"]));
    if pairs.any(|(old, new)| text(old, "restartPolicy") != "Always" && old["resources"] != new["resources"]) {
        features.push("InPlacePodVerticalScalingInitContainers");
    }
    features
}

fn same_containers(spec: &Spot<'_>, old: &Value, errors: &mut Errors) -> bool {
    let before = errors.len();
    for list in ["containers", "initContainers"] {
        let containers = spec.field(list);
        if containers.elements().len() != elements(&old[list]).len() {
            containers.forbidden(format!("{list} may not be added or removed on resize"), errors);
            continue;
        }
        for (index, container) in elements(&old[list]).iter().enumerate() {
            let current = containers.element(index);
            if text(current.value, "name") != text(container, "name") {
                current.field("name").forbidden(format!("{list} may not be renamed or reordered on resize"), errors);
            }
        }
    }
    errors.len() == before
}

fn lacks_some(new: &Value, old: &Value) -> bool {
    old.as_object().into_iter().flatten().any(|(name, _)| new.get(name).is_none())
}

/// Stock forgets the claims of a container here, so that a pod with claims cannot be resized.
fn restore_container(container: &mut Value, old: &Value) {
    let resources = container.at_or_empty("resources");
    restore_compute(resources, &old["resources"]);
    resources.drop_field("claims");
}

/// Puts processor time and memory back to what they were, and amounts that only look different.
fn restore_compute(resources: &mut Value, old: &Value) {
    for kind in ["requests", "limits"] {
        for name in ["cpu", "memory"] {
            match old[kind].get(name) {
                Some(amount) => resources.at_or_empty(kind)[name] = amount.clone(),
                None => {
                    if let Some(list) = resources.at(kind) {
                        list.drop_field(name);
                    }
                }
            }
        }
        let Some(Value::Object(list)) = resources.at(kind) else { continue };
        for (name, amount) in list.iter_mut() {
            let before = &old[kind][name];
            if Quantity::from_value(amount).is_ok_and(|amount| Quantity::from_value(before) == Ok(amount)) {
                amount.clone_from(before);
            }
        }
    }
}
