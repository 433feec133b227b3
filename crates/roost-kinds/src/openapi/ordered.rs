//! JSON of documents with the fields of each part in the order in which stock declares them. Maps, and what a part holds
//! beyond its declared fields, are sorted by their names.

use serde_json::{Map, Value};

use super::Generation;

/// What a value of a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All that can be done on one path.
    Path,
    Operation,
    Parameter,
    RequestBody,
    Response,
    Security,
    Schema,
    /// The group, version and kind that an operation acts on.
    Kind,
    /// A map to parts of one sort.
    Map(&'static Part),
    /// Something without a declaration.
    Free,
}

const PATH: &[&str] = &["get", "put", "post", "delete", "options", "head", "patch", "parameters"];
const OPERATION: &[&str] = &[
    "tags",
    "description",
    "consumes",
    "produces",
    "schemes",
    "operationId",
    "parameters",
    "requestBody",
    "responses",
];
const OPERATION_V2: &[&str] =
    &["description", "consumes", "produces", "schemes", "tags", "operationId", "parameters", "responses"];
const PARAMETER: &[&str] = &["name", "in", "description", "required", "schema"];
const PARAMETER_V2: &[&str] =
    &["uniqueItems", "type", "format", "items", "description", "name", "in", "required", "schema", "$ref"];
const REQUEST_BODY: &[&str] = &["description", "content", "required"];
const RESPONSE: &[&str] = &["description", "content", "schema"];
const SECURITY: &[&str] = &["type", "description", "name", "in"];
const SECURITY_V2: &[&str] = &["description", "type", "name", "in"];
const KIND: &[&str] = &["group", "version", "kind"];
const SCHEMA: &[&str] = &[
    "description",
    "type",
    "nullable",
    "format",
    "title",
    "default",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "enum",
    "maxProperties",
    "minProperties",
    "required",
    "items",
    "allOf",
    "oneOf",
    "anyOf",
    "not",
    "properties",
    "additionalProperties",
    "externalDocs",
    "example",
    "$ref",
];

impl Part {
    fn fields(self, generation: Generation) -> &'static [&'static str] {
        match (self, generation) {
            (Self::Path, _) => PATH,
            (Self::Operation, Generation::V2) => OPERATION_V2,
            (Self::Operation, Generation::V3) => OPERATION,
            (Self::Parameter, Generation::V2) => PARAMETER_V2,
            (Self::Parameter, Generation::V3) => PARAMETER,
            (Self::RequestBody, _) => REQUEST_BODY,
            (Self::Response, _) => RESPONSE,
            (Self::Security, Generation::V2) => SECURITY_V2,
            (Self::Security, Generation::V3) => SECURITY,
            (Self::Schema, _) => SCHEMA,
            (Self::Kind, Generation::V3) => KIND,
            // Stock joins the documents of the second generation from parts that were read again as maps.
            (Self::Kind, Generation::V2) | (Self::Map(_) | Self::Free, _) => &[],
        }
    }

    fn below(self, field: &str) -> Self {
        match (self, field) {
            (Self::Map(part), _) => *part,
            (Self::Path | Self::Operation, "parameters") => Self::Parameter,
            (Self::Path, _) => Self::Operation,
            (Self::Operation, "requestBody") => Self::RequestBody,
            (Self::Operation, "responses") => Self::Map(&Self::Response),
            (Self::Operation, "x-kubernetes-group-version-kind") => Self::Kind,
            // Each of the media types holds nothing but a schema.
            (Self::RequestBody | Self::Response, "content") => Self::Map(&Self::Map(&Self::Schema)),
            (Self::Schema, "properties") => Self::Map(&Self::Schema),
            (Self::Parameter | Self::Response, "schema")
            | (Self::Schema, "items" | "additionalProperties" | "not" | "allOf" | "oneOf" | "anyOf") => Self::Schema,
            _ => Self::Free,
        }
    }
}

/// Writes a value. The items of a list are parts of the same sort.
pub(super) fn write(out: &mut Vec<u8>, value: &Value, part: Part, generation: Generation) {
    match value {
        Value::Object(object) if part != Part::Free => write_object(out, object, part, generation),
        Value::Array(items) if part != Part::Free => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write(out, item, part, generation);
            }
            out.push(b']');
        }
        _ => append(out, value),
    }
}

fn write_object(out: &mut Vec<u8>, object: &Map<String, Value>, part: Part, generation: Generation) {
    let fields = part.fields(generation);
    let declared = fields.iter().filter_map(|field| object.get_key_value(*field));
    let others = object.iter().filter(|(name, _)| !fields.contains(&name.as_str()));
    out.push(b'{');
    for (index, (name, value)) in declared.chain(others).enumerate() {
        if index > 0 {
            out.push(b',');
        }
        append_name(out, name);
        write(out, value, part.below(name), generation);
    }
    out.push(b'}');
}

/// Appends a value in the order that it has.
pub(super) fn append(out: &mut Vec<u8>, value: &Value) {
    let written = serde_json::to_writer(out, value);
    debug_assert!(written.is_ok(), "values always serialise");
}

/// Appends the name of a field.
pub(super) fn append_name(out: &mut Vec<u8>, name: &str) {
    let written = serde_json::to_writer(&mut *out, name);
    debug_assert!(written.is_ok(), "texts always serialise");
    out.push(b':');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Part, write};
    use crate::openapi::Generation;

    fn written(value: &serde_json::Value, part: Part, generation: Generation) -> String {
        let mut out = Vec::new();
        write(&mut out, value, part, generation);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn declared_fields_come_in_their_order_and_names_of_maps_are_no_fields() {
        let schema = json!({
            "properties": {"type": {"type": "string", "description": "d"}, "description": {"default": 1, "type": "integer"}},
            "required": ["type"], "type": "object", "x-kubernetes-map-type": "atomic", "allOf": [{"pattern": "p", "format": "f"}],
            "default": {"type": 1, "description": 2},
        });
        assert_eq!(
            written(&schema, Part::Schema, Generation::V3),
            r#"{"type":"object","default":{"description":2,"type":1},"required":["type"],"allOf":[{"format":"f","pattern":"p"}],"properties":{"description":{"type":"integer","default":1},"type":{"description":"d","type":"string"}},"x-kubernetes-map-type":"atomic"}"#
        );
    }

    #[test]
    fn generations_declare_operations_differently() {
        let path = json!({"post": {"tags": ["t"], "description": "d", "responses": {"200": {"schema": {}, "description": "OK"}}}, "get": {}});
        assert_eq!(
            written(&path, Part::Path, Generation::V3),
            r#"{"get":{},"post":{"tags":["t"],"description":"d","responses":{"200":{"description":"OK","schema":{}}}}}"#
        );
        assert_eq!(
            written(&path, Part::Path, Generation::V2),
            r#"{"get":{},"post":{"description":"d","tags":["t"],"responses":{"200":{"description":"OK","schema":{}}}}}"#
        );
    }
}
