//! Operators: sums, products, comparisons, membership and size.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Builtin, Invocation};
use crate::cel::compare::{contains, identity, order};
use crate::cel::meter::Meter;
use crate::cel::value::{EvalError, Key, List, ListRule, Map, Outcome, Value};
use crate::time::Instant;

/// The years that timestamps may have, 1 to 9999, as seconds since 1970.
pub(crate) const TIMESTAMPS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

pub(super) fn builtin(function: &str) -> Option<Builtin> {
    Some(match function {
        "_+_" => add,
        "_-_" => subtract,
        "_*_" => multiply,
        "_/_" => divide,
        "_%_" => modulo,
        "-_" => negate,
        "!_" => not,
        "@not_strictly_false" => |call| Ok(call.args[0].clone()),
        "_<_" => |call| compare(call).map(|order| Value::Bool(order.is_lt())),
        "_<=_" => |call| compare(call).map(|order| Value::Bool(order.is_le())),
        "_>_" => |call| compare(call).map(|order| Value::Bool(order.is_gt())),
        "_>=_" => |call| compare(call).map(|order| Value::Bool(order.is_ge())),
        "@in" => |call| match &call.args[1] {
            Value::List(_) | Value::Map(_) => contains(&call.args[1], &call.args[0], call.meter).map(Value::Bool),
            _ => Err(EvalError::no_such_overload()),
        },
        "size" => size,
        "cel.@mapInsert" => map_insert,
        _ => return None,
    })
}

fn compare(call: &Invocation<'_, '_>) -> Result<std::cmp::Ordering, EvalError> {
    order(call.function, &call.args[0], &call.args[1])
}

fn overflow<'a>() -> Outcome<'a> {
    Err(EvalError::new("integer overflow"))
}

fn unsigned_overflow<'a>() -> Outcome<'a> {
    Err(EvalError::new("unsigned integer overflow"))
}

fn duration<'a>(nanos: Option<i64>) -> Outcome<'a> {
    nanos.map(Value::Duration).ok_or_else(|| EvalError::new("integer overflow"))
}

fn moved<'a>(instant: Instant, nanos: Option<i64>) -> Outcome<'a> {
    let failed = || EvalError::new("timestamp overflow");
    let nanos = nanos.ok_or_else(failed)?;
    let total = i128::from(instant.seconds) * 1_000_000_000 + i128::from(instant.nanos) + i128::from(nanos);
    let seconds = i64::try_from(total.div_euclid(1_000_000_000)).map_err(|_| failed())?;
    let instant = Instant { seconds, nanos: total.rem_euclid(1_000_000_000) as u32, ..instant };
    if TIMESTAMPS.contains(&seconds) { Ok(Value::Timestamp(instant)) } else { Err(failed()) }
}

fn add<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match (&call.args[0], &call.args[1]) {
        (Value::Int(a), Value::Int(b)) => a.checked_add(*b).map_or_else(overflow, |sum| Ok(Value::Int(sum))),
        (Value::Uint(a), Value::Uint(b)) => {
            a.checked_add(*b).map_or_else(unsigned_overflow, |sum| Ok(Value::Uint(sum)))
        }
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
        (Value::String(a), Value::String(b)) => {
            call.meter.size((a.len() + b.len()) as u64)?;
            Ok(Value::text(format!("{}{}", &**a, &**b)))
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            call.meter.size((a.len() + b.len()) as u64)?;
            Ok(Value::Bytes([&a[..], &b[..]].concat().into()))
        }
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_add(*b)),
        (Value::Duration(nanos), Value::Timestamp(instant)) | (Value::Timestamp(instant), Value::Duration(nanos)) => {
            moved(*instant, Some(*nanos))
        }
        (Value::List(a), Value::List(b)) => concat(a, b, call.meter),
        (
            Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
            | Value::List(_),
            _,
        ) => Err(EvalError::no_such_overload()),
        _ => call.no_such_operator(),
    }
}

/// Two lists as one. Sets take each element once, and lists with keys let later elements replace earlier ones.
fn concat<'a>(left: &List<'a>, right: &List<'a>, meter: &Meter) -> Outcome<'a> {
    meter.size((left.len() + right.len()) as u64)?;
    meter.work((left.len() + right.len()) as u64)?;
    let rule = left.rule();
    let mut elements = left.to_vec()?;
    match rule {
        ListRule::Plain => elements.extend(right.to_vec()?),
        ListRule::Set => {
            let mut known: std::collections::BTreeSet<_> = elements.iter().filter_map(Key::of).collect();
            for element in right.iter() {
                let element = element?;
                if Key::of(&element).is_none_or(|key| known.insert(key)) {
                    elements.push(element);
                }
            }
        }
        ListRule::Keyed(keys) => {
            let mut places: BTreeMap<_, _> =
                elements.iter().enumerate().map(|(index, element)| (identity(element, keys), index)).collect();
            for element in right.iter() {
                let element = element?;
                match places.entry(identity(&element, keys)) {
                    std::collections::btree_map::Entry::Occupied(place) => elements[*place.get()] = element,
                    std::collections::btree_map::Entry::Vacant(_) => elements.push(element),
                }
            }
            places.clear();
        }
    }
    Ok(Value::List(match left {
        List::Values(_) => List::Values(Arc::new(elements)),
        _ => List::Typed(Arc::new(elements), rule),
    }))
}

fn subtract<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match (&call.args[0], &call.args[1]) {
        (Value::Int(a), Value::Int(b)) => a.checked_sub(*b).map_or_else(overflow, |n| Ok(Value::Int(n))),
        (Value::Uint(a), Value::Uint(b)) => a.checked_sub(*b).map_or_else(unsigned_overflow, |n| Ok(Value::Uint(n))),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_sub(*b)),
        (Value::Timestamp(instant), Value::Duration(nanos)) => moved(*instant, nanos.checked_neg()),
        (Value::Timestamp(a), Value::Timestamp(b)) => {
            let nanos = i128::from(a.seconds - b.seconds) * 1_000_000_000 + i128::from(a.nanos) - i128::from(b.nanos);
            duration(i64::try_from(nanos).ok())
        }
        (Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_) | Value::Timestamp(_), _) => {
            Err(EvalError::no_such_overload())
        }
        _ => call.no_such_operator(),
    }
}

fn multiply<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match (&call.args[0], &call.args[1]) {
        (Value::Int(a), Value::Int(b)) => a.checked_mul(*b).map_or_else(overflow, |n| Ok(Value::Int(n))),
        (Value::Uint(a), Value::Uint(b)) => a.checked_mul(*b).map_or_else(unsigned_overflow, |n| Ok(Value::Uint(n))),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), _) => Err(EvalError::no_such_overload()),
        _ => call.no_such_operator(),
    }
}

fn divide<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match (&call.args[0], &call.args[1]) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(EvalError::new("division by zero")),
        (Value::Int(a), Value::Int(b)) => a.checked_div(*b).map_or_else(overflow, |n| Ok(Value::Int(n))),
        (Value::Uint(a), Value::Uint(b)) => Ok(Value::Uint(a / b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), _) => Err(EvalError::no_such_overload()),
        _ => call.no_such_operator(),
    }
}

fn modulo<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match (&call.args[0], &call.args[1]) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(EvalError::new("modulus by zero")),
        (Value::Int(a), Value::Int(b)) => a.checked_rem(*b).map_or_else(overflow, |n| Ok(Value::Int(n))),
        (Value::Uint(a), Value::Uint(b)) => Ok(Value::Uint(a % b)),
        (Value::Int(_) | Value::Uint(_), _) => Err(EvalError::no_such_overload()),
        _ => call.no_such_operator(),
    }
}

fn negate<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match &call.args[0] {
        Value::Int(number) => number.checked_neg().map_or_else(overflow, |n| Ok(Value::Int(n))),
        Value::Double(number) => Ok(Value::Double(-number)),
        Value::Duration(nanos) => duration(nanos.checked_neg()),
        Value::Bool(_) => Err(EvalError::no_such_overload()),
        _ => call.no_such_operator(),
    }
}

fn not<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match &call.args[0] {
        Value::Bool(flag) => Ok(Value::Bool(!flag)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn size<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match &call.args[0] {
        value @ (Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_)) => {
            Ok(Value::Int(value.size() as i64))
        }
        _ => call.no_such_operator(),
    }
}

/// Adds an entry to a map that must not have it.
fn insert<'a>(entries: &mut BTreeMap<Key<'a>, Value<'a>>, key: &Value<'a>, value: Value<'a>) -> Result<(), EvalError> {
    let Some(found) = Key::of(key) else {
        return Err(EvalError::Failed(format!("unsupported key type: {}", key.type_name())));
    };
    if entries.contains_key(&found) {
        return Err(EvalError::Failed(format!("insert failed: key {} already exists", super::to_text(key))));
    }
    entries.insert(found, value);
    Ok(())
}

fn map_insert<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let (Value::Map(map), [key, rest @ ..]) = (&call.args[0], &call.args[1..]) else { return call.no_such_overload() };
    call.meter.work(map.len() as u64)?;
    let mut entries = BTreeMap::new();
    for key in map.keys() {
        if let Some(value) = map.find(&key)? {
            insert(&mut entries, &key, value)?;
        }
    }
    match (key, rest) {
        (key, [value]) => insert(&mut entries, key, value.clone())?,
        (Value::Map(more), []) => {
            for key in more.keys() {
                if let Some(value) = more.find(&key)? {
                    insert(&mut entries, &key, value)?;
                }
            }
        }
        _ => return call.no_such_overload(),
    }
    Ok(Value::Map(Map::Values(Arc::new(entries))))
}
