//! What a scalar means: by its tag, or by its looks.

use std::borrow::Cow;

use base64::Engine as _;

use super::YamlError;
use super::tree::{Scalar, ScalarTag};

/// The meaning of a scalar.
#[derive(Debug, PartialEq)]
pub(super) enum Resolved<'t> {
    Null,
    Bool(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Text(Cow<'t, str>),
}

/// Gives a scalar its meaning.
pub(super) fn resolve<'t>(scalar: &'t Scalar<'_>) -> Result<Resolved<'t>, YamlError> {
    let text: &'t str = &scalar.text;
    let as_text = || Ok(Resolved::Text(Cow::Borrowed(text)));
    match scalar.tag {
        ScalarTag::None if scalar.plain => Ok(by_looks(text)),
        ScalarTag::Binary => {
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(text.split_ascii_whitespace().collect::<String>())
                .map_err(|_| YamlError::new("!!binary value contains invalid base64 data"))?;
            Ok(Resolved::Text(String::from_utf8_lossy(&bytes).into_owned().into()))
        }
        ScalarTag::Bool => expect(text, "bool", |found| matches!(found, Resolved::Bool(_))),
        ScalarTag::Int => expect(text, "int", |found| matches!(found, Resolved::Integer(_) | Resolved::Unsigned(_))),
        ScalarTag::Null => expect(text, "null", |found| *found == Resolved::Null),
        ScalarTag::Float => match by_looks(text) {
            Resolved::Integer(number) => Ok(Resolved::Float(number as f64)),
            _ => expect(text, "float", |found| matches!(found, Resolved::Float(_))),
        },
        ScalarTag::None | ScalarTag::Str | ScalarTag::Timestamp | ScalarTag::Merge | ScalarTag::Other => as_text(),
    }
}

fn expect<'t>(text: &'t str, tag: &str, fits: impl Fn(&Resolved<'_>) -> bool) -> Result<Resolved<'t>, YamlError> {
    let found = by_looks(text);
    if fits(&found) {
        return Ok(found);
    }
    let looks = match found {
        Resolved::Null => "null",
        Resolved::Bool(_) => "bool",
        Resolved::Integer(_) | Resolved::Unsigned(_) => "int",
        Resolved::Float(_) => "float",
        Resolved::Text(_) => "str",
    };
    Err(YamlError::new(format_args!("cannot decode !!{looks} `{text}` as a !!{tag}")))
}

pub(super) fn by_looks(text: &str) -> Resolved<'_> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Resolved::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Resolved::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Resolved::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Resolved::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Resolved::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Resolved::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let number = match text.as_bytes()[0] {
        b'.' => fraction(text),
        b'+' | b'-' | b'0'..=b'9' => number(text),
        _ => None,
    };
    number.unwrap_or(Resolved::Text(Cow::Borrowed(text)))
}

/// A number that begins with its point: here Go itself decides, to which underscores only ever part digits.
fn fraction(text: &str) -> Option<Resolved<'static>> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let parts = |(at, byte): (usize, &u8)| *byte != b'_' || (is_digit(at - 1) && is_digit(at + 1));
    let is_number = is_digit(1) && bytes.iter().enumerate().all(parts);
    is_number.then(|| float(&text.replace('_', ""))).flatten()
}

fn number(text: &str) -> Option<Resolved<'static>> {
    let plain: Cow<'_, str> = if text.contains('_') { text.replace('_', "").into() } else { text.into() };
    integer(&plain).or_else(|| looks_like_a_float(&plain).then(|| float(&plain)).flatten())
}

/// Whole numbers with the prefixes that Go knows; a leading zero alone means octal.
fn integer(text: &str) -> Option<Resolved<'static>> {
    let (negative, digits) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    let (radix, digits) = match lower.as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        Some(_) if digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || digits.starts_with(['+', '-']) {
        return None;
    }
    let size = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        return 0_i64.checked_sub_unsigned(size).map(Resolved::Integer);
    }
    Some(i64::try_from(size).map_or(Resolved::Unsigned(size), Resolved::Integer))
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn looks_like_a_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => !fraction.is_empty() && all_digits(fraction),
        Some((whole, fraction)) => all_digits(whole) && all_digits(fraction),
        None => !mantissa.is_empty() && all_digits(mantissa),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    mantissa_fits && exponent_fits
}

fn float(text: &str) -> Option<Resolved<'static>> {
    text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Resolved::Float)
}
