//! Replication controllers and replica sets: so many pods of a template.

use roost_object::Value;
use roost_object::field::{Error, Errors};

use super::{counts, template};
use crate::check::{Spot, immutable};
use crate::fill::Fill;
use crate::{Generation, Rules, drop_status, keep_spec, keep_status, pod};

pub(super) const REPLICATION_CONTROLLER: Rules = Rules {
    kind: "ReplicationController",
    defaults: |controller| {
        let template = &controller["spec"]["template"];
        if let Value::Object(labels) = &template["metadata"]["labels"] {
            let labels = labels.clone();
            let spec = controller.at_or_empty("spec");
            if spec["selector"].as_object().is_none_or(serde_json::Map::is_empty) {
                spec["selector"] = labels.clone().into();
            }
            let meta = controller.at_or_empty("metadata");
            if meta["labels"].as_object().is_none_or(serde_json::Map::is_empty) {
                meta["labels"] = labels.into();
            }
        }
        let spec = controller.at_or_empty("spec");
        spec.fill("replicas", 1);
        pod::fill_template(spec, "template");
    },
    validate: |new, errors| validate_controller(new, None, errors),
    validate_update: |new, old, errors| validate_controller(new, Some(old), errors),
    validate_status_update: validate_status,
    warns_on_update: crate::generation_moved,
    warns_of_old: true,
    warnings: template::warn,
    ..COMMON
};

pub(super) const REPLICA_SET: Rules = Rules {
    group: "apps",
    kind: "ReplicaSet",
    defaults: |set| {
        let spec = set.at_or_empty("spec");
        spec.fill("replicas", 1);
        pod::fill_template(spec, "template");
    },
    validate: |new, errors| validate_set(new, None, errors),
    validate_update: |new, old, errors| {
        validate_set(new, Some(old), errors);
        let root = Spot::root(new);
        let spec = root.field("spec");
        immutable(&spec.field("selector"), &old["spec"]["selector"], "*LabelSelector", errors);
    },
    validate_status_update: validate_status,
    warns_on_update: crate::generation_moved,
    warnings: template::warn,
    ..COMMON
};

const COMMON: Rules = Rules {
    prepare_create: |new| {
        drop_status(new);
        pod::drop_disabled_template(new.at_or_empty("spec"), "template");
    },
    prepare_update: |new, old| {
        keep_status(new, old);
        pod::drop_disabled_template(new.at_or_empty("spec"), "template");
    },
    prepare_status_update: keep_spec,
    generation: Generation::Spec,
    ..Rules::NONE
};

fn validate_controller(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let root = Spot::root(new);
    let spec = root.field("spec");
    counts::not_negative(&spec, &["minReadySeconds"], errors);
    let selector = spec.field("selector");
    let is_empty = selector.value.as_object().is_none_or(serde_json::Map::is_empty);
    if is_empty {
        errors.push(Error::required(&selector.path, ""));
    }
    if spec.field("replicas").given() {
        counts::not_negative(&spec, &["replicas"], errors);
    } else {
        errors.push(Error::required(&spec.field("replicas").path, ""));
    }
    let pods = spec.field("template");
    if !pods.given() {
        errors.push(Error::required(&pods.path, ""));
        return;
    }
    let labels = &pods.value["metadata"]["labels"];
    let selects = selector.value.as_object().into_iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    if !is_empty && !selects {
        template::not_selected(&pods, errors);
    }
    template::validate(&pods, old.map(|old| &old["spec"]["template"]), errors);
    template::runs_always(&pods, "ReplicationController", errors);
}

fn validate_set(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let root = Spot::root(new);
    let spec = root.field("spec");
    counts::not_negative(&spec, &["replicas", "minReadySeconds"], errors);
    validate_selector_and_template(&spec, old, errors);
}

/// What replica sets and deployments have in common.
pub(super) fn validate_selector_and_template(spec: &Spot<'_>, old: Option<&Value>, errors: &mut Errors) {
    let selector = spec.field("selector");
    template::validate_selector(&selector, "empty selector is invalid for deployment", errors);
    let pods = spec.field("template");
    match template::selects(selector.value, pods.value) {
        None => errors.push(crate::shown::invalid(
            &selector.path,
            "LabelSelector",
            selector.value,
            "invalid label selector",
        )),
        Some(selects) => {
            let is_empty = selector.given() && crate::check::selector_is_empty(selector.value);
            if !selects && !is_empty {
                template::not_selected(&pods, errors);
            }
            template::validate(&pods, old.map(|old| &old["spec"]["template"]), errors);
            template::runs_always(&pods, "ReplicaSet", errors);
        }
    }
}

fn validate_status(new: &Value, _old: &Value, errors: &mut Errors) {
    static COUNTS: &[&str] = &[
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
    ];
    let root = Spot::root(new);
    let status = root.field("status");
    counts::not_negative(&status, COUNTS, errors);
    let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
    counts::not_greater(&status, &parts, "replicas", "cannot be greater than status.replicas", errors);
    counts::not_greater(
        &status,
        &["availableReplicas"],
        "readyReplicas",
        "cannot be greater than readyReplicas",
        errors,
    );
}
