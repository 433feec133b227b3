//! Parts of timestamps and durations.

use super::{Builtin, Invocation};
use crate::cel::value::{EvalError, Outcome, Value};
use crate::time::{Civil, Instant, days_from_civil};

pub(super) fn builtin(function: &str) -> Option<Builtin> {
    Some(match function {
        "getFullYear" => |call| part(call, |civil, _| civil.year),
        "getMonth" => |call| part(call, |civil, _| i64::from(civil.month) - 1),
        "getDayOfYear" => |call| part(call, |civil, days| days - days_from_civil(civil.year, 1, 1)),
        "getDayOfMonth" => |call| part(call, |civil, _| i64::from(civil.day) - 1),
        "getDate" => |call| part(call, |civil, _| i64::from(civil.day)),
        "getDayOfWeek" => |call| part(call, |_, days| (days + 4).rem_euclid(7)),
        "getHours" => |call| either(call, 3_600_000_000_000, |civil| i64::from(civil.hour)),
        "getMinutes" => |call| either(call, 60_000_000_000, |civil| i64::from(civil.minute)),
        "getSeconds" => |call| either(call, 1_000_000_000, |civil| i64::from(civil.second)),
        "getMilliseconds" => |call| either(call, 1_000_000, |civil| i64::from(civil.nanos / 1_000_000)),
        _ => return None,
    })
}

/// The instant and its zone's offset from UTC in seconds.
fn zoned(call: &Invocation<'_, '_>) -> Result<(Instant, i64), EvalError> {
    match call.args {
        [Value::Timestamp(instant)] => Ok((*instant, 0)),
        [Value::Timestamp(instant), Value::String(zone)] => Ok((*instant, offset(zone, *instant)?)),
        _ => call.no_such_overload(),
    }
}

fn part<'a>(call: &Invocation<'_, 'a>, pick: fn(Civil, i64) -> i64) -> Outcome<'a> {
    let (instant, offset) = zoned(call)?;
    Ok(Value::Int(pick(instant.civil(offset), instant.days(offset))))
}

fn either<'a>(call: &Invocation<'_, 'a>, unit: i64, pick: fn(Civil) -> i64) -> Outcome<'a> {
    if let [Value::Duration(nanos)] = call.args {
        return Ok(Value::Int(nanos / unit));
    }
    let (instant, offset) = zoned(call)?;
    Ok(Value::Int(pick(instant.civil(offset))))
}

/// The offset of `+01:30` or of a named zone.
fn offset(zone: &str, instant: Instant) -> Result<i64, EvalError> {
    let Some((hours, minutes)) = zone.split_once(':') else { return named(zone, instant) };
    let number = |text: &str| {
        text.parse::<i64>().ok().filter(|number| number.abs() < 1_000_000).ok_or_else(|| {
            let shown = roost_object::field::quote(text);
            EvalError::Failed(format!("strconv.Atoi: parsing {shown}: invalid syntax"))
        })
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    Ok(60 * if zone.starts_with('-') { hours * 60 - minutes } else { hours * 60 + minutes })
}

fn named(zone: &str, instant: Instant) -> Result<i64, EvalError> {
    if matches!(zone, "" | "UTC" | "Local") {
        return Ok(0);
    }
    if zone.contains("..") || zone.starts_with(['/', '\\']) {
        return Err(EvalError::new("time: invalid location name"));
    }
    let unknown = || EvalError::Failed(format!("unknown time zone {zone}"));
    let known = jiff::tz::TimeZoneDatabase::bundled().get(zone).ok();
    let zone = known.filter(|known| known.iana_name() == Some(zone)).ok_or_else(unknown)?;
    let timestamp = jiff::Timestamp::from_second(instant.seconds).map_err(|_| unknown())?;
    Ok(i64::from(zone.to_offset(timestamp).seconds()))
}
