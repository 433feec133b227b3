//! The field numbers of the messages that stand for documents of the second generation.

use serde_json::Value;

use super::protobuf::Field::{Any, Anys, Flag, Integer, Many, Named, Number, One, Text, Texts};
use super::protobuf::{Fields, Writer};
use super::render::Shared;

/// Adds a path to the paths of a document.
pub(super) fn add_path(paths: &mut Writer, path: &str, item: &Value) {
    paths.named(2, path, |below| path_item(below, item));
}

/// Adds a schema to the definitions of a document.
pub(super) fn add_schema(definitions: &mut Writer, name: &str, value: &Value) {
    definitions.named(1, name, |below| schema(below, value));
}

/// The whole document.
pub(super) fn document(info: &Value, paths: &Writer, schemas: &Writer, shared: &Shared, security: &Value) -> Vec<u8> {
    let mut document = Writer::default();
    document.text(1, "2.0");
    document.message(2, |below| below.fields(info, &[("title", Text(1)), ("version", Text(2))]));
    document.nested(8, paths);
    document.nested(9, schemas);
    document.message(10, |below| {
        for (name, value) in shared {
            below.named(1, name, |below| parameter(below, value));
        }
    });
    for name in security.as_object().into_iter().flatten().map(|(name, _)| name) {
        document.message(12, |requirement| requirement.named(1, name, |_| {}));
    }
    document.message(13, |definitions| {
        for (name, scheme) in security.as_object().into_iter().flatten() {
            definitions.named(1, name, |below| below.message(2, |below| below.fields(scheme, API_KEY)));
        }
    });
    document.into_bytes()
}

const API_KEY: Fields = &[("type", Text(1)), ("name", Text(2)), ("in", Text(3)), ("description", Text(4))];

fn path_item(writer: &mut Writer, value: &Value) {
    const FIELDS: Fields = &[
        ("get", One(2, operation)),
        ("put", One(3, operation)),
        ("post", One(4, operation)),
        ("delete", One(5, operation)),
        ("options", One(6, operation)),
        ("head", One(7, operation)),
        ("patch", One(8, operation)),
        ("parameters", Many(9, parameter_or_reference)),
    ];
    writer.fields(value, FIELDS);
}

fn operation(writer: &mut Writer, value: &Value) {
    const FIELDS: Fields = &[
        ("tags", Texts(1)),
        ("description", Text(3)),
        ("operationId", Text(5)),
        ("produces", Texts(6)),
        ("consumes", Texts(7)),
        ("parameters", Many(8, parameter_or_reference)),
        ("responses", One(9, responses)),
        ("schemes", Texts(10)),
    ];
    writer.fields(value, FIELDS);
    writer.extensions(13, value);
}

fn parameter_or_reference(writer: &mut Writer, value: &Value) {
    if value.get("$ref").is_some() {
        writer.message(2, |below| below.fields(value, &[("$ref", Text(1))]));
    } else {
        writer.message(1, |below| parameter(below, value));
    }
}

fn parameter(writer: &mut Writer, value: &Value) {
    const BODY: Fields = &[
        ("description", Text(1)),
        ("name", Text(2)),
        ("in", Text(3)),
        ("required", Flag(4)),
        ("schema", One(5, schema)),
    ];
    const QUERY: Fields = &[
        ("required", Flag(1)),
        ("in", Text(2)),
        ("description", Text(3)),
        ("name", Text(4)),
        ("type", Text(6)),
        ("uniqueItems", Flag(20)),
    ];
    const PATH: Fields = &[
        ("required", Flag(1)),
        ("in", Text(2)),
        ("description", Text(3)),
        ("name", Text(4)),
        ("type", Text(5)),
        ("uniqueItems", Flag(19)),
    ];
    match value["in"].as_str() {
        Some("body") => writer.message(1, |below| below.fields(value, BODY)),
        Some("path") => writer.message(2, |below| below.message(4, |below| below.fields(value, PATH))),
        _ => writer.message(2, |below| below.message(3, |below| below.fields(value, QUERY))),
    }
}

fn responses(writer: &mut Writer, value: &Value) {
    const FIELDS: Fields = &[("description", Text(1)), ("schema", One(2, schema_item))];
    for (code, response) in value.as_object().into_iter().flatten() {
        writer.named(1, code, |below| below.message(1, |below| below.fields(response, FIELDS)));
    }
}

fn schema_item(writer: &mut Writer, value: &Value) {
    writer.message(1, |below| schema(below, value));
}

fn schema(writer: &mut Writer, value: &Value) {
    const FIELDS: Fields = &[
        ("$ref", Text(1)),
        ("format", Text(2)),
        ("title", Text(3)),
        ("description", Text(4)),
        ("default", Any(5)),
        ("multipleOf", Number(6)),
        ("maximum", Number(7)),
        ("exclusiveMaximum", Flag(8)),
        ("minimum", Number(9)),
        ("exclusiveMinimum", Flag(10)),
        ("maxLength", Integer(11)),
        ("minLength", Integer(12)),
        ("pattern", Text(13)),
        ("maxItems", Integer(14)),
        ("minItems", Integer(15)),
        ("uniqueItems", Flag(16)),
        ("maxProperties", Integer(17)),
        ("minProperties", Integer(18)),
        ("required", Texts(19)),
        ("enum", Anys(20)),
        ("additionalProperties", One(21, additional_properties)),
        ("type", One(22, type_item)),
        ("items", One(23, items)),
        ("allOf", Many(24, schema)),
        ("properties", Named(25, schema)),
        ("externalDocs", One(29, external_docs)),
        ("example", Any(30)),
    ];
    writer.fields(value, FIELDS);
    writer.extensions(31, value);
}

fn type_item(writer: &mut Writer, value: &Value) {
    writer.text(1, value.as_str().unwrap_or_default());
}

fn items(writer: &mut Writer, value: &Value) {
    writer.message(1, |below| schema(below, value));
}

fn external_docs(writer: &mut Writer, value: &Value) {
    writer.fields(value, &[("description", Text(1)), ("url", Text(2))]);
}

fn additional_properties(writer: &mut Writer, value: &Value) {
    match value {
        Value::Bool(allowed) => writer.choice_flag(2, *allowed),
        values => writer.message(1, |below| schema(below, values)),
    }
}
