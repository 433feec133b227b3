//! Numbers: ranges, multiples, and the conversions by which kube-openapi compares them.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::format::Format;
use super::{Findings, Place};
use crate::structural::{Checks, Structural, Type};
use crate::wording;

/// The largest magnitude that JSON numbers carry without loss.
const MAX_JSON_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Whether a float is near enough to an integer to pass for one.
pub(super) fn is_json_integer(number: f64) -> bool {
    const EPSILON: f64 = 1e-9;
    if !(-MAX_JSON_INTEGER..=MAX_JSON_INTEGER).contains(&number) {
        return false;
    }
    let whole = number.trunc();
    if number.fract() == 0.0 {
        return true;
    }
    // Go compares with the unsigned conversion here, so negative fractions never pass.
    if number <= 0.0 || whole == 0.0 {
        return false;
    }
    (number - whole).abs() / (number.abs() + whole.abs()) < EPSILON
}

pub(super) fn check(
    schema: &Structural,
    checks: Option<&Checks>,
    number: &Number,
    place: &Place<'_>,
    findings: &mut Findings<'_>,
) {
    let single = !schema.int_or_string;
    let kind = if single && matches!(schema.kind, Type::Integer | Type::Number) { schema.kind } else { Type::Any };
    let format = checks.and_then(|checks| checks.format).filter(|_| single);
    let integer = number.as_i64();
    let float = number.as_f64().unwrap_or_default();
    let in_range = |number: f64, integer: Option<i64>| fits(number, integer, kind, format);
    let range_words = |what: &str| match format {
        Some(format) => {
            format!("{what} value must be of type {} with format {} in {place}", kind.name(), format.name())
        }
        None => format!("{what} value must be of type {} (default format) in {place}", kind.name()),
    };
    if !in_range(float, integer) {
        findings.general(range_words("Checked"));
    }
    let Some(checks) = checks else { return };
    if let Some(factor) = checks.multiple_of {
        let native = in_range(factor, None);
        if !native {
            findings.general(range_words("MultipleOf"));
        }
        multiple_of(factor, integer.filter(|_| native), float, place, findings);
    }
    let mut bound = |limit: f64, what: &str, beyond: Beyond, words: &str| {
        let native = in_range(limit, None);
        if !native {
            findings.general(range_words(what));
        }
        let (crossed, value, shown) = if let Some(integer) = integer.filter(|_| native) {
            let limit = limit as i64;
            (beyond.crosses(integer.cmp(&limit)), Value::from(integer), limit.to_string())
        } else {
            let crossed = float.partial_cmp(&limit).is_some_and(|order| beyond.crosses(order));
            (crossed, Value::from(float), wording::float(limit))
        };
        if crossed {
            findings.invalid(&place.to_string(), &value, format!("{place} in body should be {words} {shown}"));
        }
    };
    if let Some(limit) = checks.minimum {
        let exclusive = checks.exclusive_minimum;
        let words = if exclusive { "greater than" } else { "greater than or equal to" };
        bound(limit, "Minimum boundary", Beyond { wrong: Ordering::Less, exclusive }, words);
    }
    if let Some(limit) = checks.maximum {
        let exclusive = checks.exclusive_maximum;
        let words = if exclusive { "less than" } else { "less than or equal to" };
        bound(limit, "Maximum boundary", Beyond { wrong: Ordering::Greater, exclusive }, words);
    }
}

/// On which side of a limit a number is out of range.
#[derive(Clone, Copy)]
struct Beyond {
    wrong: Ordering,
    exclusive: bool,
}

impl Beyond {
    fn crosses(self, order: Ordering) -> bool {
        order == self.wrong || self.exclusive && order == Ordering::Equal
    }
}

/// Whether a number can be converted to the schema's type and format.
fn fits(number: f64, integer: Option<i64>, kind: Type, format: Option<Format>) -> bool {
    match kind {
        Type::Integer => {
            let whole = integer.is_some() || number.fract() == 0.0 && number.abs() < 9_223_372_036_854_775_808.0;
            let narrow = format == Some(Format::Int32);
            whole && (!narrow || (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number))
        }
        _ => format != Some(Format::Float) || (number as f32).is_finite(),
    }
}

fn multiple_of(factor: f64, integer: Option<i64>, float: f64, place: &Place<'_>, findings: &mut Findings<'_>) {
    let name = place.to_string();
    let shown = if integer.is_some() { (factor as i64).to_string() } else { wording::float(factor) };
    let positive = if integer.is_some() { factor as i64 > 0 } else { factor > 0.0 };
    if !positive {
        let factor = if integer.is_some() { Value::from(factor as i64) } else { Value::from(factor) };
        let words = format!("factor MultipleOf declared for {name} must be positive: {shown}");
        findings.invalid(&name, &factor, words);
        return;
    }
    let divides = match integer {
        Some(integer) => integer % (factor as i64) == 0,
        None => is_json_integer(if factor < 1.0 { 1.0 / factor * float } else { float / factor }),
    };
    if !divides {
        let value = integer.map_or_else(|| Value::from(float), Value::from);
        findings.invalid(&name, &value, format!("{name} in body should be a multiple of {shown}"));
    }
}

/// The conversion of a float as Go does it: what does not fit becomes the least integer.
pub(crate) fn to_integer(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

/// Whether a value equals an allowed one after Go's conversion to its type. Null equals nothing.
pub(super) fn converts_to(value: &Value, allowed: &Value) -> bool {
    match (value, allowed) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(value), Value::Number(allowed)) => match (value.as_i64(), allowed.as_i64()) {
            (Some(value), Some(allowed)) => value == allowed,
            (None, Some(allowed)) => value.as_f64().is_some_and(|value| to_integer(value) == allowed),
            _ => value.as_f64() == allowed.as_f64(),
        },
        // An integer converts to the text of the character with that number.
        (Value::Number(value), Value::String(allowed)) => {
            let character = value.as_i64().and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32);
            character.is_some_and(|character| allowed.chars().eq([character]))
        }
        (value, allowed) => value == allowed,
    }
}
