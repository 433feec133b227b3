//! From the JSON of a schema to its compiled form. The schema is taken to be valid; what is not understood is left out.

use serde_json::{Map, Value};

use super::{Additional, Below, Checks, ListType, MapType, Structural, Type, UnknownNames};
use crate::pattern::Pattern;
use crate::validate::format::Format;

/// Schemas nest no deeper than this, so that walks along a schema cannot exhaust the stack. Real ones stay below 40.
const MAX_DEPTH: usize = 200;

/// Why a schema cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The schema, or a part of it, is not a JSON object.
    #[error("schema must be an object")]
    NotAnObject,
    /// The schema nests too deeply.
    #[error("schema is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// A part that structural schemas do not have.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl Structural {
    /// Compiles the schema at the root of a custom resource.
    pub fn compile(schema: &Value) -> Result<Structural, CompileError> {
        let mut root = node(schema, 0)?;
        root.root = true;
        crate::rules::compile(&root);
        Ok(root)
    }

    /// Compiles a schema whose place is not a resource's root, without its rules.
    pub(crate) fn compile_part(schema: &Value) -> Result<Structural, CompileError> {
        node(schema, 0)
    }
}

fn node(schema: &Value, depth: usize) -> Result<Structural, CompileError> {
    let schema = schema.as_object().ok_or(CompileError::NotAnObject)?;
    if depth > MAX_DEPTH {
        return Err(CompileError::TooDeep);
    }
    refuse_unsupported(schema)?;
    let mut out = Structural {
        kind: kind(text(schema, "type")),
        nullable: flag(schema, "nullable"),
        int_or_string: flag(schema, "x-kubernetes-int-or-string"),
        formatted: !matches!(text(schema, "format"), "" | "byte"),
        preserve_unknown: flag(schema, "x-kubernetes-preserve-unknown-fields"),
        embedded: flag(schema, "x-kubernetes-embedded-resource"),
        list_type: match text(schema, "x-kubernetes-list-type") {
            "atomic" => ListType::Atomic,
            "set" => ListType::Set,
            "map" => ListType::Map,
            _ => ListType::Unset,
        },
        map_type: match text(schema, "x-kubernetes-map-type") {
            "granular" => MapType::Granular,
            "atomic" => MapType::Atomic,
            _ => MapType::Unset,
        },
        list_keys: names(schema, "x-kubernetes-list-map-keys"),
        default: schema.get("default").filter(|value| !value.is_null()).map(|value| Box::new(value.clone())),
        ..Structural::default()
    };
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let compiled: Result<Vec<_>, CompileError> =
            properties.iter().map(|(name, property)| Ok((name.as_str().into(), node(property, depth + 1)?))).collect();
        out.properties = compiled?.into_boxed_slice();
    }
    out.additional = match schema.get("additionalProperties") {
        None | Some(Value::Null) => Additional::Unset,
        Some(Value::Bool(allowed)) => Additional::Allowed(*allowed),
        Some(inner) => Additional::Schema(Box::new(node(inner, depth + 1)?)),
    };
    match schema.get("items") {
        None | Some(Value::Null) => {}
        Some(Value::Array(list)) if list.is_empty() => {}
        Some(Value::Array(_)) => {
            return Err(CompileError::Unsupported("OpenAPIV3Schema 'items' must be a schema, but is an array"));
        }
        Some(items) => out.items = Some(Box::new(node(items, depth + 1)?)),
    }
    out.checks = checks(schema, out.kind, out.int_or_string, depth)?.map(Box::new);
    out.rules = crate::rules::RuleSet::declared(schema).map(Box::new);
    out.below = below(&out);
    Ok(out)
}

fn refuse_unsupported(schema: &Map<String, Value>) -> Result<(), CompileError> {
    let given = |name: &str| match schema.get(name) {
        None | Some(Value::Null) => false,
        Some(_) if name == "additionalItems" => true,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(map)) => !map.is_empty(),
        Some(_) => true,
    };
    let refusals = [
        ("id", "OpenAPIV3Schema 'id' is not supported"),
        ("$schema", "OpenAPIV3Schema 'schema' is not supported"),
        ("$ref", "OpenAPIV3Schema '$ref' is not supported"),
        ("patternProperties", "OpenAPIV3Schema 'patternProperties' is not supported"),
        ("dependencies", "OpenAPIV3Schema 'dependencies' is not supported"),
        ("additionalItems", "OpenAPIV3Schema 'additionalItems' is not supported"),
        ("definitions", "OpenAPIV3Schema 'definitions' is not supported"),
    ];
    for (name, words) in refusals {
        if given(name) {
            return Err(CompileError::Unsupported(words));
        }
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        return Err(CompileError::Unsupported(
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
        ));
    }
    Ok(())
}

fn checks(
    schema: &Map<String, Value>,
    kind: Type,
    int_or_string: bool,
    depth: usize,
) -> Result<Option<Checks>, CompileError> {
    let nested = |name: &str| -> Result<Box<[Structural]>, CompileError> {
        let Some(list) = schema.get(name).and_then(Value::as_array) else { return Ok(Box::default()) };
        list.iter().map(|inner| node(inner, depth + 1)).collect()
    };
    let format_kind = if int_or_string { Type::Any } else { kind };
    let format = Format::parse(text(schema, "format"), format_kind);
    let out = Checks {
        unknown: unknown_names(schema, kind, format),
        format,
        maximum: number(schema, "maximum"),
        exclusive_maximum: flag(schema, "exclusiveMaximum"),
        minimum: number(schema, "minimum"),
        exclusive_minimum: flag(schema, "exclusiveMinimum"),
        multiple_of: number(schema, "multipleOf"),
        max_length: integer(schema, "maxLength"),
        min_length: integer(schema, "minLength"),
        max_items: integer(schema, "maxItems"),
        min_items: integer(schema, "minItems"),
        unique_items: flag(schema, "uniqueItems"),
        max_properties: integer(schema, "maxProperties"),
        min_properties: integer(schema, "minProperties"),
        pattern: Some(text(schema, "pattern")).filter(|text| !text.is_empty()).map(Pattern::new),
        one_value_of: schema.get("enum").and_then(Value::as_array).cloned().unwrap_or_default().into_boxed_slice(),
        required: names(schema, "required"),
        all_of: nested("allOf")?,
        any_of: nested("anyOf")?,
        one_of: nested("oneOf")?,
        not: match schema.get("not").filter(|inner| !inner.is_null()) {
            None => None,
            Some(inner) => Some(Box::new(node(inner, depth + 1)?)),
        },
    };
    Ok((!out.is_empty()).then_some(out))
}

fn unknown_names(schema: &Map<String, Value>, kind: Type, format: Option<Format>) -> Option<Box<UnknownNames>> {
    let name = if kind == Type::Any { text(schema, "type") } else { "" };
    let format = if format.is_none() { text(schema, "format") } else { "" };
    (!name.is_empty() || !format.is_empty()).then(|| UnknownNames { kind: name.into(), format: format.into() }.into())
}

impl Checks {
    fn is_empty(&self) -> bool {
        self.format.is_none()
            && self.unknown.is_none()
            && self.maximum.is_none()
            && self.minimum.is_none()
            && self.multiple_of.is_none()
            && self.max_length.is_none()
            && self.min_length.is_none()
            && self.max_items.is_none()
            && self.min_items.is_none()
            && !self.unique_items
            && self.max_properties.is_none()
            && self.min_properties.is_none()
            && self.pattern.is_none()
            && self.one_value_of.is_empty()
            && self.required.is_empty()
            && self.all_of.is_empty()
            && self.any_of.is_empty()
            && self.one_of.is_empty()
            && self.not.is_none()
    }
}

fn below(node: &Structural) -> Below {
    let mut below = Below {
        defaults: node.default.is_some(),
        embedded: node.embedded,
        keyed_lists: matches!(node.list_type, ListType::Set | ListType::Map),
        rules: node.rules.is_some(),
    };
    let properties = node.properties.iter().map(|(_, child)| child);
    let all_of = node.checks.iter().flat_map(|checks| checks.all_of.iter());
    for child in properties.chain(node.additional.schema()).chain(node.items.as_deref()) {
        below.defaults |= child.below.defaults;
        below.embedded |= child.below.embedded;
        below.keyed_lists |= child.below.keyed_lists;
        below.rules |= child.below.rules;
    }
    for child in all_of {
        below.rules |= child.below.rules;
    }
    below
}

pub(crate) fn kind(name: &str) -> Type {
    match name {
        "object" => Type::Object,
        "array" => Type::Array,
        "string" => Type::String,
        "integer" => Type::Integer,
        "number" => Type::Number,
        "boolean" => Type::Boolean,
        _ => Type::Any,
    }
}

fn text<'a>(schema: &'a Map<String, Value>, name: &str) -> &'a str {
    schema.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn flag(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get(name).and_then(Value::as_bool).unwrap_or_default()
}

fn number(schema: &Map<String, Value>, name: &str) -> Option<f64> {
    schema.get(name).and_then(Value::as_f64)
}

fn integer(schema: &Map<String, Value>, name: &str) -> Option<i64> {
    schema.get(name).and_then(Value::as_i64)
}

fn names(schema: &Map<String, Value>, name: &str) -> Box<[Box<str>]> {
    let list = schema.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(Box::from).collect()
}
