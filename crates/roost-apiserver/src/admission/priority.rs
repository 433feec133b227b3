//! `Priority`: the number behind the class that a pod names, and only one class for those that name none.

use std::sync::Arc;

use roost_object::{Status, Value};

use super::policies::ClassKind;
use super::{Attributes, Verb};
use crate::cluster::Cluster;

/// Sets a new pod's priority, and keeps it on updates that leave it out.
pub(super) fn complete(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), Status> {
    if !attributes.is("", "pods") {
        return Ok(());
    }
    match (attributes.verb, attributes.old) {
        (Verb::Create, _) => set(attributes, pod),
        (Verb::Update, Some(old)) => {
            for field in ["priority", "preemptionPolicy"] {
                if let (None, Some(value)) = (pod["spec"].get(field), old["spec"].get(field)) {
                    pod["spec"][field] = value.clone();
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn set(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), Status> {
    let cluster = &attributes.target.call.cluster;
    let name = pod["spec"]["priorityClassName"].as_str().unwrap_or_default().to_owned();
    let class = if name.is_empty() { default_class(cluster) } else { cluster.class(ClassKind::Priority, &name) };
    if class.is_none() && !name.is_empty() {
        return Err(attributes.forbidden(pod, &format!("no PriorityClass with name {name} was found")));
    }
    let value = class.as_ref().and_then(|class| class["value"].as_i64()).unwrap_or(0);
    let policy = match &class {
        Some(class) => class["preemptionPolicy"].as_str().map(str::to_owned),
        None => Some("PreemptLowerPriority".to_owned()),
    };
    if let (Some(class), true) = (&class, name.is_empty()) {
        pod["spec"]["priorityClassName"] = class["metadata"]["name"].clone();
    }
    if let Some(given) = pod["spec"].get("priority").and_then(Value::as_i64).filter(|given| *given != value) {
        let why = format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
        );
        return Err(attributes.forbidden(pod, &why));
    }
    pod["spec"]["priority"] = value.into();
    let Some(policy) = policy else { return Ok(()) };
    if let Some(given) = pod["spec"].get("preemptionPolicy").and_then(Value::as_str).filter(|given| *given != policy) {
        let why = format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
        );
        return Err(attributes.forbidden(pod, &why));
    }
    pod["spec"]["preemptionPolicy"] = policy.into();
    Ok(())
}

/// The class that counts for pods that name none: the lowest of the global defaults, should there be several.
fn default_class(cluster: &Cluster) -> Option<Arc<Value>> {
    cluster.first_class(
        ClassKind::Priority,
        |class| class["globalDefault"] == true,
        |class| class["value"].as_i64().unwrap_or(0),
    )
}

/// The classes that the system itself needs.
const SYSTEM_CLASSES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

/// Refuses a second global default, and the end of the system's own classes.
pub(super) fn check(attributes: &Attributes<'_>, class: &Value) -> Result<(), Status> {
    if !attributes.is("scheduling.k8s.io", "priorityclasses") {
        return Ok(());
    }
    if attributes.verb == Verb::Delete && SYSTEM_CLASSES.contains(&attributes.target.name) {
        return Err(attributes.forbidden(class, "this is a system priority class and cannot be deleted"));
    }
    if attributes.verb == Verb::Delete || class["globalDefault"] != true {
        return Ok(());
    }
    let Some(default) = default_class(&attributes.target.call.cluster) else { return Ok(()) };
    let name = &default["metadata"]["name"];
    if attributes.verb == Verb::Update && *name == class["metadata"]["name"] {
        return Ok(());
    }
    let why = format!(
        "PriorityClass {} is already marked as default. Only one default can exist",
        name.as_str().unwrap_or_default()
    );
    Err(attributes.forbidden(class, &why))
}
