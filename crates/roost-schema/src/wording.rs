//! Values inside error texts, spelled as Go spells them.

use std::fmt::Write as _;

use roost_object::field::{Error, Kind};
use serde_json::Value;

/// An error about a value, shown as Go would show it.
///
/// Floats and compound values are spelled here, because their Go spelling differs from serde's.
pub(crate) fn error(kind: Kind, field: String, value: &Value, detail: String) -> Error {
    let shown = match value {
        Value::Null | Value::Bool(_) | Value::String(_) => None,
        Value::Number(number) if number.is_i64() => None,
        Value::Number(number) => Some(float(number.as_f64().unwrap_or_default())),
        compound => Some(json(compound)),
    };
    match shown {
        None => Error { kind, field, value: Some(value.clone()), detail },
        Some(shown) => error_showing(kind, field, &shown, &detail),
    }
}

/// An error about a value whose spelling is given.
pub(crate) fn error_showing(kind: Kind, field: String, shown: &str, detail: &str) -> Error {
    let detail = if detail.is_empty() { shown.to_owned() } else { format!("{shown}: {detail}") };
    Error { kind, field, value: None, detail }
}

/// A float as Go's `%v` prints it.
pub(crate) fn float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    spell_float(number, -4, 6)
}

/// The shortest decimal, with an exponent below `low` and from `high` on.
pub(crate) fn spell_float(number: f64, low: i32, high: i32) -> String {
    if number == 0.0 {
        return if number.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if exponent < low || exponent >= high {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    format!("{number}")
}

/// A decoded JSON value as Go's `%v` prints it.
pub(crate) fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) if !number.is_i64() => float(number.as_f64().unwrap_or_default()),
        Value::Array(list) => format!("[{}]", list.iter().map(go_value).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let entries: Vec<_> = map.iter().map(|(key, inner)| format!("{key}:{}", go_value(inner))).collect();
            format!("map[{}]", entries.join(" "))
        }
        other => other.to_string(),
    }
}

/// JSON as Go's `json.Marshal` writes it: sorted keys, and the characters of markup escaped.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(&mut out, value);
    out
}

fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Number(number) if !number.is_i64() => {
            let _ = match number.as_f64() {
                Some(float) => write!(out, "{}", spell_float(float, -6, 21)),
                None => write!(out, "{number}"),
            };
        }
        Value::String(text) => write_text(out, text),
        Value::Array(list) => {
            out.push('[');
            for (index, inner) in list.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_json(out, inner);
            }
            out.push(']');
        }
        Value::Object(map) => {
            out.push('{');
            for (index, (key, inner)) in map.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(out, key);
                out.push(':');
                write_json(out, inner);
            }
            out.push('}');
        }
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

/// A JSON string in Go's spelling.
pub(crate) fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", character as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_spelled_as_go_spells_them() {
        for (number, text) in [(1.5, "1.5"), (100.0, "100"), (1e-5, "1e-05"), (1e6, "1e+06"), (0.0, "0")] {
            assert_eq!(float(number), text);
        }
        assert_eq!(json(&json!({"b": "<a>", "a": [1, 2.5, null]})), r#"{"a":[1,2.5,null],"b":"\u003ca\u003e"}"#);
    }
}
