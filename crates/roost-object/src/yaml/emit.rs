//! Values as YAML text: block style, keys in order, text quoted only where another reader could take it for something else.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::resolve::{Resolved, by_looks};

/// Writes a value as a YAML document.
pub fn write(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => write_fields(&mut out, fields, 0),
        Value::Array(items) if !items.is_empty() => write_items(&mut out, items, 0),
        scalar => {
            write_scalar(&mut out, scalar, 0);
            out.push('\n');
        }
    }
    out
}

fn write_fields(out: &mut String, fields: &Map<String, Value>, indent: usize) {
    for (index, (name, value)) in fields.iter().enumerate() {
        if index > 0 || indent == 0 || out.ends_with('\n') {
            pad(out, indent);
        }
        write_text(out, name, indent);
        out.push(':');
        write_below(out, value, indent);
    }
}

fn write_items(out: &mut String, items: &[Value], indent: usize) {
    for item in items {
        pad(out, indent);
        out.push('-');
        match item {
            Value::Object(fields) if !fields.is_empty() => {
                out.push(' ');
                write_fields(out, fields, indent + 2);
            }
            Value::Array(inner) if !inner.is_empty() => {
                out.push('\n');
                write_items(out, inner, indent + 2);
            }
            scalar => {
                out.push(' ');
                write_scalar(out, scalar, indent + 2);
                out.push('\n');
            }
        }
    }
}

/// What follows a key: on the same line if it is short, else below. Lists stand at the key's own depth, as kubectl
/// prints them.
fn write_below(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            out.push('\n');
            write_fields(out, fields, indent + 2);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            write_items(out, items, indent);
        }
        scalar => {
            out.push(' ');
            write_scalar(out, scalar, indent + 2);
            out.push('\n');
        }
    }
}

fn write_scalar(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::String(text) => write_text(out, text, indent),
        Value::Object(_) => out.push_str("{}"),
        Value::Array(_) => out.push_str("[]"),
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

fn write_text(out: &mut String, text: &str, indent: usize) {
    let reads_as_text = matches!(by_looks(text), Resolved::Text(_)) && !matches!(text, "=" | "<<") && !is_date(text);
    let is_special = |character: char| character.is_control() || character == '\u{feff}';
    if text.contains('\n') && is_block_safe(text) {
        write_block(out, text, indent);
    } else if !reads_as_text || text.is_empty() || text.contains(is_special) {
        let _ = write!(out, "{}", Value::from(text));
    } else if is_plain(text) {
        write_folded(out, text, indent);
    } else {
        out.push('\'');
        write_folded(out, &text.replace('\'', "''"), indent);
        out.push('\'');
    }
}

/// The column after which a line is broken at the next space.
const BEST_WIDTH: usize = 80;

/// Writes text that may go over several lines.
fn write_folded(out: &mut String, text: &str, indent: usize) {
    let mut column = out.len() - out.rfind('\n').map_or(0, |at| at + 1);
    let mut characters = text.chars().peekable();
    let (mut first, mut after_space) = (true, false);
    while let Some(character) = characters.next() {
        let may_break = character == ' ' && !first && !after_space && column > BEST_WIDTH;
        if may_break && characters.peek().is_some_and(|next| *next != ' ') {
            out.push('\n');
            pad(out, indent);
            column = indent;
        } else {
            out.push(character);
            column += 1;
        }
        after_space = character == ' ';
        first = false;
    }
}

/// Whether another reader could take the text for a date.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| bytes[range].iter().all(u8::is_ascii_digit);
    bytes.len() >= 10 && digits(0..4) && bytes[4] == b'-' && digits(5..7) && bytes[7] == b'-' && digits(8..10)
}

/// Whether a literal block says exactly this text.
fn is_block_safe(text: &str) -> bool {
    !text.starts_with([' ', '\n', '\t']) && text.chars().all(|character| character == '\n' || !character.is_control())
}

fn write_block(out: &mut String, text: &str, indent: usize) {
    let body = text.trim_end_matches('\n');
    let newlines = text.len() - body.len();
    out.push_str(match newlines {
        0 => "|-",
        1 => "|",
        _ => "|+",
    });
    let lines = body.split('\n').chain(std::iter::repeat_n("", newlines.saturating_sub(1)));
    for line in lines {
        out.push('\n');
        if !line.is_empty() {
            pad(out, indent);
            out.push_str(line);
        }
    }
}

/// Whether bare text reads back as the same text, given that it looks like text at all.
fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let starts_well =
        first.is_alphanumeric() || matches!(first, '_' | '/' | '.' | '(' | '<' | '$' | '+' | '^' | ';' | '~');
    starts_well && !text.ends_with([' ', ':']) && !text.contains(": ") && !text.contains(" #")
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let value = json!({
            "a": [1, {"b": "yes", "c": [], "d": {}}, ["x", [true]], "two\nlines\n", " lead", "1", "0x1f", "null", "~", "a: b", "a #b"],
            "empty": "", "key with space": null, "text": "line\n\nline", "y": 1.5, "no end": "a\nb", "ends": "a\n\n\n", "quote": "\"",
        });
        let text = write(&value);
        assert_eq!(super::super::read(text.as_bytes()).unwrap().value, value, "{text}");
    }

    #[test]
    fn objects_look_as_kubectl_prints_them() {
        let value = json!({"spec": {"ports": [{"name": "http", "port": 80}], "selector": {"app": "web"}}});
        assert_eq!(write(&value), "spec:\n  ports:\n  - name: http\n    port: 80\n  selector:\n    app: web\n");
    }
}
