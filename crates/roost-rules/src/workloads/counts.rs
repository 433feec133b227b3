//! Checks of numbers: of replicas, and of parts of them.

use roost_object::field::{Error, Errors};
use roost_object::{Value, names};

use crate::check::Check::NonNegative;
use crate::check::Spot;

/// Checks that counts are not negative.
pub(super) fn not_negative(holder: &Spot<'_>, names: &[&str], errors: &mut Errors) {
    for name in names {
        holder.field(name).check(&[NonNegative], errors);
    }
}

/// Checks that no count is greater than another of the same status.
pub(super) fn not_greater(status: &Spot<'_>, names: &[&str], than: &str, words: &str, errors: &mut Errors) {
    for name in names {
        let count = status.field(name);
        if count.number() > status.field(than).number() {
            errors.push(Error::invalid(&count.path, count.number(), words));
        }
    }
}

/// Checks that the count of collisions only grows, since names are made of it.
pub(super) fn collisions_only_grow(status: &Spot<'_>, old: &Value, errors: &mut Errors) {
    let collisions = status.field("collisionCount");
    if let Some(before) = old["collisionCount"].as_i64()
        && collisions.value.as_i64().is_none_or(|now| now < before)
    {
        errors.push(Error::invalid(&collisions.path, collisions.number(), "cannot be decremented"));
    }
}

/// Checks a number or a percentage that is not negative.
pub(super) fn number_or_percent(value: &Spot<'_>, errors: &mut Errors) {
    match value.value {
        Value::String(_) => value.text_passes(names::is_percent, errors),
        _ => value.check(&[NonNegative], errors),
    }
}

/// Checks that a percentage is not of more than all.
pub(super) fn at_most_all(value: &Spot<'_>, errors: &mut Errors) {
    if percent(value.value).is_some_and(|percent| percent > 100) {
        value.invalid("must not be greater than 100%", errors);
    }
}

fn percent(value: &Value) -> Option<i64> {
    let text = value.as_str()?;
    if names::is_percent(text).is_empty() { text.strip_suffix('%')?.parse().ok() } else { None }
}

/// The number, or the percentage as a number; zero where it is neither.
pub(super) fn amount(value: &Value) -> i64 {
    match value {
        Value::String(text) => percent(value).or_else(|| text.parse().ok()).unwrap_or(0),
        _ => value.as_i64().unwrap_or(0),
    }
}
