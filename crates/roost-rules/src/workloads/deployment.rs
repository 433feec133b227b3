//! Deployments: replica sets that replace each other.

use roost_object::Value;
use roost_object::field::{Error, Errors};

use super::counts::{self, amount};
use super::{replicas, template};
use crate::check::{Spot, immutable};
use crate::fill::Fill;
use crate::{Generation, Rules, drop_status, keep_status, pod, shown};

pub(super) const RULES: Rules = Rules {
    group: "apps",
    kind: "Deployment",
    defaults: fill,
    prepare_create: |new| {
        drop_status(new);
        pod::drop_disabled_template(new.at_or_empty("spec"), "template");
    },
    prepare_update: |new, old| {
        keep_status(new, old);
        pod::drop_disabled_template(new.at_or_empty("spec"), "template");
    },
    prepare_status_update: |new, old| {
        crate::keep_spec(new, old);
        match old["metadata"].get("labels") {
            Some(labels) => new.at_or_empty("metadata")["labels"] = labels.clone(),
            None => new.at_or_empty("metadata").drop_field("labels"),
        }
    },
    generation: Generation::SpecOrAnnotations,
    validate: |new, errors| validate(new, None, errors),
    validate_update: |new, old, errors| {
        validate(new, Some(old), errors);
        let root = Spot::root(new);
        let spec = root.field("spec");
        immutable(&spec.field("selector"), &old["spec"]["selector"], "*LabelSelector", errors);
    },
    validate_status_update: validate_status,
    warns_on_update: crate::generation_moved,
    warnings: template::warn,
    ..Rules::NONE
};

fn fill(deployment: &mut Value) {
    let spec = deployment.at_or_empty("spec");
    spec.fill("replicas", 1);
    let strategy = spec.at_or_empty("strategy");
    strategy.fill_text("type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        let update = strategy.at_or_empty("rollingUpdate");
        update.fill("maxUnavailable", "25%");
        update.fill("maxSurge", "25%");
    }
    spec.fill("revisionHistoryLimit", 10);
    spec.fill("progressDeadlineSeconds", 600);
    pod::fill_template(spec, "template");
}

fn validate(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let root = Spot::root(new);
    let spec = root.field("spec");
    counts::not_negative(&spec, &["replicas"], errors);
    replicas::validate_selector_and_template(&spec, old, errors);
    validate_strategy(&spec.field("strategy"), errors);
    counts::not_negative(&spec, &["minReadySeconds", "revisionHistoryLimit"], errors);
    let deadline = spec.field("progressDeadlineSeconds");
    if deadline.given() {
        counts::not_negative(&spec, &["progressDeadlineSeconds"], errors);
        if deadline.number() <= spec.field("minReadySeconds").number() {
            deadline.invalid("must be greater than minReadySeconds", errors);
        }
    }
}

fn validate_strategy(strategy: &Spot<'_>, errors: &mut Errors) {
    let update = strategy.field("rollingUpdate");
    match strategy.field("type").text() {
        "Recreate" => {
            if update.given() {
                update.forbidden("may not be specified when strategy `type` is 'Recreate'", errors);
            }
        }
        "RollingUpdate" if !update.given() => {
            errors.push(Error::required(&update.path, "this should be defaulted and never be nil"));
        }
        "RollingUpdate" => {
            let unavailable = update.field("maxUnavailable");
            let surge = update.field("maxSurge");
            counts::number_or_percent(&unavailable, errors);
            counts::number_or_percent(&surge, errors);
            if amount(unavailable.value) == 0 && amount(surge.value) == 0 {
                unavailable.invalid("may not be 0 when `maxSurge` is 0", errors);
            }
            counts::at_most_all(&unavailable, errors);
        }
        _ => {
            let words = &["Recreate", "RollingUpdate"];
            errors.push(shown::not_supported(&strategy.path, "DeploymentStrategy", strategy.value, words));
        }
    }
}

fn validate_status(new: &Value, old: &Value, errors: &mut Errors) {
    static COUNTS: &[&str] = &[
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    let root = Spot::root(new);
    let status = root.field("status");
    counts::not_negative(&status, COUNTS, errors);
    let parts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
    counts::not_greater(&status, &parts, "replicas", "cannot be greater than status.replicas", errors);
    counts::not_greater(
        &status,
        &["availableReplicas"],
        "readyReplicas",
        "cannot be greater than readyReplicas",
        errors,
    );
    counts::collisions_only_grow(&status, &old["status"], errors);
}
