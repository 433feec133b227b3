//! Disruption budgets: how many pods may be missing.

use roost_object::Value;
use roost_object::field::Errors;
use roost_object::metadata;

use super::counts;
use crate::check::{SelectorValues, Spot, label_selector};
use crate::{Generation, NameRule, Rules, drop_status, keep_spec, keep_status, shown};

pub(super) const RULES: Rules = Rules {
    group: "policy",
    kind: "PodDisruptionBudget",
    name: NameRule::PathSegment,
    prepare_create: drop_status,
    prepare_update: keep_status,
    prepare_status_update: keep_spec,
    generation: Generation::Spec,
    validate: |new, errors| validate(new, SelectorValues::Checked, errors),
    validate_update: |new, old, errors| {
        let mut old_errors = Errors::new();
        label_selector(&Spot::root(&old["spec"]["selector"]), SelectorValues::Checked, &mut old_errors);
        let values = if old_errors.is_empty() { SelectorValues::Checked } else { SelectorValues::Trusted };
        validate(new, values, errors);
    },
    validate_status_update: |new, _, errors| {
        let root = Spot::root(new);
        let status = root.field("status");
        metadata::validate_conditions(&status.value["conditions"], &status.path.child("conditions"), errors);
        let names = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];
        counts::not_negative(&status, &names, errors);
    },
    unconditional_update: false,
    ..Rules::NONE
};

fn validate(new: &Value, values: SelectorValues, errors: &mut Errors) {
    let root = Spot::root(new);
    let spec = root.field("spec");
    let limits = [spec.field("minAvailable"), spec.field("maxUnavailable")];
    if limits.iter().all(Spot::given) {
        let words = "minAvailable and maxUnavailable cannot be both set";
        errors.push(shown::invalid(&spec.path, "PodDisruptionBudgetSpec", spec.value, words));
    }
    for limit in limits.iter().filter(|limit| limit.given()) {
        counts::number_or_percent(limit, errors);
        counts::at_most_all(limit, errors);
    }
    label_selector(&spec.field("selector"), values, errors);
    spec.field("unhealthyPodEvictionPolicy").one_of_if_given(&["AlwaysAllow", "IfHealthyBudget"], errors);
}
