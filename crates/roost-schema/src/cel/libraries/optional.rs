//! Optional values.

use super::{Builtin, Invocation};
use crate::cel::value::{EvalError, Outcome, Value};

pub(super) fn builtin(function: &str) -> Option<Builtin> {
    Some(match function {
        "optional.of" => |call| Ok(Value::some(call.args[0].clone())),
        "optional.ofNonZeroValue" => |call| {
            let value = &call.args[0];
            Ok(if value.is_zero() { Value::Optional(None) } else { Value::some(value.clone()) })
        },
        "optional.none" => |_| Ok(Value::Optional(None)),
        "value" => |call| match call.args {
            [Value::Optional(Some(value))] => Ok(value.as_ref().clone()),
            [Value::Optional(None)] => Err(EvalError::new("optional.none() dereference")),
            _ => call.no_such_overload(),
        },
        "hasValue" => |call| match call.args {
            [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
            _ => call.no_such_overload(),
        },
        "first" => |call| end(call, |_| 0),
        "last" => |call| end(call, |length| length - 1),
        "optional.unwrap" | "unwrapOpt" => unwrap,
        _ => return None,
    })
}

fn end<'a>(call: &Invocation<'_, 'a>, place: fn(usize) -> usize) -> Outcome<'a> {
    let [Value::List(list)] = call.args else { return call.no_such_overload() };
    if list.len() == 0 {
        return Ok(Value::Optional(None));
    }
    match list.get(place(list.len())) {
        Some(value) => value.map(Value::some),
        None => Ok(Value::Optional(None)),
    }
}

fn unwrap<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::List(list)] = call.args else { return call.no_such_overload() };
    let mut out = Vec::new();
    for element in list.iter() {
        match element? {
            Value::Optional(Some(value)) => out.push(value.as_ref().clone()),
            Value::Optional(None) => {}
            other => {
                return Err(EvalError::Failed(format!("value {} is not optional", super::to_text(&other))));
            }
        }
    }
    Ok(Value::list(out))
}
