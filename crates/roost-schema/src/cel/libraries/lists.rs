//! Lists and sets.

use std::cmp::Ordering;

use super::{Builtin, Invocation};
use crate::cel::compare::{contains, equal, order};
use crate::cel::meter::Meter;
use crate::cel::value::{EvalError, List, Outcome, Value};

pub(super) fn builtin(function: &str) -> Option<Builtin> {
    Some(match function {
        "isSorted" => is_sorted,
        "sum" => sum,
        "min" => |call| extreme(call, "min", Ordering::is_gt),
        "max" => |call| extreme(call, "max", Ordering::is_lt),
        "slice" => slice,
        "flatten" => flatten,
        "lists.range" => range,
        "reverse" => reverse,
        "distinct" => distinct,
        "sort" => |call| match call.args {
            [Value::List(list)] => sorted(list, list, call.meter),
            _ => call.no_such_operator(),
        },
        "@sortByAssociatedKeys" => |call| match call.args {
            [Value::List(list), Value::List(keys)] => sorted(list, keys, call.meter),
            _ => call.no_such_operator(),
        },
        "sets.contains" => |call| two(call).and_then(|(a, b)| contains_all(a, b, call.meter)).map(Value::Bool),
        "sets.equivalent" => |call| {
            let (a, b) = two(call)?;
            Ok(Value::Bool(contains_all(a, b, call.meter)? && contains_all(b, a, call.meter)?))
        },
        "sets.intersects" => intersects,
        _ => return None,
    })
}

fn one<'c, 'a>(call: &'c Invocation<'_, 'a>) -> Result<&'c List<'a>, EvalError> {
    match call.args {
        [Value::List(list)] => Ok(list),
        _ => call.no_such_overload(),
    }
}

fn two<'c, 'a>(call: &'c Invocation<'_, 'a>) -> Result<(&'c List<'a>, &'c List<'a>), EvalError> {
    match call.args {
        [Value::List(a), Value::List(b)] => Ok((a, b)),
        _ => call.no_such_overload(),
    }
}

/// The first or last place of an item, or -1.
pub(super) fn position<'a>(list: &List<'a>, item: &Value<'a>, meter: &Meter, last: bool) -> Outcome<'a> {
    let mut found = -1;
    for (index, element) in list.iter().enumerate() {
        if equal(&element?, item, meter)? {
            found = index as i64;
            if !last {
                break;
            }
        }
    }
    Ok(Value::Int(found))
}

/// The elements of the one list of a call. Which function is meant shows in the first of them.
fn elements_of<'a>(call: &Invocation<'_, 'a>, fits: fn(&Value<'_>) -> bool) -> Result<Vec<Value<'a>>, EvalError> {
    let elements = one(call)?.to_vec()?;
    if elements.first().is_some_and(|first| !fits(first)) { call.no_such_overload() } else { Ok(elements) }
}

fn is_comparable(value: &Value<'_>) -> bool {
    is_summable(value) || matches!(value, Value::Bool(_) | Value::String(_) | Value::Bytes(_) | Value::Timestamp(_))
}

fn is_summable(value: &Value<'_>) -> bool {
    matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_))
}

/// How two elements compare; nothing where they cannot be compared, which nobody minds.
fn ordered(call: &Invocation<'_, '_>, left: &Value<'_>, right: &Value<'_>) -> Result<Option<Ordering>, EvalError> {
    if is_comparable(right) { Ok(order(call.function, left, right).ok()) } else { Err(EvalError::no_such_overload()) }
}

fn is_sorted<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    for pair in elements_of(call, is_comparable)?.windows(2) {
        if ordered(call, &pair[0], &pair[1])?.is_some_and(Ordering::is_gt) {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let elements = elements_of(call, is_summable)?;
    let mut total = match elements.first() {
        Some(Value::Uint(_)) => Value::Uint(0),
        Some(Value::Double(_)) => Value::Double(0.0),
        Some(Value::Duration(_)) => Value::Duration(0),
        _ => Value::Int(0),
    };
    let add = super::builtin("_+_").ok_or_else(EvalError::no_such_overload)?;
    for element in elements {
        let args = [total, element];
        total = add(&Invocation { function: "_+_", args: &args, meter: call.meter, authorizer: None, pattern: None })?;
    }
    Ok(total)
}

fn extreme<'a>(call: &Invocation<'_, 'a>, name: &str, replaces: fn(Ordering) -> bool) -> Outcome<'a> {
    let mut best: Option<Value<'a>> = None;
    for element in elements_of(call, is_comparable)? {
        let better = match &best {
            None => true,
            Some(known) => ordered(call, known, &element)?.is_some_and(replaces),
        };
        if better {
            best = Some(element);
        }
    }
    best.ok_or_else(|| EvalError::Failed(format!("{name} called on empty list")))
}

fn slice<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = call.args else { return call.no_such_overload() };
    let refuse = |words: String| Err(EvalError::Failed(format!("cannot slice({start}, {end}), {words}")));
    if *start < 0 || *end < 0 {
        return refuse("negative indexes not supported".to_owned());
    }
    if start > end {
        return refuse("start index must be less than or equal to end index".to_owned());
    }
    if (list.len() as i64) < *end {
        return refuse(format!("list is length {}", list.len()));
    }
    let elements: Result<Vec<_>, _> = (*start..*end).filter_map(|index| list.get(index as usize)).collect();
    Ok(Value::list(elements?))
}

fn flatten<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let (list, depth) = match call.args {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(depth)] => (list, *depth),
        _ => return call.no_such_overload(),
    };
    if depth < 0 {
        return Err(EvalError::new("level must be non-negative"));
    }
    let mut out = Vec::new();
    flatten_into(list, depth, &mut out, call.meter)?;
    Ok(Value::list(out))
}

fn flatten_into<'a>(list: &List<'a>, depth: i64, out: &mut Vec<Value<'a>>, meter: &Meter) -> Result<(), EvalError> {
    for element in list.iter() {
        meter.work(1)?;
        match element? {
            Value::List(inner) if depth > 0 => flatten_into(&inner, depth - 1, out, meter)?,
            other => out.push(other),
        }
    }
    Ok(())
}

fn range<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::Int(count)] = call.args else { return call.no_such_overload() };
    call.meter.work(u64::try_from(*count).unwrap_or_default())?;
    Ok(Value::list((0..*count).map(Value::Int).collect()))
}

fn reverse<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let mut elements = one(call)?.to_vec()?;
    call.meter.work(elements.len() as u64)?;
    elements.reverse();
    Ok(Value::list(elements))
}

fn distinct<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let mut unique: Vec<Value<'a>> = Vec::new();
    for element in one(call)?.iter() {
        let element = element?;
        let mut seen = false;
        for known in &unique {
            seen = seen || equal(&element, known, call.meter)?;
        }
        if !seen {
            unique.push(element);
        }
    }
    Ok(Value::list(unique))
}

fn sorted<'a>(list: &List<'a>, keys: &List<'a>, meter: &Meter) -> Outcome<'a> {
    if list.len() != keys.len() {
        return Err(EvalError::Failed(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} \
             elements respectively",
            list.len(),
            keys.len()
        )));
    }
    let keys = keys.to_vec()?;
    meter.work(keys.len() as u64 * 16)?;
    if let Some(first) = keys.first() {
        order("", first, first).map_err(|_| EvalError::new("list elements must be comparable"))?;
        if keys.iter().any(|key| key.type_name() != first.type_name()) {
            return Err(EvalError::new("list elements must have the same type"));
        }
    }
    let mut places: Vec<usize> = (0..keys.len()).collect();
    places.sort_by(|a, b| order("", &keys[*a], &keys[*b]).unwrap_or(std::cmp::Ordering::Equal));
    let elements: Result<Vec<_>, _> = places.into_iter().filter_map(|place| list.get(place)).collect();
    Ok(Value::list(elements?))
}

fn contains_all<'a>(list: &List<'a>, part: &List<'a>, meter: &Meter) -> Result<bool, EvalError> {
    let list = Value::List(list.clone());
    for element in part.iter() {
        if !contains(&list, &element?, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let (left, right) = two(call)?;
    let right = Value::List(right.clone());
    for element in left.iter() {
        if matches!(contains(&right, &element?, call.meter), Ok(true)) {
            return Ok(Value::Bool(true));
        }
        call.meter.work(0)?;
    }
    Ok(Value::Bool(false))
}
