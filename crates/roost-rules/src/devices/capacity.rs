//! Which parts of a device's capacity can be asked for.

use roost_object::field::{Error, Errors};
use roost_object::{Quantity, Value};

use super::list::validate_set;
use crate::check::Spot;

/// How many amounts can be offered one by one.
const OPTIONS_MAX: usize = 10;

fn amount(value: &Value) -> Option<Quantity> {
    if value.is_null() { None } else { Quantity::from_value(value).ok() }
}

/// Checks which parts of a capacity can be asked for.
pub(super) fn validate_policy(policy: &Spot<'_>, capacity: &Value, errors: &mut Errors) {
    let Some(capacity) = amount(capacity) else { return };
    let (values, range, default) = (policy.field("validValues"), policy.field("validRange"), policy.field("default"));
    let kind = match (values.filled(), range.given()) {
        (true, true) => {
            let words = "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time";
            return policy.forbidden(words, errors);
        }
        (false, false) => return,
        (true, false) => "validValues",
        (false, true) => "validRange",
    };
    let Some(default) = amount(default.value) else {
        return errors.push(Error::required(&default.path, format!("required when {kind} is defined")));
    };
    if kind == "validValues" {
        validate_values(&values, &default, &capacity, errors);
    } else {
        validate_range(&range, &default, &capacity, errors);
    }
}

fn validate_values(values: &Spot<'_>, default: &Quantity, capacity: &Quantity, errors: &mut Errors) {
    let amounts: Vec<Quantity> = values.elements().iter().filter_map(amount).collect();
    for (index, pair) in amounts.windows(2).enumerate() {
        if pair[0] > pair[1] {
            let path = values.path.index(index + 1);
            errors.push(Error::invalid(&path, pair[1].to_string(), "values must be sorted in ascending order"));
        }
    }
    let key = |value: &Value| amount(value).map(|amount| amount.value().to_string()).unwrap_or_default();
    validate_set(values, OPTIONS_MAX, key, errors, |value, errors| {
        if let Some(option) = amount(value.value)
            && option > *capacity
        {
            let words = format!("option is larger than capacity value: {capacity}");
            errors.push(Error::invalid(&value.path, option.to_string(), words));
        }
    });
    if amounts.len() > OPTIONS_MAX || !amounts.contains(default) {
        let words = "default value is not valid according to the requestPolicy";
        errors.push(Error::invalid(&values.path, default.to_string(), words));
    }
}

fn validate_range(range: &Spot<'_>, default: &Quantity, capacity: &Quantity, errors: &mut Errors) {
    let Some(min) = amount(&range.value["min"]) else {
        return errors.push(Error::required(&range.path.child("min"), "required when validRange is defined"));
    };
    let mut report = |field: &str, value: &Quantity, words: String| {
        errors.push(Error::invalid(&range.path.child(field), value.to_string(), words));
    };
    if min > *capacity {
        report("min", &min, format!("min is larger than capacity value: {capacity}"));
    }
    if *default < min {
        report("min", default, format!("default is less than min: {min}"));
    }
    let max = amount(&range.value["max"]);
    if let Some(max) = &max {
        if min > *max {
            report("max", &min, format!("min is larger than max: {max}"));
        }
        if max > capacity {
            report("max", max, format!("max is larger than capacity value: {capacity}"));
        }
        if default > max {
            report("max", default, format!("default is more than max: {max}"));
        }
    }
    if let Some(step) = amount(&range.value["step"]) {
        let mut first = min.clone();
        first.add(&step);
        if first > *capacity {
            report("step", &step, format!("one step {first} is larger than capacity value: {capacity}"));
        }
        for value in [Some(default), max.as_ref()].into_iter().flatten() {
            if step.value() != 0 && value.value().wrapping_sub(min.value()) % step.value() != 0 {
                report("step", value, format!("value is not a multiple of a given step ({step}) from ({min})"));
            }
        }
    }
}
