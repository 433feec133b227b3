//! Equality and order of values.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::escape::escape;
use super::meter::Meter;
use super::value::{EvalError, Key, List, ListRule, Map, Value};

/// Whether two values are equal. Numbers are equal whatever their type.
pub(crate) fn equal<'a>(left: &Value<'a>, right: &Value<'a>, meter: &Meter) -> Result<bool, EvalError> {
    meter.work(1)?;
    Ok(match (left, right) {
        (Value::Null, other) | (other, Value::Null) => matches!(other, Value::Null) && matches!(left, Value::Null),
        (Value::Int(a), Value::Int(b)) | (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => {
            meter.work(a.len().min(b.len()) as u64 / 64)?;
            a.as_ref() == b.as_ref()
        }
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), Value::Int(_) | Value::Uint(_) | Value::Double(_)) => {
            numbers(left, right) == Some(Ordering::Equal)
        }
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
        (Value::Type(a), Value::Type(b)) => a == b,
        (Value::Optional(a), Value::Optional(b)) => match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => equal(a, b, meter)?,
            _ => false,
        },
        (Value::Ip(a), Value::Ip(b)) => a == b,
        (Value::Cidr(a), Value::Cidr(b)) => a == b,
        (Value::Url(a), Value::Url(b)) => a.text == b.text,
        (Value::Quantity(a), Value::Quantity(b)) => a.cmp(b).is_eq(),
        (Value::Semver(a), Value::Semver(b)) => a.cmp(b).is_eq(),
        (Value::Format(a), Value::Format(b)) => std::ptr::eq(*a, *b),
        (Value::Preserved(a), Value::Preserved(b)) => a == b,
        (Value::List(a), Value::List(b)) => lists(a, b, meter)?,
        (Value::Map(a), Value::Map(b)) => maps(a, b, meter)?,
        // Values from a schema and of Kubernetes' own types refuse to be compared with others; all else is not equal.
        (
            Value::List(List::Json(_) | List::Typed(..))
            | Value::Ip(_)
            | Value::Cidr(_)
            | Value::Url(_)
            | Value::Quantity(_)
            | Value::Semver(_)
            | Value::Format(_)
            | Value::Access(_)
            | Value::Decision(_),
            _,
        ) => return Err(EvalError::no_such_overload()),
        (Value::Map(Map::Json(map)), _) if !map.is_untyped() => return Err(EvalError::no_such_overload()),
        _ => false,
    })
}

/// The order of two numbers; none when one is not a number.
fn numbers(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    let double_int = |double: f64, int: i64| {
        if double < -9_223_372_036_854_775_808.0 {
            return Some(Ordering::Less);
        }
        if double > 9_223_372_036_854_775_807.0 {
            return Some(Ordering::Greater);
        }
        double.partial_cmp(&(int as f64))
    };
    let double_uint = |double: f64, uint: u64| {
        if double < 0.0 {
            return Some(Ordering::Less);
        }
        if double > 18_446_744_073_709_551_615.0 {
            return Some(Ordering::Greater);
        }
        double.partial_cmp(&(uint as f64))
    };
    match (left, right) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Uint(a), Value::Uint(b)) => Some(a.cmp(b)),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Uint(a), Value::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Value::Double(a), Value::Int(b)) => double_int(*a, *b),
        (Value::Int(a), Value::Double(b)) => double_int(*b, *a).map(Ordering::reverse),
        (Value::Double(a), Value::Uint(b)) => double_uint(*a, *b),
        (Value::Uint(a), Value::Double(b)) => double_uint(*b, *a).map(Ordering::reverse),
        _ => None,
    }
}

/// The order of two values of `function`, one of the comparing operators.
pub(crate) fn order(function: &str, left: &Value<'_>, right: &Value<'_>) -> Result<Ordering, EvalError> {
    let is_number = |value: &Value<'_>| matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_));
    match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(b)),
        (Value::String(a), Value::String(b)) => Ok(a.as_ref().cmp(b.as_ref())),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Ok(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Ok(a.cmp(b)),
        (a, b) if is_number(a) && is_number(b) => {
            numbers(a, b).ok_or_else(|| EvalError::new("NaN values cannot be ordered"))
        }
        (
            Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Duration(_)
            | Value::Timestamp(_),
            _,
        ) => Err(EvalError::no_such_overload()),
        _ => Err(EvalError::Failed(format!("no such overload: {function}"))),
    }
}

fn lists<'a>(left: &List<'a>, right: &List<'a>, meter: &Meter) -> Result<bool, EvalError> {
    if left.len() != right.len() {
        return Ok(false);
    }
    match left.rule() {
        ListRule::Set => sets(left, right, meter),
        ListRule::Keyed(keys) => keyed(left, right, keys, meter),
        ListRule::Plain => {
            let described = left.is_described();
            for (a, b) in left.iter().zip(right.iter()) {
                if !equal_inside(described, &a?, &b?, meter)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// Whether two elements are equal. Lists and maps that no schema describes pass over what cannot be compared.
fn equal_inside<'a>(described: bool, left: &Value<'a>, right: &Value<'a>, meter: &Meter) -> Result<bool, EvalError> {
    match equal(left, right, meter) {
        Err(EvalError::Failed(_)) if !described => Ok(true),
        outcome => outcome,
    }
}

fn sets<'a>(left: &List<'a>, right: &List<'a>, meter: &Meter) -> Result<bool, EvalError> {
    let (left, right) = (left.to_vec()?, right.to_vec()?);
    let keys: Option<BTreeSet<Key<'a>>> = left.iter().map(Key::of).collect();
    if let Some(keys) = keys {
        meter.work((left.len() + right.len()) as u64)?;
        return Ok(right.iter().all(|element| Key::of(element).is_some_and(|key| keys.contains(&key))));
    }
    for element in &right {
        let mut found = false;
        for candidate in &left {
            found = found || equal(candidate, element, meter)?;
        }
        if !found {
            return Ok(false);
        }
    }
    Ok(true)
}

fn keyed<'a>(left: &List<'a>, right: &List<'a>, keys: &[Box<str>], meter: &Meter) -> Result<bool, EvalError> {
    let mut index = BTreeMap::new();
    for element in left.iter() {
        let element = element?;
        meter.work(1)?;
        index.insert(identity(&element, keys), element);
    }
    for element in right.iter() {
        let element = element?;
        match index.get(&identity(&element, keys)) {
            Some(known) if equal(known, &element, meter)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// The values of an element's keys.
pub(crate) fn identity<'a>(element: &Value<'a>, keys: &[Box<str>]) -> Vec<Option<Key<'a>>> {
    let Value::Map(map) = element else { return Vec::new() };
    let value = |key: &str| {
        let identifier = escape(key)?.into_owned();
        Key::of(&map.find(&Value::text(identifier)).ok()??)
    };
    keys.iter().map(|key| value(key)).collect()
}

fn maps<'a>(left: &Map<'a>, right: &Map<'a>, meter: &Meter) -> Result<bool, EvalError> {
    if left.len() != right.len() {
        return Ok(false);
    }
    match left {
        Map::Values(entries) => {
            for (key, value) in entries.iter() {
                match right.find(&key.value())? {
                    Some(other) if equal_inside(false, value, &other, meter)? => {}
                    _ => return Ok(false),
                }
            }
        }
        Map::Json(map) => {
            for (name, raw) in map.json() {
                meter.work(1)?;
                if map.view(name).is_none() {
                    // What the schema does not name is compared as it is.
                    let other = match right {
                        Map::Json(other) if !other.is_untyped() => other,
                        _ => return Err(EvalError::no_such_overload()),
                    };
                    if other.json().get(name).is_some_and(|other| other != raw) {
                        return Ok(false);
                    }
                    continue;
                }
                let mine = map.property(name)?;
                let theirs = match right {
                    Map::Json(other) => other.property(name)?,
                    Map::Values(_) => right.find(&Value::text(name.as_str()))?,
                };
                match (mine, theirs) {
                    (Some(mine), Some(theirs)) if equal_inside(!map.is_untyped(), &mine, &theirs, meter)? => {}
                    (None, None) => {}
                    _ => return Ok(false),
                }
            }
        }
    }
    Ok(true)
}

/// Whether a list or map holds a value.
pub(crate) fn contains<'a>(container: &Value<'a>, value: &Value<'a>, meter: &Meter) -> Result<bool, EvalError> {
    match container {
        Value::List(list) if !list.is_described() => {
            for element in list.iter() {
                match equal(value, &element?, meter) {
                    Ok(false) | Err(EvalError::Failed(_)) => {}
                    decided => return decided,
                }
            }
            Ok(false)
        }
        Value::List(list) => {
            let mut failed = None;
            for element in list.iter() {
                match element.and_then(|element| equal(&element, value, meter)) {
                    Ok(true) => return Ok(true),
                    Ok(false) => {}
                    Err(EvalError::CostExceeded) => return Err(EvalError::CostExceeded),
                    Err(error) => {
                        failed.get_or_insert(error);
                    }
                }
            }
            failed.map_or(Ok(false), Err)
        }
        Value::Map(map) => Ok(map.find(value)?.is_some()),
        _ => Err(EvalError::no_such_overload()),
    }
}
