//! `RuntimeClass`: what a class of container runtimes costs a pod, and on which nodes it exists.

use std::sync::Arc;

use roost_admission::amounts;
use roost_object::{Status, Value};
use serde_json::json;

use super::policies::ClassKind;
use super::{Attributes, Verb};

const MISMATCH: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

/// Adds the class's overhead, node selector and tolerations to a new pod.
pub(super) fn complete(attributes: &Attributes<'_>, pod: &mut Value) -> Result<(), Status> {
    let Some(class) = class_of(attributes, pod)? else { return Ok(()) };
    if class["overhead"].is_object() {
        let overhead = &class["overhead"]["podFixed"];
        let given = &pod["spec"]["overhead"];
        let set = given.as_object().is_some_and(|overhead| !overhead.is_empty());
        if set && amounts::read(given) != amounts::read(overhead) {
            return Err(attributes.forbidden(pod, MISMATCH));
        }
        if overhead.is_object() {
            pod["spec"]["overhead"] = overhead.clone();
        }
    }
    let scheduling = &class["scheduling"];
    if scheduling.is_object() {
        select_nodes(attributes, pod, &scheduling["nodeSelector"])?;
        merge_tolerations(pod, &scheduling["tolerations"]);
    }
    Ok(())
}

/// Refuses a pod with another overhead than its class has.
pub(super) fn check(attributes: &Attributes<'_>, pod: &Value) -> Result<(), Status> {
    if attributes.verb != Verb::Create || !attributes.is("", "pods") {
        return Ok(());
    }
    let given = &pod["spec"]["overhead"];
    match class_of(attributes, pod)?.filter(|class| class["overhead"].is_object()) {
        Some(class) if amounts::read(&class["overhead"]["podFixed"]) != amounts::read(given) => {
            Err(attributes.forbidden(pod, MISMATCH))
        }
        None if given.is_object() => {
            let why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
            Err(attributes.forbidden(pod, why))
        }
        _ => Ok(()),
    }
}

fn class_of(attributes: &Attributes<'_>, pod: &Value) -> Result<Option<Arc<Value>>, Status> {
    if attributes.verb != Verb::Create || !attributes.is("", "pods") {
        return Ok(None);
    }
    let Some(name) = pod["spec"]["runtimeClassName"].as_str() else { return Ok(None) };
    match attributes.target.call.cluster.class(ClassKind::Runtime, name) {
        Some(class) => Ok(Some(class)),
        None => Err(attributes.forbidden(pod, &format!("pod rejected: RuntimeClass \"{name}\" not found"))),
    }
}

fn select_nodes(attributes: &Attributes<'_>, pod: &mut Value, selector: &Value) -> Result<(), Status> {
    for (key, wanted) in selector.as_object().into_iter().flatten() {
        let given = &pod["spec"]["nodeSelector"][key];
        if let Some(given) = given.as_str().filter(|given| *wanted != **given) {
            let wanted = wanted.as_str().unwrap_or_default();
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted}; pod.spec.nodeSelector[{key}] = {given}"
            );
            return Err(attributes.forbidden(pod, &why));
        }
        if !pod["spec"]["nodeSelector"].is_object() {
            pod["spec"]["nodeSelector"] = json!({});
        }
        pod["spec"]["nodeSelector"][key] = wanted.clone();
    }
    Ok(())
}

/// Both lists together, without those that another one covers.
fn merge_tolerations(pod: &mut Value, added: &Value) {
    let own = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    let all: Vec<Value> = own.iter().chain(added.as_array().into_iter().flatten()).cloned().collect();
    let mut merged: Vec<Value> = Vec::new();
    'next: for (index, toleration) in all.iter().enumerate() {
        if merged.iter().any(|earlier| covers(earlier, toleration)) {
            continue;
        }
        for later in &all[index + 1..] {
            if toleration != later && covers(later, toleration) {
                continue 'next;
            }
        }
        merged.push(toleration.clone());
    }
    if !merged.is_empty() {
        pod["spec"]["tolerations"] = merged.into();
    }
}

/// Whether one toleration tolerates all that another does.
fn covers(wide: &Value, narrow: &Value) -> bool {
    let text = |toleration: &'_ Value, field: &str| toleration[field].as_str().unwrap_or_default().to_owned();
    if wide == narrow {
        return true;
    }
    let (key, effect) = (text(wide, "key"), text(wide, "effect"));
    if !key.is_empty() && key != text(narrow, "key") || !effect.is_empty() && effect != text(narrow, "effect") {
        return false;
    }
    if text(wide, "effect") == "NoExecute" {
        match (wide["tolerationSeconds"].as_i64(), narrow["tolerationSeconds"].as_i64()) {
            (Some(wide), Some(narrow)) if wide >= narrow => {}
            (None, _) => {}
            _ => return false,
        }
    }
    match text(wide, "operator").as_str() {
        "Exists" => true,
        "" | "Equal" => text(wide, "value") == text(narrow, "value") && text(narrow, "operator") != "Exists",
        _ => false,
    }
}
