//! What a JSONPath finds in an object.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde_json::Value;

use super::path::{Slice, Step};

/// A path that finds more than this finds nothing.
const MAX_RESULTS: usize = 10_000;

/// Follows steps from values; none when they cannot be followed.
pub(super) fn walk<'a>(mut current: Vec<Cow<'a, Value>>, steps: &'a [Step]) -> Option<Vec<Cow<'a, Value>>> {
    for step in steps {
        current = apply(current, step)?;
        if current.len() > MAX_RESULTS {
            return None;
        }
    }
    Some(current)
}

fn children<'a>(value: &'a Value, out: &mut Vec<Cow<'a, Value>>) {
    match value {
        Value::Object(map) => out.extend(map.values().map(Cow::Borrowed)),
        Value::Array(list) => out.extend(list.iter().map(Cow::Borrowed)),
        _ => {}
    }
}

fn apply<'a>(current: Vec<Cow<'a, Value>>, step: &'a Step) -> Option<Vec<Cow<'a, Value>>> {
    let mut out = Vec::new();
    match step {
        Step::Field(name) => {
            for value in current {
                if let Cow::Borrowed(Value::Object(map)) = value {
                    out.extend(map.get(name).map(Cow::Borrowed));
                }
            }
        }
        Step::Wildcard => {
            for value in current {
                if let Cow::Borrowed(value) = value {
                    children(value, &mut out);
                }
            }
        }
        Step::Recursive => {
            let mut pending: Vec<_> = current.into_iter().rev().collect();
            while let Some(value) = pending.pop() {
                let mut below = Vec::new();
                if let Cow::Borrowed(value) = value {
                    children(value, &mut below);
                }
                if !below.is_empty() {
                    out.push(value);
                    pending.extend(below.into_iter().rev());
                }
                if out.len() + pending.len() > MAX_RESULTS {
                    return None;
                }
            }
        }
        Step::Slice(slice) => {
            for value in current {
                match value {
                    Cow::Borrowed(Value::Array(list)) => elements(list, *slice, &mut out)?,
                    Cow::Borrowed(Value::Null) => {}
                    _ => return None,
                }
            }
        }
        Step::Union(parts) => {
            for part in parts {
                out.append(&mut walk(current.clone(), part)?);
            }
        }
        Step::Filter { left, operator, right } => {
            for value in current {
                let Cow::Borrowed(Value::Array(list)) = value else { return None };
                for element in list {
                    if passes(element, left, operator, right)? {
                        out.push(Cow::Borrowed(element));
                    }
                }
            }
        }
        Step::Literal(value) => out.extend(current.iter().map(|_| Cow::Borrowed(value))),
        Step::Word => return None,
    }
    Some(out)
}

fn elements<'a>(list: &'a [Value], slice: Slice, out: &mut Vec<Cow<'a, Value>>) -> Option<()> {
    let length = i64::try_from(list.len()).ok()?;
    let mut from = slice.from.unwrap_or_default();
    if from < 0 {
        from += length;
    }
    let mut to = slice.to.unwrap_or(length);
    if to < 0 || to == 0 && slice.single {
        to += length;
    }
    if from == to {
        return Some(());
    }
    if from < 0 || from >= length || to < 0 || to > length || from > to {
        return None;
    }
    let step = usize::try_from(slice.step.unwrap_or(1)).ok().filter(|step| *step > 0)?;
    out.extend(list[from as usize..to as usize].iter().step_by(step).map(Cow::Borrowed));
    Some(())
}

fn passes(element: &Value, left: &[Step], operator: &str, right: &[Step]) -> Option<bool> {
    let found = walk(vec![Cow::Borrowed(element)], left);
    if operator == "exists" {
        return Some(found.is_some_and(|found| !found.is_empty()));
    }
    let single = |mut found: Vec<Cow<'_, Value>>| match found.len() {
        0 => Some(None),
        1 => Some(found.pop().map(Cow::into_owned)),
        _ => None,
    };
    let Some(left) = single(found?)? else { return Some(false) };
    let Some(right) = single(walk(vec![Cow::Borrowed(element)], right)?)? else { return Some(false) };
    let ordering = compare(&left, &right)?;
    match operator {
        "==" => Some(ordering == Ordering::Equal),
        "!=" => Some(ordering != Ordering::Equal),
        "<" => Some(ordering == Ordering::Less),
        ">" => Some(ordering == Ordering::Greater),
        "<=" => Some(ordering != Ordering::Greater),
        ">=" => Some(ordering != Ordering::Less),
        _ => None,
    }
}

fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) if left.is_i64() == right.is_i64() => {
            match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
            }
        }
        _ => None,
    }
}
