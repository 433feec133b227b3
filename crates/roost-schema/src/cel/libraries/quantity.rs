//! Amounts such as `100m` or `1Gi`.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Builtin, Invocation};
use crate::cel::value::{EvalError, Outcome, Value};

/// The smallest part of an amount is a billionth.
const NANO: i32 = -9;

/// An amount: `value` times ten to the power of `scale`.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    value: i128,
    scale: i32,
    /// Kept as a big decimal in stock, which then refuses to be an integer.
    decimal: bool,
}

pub(super) fn builtin(function: &str) -> Option<Builtin> {
    Some(match function {
        "quantity" => |call| match call.args {
            [Value::String(text)] => match Quantity::parse(text) {
                Ok(quantity) => Ok(Value::Quantity(Arc::new(quantity))),
                Err(words) => Err(EvalError::new(words)),
            },
            _ => call.no_such_overload(),
        },
        "isQuantity" => |call| match call.args {
            [Value::String(text)] => Ok(Value::Bool(Quantity::parse(text).is_ok())),
            _ => call.no_such_overload(),
        },
        "sign" => |call| one(call).map(|quantity| Value::Int(quantity.value.signum() as i64)),
        "isInteger" => |call| one(call).map(|quantity| Value::Bool(quantity.as_integer().is_some())),
        "asInteger" => |call| {
            let number = one(call)?.as_integer();
            number.map(Value::Int).ok_or_else(|| EvalError::new("cannot convert value to integer"))
        },
        "asApproximateFloat" => |call| one(call).map(|quantity| Value::Double(quantity.as_float())),
        "add" => |call| changed(call, 1),
        "sub" => |call| changed(call, -1),
        "isGreaterThan" => |call| compare(call).map(|order| Value::Bool(order.is_gt())),
        "isLessThan" => |call| compare(call).map(|order| Value::Bool(order.is_lt())),
        "compareTo" => |call| compare(call).map(|order| Value::Int(order as i64)),
        _ => return None,
    })
}

fn one<'c>(call: &'c Invocation<'_, '_>) -> Result<&'c Quantity, EvalError> {
    match call.args {
        [Value::Quantity(quantity)] => Ok(quantity),
        _ => call.no_such_overload(),
    }
}

/// Quantities and versions share the names of their comparisons.
fn compare(call: &Invocation<'_, '_>) -> Result<Ordering, EvalError> {
    match call.args {
        [Value::Quantity(a), Value::Quantity(b)] => Ok(a.cmp(b)),
        [Value::Semver(a), Value::Semver(b)] => Ok(a.cmp(b)),
        _ => call.no_such_overload(),
    }
}

fn changed<'a>(call: &Invocation<'_, 'a>, sign: i128) -> Outcome<'a> {
    let (quantity, other) = match call.args {
        [Value::Quantity(quantity), Value::Quantity(other)] => (quantity, **other),
        [Value::Quantity(quantity), Value::Int(number)] => {
            (quantity, Quantity { value: i128::from(*number), scale: 0, decimal: false })
        }
        _ => return call.no_such_overload(),
    };
    Ok(Value::Quantity(Arc::new(quantity.plus(Quantity { value: other.value * sign, ..other }))))
}

impl Quantity {
    /// Reads an amount as stock does.
    pub(crate) fn parse(text: &str) -> Result<Quantity, &'static str> {
        const WRONG: &str =
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        if text.is_empty() {
            return Err(WRONG);
        }
        let (negative, unsigned) = match text.as_bytes()[0] {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let number_end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
        let (whole, rest) = unsigned.split_at(number_end);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            None => ("", rest),
            Some(after) => after.split_at(after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len())),
        };
        let letters = suffix.find(|c: char| !"eEinumkKMGTP".contains(c)).unwrap_or(suffix.len());
        let tail = &suffix[letters..];
        let digits = tail.strip_prefix(['+', '-']).unwrap_or(tail);
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(WRONG);
        }
        let (exponent, binary) = interpret(suffix).ok_or("unable to parse quantity's suffix")?;
        let significant = whole.trim_start_matches('0');
        let significant = if significant.is_empty() { "0" } else { significant };
        let digits = format!("{significant}{fraction}");
        // Stock keeps any number of digits; what does not fit here is larger than anything it is compared with.
        let mut value: i128 = digits.parse().unwrap_or(i128::MAX / 1_000_000);
        let mut scale = -(fraction.len() as i32);
        let long = significant.len() + fraction.len();
        let mut decimal = long > 18;
        if binary {
            decimal = decimal || !fraction.is_empty() || 15 - long as i32 - exponent * 3 / 10 - 1 < 0;
            value = value.saturating_mul(1_i128 << exponent);
            if value > i128::from(i64::MAX) && scale == 0 {
                value = i128::from(i64::MAX);
            }
        } else {
            scale = scale.saturating_add(exponent);
        }
        decimal = decimal || scale < NANO || i64::try_from(value).is_err();
        let quantity = Quantity { value: if negative { -value } else { value }, scale, decimal };
        Ok(quantity.rounded())
    }

    /// Rounds away from zero to billionths.
    fn rounded(self) -> Quantity {
        if self.scale >= NANO {
            return self;
        }
        let divisor = 10_i128.checked_pow((NANO - self.scale) as u32);
        let value = match divisor {
            Some(divisor) => {
                let rest = i128::from(self.value % divisor != 0) * self.value.signum();
                self.value / divisor + rest
            }
            None => self.value.signum(),
        };
        Quantity { value, scale: NANO, decimal: true }
    }

    fn as_integer(&self) -> Option<i64> {
        if self.decimal || self.scale < 0 {
            return None;
        }
        let factor = 10_i128.checked_pow(self.scale as u32)?;
        i64::try_from(self.value.checked_mul(factor)?).ok()
    }

    fn as_float(&self) -> f64 {
        if self.scale == 0 { self.value as f64 } else { self.value as f64 * 10_f64.powi(self.scale) }
    }

    /// Both values at the smaller of the two scales; none when one becomes too large.
    fn aligned(&self, other: &Quantity) -> Option<(i128, i128, i32)> {
        let scale = self.scale.min(other.scale);
        let raise = |quantity: &Quantity| {
            if quantity.value == 0 {
                return Some(0);
            }
            quantity.value.checked_mul(10_i128.checked_pow((quantity.scale - scale) as u32)?)
        };
        Some((raise(self)?, raise(other)?, scale))
    }

    fn plus(&self, other: Quantity) -> Quantity {
        if self.value == 0 {
            return other;
        }
        let sum = self.aligned(&other).and_then(|(a, b, scale)| Some((a.checked_add(b)?, scale)));
        match sum {
            Some((value, scale)) => {
                let decimal = self.decimal || other.decimal || i64::try_from(value).is_err();
                Quantity { value, scale, decimal }
            }
            None if self.scale >= other.scale => *self,
            None => other,
        }
    }

    pub(crate) fn cmp(&self, other: &Quantity) -> Ordering {
        match self.aligned(other) {
            Some((a, b, _)) => a.cmp(&b),
            None => self.as_float().total_cmp(&other.as_float()),
        }
    }
}

/// The exponent of a suffix, and whether it is one of two instead of ten.
fn interpret(suffix: &str) -> Option<(i32, bool)> {
    Some(match suffix {
        "" => (0, false),
        "n" => (-9, false),
        "u" => (-6, false),
        "m" => (-3, false),
        "k" => (3, false),
        "M" => (6, false),
        "G" => (9, false),
        "T" => (12, false),
        "P" => (15, false),
        "E" => (18, false),
        "Ki" => (10, true),
        "Mi" => (20, true),
        "Gi" => (30, true),
        "Ti" => (40, true),
        "Pi" => (50, true),
        "Ei" => (60, true),
        other => {
            let exponent = other.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?;
            (exponent.clamp(-1_000_000, 1_000_000), false)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_compare_across_suffixes() {
        let parse = |text: &str| Quantity::parse(text).unwrap();
        for (a, b) in [("1Gi", "1024Mi"), ("1", "1000m"), ("1.5k", "1500"), ("1e3", "1k"), ("0.5", "500m")] {
            assert!(parse(a).cmp(&parse(b)).is_eq(), "{a} {b}");
        }
        assert!(parse("1M").cmp(&parse("1Mi")).is_lt());
        assert_eq!(parse("50k").as_integer(), Some(50_000));
        assert_eq!(parse("1.5").as_integer(), None);
        for text in ["", "x", "1.2.3", "1Kx", "1i", "1 "] {
            assert!(Quantity::parse(text).is_err(), "{text}");
        }
    }
}
