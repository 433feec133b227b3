//! What may change in a pod after it was created: hardly anything.

use std::ops::ControlFlow;

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use super::annotations::{self, MIRROR};
use super::spec::Options;
use super::{scheduling, validate_metadata_and_spec};
use crate::check::{Spot, elements, text};
use crate::fill::Fill;
use crate::internal;

const MAY_CHANGE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Checks a pod at its strictest; if that fails, by what the stored pod was allowed.
pub(super) fn validate_now(new: &Value, old: &Value, errors: &mut Errors) -> Options {
    let strict = Options::default().for_pod();
    let before = errors.len();
    validate_metadata_and_spec(new, &strict, errors);
    if errors.len() == before {
        return strict;
    }
    errors.truncate(before);
    let options = Options::tolerating(old).for_pod();
    validate_metadata_and_spec(new, &options, errors);
    options
}

/// Checks an update of a pod.
pub(super) fn validate(new: &Value, old: &Value, errors: &mut Errors) {
    let options = validate_now(new, old, errors);
    let root = Spot::root(new);
    annotations::validate_update(&root, old, &options, errors);
    let spec = root.field("spec");
    for list in ["containers", "initContainers"] {
        if validate_containers(&spec.field(list), &old["spec"][list], errors).is_break() {
            return;
        }
    }
    if validate_deadline(&spec.field("activeDeadlineSeconds"), &old["spec"]["activeDeadlineSeconds"], errors).is_break()
    {
        return;
    }
    validate_tolerations(&spec.field("tolerations"), elements(&old["spec"]["tolerations"]), &options, errors);
    validate_gates(&spec.field("schedulingGates"), elements(&old["spec"]["schedulingGates"]), errors);
    if internal::same("PodSpec", spec.value, &old["spec"]) {
        return;
    }
    let restored = restore_what_may_change(&spec, &old["spec"], errors);
    if !internal::same("PodSpec", &restored, &old["spec"]) {
        let lines = |spec: &Value| internal::print_lines("PodSpec", spec);
        let difference = internal::diff(&lines(&old["spec"]), &lines(&restored));
        spec.forbidden(format!("{MAY_CHANGE}\n{difference}"), errors);
    }
}

fn validate_containers(containers: &Spot<'_>, old: &Value, errors: &mut Errors) -> ControlFlow<()> {
    if containers.elements().len() != elements(old).len() {
        containers.forbidden("pod updates may not add or remove containers", errors);
        return ControlFlow::Break(());
    }
    containers.each(|_, container| {
        let image = container.field("image");
        if !image.filled() {
            errors.push(Error::required(&image.path, ""));
        }
        super::container::validate_image_of_pod(container, errors);
    });
    ControlFlow::Continue(())
}

fn validate_deadline(new: &Spot<'_>, old: &Value, errors: &mut Errors) -> ControlFlow<()> {
    let highest = i64::from(i32::MAX);
    match (new.value.as_i64(), old.as_i64()) {
        (Some(seconds), _) if !(0..=highest).contains(&seconds) => {
            new.invalid(names::out_of_range(0, highest), errors);
            ControlFlow::Break(())
        }
        (Some(seconds), Some(before)) if before < seconds => {
            new.invalid("must be less than or equal to previous value", errors);
            ControlFlow::Break(())
        }
        (None, Some(_)) => {
            new.invalid("must not update from a positive integer to nil value", errors);
            ControlFlow::Continue(())
        }
        _ => ControlFlow::Continue(()),
    }
}

fn validate_tolerations(new: &Spot<'_>, old: &[Value], options: &Options, errors: &mut Errors) {
    let equal_but_seconds = |one: &Value, other: &Value| {
        ["key", "operator", "value", "effect"].iter().all(|name| text(one, name) == text(other, name))
    };
    if old.iter().all(|toleration| new.elements().iter().any(|kept| equal_but_seconds(kept, toleration))) {
        scheduling::validate_tolerations(new, options, errors);
    } else {
        new.forbidden("existing toleration can not be modified except its tolerationSeconds", errors);
    }
}

fn validate_gates(new: &Spot<'_>, old: &[Value], errors: &mut Errors) {
    let is_called = |gate: &Value, name: &str| text(gate, "name") == name;
    new.each(|index, gate| {
        let name = text(gate.value, "name");
        let comes_again = new.elements().iter().skip(index + 1).any(|later| is_called(later, name));
        if !comes_again && !old.iter().any(|before| is_called(before, name)) {
            let words = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            gate.field("name").forbidden(words, errors);
        }
    });
}

/// The new spec with all that may change put back, after it was checked how it changed.
fn restore_what_may_change(new: &Spot<'_>, old: &Value, errors: &mut Errors) -> Value {
    let mut spec = new.value.clone();
    for list in ["containers", "initContainers"] {
        for (container, before) in spec.each(list).zip(elements(&old[list])) {
            container["image"] = before["image"].clone();
        }
    }
    restore(&mut spec, old, "activeDeadlineSeconds");
    restore(&mut spec, old, "schedulingGates");
    restore(&mut spec, old, "tolerations");
    let was_negative = old["terminationGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds < 0);
    if was_negative && spec["terminationGracePeriodSeconds"] == 1 {
        restore(&mut spec, old, "terminationGracePeriodSeconds");
    }
    if !elements(&old["schedulingGates"]).is_empty() {
        restore_scheduling_of_gated(&mut spec, new, old, errors);
    }
    spec
}

fn restore(spec: &mut Value, old: &Value, name: &str) {
    match old.get(name) {
        Some(value) => spec[name] = value.clone(),
        None => spec.drop_field(name),
    }
}

/// A pod that is held back may still be told more precisely where to go.
fn restore_scheduling_of_gated(spec: &mut Value, new: &Spot<'_>, old: &Value, errors: &mut Errors) {
    if !internal::same("{s", &spec["nodeSelector"], &old["nodeSelector"]) {
        let selector = new.field("nodeSelector");
        let only_added = |(key, value): (&String, &Value)| selector.value.get(key) == Some(value);
        if !old["nodeSelector"].as_object().into_iter().flatten().all(only_added) {
            selector.invalid("only additions to spec.nodeSelector are allowed (no mutations or deletions)", errors);
        }
        restore(spec, old, "nodeSelector");
    }
    let before = old["affinity"].get("nodeAffinity").cloned().unwrap_or_default();
    if internal::same("*NodeAffinity", &spec["affinity"]["nodeAffinity"], &before) {
        return;
    }
    let affinity = new.field("affinity");
    validate_node_affinity_of_gated(&affinity.field("nodeAffinity"), &before, errors);
    let affects_pods = !spec["affinity"]["podAffinity"].is_null() || !spec["affinity"]["podAntiAffinity"].is_null();
    if spec["affinity"].is_null() {
        spec["affinity"] = serde_json::json!({ "nodeAffinity": before });
    } else if old["affinity"].is_null() && !affects_pods {
        spec.drop_field("affinity");
    } else if before.is_null() {
        spec["affinity"].drop_field("nodeAffinity");
    } else {
        spec["affinity"]["nodeAffinity"] = before;
    }
}

fn validate_node_affinity_of_gated(new: &Spot<'_>, old: &Value, errors: &mut Errors) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let old_terms = elements(&old[REQUIRED]["nodeSelectorTerms"]);
    let required = new.field(REQUIRED);
    let terms = required.field("nodeSelectorTerms");
    if !old_terms.is_empty() && old_terms.len() != terms.elements().len() {
        let shown = internal::print("[NodeSelectorTerm", terms.value);
        let words = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        errors.push(Error::invalid_omitted(&terms.path, format!("{shown}: {words}")));
        return;
    }
    for (index, before) in old_terms.iter().enumerate() {
        let term = terms.element(index);
        if !has_only_additions(term.value, before) {
            let shown = internal::print("NodeSelectorTerm", term.value);
            let words = "only additions are allowed (no mutations or deletions)";
            errors.push(Error::invalid_omitted(&term.path, format!("{shown}: {words}")));
        }
    }
}

fn has_only_additions(new: &Value, old: &Value) -> bool {
    let lists = ["matchExpressions", "matchFields"].map(|name| (elements(&new[name]), elements(&old[name])));
    // A term without requirements selects nothing, and anything added to it would make it select more.
    if lists.iter().all(|(_, old)| old.is_empty()) {
        return lists.iter().all(|(new, _)| new.is_empty());
    }
    lists.iter().all(|(new, old)| {
        new.len() >= old.len()
            && new.iter().zip(*old).all(|(new, old)| internal::same("NodeSelectorRequirement", new, old))
    })
}

/// Checks an update of the ephemeral containers of a pod: there can only be more of them.
pub fn validate_ephemeral_containers(new: &Value, old: &Value, errors: &mut Errors) {
    let options = validate_now(new, old, errors);
    annotations::validate_update(&Spot::root(new), old, &options, errors);
    if old["metadata"]["annotations"].get(MIRROR).is_some() {
        errors.clear();
        errors.push(Error::forbidden(&Path::ROOT.key(""), "static pods do not support ephemeral containers"));
        return;
    }
    let root = Spot::root(new);
    let spec = root.field("spec");
    let containers = spec.field("ephemeralContainers");
    for before in elements(&old["spec"]["ephemeralContainers"]) {
        let name = roost_object::field::quote(text(before, "name"));
        match containers.elements().iter().rfind(|container| container["name"] == before["name"]) {
            None => {
                containers.forbidden(format!("existing ephemeral containers {name} may not be removed\n"), errors);
            }
            Some(container) if !internal::same("EphemeralContainer", before, container) => {
                let lines = |container| internal::print_lines("EphemeralContainer", container);
                let difference = internal::diff(&lines(before), &lines(container));
                let words = format!("existing ephemeral containers {name} may not be changed\n{difference}");
                containers.forbidden(words, errors);
            }
            Some(_) => {}
        }
    }
}
