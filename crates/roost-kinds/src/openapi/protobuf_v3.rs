//! The field numbers of the messages that stand for documents of the third generation.

use serde_json::Value;

use super::protobuf::Field::{Any, Anys, Flag, Integer, Many, Named, Number, One, Text, Texts};
use super::protobuf::{Fields, Writer};

/// Adds a path to the paths of a document.
pub(super) fn add_path(paths: &mut Writer, path: &str, item: &Value) {
    paths.named(1, path, |below| path_item(below, item));
}

/// Adds a schema to the schemas of a document.
pub(super) fn add_schema(schemas: &mut Writer, name: &str, schema: &Value) {
    schemas.named(1, name, |below| schema_or_reference(below, schema));
}

/// The whole document.
pub(super) fn document(info: &Value, paths: &Writer, schemas: &Writer, security: &Value) -> Vec<u8> {
    let mut document = Writer::default();
    document.text(1, "3.0.0");
    document.message(2, |below| below.fields(info, &[("title", Text(1)), ("version", Text(6))]));
    document.nested(4, paths);
    document.message(5, |components| {
        if !schemas.is_empty() {
            components.nested(1, schemas);
        }
        if !security.is_null() {
            components.message(7, |schemes| {
                for (name, scheme) in security.as_object().into_iter().flatten() {
                    schemes.named(1, name, |below| below.message(1, |below| below.fields(scheme, SECURITY_SCHEME)));
                }
            });
        }
    });
    document.into_bytes()
}

const SECURITY_SCHEME: Fields = &[("type", Text(1)), ("description", Text(2)), ("name", Text(3)), ("in", Text(4))];

fn path_item(writer: &mut Writer, value: &Value) {
    const FIELDS: Fields = &[
        ("get", One(4, operation)),
        ("put", One(5, operation)),
        ("post", One(6, operation)),
        ("delete", One(7, operation)),
        ("options", One(8, operation)),
        ("head", One(9, operation)),
        ("patch", One(10, operation)),
        ("parameters", Many(13, parameter)),
    ];
    writer.fields(value, FIELDS);
}

fn operation(writer: &mut Writer, value: &Value) {
    const FIELDS: Fields = &[
        ("tags", Texts(1)),
        ("description", Text(3)),
        ("operationId", Text(5)),
        ("parameters", Many(6, parameter)),
        ("requestBody", One(7, request_body)),
        ("responses", One(8, responses)),
    ];
    writer.fields(value, FIELDS);
    writer.extensions(13, value);
}

fn parameter(writer: &mut Writer, value: &Value) {
    const FIELDS: Fields = &[
        ("name", Text(1)),
        ("in", Text(2)),
        ("description", Text(3)),
        ("required", Flag(4)),
        ("schema", One(10, schema_or_reference)),
    ];
    writer.message(1, |below| below.fields(value, FIELDS));
}

fn request_body(writer: &mut Writer, value: &Value) {
    const FIELDS: Fields = &[("content", Named(2, media_type)), ("required", Flag(3))];
    writer.message(1, |below| below.fields(value, FIELDS));
}

fn media_type(writer: &mut Writer, value: &Value) {
    writer.fields(value, &[("schema", One(1, schema_or_reference))]);
}

fn responses(writer: &mut Writer, value: &Value) {
    const FIELDS: Fields = &[("description", Text(1)), ("content", Named(3, media_type))];
    for (code, response) in value.as_object().into_iter().flatten() {
        writer.named(2, code, |below| below.message(1, |below| below.fields(response, FIELDS)));
    }
}

fn schema_or_reference(writer: &mut Writer, value: &Value) {
    if value.get("$ref").is_some() {
        writer.message(2, |below| below.fields(value, &[("$ref", Text(1)), ("description", Text(3))]));
    } else {
        writer.message(1, |below| schema(below, value));
    }
}

fn schema(writer: &mut Writer, value: &Value) {
    const FIELDS: Fields = &[
        ("nullable", Flag(1)),
        ("externalDocs", One(6, external_docs)),
        ("example", Any(7)),
        ("title", Text(9)),
        ("multipleOf", Number(10)),
        ("maximum", Number(11)),
        ("exclusiveMaximum", Flag(12)),
        ("minimum", Number(13)),
        ("exclusiveMinimum", Flag(14)),
        ("maxLength", Integer(15)),
        ("minLength", Integer(16)),
        ("pattern", Text(17)),
        ("maxItems", Integer(18)),
        ("minItems", Integer(19)),
        ("uniqueItems", Flag(20)),
        ("maxProperties", Integer(21)),
        ("minProperties", Integer(22)),
        ("required", Texts(23)),
        ("enum", Anys(24)),
        ("type", Text(25)),
        ("allOf", Many(26, schema_or_reference)),
        ("oneOf", Many(27, schema_or_reference)),
        ("anyOf", Many(28, schema_or_reference)),
        ("not", One(29, schema)),
        ("items", One(30, items)),
        ("properties", Named(31, schema_or_reference)),
        ("additionalProperties", One(32, additional_properties)),
        ("default", One(33, default_value)),
        ("description", Text(34)),
        ("format", Text(35)),
    ];
    writer.fields(value, FIELDS);
    writer.extensions(36, value);
}

fn external_docs(writer: &mut Writer, value: &Value) {
    writer.fields(value, &[("description", Text(1)), ("url", Text(2))]);
}

fn items(writer: &mut Writer, value: &Value) {
    writer.message(1, |below| schema_or_reference(below, value));
}

fn additional_properties(writer: &mut Writer, value: &Value) {
    match value {
        // The choice is written even when it is false.
        Value::Bool(allowed) => writer.choice_flag(2, *allowed),
        schema => writer.message(1, |below| schema_or_reference(below, schema)),
    }
}

/// Only plain values fit; others leave an empty message.
fn default_value(writer: &mut Writer, value: &Value) {
    match value {
        Value::Number(number) => writer.number(1, number.as_f64().unwrap_or_default()),
        Value::Bool(flag) => writer.choice_flag(2, *flag),
        Value::String(text) => writer.choice_text(3, text),
        _ => {}
    }
}
