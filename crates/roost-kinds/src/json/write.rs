//! Objects of the built-in kinds to JSON text with the fields in Go's order and the texts escaped as Go escapes them.

use std::io::Write as _;

use serde_json::{Map, Value};

use super::empty;
use crate::table::{Shape, Type};

/// Writes an object as Go's encoder does. Fields that the type does not have come last.
pub fn write(out: &mut Vec<u8>, object: &Value, ty: &'static Type) {
    typed(out, object, Shape::Struct(ty));
}

/// Writes a value of which no type is known: keys in the order of the alphabet.
pub fn write_untyped(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(truth) => out.extend_from_slice(if *truth { b"true" } else { b"false" }),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => write_float(out, float),
            _ => {
                let _ = write!(out, "{number}");
            }
        },
        Value::String(text) => write_text(out, text),
        Value::Array(elements) => list(out, elements, write_untyped),
        Value::Object(fields) => map(out, fields, write_untyped),
    }
}

fn typed(out: &mut Vec<u8>, value: &Value, shape: Shape) {
    match (shape, value) {
        (Shape::Struct(ty), Value::Object(fields)) => structure(out, fields, ty),
        (Shape::SchemaOrArray(_) | Shape::SchemaOrStringArray(_), Value::Array(elements)) if elements.is_empty() => {
            out.extend_from_slice(b"null");
        }
        (Shape::List(element) | Shape::Items(element) | Shape::SchemaOrArray(element), Value::Array(elements)) => {
            list(out, elements, |out, value| typed(out, value, element.ty));
        }
        (Shape::Map(element), Value::Object(entries)) => map(out, entries, |out, value| typed(out, value, element.ty)),
        (
            Shape::SchemaOrBool(schema) | Shape::SchemaOrArray(schema) | Shape::SchemaOrStringArray(schema),
            Value::Object(_),
        ) => typed(out, value, schema.ty),
        // What is held is an object of its own, as in the rows of tables.
        (Shape::RawExtension, Value::Object(fields)) if let Some(ty) = type_of(fields) => structure(out, fields, ty),
        _ => write_untyped(out, value),
    }
}

fn type_of(object: &Map<String, Value>) -> Option<&'static Type> {
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    crate::type_of(text("apiVersion")?, text("kind")?)
}

fn structure(out: &mut Vec<u8>, fields: &Map<String, Value>, ty: &'static Type) {
    out.push(b'{');
    let mut written = 0;
    known_fields(out, fields, ty, &mut written);
    if written < fields.len() {
        for (key, value) in fields.iter().filter(|(key, _)| ty.field(key).is_none()) {
            entry(out, key, &mut written);
            write_untyped(out, value);
        }
    }
    out.push(b'}');
}

fn known_fields(out: &mut Vec<u8>, fields: &Map<String, Value>, ty: &'static Type, written: &mut usize) {
    for field in ty.fields {
        match field.ty {
            Shape::Struct(inlined) if field.inline => known_fields(out, fields, inlined, written),
            shape => {
                if let Some(value) = fields.get(field.json)
                    && !empty::is_unwritten(field, value)
                {
                    entry(out, field.json, written);
                    typed(out, value, shape);
                }
            }
        }
    }
}

fn entry(out: &mut Vec<u8>, key: &str, written: &mut usize) {
    if *written > 0 {
        out.push(b',');
    }
    *written += 1;
    write_text(out, key);
    out.push(b':');
}

fn list(out: &mut Vec<u8>, elements: &[Value], mut write: impl FnMut(&mut Vec<u8>, &Value)) {
    out.push(b'[');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, element);
    }
    out.push(b']');
}

fn map(out: &mut Vec<u8>, entries: &Map<String, Value>, mut write: impl FnMut(&mut Vec<u8>, &Value)) {
    out.push(b'{');
    let mut written = 0;
    for (key, value) in entries {
        entry(out, key, &mut written);
        write(out, value);
    }
    out.push(b'}');
}

/// Writes a number as Go does: plain between 1e-6 and 1e21, without a point where it is whole.
pub fn write_float(out: &mut Vec<u8>, number: f64) {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{number:e}");
        let text = if text.contains("e-") { text } else { text.replace('e', "e+") };
        out.extend_from_slice(text.as_bytes());
    } else {
        let _ = write!(out, "{number}");
    }
}

/// Bytes that stand for themselves in a text, wherever they are.
const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut byte = 0;
    while byte < 0x20 {
        plain[byte] = false;
        byte += 1;
    }
    let mut signs: &[u8] = b"\"\\<>&\xe2";
    while let [sign, rest @ ..] = signs {
        plain[*sign as usize] = false;
        signs = rest;
    }
    plain
};

/// Escapes what JSON must, and what a web page could mistake for markup.
fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let (mut start, mut from) = (0, 0);
    while let Some(plain) = bytes[from..].iter().position(|byte| !PLAIN[usize::from(*byte)]) {
        let index = from + plain;
        let byte = bytes[index];
        from = index + 1;
        // U+2028 and U+2029 are the only two characters that begin and go on with these bytes.
        if byte == 0xe2 && !(bytes[index + 1] == 0x80 && bytes[index + 2] & 0xfe == 0xa8) {
            continue;
        }
        out.extend_from_slice(&bytes[start..index]);
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0xe2 => {
                let _ = write!(out, "\\u202{:x}", bytes[index + 2] & 0xf);
                from = index + 3;
            }
            _ => {
                let _ = write!(out, "\\u{byte:04x}");
            }
        }
        start = from;
    }
    out.extend_from_slice(&bytes[start..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_come_in_the_order_of_the_go_struct() {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "extra": 1, "status": {}, "metadata": {"labels": {"b": "1", "a": "2"}, "name": "x"},
            "spec": {"containers": [{"image": "i", "name": "c", "args": []}], "volumes": [{"emptyDir": {}, "name": "v"}]}
        });
        let mut out = Vec::new();
        write(&mut out, &pod, crate::type_of("v1", "Pod").unwrap());
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","labels":{"a":"2","b":"1"}},"spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c","image":"i"}]},"status":{},"extra":1}"#
        );
    }

    #[test]
    fn texts_and_numbers_are_written_as_go_writes_them() {
        let mut out = Vec::new();
        let value = json!(["<a&b>\"\\\n\u{1}\u{8}\u{2028}\u{2027}é\u{7f}", 1.5, 1e21, 1e-7, 123_456_789.25, -1, 100]);
        write_untyped(&mut out, &value);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "[\"\\u003ca\\u0026b\\u003e\\\"\\\\\\n\\u0001\\b\\u2028\u{2027}é\u{7f}\",1.5,1e+21,1e-7,123456789.25,-1,100]"
        );
    }
}
