//! JSON values as Go prints, encodes and orders them, for messages and for texts that are compared byte by byte.

use std::cmp::Ordering;
use std::fmt::Write as _;

use roost_object::field::quote;
use serde_json::{Number, Value};

/// Appends a value as Go's JSON encoder writes it: compact, sorted, with `<`, `>` and `&` escaped.
pub(crate) fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text, true),
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (position, (name, item)) in fields.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                write_string(out, name, true);
                out.push(':');
                write_json(out, item);
            }
            out.push('}');
        }
    }
}

/// Appends a JSON string, with the characters that HTML minds escaped if `html`.
pub(crate) fn write_string(out: &mut String, text: &str, html: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' if html => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn write_number(out: &mut String, number: &Number) {
    match number.as_f64() {
        Some(float) if number.is_f64() => write_float(out, float),
        _ => {
            let _ = write!(out, "{number}");
        }
    }
}

/// Floats are plain between 1e-6 and 1e21 and have an exponent outside of that.
fn write_float(out: &mut String, float: f64) {
    let size = float.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        write_exponent(out, float, 1);
    } else {
        let _ = write!(out, "{float}");
    }
}

/// The same as `%v` prints them, where the exponent comes sooner and has two digits at least.
fn write_short_float(out: &mut String, float: f64) {
    let size = float.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        write_exponent(out, float, 2);
    } else {
        let _ = write!(out, "{float}");
    }
}

fn write_exponent(out: &mut String, float: f64, width: usize) {
    let text = format!("{float:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    let _ = write!(out, "{mantissa}e{sign}{digits:0>width$}");
}

/// A value as Go's `%v` prints what JSON decodes to: `map[a:1 b:[x y]]`.
pub(crate) fn plain(value: &Value) -> String {
    let mut out = String::new();
    write_plain(&mut out, value);
    out
}

fn write_plain(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::String(text) => out.push_str(text),
        Value::Bool(_) => write_json(out, value),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => write_short_float(out, float),
            None => write_number(out, number),
        },
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(' ');
                }
                write_plain(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push_str("map[");
            for (position, (name, item)) in fields.iter().enumerate() {
                if position > 0 {
                    out.push(' ');
                }
                let _ = write!(out, "{name}:");
                write_plain(out, item);
            }
            out.push(']');
        }
    }
}

/// A value as Go's `%#v` prints what JSON decodes to: `map[string]interface {}{"a":1}`.
pub(crate) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<_> =
                fields.iter().map(|(name, item)| format!("{}:{}", quote(name), syntax(item))).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        scalar => plain(scalar),
    }
}

/// The Go type that JSON decodes a value to, as `%T` and `reflect` print it.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Whether two values mean the same: numbers by value, whatever they are written as.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => a == b || ((a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && equal(a.1, b.1))
        }
        _ => left == right,
    }
}

/// Stock's total order of values: numbers, texts, booleans, lists, maps, null.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
        },
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let unequal = a.iter().zip(b).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
            unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            let unequal = a.iter().zip(b).map(|(a, b)| a.0.cmp(b.0).then_with(|| compare(a.1, b.1)));
            unequal.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => rank(left).cmp(&rank(right)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_encode_as_go_encodes_them() {
        let mut out = String::new();
        write_json(&mut out, &json!({"b": [1, 1.5, 2.0, 1e21, 1e-7], "a": "<\u{2028}\u{1}\"", "c": null, "d": true}));
        assert_eq!(out, r#"{"a":"\u003c\u2028\u0001\"","b":[1,1.5,2,1e+21,1e-7],"c":null,"d":true}"#);
    }

    #[test]
    fn values_print_as_go_prints_them() {
        let value = json!({"b": ["x", 1], "a": {"c": null}});
        assert_eq!(plain(&value), "map[a:map[c:<nil>] b:[x 1]]");
        let floats = json!([1_000_000.0, 999_999.5, 9.223_372_036_854_776e18, 0.000_01, 0.5]);
        assert_eq!(plain(&floats), "[1e+06 999999.5 9.223372036854776e+18 1e-05 0.5]");
        assert_eq!(
            syntax(&value),
            r#"map[string]interface {}{"a":map[string]interface {}{"c":interface {}(nil)}, "b":[]interface {}{"x", 1}}"#
        );
    }

    #[test]
    fn equality_and_order_go_by_meaning() {
        assert!(equal(&json!({"a": [1]}), &json!({"a": [1.0]})));
        assert!(!equal(&json!("1"), &json!(1)));
        assert_eq!(compare(&json!(2), &json!(10)), Ordering::Less);
        assert_eq!(compare(&json!(2), &json!("1")), Ordering::Less);
        assert_eq!(compare(&json!([1]), &json!([1, 2])), Ordering::Less);
    }
}
