//! When a job counts as failed or as done.

use roost_object::Value;
use roost_object::field::{Error, Errors};
use roost_object::names;

use super::{counts, indexes};
use crate::check::{Spot, elements, text};

const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const CONDITIONS_MAX: usize = 20;
const INDEXES_MAX: usize = 64 * 1024;
static ACTIONS: &[&str] = &["Count", "FailIndex", "FailJob", "Ignore"];
static STATUSES: &[&str] = &["False", "True", "Unknown"];

/// `valid values: ["a" "b"]`, as Go prints lists.
fn valid_values(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("valid values: [{}]", quoted.join(" "))
}

fn one_of(value: &Spot<'_>, words: &[&str], errors: &mut Errors) {
    if !value.filled() {
        errors.push(Error::required(&value.path, valid_values(words)));
    } else if !words.contains(&value.text()) {
        errors.push(Error::not_supported(&value.path, value.text(), words));
    }
}

fn at_most(list: &Spot<'_>, max: usize, errors: &mut Errors) {
    if list.elements().len() > max {
        errors.push(Error::too_many(&list.path, list.elements().len(), max));
    }
}

/// Checks what failures of pods mean for the job.
pub(super) fn validate_failure_policy(spec: &Spot<'_>, errors: &mut Errors) {
    let policy = spec.field("podFailurePolicy");
    let rules = policy.field("rules");
    at_most(&rules, RULES_MAX, errors);
    let pods = &spec.value["template"]["spec"];
    let containers: Vec<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| elements(&pods[list]))
        .map(|container| text(container, "name"))
        .collect();
    rules.each(|_, rule| {
        let action = rule.field("action");
        if action.text() == "FailIndex" {
            if !spec.field("backoffLimitPerIndex").given() {
                action.invalid("requires the backoffLimitPerIndex to be set", errors);
            }
        } else {
            one_of(&action, ACTIONS, errors);
        }
        let codes = rule.field("onExitCodes");
        let conditions = rule.field("onPodConditions");
        if codes.given() {
            validate_exit_codes(&codes, &containers, errors);
        }
        at_most(&conditions, CONDITIONS_MAX, errors);
        conditions.each(|_, pattern| {
            pattern.field("type").text_passes(names::is_qualified_name, errors);
            one_of(&pattern.field("status"), STATUSES, errors);
        });
        let words = match (codes.given(), conditions.filled()) {
            (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => return,
        };
        errors.push(Error::invalid_omitted(&rule.path, words));
    });
}

fn validate_exit_codes(codes: &Spot<'_>, containers: &[&str], errors: &mut Errors) {
    let operator = codes.field("operator");
    one_of(&operator, &["In", "NotIn"], errors);
    let name = codes.field("containerName");
    if name.given() && !containers.contains(&name.text()) {
        name.invalid("must be one of the container or initContainer names in the pod template", errors);
    }
    let values = codes.field("values");
    if values.filled() {
        at_most(&values, EXIT_CODES_MAX, errors);
    } else {
        values.invalid("at least one value is required", errors);
    }
    let list = values.elements();
    values.each(|index, value| {
        if operator.text() == "In" && value.number() == 0 {
            errors.push(Error::invalid(&value.path, 0, "must not be 0 for the In operator"));
        }
        if list[..index].contains(value.value) {
            errors.push(Error::duplicate(&value.path, value.number()));
        }
    });
    if !list.iter().map(Value::as_i64).is_sorted() {
        values.invalid("must be ordered", errors);
    }
}

/// Checks which indexes must have succeeded for the job to be done.
pub(super) fn validate_success_policy(spec: &Spot<'_>, errors: &mut Errors) {
    let policy = spec.field("successPolicy");
    let rules = policy.field("rules");
    if !rules.filled() {
        let words = "at least one rules must be specified when the successPolicy is specified";
        errors.push(Error::required(&rules.path, words));
    }
    at_most(&rules, RULES_MAX, errors);
    let completions = spec.field("completions").number();
    rules.each(|_, rule| {
        let count = rule.field("succeededCount");
        let set = rule.field("succeededIndexes");
        if !count.given() && !set.given() {
            let words = "at least one of succeededCount or succeededIndexes must be specified";
            errors.push(Error::required(&rule.path, words));
        }
        let mut total = 0;
        if set.given() {
            if set.text().len() > INDEXES_MAX {
                errors.push(Error::too_long(&set.path, INDEXES_MAX));
            }
            match indexes::count(set.text(), completions) {
                Ok(found) => total = found,
                Err(problem) => set.invalid(format!("error parsing succeededIndexes: {problem}"), errors),
            }
        }
        if !count.given() {
            return;
        }
        counts::not_negative(rule, &["succeededCount"], errors);
        if count.number() > completions {
            let words = format!("must be less than or equal to {completions} (the number of specified completions)");
            count.invalid(words, errors);
        }
        if set.given() && count.number() > total {
            let words = format!(
                "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            );
            count.invalid(words, errors);
        }
    });
}
