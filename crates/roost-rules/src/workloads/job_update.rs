//! What may change in a job: its size, and while it is suspended, where its pods go.

use roost_object::Value;
use roost_object::field::Errors;

use super::job;
use crate::check::{Spot, elements, immutable, text};
use crate::fill::Fill;

/// Checks an update. Stock checks the spec twice, once as that of a job and once as that of an update.
pub(super) fn validate(new: &Value, old: &Value, errors: &mut Errors) {
    let root = Spot::root(new);
    let spec = root.field("spec");
    let old_spec = &old["spec"];
    job::validate(new, Some(old), errors);
    if !errors.is_empty() {
        job::validate_spec(&spec, Some(old), errors);
    }
    validate_completions(&spec, old_spec, errors);
    immutable(&spec.field("selector"), &old_spec["selector"], "*LabelSelector", errors);
    validate_template_update(&spec, old, errors);
    immutable(&spec.field("completionMode"), &old_spec["completionMode"], "*s", errors);
    immutable(&spec.field("podFailurePolicy"), &old_spec["podFailurePolicy"], "*PodFailurePolicy", errors);
    immutable(&spec.field("backoffLimitPerIndex"), &old_spec["backoffLimitPerIndex"], "*n", errors);
    immutable(&spec.field("managedBy"), &old_spec["managedBy"], "*s", errors);
    immutable(&spec.field("successPolicy"), &old_spec["successPolicy"], "*SuccessPolicy", errors);
}

fn validate_completions(spec: &Spot<'_>, old: &Value, errors: &mut Errors) {
    let completions = spec.field("completions");
    if spec.field("completionMode").text() != "Indexed" {
        immutable(&completions, &old["completions"], "*n", errors);
    } else if completions.given()
        && completions.value != &old["completions"]
        && completions.number() != spec.field("parallelism").number()
    {
        // The path here is that of the root and not of the spec.
        completions.invalid("can only be modified in tandem with spec.parallelism", errors);
    }
}

/// A suspended job may still be told where and how large its pods run.
fn validate_template_update(spec: &Spot<'_>, old: &Value, errors: &mut Errors) {
    let pods = spec.field("template");
    let mut before = old["spec"]["template"].clone();
    if !pods_may_change(old) {
        immutable(&pods, &before, "PodTemplateSpec", errors);
        return;
    }
    let now = pods.value;
    match (now["spec"]["affinity"].is_null(), before["spec"]["affinity"].is_null()) {
        (true, false) => {
            before["spec"]["affinity"].drop_field("nodeAffinity");
            if before["spec"]["affinity"].as_object().is_some_and(serde_json::Map::is_empty) {
                before["spec"].drop_field("affinity");
            }
        }
        (false, true) => {
            before["spec"]["affinity"] = serde_json::json!({});
            copy(&now["spec"]["affinity"], &mut before["spec"]["affinity"], "nodeAffinity");
        }
        (false, false) => copy(&now["spec"]["affinity"], &mut before["spec"]["affinity"], "nodeAffinity"),
        (true, true) => {}
    }
    for name in ["nodeSelector", "tolerations", "schedulingGates"] {
        copy(&now["spec"], &mut before["spec"], name);
    }
    for list in ["containers", "initContainers"] {
        let current = elements(&now["spec"][list]);
        if current.len() == elements(&before["spec"][list]).len() {
            for (container, now) in before["spec"].each(list).zip(current) {
                if container["name"] == now["name"] {
                    copy(now, container, "resources");
                }
            }
        }
    }
    let pod_spec = pods.field("spec");
    immutable(&pod_spec, &before["spec"], "PodSpec", errors);
}

fn copy(from: &Value, to: &mut Value, name: &str) {
    match from.get(name) {
        Some(value) => to[name] = value.clone(),
        None => to.drop_field(name),
    }
}

fn pods_may_change(job: &Value) -> bool {
    let status = &job["status"];
    let is_suspended = elements(&status["conditions"])
        .iter()
        .any(|condition| text(condition, "type") == "Suspended" && text(condition, "status") == "True");
    job["spec"]["suspend"] == true
        && (status["startTime"].is_null() || is_suspended)
        && status["active"].as_i64().unwrap_or(0) == 0
}
