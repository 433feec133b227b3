//! Conversions between types.

use super::arithmetic::TIMESTAMPS;
use super::{Builtin, Invocation};
use crate::cel::value::{EvalError, Outcome, Value};
use crate::time::Instant;
use crate::{duration, wording};

pub(super) fn builtin(function: &str) -> Option<Builtin> {
    Some(match function {
        "int" => to_int,
        "uint" => to_uint,
        "double" => to_double,
        "string" => to_string,
        "bytes" => to_bytes,
        "bool" => to_bool,
        "duration" => to_duration,
        "timestamp" => to_timestamp,
        "dyn" => |call| Ok(call.args[0].clone()),
        "type" => |call| Ok(Value::Type(call.args[0].type_name())),
        _ => return None,
    })
}

fn failed<'a>(value: &Value<'a>, wanted: &str) -> Outcome<'a> {
    Err(EvalError::Failed(format!("type conversion error from '{}' to '{wanted}'", value.type_name())))
}

fn to_int<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let value = &call.args[0];
    let overflow = || EvalError::new("integer overflow");
    match value {
        Value::Int(number) => Ok(Value::Int(*number)),
        Value::Uint(number) => i64::try_from(*number).map(Value::Int).map_err(|_| overflow()),
        Value::Double(number) => {
            let fits = *number > -9_223_372_036_854_775_808.0 && *number < 9_223_372_036_854_775_807.0;
            if fits { Ok(Value::Int(*number as i64)) } else { Err(overflow()) }
        }
        Value::String(text) => text.parse().map(Value::Int).or_else(|_| failed(value, "int")),
        Value::Duration(nanos) => Ok(Value::Int(*nanos)),
        Value::Timestamp(instant) => Ok(Value::Int(instant.seconds)),
        _ => call.no_such_overload(),
    }
}

fn to_uint<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let value = &call.args[0];
    let overflow = || EvalError::new("unsigned integer overflow");
    match value {
        Value::Uint(number) => Ok(Value::Uint(*number)),
        Value::Int(number) => u64::try_from(*number).map(Value::Uint).map_err(|_| overflow()),
        Value::Double(number) => {
            let fits = *number >= 0.0 && *number < 18_446_744_073_709_551_615.0;
            if fits { Ok(Value::Uint(*number as u64)) } else { Err(overflow()) }
        }
        Value::String(text) => {
            let digits = !text.starts_with('+');
            text.parse().ok().filter(|_| digits).map(Value::Uint).map_or_else(|| failed(value, "uint"), Ok)
        }
        _ => call.no_such_overload(),
    }
}

fn to_double<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let value = &call.args[0];
    match value {
        Value::Double(number) => Ok(Value::Double(*number)),
        Value::Int(number) => Ok(Value::Double(*number as f64)),
        Value::Uint(number) => Ok(Value::Double(*number as f64)),
        Value::String(text) => match text.parse::<f64>() {
            // Text beyond the range is an error, not infinity, unless it says so.
            Ok(number) if number.is_finite() || text.to_lowercase().contains(['i', 'n']) => Ok(Value::Double(number)),
            _ => failed(value, "double"),
        },
        _ => call.no_such_overload(),
    }
}

/// A value as `string()` shows it.
pub(crate) fn to_text(value: &Value<'_>) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Double(number) => double_text(*number),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Duration(nanos) => format!("{}s", *nanos as f64 / 1e9),
        Value::Timestamp(instant) => instant.to_string(),
        Value::Ip(address) => address.to_string(),
        Value::Cidr(cidr) => cidr.to_string(),
        Value::Type(name) => (*name).to_owned(),
        Value::Null => "null".to_owned(),
        other => other.type_name().to_owned(),
    }
}

/// A double as Go's `%g` prints it, with an exponent from a million on.
fn double_text(number: f64) -> String {
    wording::float(number)
}

fn to_string<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match &call.args[0] {
        Value::String(text) => Ok(Value::String(text.clone())),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::text(text)),
            Err(_) => Err(EvalError::new("invalid UTF-8 in bytes, cannot convert to string")),
        },
        value @ (Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::Duration(_)
        | Value::Timestamp(_)
        | Value::Ip(_)
        | Value::Cidr(_)) => Ok(Value::text(to_text(value))),
        _ => call.no_such_overload(),
    }
}

fn to_bytes<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match &call.args[0] {
        Value::Bytes(bytes) => Ok(Value::Bytes(bytes.clone())),
        Value::String(text) => Ok(Value::Bytes(text.as_bytes().into())),
        _ => call.no_such_overload(),
    }
}

fn to_bool<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match &call.args[0] {
        Value::Bool(flag) => Ok(Value::Bool(*flag)),
        value @ Value::String(text) => match text.as_ref() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => failed(value, "bool"),
        },
        _ => call.no_such_overload(),
    }
}

fn to_duration<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    match &call.args[0] {
        Value::Duration(nanos) => Ok(Value::Duration(*nanos)),
        value @ Value::Int(_) => failed(value, "google.protobuf.Duration"),
        value @ Value::String(text) => {
            duration::parse(text).map_or_else(|| failed(value, "google.protobuf.Duration"), |n| Ok(Value::Duration(n)))
        }
        _ => call.no_such_overload(),
    }
}

fn to_timestamp<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let within = |instant: Instant| {
        if TIMESTAMPS.contains(&instant.seconds) {
            return Ok(Value::Timestamp(instant));
        }
        Err(EvalError::new("timestamp overflow"))
    };
    match &call.args[0] {
        Value::Timestamp(instant) => Ok(Value::Timestamp(*instant)),
        Value::Int(seconds) => within(Instant::utc(*seconds, 0)),
        value @ Value::String(text) => match Instant::parse(text) {
            Ok(instant) => within(instant),
            Err(_) => failed(value, "google.protobuf.Timestamp"),
        },
        _ => call.no_such_overload(),
    }
}
