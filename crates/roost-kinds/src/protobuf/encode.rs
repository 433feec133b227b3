//! From values to messages. Fields that Go does not hold by pointer are written even when nobody set them.

use roost_object::time::Timestamp;
use serde_json::{Map, Value};

use super::wire;
use crate::json::bytes as base64;
use crate::table::{Element, Field, Shape, Type};

/// Writes the fields of an object.
pub(super) fn object(out: &mut Vec<u8>, value: &Value, ty: &'static Type) {
    match value {
        Value::Object(fields) => structure(out, fields, ty),
        _ => structure(out, &Map::new(), ty),
    }
}

fn structure(out: &mut Vec<u8>, fields: &Map<String, Value>, ty: &'static Type) {
    let in_order = (0..ty.fields.len()).filter(|_| ty.wire.is_empty());
    for index in in_order.chain(ty.wire.iter().map(|&index| usize::from(index))) {
        let entry = &ty.fields[index];
        if entry.number > 0 {
            field(out, fields, entry);
        }
    }
}

fn field(out: &mut Vec<u8>, fields: &Map<String, Value>, field: &Field) {
    if field.inline
        && let Shape::Struct(inlined) = field.ty
    {
        wire::nested(out, field.number, |out| structure(out, fields, inlined));
        return;
    }
    let value = fields.get(field.json).unwrap_or(&Value::Null);
    match field.ty {
        Shape::List(element) => {
            for value in value.as_array().into_iter().flatten() {
                single(out, field.number, element.ty, value);
            }
        }
        Shape::Map(element) => {
            for (key, value) in value.as_object().into_iter().flatten() {
                wire::nested(out, field.number, |out| entry(out, key, element, value));
            }
        }
        // A time that was sent and says nothing is another one than none, and so are items that are neither schema nor list.
        Shape::Time | Shape::MicroTime | Shape::SchemaOrArray(_) if fields.contains_key(field.json) => {
            single(out, field.number, field.ty, value);
        }
        _ if value.is_null() && field.pointer => {}
        Shape::Items(_) if value.is_null() => {}
        shape => single(out, field.number, shape, value),
    }
}

fn entry(out: &mut Vec<u8>, key: &str, element: &Element, value: &Value) {
    wire::bytes(out, 1, key.as_bytes());
    single(out, 2, element.ty, value);
}

/// Writes one value under a field number; null stands for the zero value.
fn single(out: &mut Vec<u8>, number: u32, shape: Shape, value: &Value) {
    match shape {
        Shape::String => wire::bytes(out, number, text(value)),
        Shape::Bool => wire::varint(out, number, i64::from(value.as_bool().unwrap_or_default())),
        Shape::Int32 | Shape::Int64 => wire::varint(out, number, integer(value)),
        Shape::Float64 => wire::double(out, number, value.as_f64().unwrap_or_default()),
        Shape::Bytes => {
            if let Value::String(text) = value {
                wire::bytes(out, number, &base64::decode(text).unwrap_or_default());
            }
        }
        Shape::Struct(ty) => wire::nested(out, number, |out| object(out, value, ty)),
        Shape::List(element) | Shape::Items(element) => wire::nested(out, number, |out| {
            for value in value.as_array().into_iter().flatten() {
                single(out, 1, element.ty, value);
            }
        }),
        Shape::Map(element) => wire::nested(out, number, |out| {
            for (key, value) in value.as_object().into_iter().flatten() {
                wire::nested(out, 1, |out| entry(out, key, element, value));
            }
        }),
        Shape::Time => wire::nested(out, number, |out| {
            if let Some(time) = value.as_str().and_then(Timestamp::parse_written) {
                timestamp(out, time.seconds, 0);
            }
        }),
        Shape::MicroTime => wire::nested(out, number, |out| {
            if let Some(time) = value.as_str().and_then(Timestamp::parse_written_micros) {
                timestamp(out, time.seconds, time.nanos);
            }
        }),
        Shape::Quantity => wire::nested(out, number, |out| {
            wire::bytes(out, 1, if value.is_null() { b"0" } else { text(value) });
        }),
        Shape::IntOrString => wire::nested(out, number, |out| {
            wire::varint(out, 1, i64::from(value.is_string()));
            wire::varint(out, 2, integer(value));
            wire::bytes(out, 3, text(value));
        }),
        Shape::RawExtension | Shape::FieldsV1 | Shape::Json => wire::nested(out, number, |out| {
            if !value.is_null() {
                wire::bytes(out, 1, value.to_string().as_bytes());
            }
        }),
        Shape::SchemaOrBool(schema) => wire::nested(out, number, |out| {
            wire::varint(out, 1, i64::from(value.is_object() || value.as_bool().unwrap_or_default()));
            if value.is_object() {
                single(out, 2, schema.ty, value);
            }
        }),
        Shape::SchemaOrArray(schema) => wire::nested(out, number, |out| {
            if value.is_object() {
                single(out, 1, schema.ty, value);
            }
            for value in value.as_array().into_iter().flatten() {
                single(out, 2, schema.ty, value);
            }
        }),
        Shape::SchemaOrStringArray(schema) => wire::nested(out, number, |out| {
            if value.is_object() {
                single(out, 1, schema.ty, value);
            }
            for value in value.as_array().into_iter().flatten() {
                single(out, 2, Shape::String, value);
            }
        }),
    }
}

fn timestamp(out: &mut Vec<u8>, seconds: i64, nanos: u32) {
    wire::varint(out, 1, seconds);
    wire::varint(out, 2, i64::from(nanos / 1000 * 1000));
}

fn text(value: &Value) -> &[u8] {
    value.as_str().unwrap_or_default().as_bytes()
}

fn integer(value: &Value) -> i64 {
    value.as_i64().or_else(|| value.as_f64().map(|number| number as i64)).unwrap_or_default()
}
