//! `'...'.format([...])`.

use std::fmt::Write as _;

use roost_object::field::quote;

use super::{Invocation, to_text};
use crate::cel::value::{EvalError, List, Map, Outcome, Value};
use crate::wording;

/// Digits after the point when the format does not say.
const PRECISION: usize = 6;

/// Values inside values are shown no deeper than this.
const MAX_DEPTH: usize = 64;

/// What a clause does with its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    Text,
    Decimal,
    Fixed(usize),
    Scientific(usize),
    Binary,
    Hex { upper: bool },
    Octal,
}

/// Takes a format apart: literal text and clauses. The error is in cel-go's words.
fn clauses<E: From<String>>(
    format: &str,
    mut literal: impl FnMut(&str),
    mut clause: impl FnMut(usize, Clause) -> Result<String, E>,
    count: usize,
) -> Result<(), E> {
    let mut rest = format;
    let mut index = 0;
    while let Some(at) = rest.find('%') {
        literal(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            literal("%");
            rest = after;
            continue;
        }
        if index >= count {
            return Err(format!("index {index} out of range").into());
        }
        if rest.is_empty() {
            return Err("unexpected end of string".to_owned().into());
        }
        let (parsed, after) =
            parse_clause(rest).map_err(|words| format!("could not parse formatting clause: {words}"))?;
        rest = after;
        let shown = clause(index, parsed)?;
        literal(&shown);
        index += 1;
    }
    literal(rest);
    Ok(())
}

fn parse_clause(text: &str) -> Result<(Clause, &str), String> {
    let (precision, rest) = match text.strip_prefix('.') {
        None => (PRECISION, text),
        Some(after) => {
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            if digits == after.len() {
                return Err("error while parsing precision: could not find end of precision specifier".to_owned());
            }
            let number = after[..digits].parse::<usize>().ok().filter(|number| *number <= 1000).ok_or_else(|| {
                format!(
                    "error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing \
                     {}: invalid syntax",
                    quote(&after[..digits])
                )
            })?;
            (number, &after[digits..])
        }
    };
    let letter = rest.chars().next().unwrap_or_default();
    let clause = match letter {
        's' => Clause::Text,
        'd' => Clause::Decimal,
        'f' => Clause::Fixed(precision),
        'e' => Clause::Scientific(precision),
        'b' => Clause::Binary,
        'x' | 'X' => Clause::Hex { upper: letter == 'X' },
        'o' => Clause::Octal,
        other => return Err(format!("unrecognized formatting clause \"{other}\"")),
    };
    Ok((clause, &rest[1..]))
}

/// What a clause cannot show, in cel-go's words.
fn refusal(clause: Clause, given: &str) -> String {
    let words = match clause {
        Clause::Text => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and \
             timestamps"
        }
        Clause::Decimal => "decimal clause can only be used on integers",
        Clause::Fixed(_) => "fixed-point clause can only be used on doubles",
        Clause::Scientific(_) => "scientific clause can only be used on doubles",
        Clause::Binary => "only integers and bools can be formatted as binary",
        Clause::Hex { .. } => "only integers, byte buffers, and strings can be formatted as hex",
        Clause::Octal => "octal clause can only be used on integers",
    };
    format!("{words}, was given {given}")
}

/// Why a literal format cannot work, and the argument at fault if one is.
pub(crate) struct FormatProblem {
    pub(crate) argument: Option<usize>,
    pub(crate) words: String,
}

impl From<String> for FormatProblem {
    fn from(words: String) -> Self {
        Self { argument: None, words }
    }
}

/// Checks a literal format against the types of its arguments, given by name; none for those that are only known later.
pub(crate) fn check_clauses(format: &str, types: &[Option<String>]) -> Result<usize, FormatProblem> {
    let mut used = 0;
    let check = |index: usize, clause: Clause| {
        used = index + 1;
        let Some(given) = types[index].as_deref() else { return Ok(String::new()) };
        let fits = match clause {
            Clause::Text => matches!(
                given,
                "list"
                    | "map"
                    | "int"
                    | "uint"
                    | "double"
                    | "bool"
                    | "string"
                    | "google.protobuf.Timestamp"
                    | "bytes"
                    | "google.protobuf.Duration"
                    | "type"
                    | "null_type"
            ),
            Clause::Decimal | Clause::Octal => matches!(given, "int" | "uint"),
            Clause::Fixed(_) | Clause::Scientific(_) => matches!(given, "double" | "string"),
            Clause::Binary => matches!(given, "int" | "uint" | "bool"),
            Clause::Hex { .. } => matches!(given, "int" | "uint" | "string" | "bytes"),
        };
        if fits {
            return Ok(String::new());
        }
        let words = format!("error during formatting: {}", refusal(clause, given));
        Err(FormatProblem { argument: Some(index), words })
    };
    clauses(format, |_| {}, check, types.len())?;
    Ok(used)
}

struct Failed(EvalError);

impl From<String> for Failed {
    fn from(words: String) -> Self {
        Failed(EvalError::Failed(words))
    }
}

pub(super) fn format<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::String(format), Value::List(args)] = call.args else { return call.no_such_overload() };
    let mut out = String::new();
    let mut size = 0;
    let shown = |index: usize, clause: Clause| -> Result<String, Failed> {
        let value = args.get(index).unwrap_or_else(EvalError::no_such_overload_outcome).map_err(Failed)?;
        let text = show(clause, &value).map_err(|words| Failed::from(format!("error during formatting: {words}")))?;
        size += text.len();
        call.meter.size(size as u64).map_err(Failed)?;
        Ok(text)
    };
    clauses(format, |text| out.push_str(text), shown, args.len()).map_err(|Failed(error)| error)?;
    Ok(Value::text(out))
}

impl EvalError {
    fn no_such_overload_outcome<'a>() -> Outcome<'a> {
        Err(EvalError::no_such_overload())
    }
}

fn show(clause: Clause, value: &Value<'_>) -> Result<String, String> {
    let refuse = || Err(refusal(clause, value.type_name()));
    match (clause, value) {
        (Clause::Text, value) => plain(value, MAX_DEPTH),
        (Clause::Decimal, Value::Int(_) | Value::Uint(_)) => Ok(to_text(value)),
        (Clause::Fixed(precision), value) => match as_double(value) {
            Some(number) => Ok(fixed(number, precision)),
            None => refuse(),
        },
        (Clause::Scientific(precision), value) => match as_double(value) {
            Some(number) => Ok(scientific(number, precision)),
            None => refuse(),
        },
        (Clause::Binary, Value::Int(number)) => Ok(signed(*number, |n| format!("{n:b}"))),
        (Clause::Binary, Value::Uint(number)) => Ok(format!("{number:b}")),
        (Clause::Binary, Value::Bool(flag)) => Ok(u8::from(*flag).to_string()),
        (Clause::Octal, Value::Int(number)) => Ok(signed(*number, |n| format!("{n:o}"))),
        (Clause::Octal, Value::Uint(number)) => Ok(format!("{number:o}")),
        (Clause::Hex { upper }, value) => {
            let hex = match value {
                Value::Int(number) => signed(*number, |n| format!("{n:x}")),
                Value::Uint(number) => format!("{number:x}"),
                Value::String(text) => hex_of(text.as_bytes()),
                Value::Bytes(bytes) => hex_of(bytes),
                _ => return refuse(),
            };
            Ok(if upper { hex.to_uppercase() } else { hex })
        }
        _ => refuse(),
    }
}

fn signed(number: i64, digits: fn(u64) -> String) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", digits(number.unsigned_abs()))
}

fn as_double(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Double(number) => Some(*number),
        Value::String(text) => match text.as_ref() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// A number in the American way, with commas between thousands.
fn fixed(number: f64, precision: usize) -> String {
    if !number.is_finite() {
        return special(number);
    }
    let text = format!("{:.precision$}", number.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::new();
    if number.is_sign_negative() && number != 0.0 {
        out.push('-');
    }
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

fn special(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number > 0.0 { "∞" } else { "-∞" }.to_owned()
}

/// A number as a product with a power of ten, such as `2.718282×10⁰⁰`.
fn scientific(number: f64, precision: usize) -> String {
    if !number.is_finite() {
        return special(number);
    }
    // The precision becomes a width in cel-go's format, so that six digits are always shown.
    let text = format!("{number:.6e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let raised: String = format!("{:02}", exponent.abs())
        .chars()
        .map(|digit| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(digit as usize - '0' as usize).unwrap_or(digit))
        .collect();
    let sign = if exponent < 0 { "⁻" } else { "" };
    let out = format!("{digits}×10{sign}{raised}");
    let width = out.chars().count();
    if precision > width { format!("{}{out}", " ".repeat(precision - width)) } else { out }
}

/// A value without quotes around text.
fn plain(value: &Value<'_>, depth: usize) -> Result<String, String> {
    match value {
        Value::List(list) => list_text(list, depth),
        Value::Map(map) => map_text(map, depth),
        Value::Null => Ok("null".to_owned()),
        Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::Bool(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::Timestamp(_)
        | Value::Duration(_)
        | Value::Type(_) => Ok(to_text(value)),
        other => Err(refusal(Clause::Text, other.type_name())),
    }
}

fn hex_of(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// A value inside a list or map, as a literal would spell it.
fn inner(value: &Value<'_>, depth: usize) -> Result<String, String> {
    if depth == 0 {
        return Err("value is nested too deeply".to_owned());
    }
    match value {
        Value::String(text) => Ok(quote(text)),
        Value::Bytes(bytes) => Ok(format!("b{}", quote(&String::from_utf8_lossy(bytes)))),
        Value::Timestamp(_) => Ok(format!("timestamp({})", quote(&to_text(value)))),
        Value::Duration(_) => Ok(format!("duration({})", quote(&to_text(value)))),
        Value::Double(number) if number.is_finite() => Ok(format!("{number:.6}")),
        Value::Double(number) => Ok(quote(&wording::float(*number))),
        Value::List(list) => list_text(list, depth - 1),
        Value::Map(map) => map_text(map, depth - 1),
        Value::Null | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Type(_) => Ok(to_text(value)),
        other => Err(format!("no formatting function for {}", other.type_name())),
    }
}

fn list_text(list: &List<'_>, depth: usize) -> Result<String, String> {
    let shown: Result<Vec<String>, String> =
        list.iter().map(|element| inner(&element.map_err(|error| error.to_string())?, depth)).collect();
    Ok(format!("[{}]", shown?.join(", ")))
}

fn map_text(map: &Map<'_>, depth: usize) -> Result<String, String> {
    let mut entries = Vec::new();
    for key in map.keys() {
        let value = map.find(&key).map_err(|error| error.to_string())?.unwrap_or(Value::Null);
        entries.push((inner(&key, depth)?, inner(&value, depth)?));
    }
    entries.sort();
    let shown: Vec<String> = entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
    Ok(format!("{{{}}}", shown.join(", ")))
}
