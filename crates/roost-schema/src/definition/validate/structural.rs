//! Whether a schema is structural: every part of an object is described once, outside of allOf, anyOf, oneOf and not.

use roost_object::field::{Error, Errors, Path};
use serde_json::json;

use super::props::{Additional, Props, is_empty};
use crate::pattern::translate;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// All that keeps a schema from being structural, sorted by text as stock sorts it.
pub(super) fn validate(schema: Props<'_>, path: &Path<'_>) -> Errors {
    let mut errors = Errors::new();
    invariants(schema, Level::Root, path, &mut errors);
    complete(schema, Some(schema), path, path, &mut errors);
    let mut texts: Vec<(String, Error)> = errors.into_iter().map(|error| (error.to_string(), error)).collect();
    texts.sort_by(|(a, _), (b, _)| a.cmp(b));
    texts.into_iter().map(|(_, error)| error).collect()
}

fn invariants(schema: Props<'_>, level: Level, path: &Path<'_>, errors: &mut Errors) {
    let kind = schema.kind();
    if kind == "array" && schema.item().is_none() {
        errors.push(Error::required(&path.child("items"), "must be specified"));
    }
    if let Some(item) = schema.item() {
        invariants(item, Level::Item, &path.child("items"), errors);
    }
    let properties = path.child("properties");
    for (name, property) in schema.named("properties") {
        invariants(property, Level::Field, &properties.key(name), errors);
    }
    if let Some(additional) = schema.additional() {
        let path = path.child("additionalProperties");
        if level == Level::Root {
            errors.push(Error::forbidden(&path, "must not be used at the root"));
        }
        if let Additional::Schema(inner) = additional {
            invariants(inner, Level::Field, &path, errors);
        }
    }
    let preserves = schema.flag("x-kubernetes-preserve-unknown-fields");
    let embedded = schema.flag("x-kubernetes-embedded-resource");
    let int_or_string = schema.flag("x-kubernetes-int-or-string");
    if int_or_string && preserves {
        let path = path.child("x-kubernetes-preserve-unknown-fields");
        errors.push(Error::invalid(&path, true, "must be false if x-kubernetes-int-or-string is true"));
    }
    if int_or_string && embedded {
        let path = path.child("x-kubernetes-embedded-resource");
        errors.push(Error::invalid(&path, true, "must be false if x-kubernetes-int-or-string is true"));
    }
    let any_of = is_int_or_string(schema);
    let all_of = schema.schemas("allOf").first().is_some_and(|first| is_int_or_string(*first));
    values(schema, any_of, all_of, level, path, errors);
    let type_path = path.child("type");
    if embedded && kind != "object" {
        let words = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if kind.is_empty() {
            Error::required(&type_path, words)
        } else {
            Error::invalid(&type_path, kind, words)
        });
    } else if kind.is_empty() && !int_or_string && !preserves {
        let words = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(Error::required(&type_path, words));
    }
    if embedded && schema.additional().is_some() {
        let words = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(Error::forbidden(&path.child("additionalProperties"), words));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        errors.push(Error::invalid(&type_path, kind, "must be object at the root"));
    }
    metadata(schema, level == Level::Root || embedded, level, path, errors);
    if embedded && !preserves && !schema.has_properties() {
        let words = "must not be empty if x-kubernetes-embedded-resource is true without \
                     x-kubernetes-preserve-unknown-fields";
        errors.push(Error::required(&path.child("properties"), words));
    }
}

/// Type and metadata of resources are given: schemas may only restrict the names.
fn metadata(schema: Props<'_>, resource: bool, level: Level, path: &Path<'_>, errors: &mut Errors) {
    let properties = path.child("properties");
    for name in ["kind", "apiVersion"] {
        if let Some(property) = schema.property(name).filter(|property| resource && property.kind() != "string") {
            let path = properties.key(name);
            errors.push(Error::invalid(&path.child("type"), property.kind(), "must be string"));
        }
    }
    let Some(metadata) = schema.property("metadata") else { return };
    let path = properties.key("metadata");
    if resource && metadata.kind() != "object" {
        errors.push(Error::invalid(&path.child("type"), metadata.kind(), "must be object"));
    }
    if level != Level::Root {
        return;
    }
    let only_names = metadata.named("properties").all(|(name, _)| matches!(name, "name" | "generateName"));
    let other = metadata.json().iter().any(|(name, value)| match name.as_str() {
        "type" | "default" => false,
        "properties" => !only_names,
        "additionalProperties" => !value.is_null(),
        _ => !is_empty(value),
    });
    if other {
        let words = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.push(Error::forbidden(&path, words));
    }
}

/// `anyOf: [{type: integer}, {type: string}]`, which int-or-string may spell out.
fn is_int_or_string(schema: Props<'_>) -> bool {
    let expected = [json!({"type": "integer"}), json!({"type": "string"})];
    schema.list("anyOf") == expected
}

fn values(schema: Props<'_>, skip_any_of: bool, skip_first: bool, level: Level, path: &Path<'_>, errors: &mut Errors) {
    if !skip_any_of {
        nested_list(schema, "anyOf", level, path, errors);
    }
    let all_of = path.child("allOf");
    for (index, inner) in schema.schemas("allOf").into_iter().enumerate() {
        nested(inner, skip_first && index == 0, level, &all_of.index(index), errors);
    }
    nested_list(schema, "oneOf", level, path, errors);
    if let Some(not) = schema.schema("not") {
        nested(not, false, level, &path.child("not"), errors);
    }
    let pattern = schema.text("pattern");
    if !pattern.is_empty()
        && let Err(words) = translate(pattern)
    {
        let words = format!("must be a valid regular expression, but isn't: {words}");
        errors.push(Error::invalid(&path.child("pattern"), pattern, words));
    }
}

fn nested_list(schema: Props<'_>, name: &str, level: Level, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child(name);
    for (index, inner) in schema.schemas(name).into_iter().enumerate() {
        nested(inner, false, level, &path.index(index), errors);
    }
}

/// A schema under allOf, anyOf, oneOf or not, which may only restrict values.
fn nested(schema: Props<'_>, skip_any_of: bool, level: Level, path: &Path<'_>, errors: &mut Errors) {
    values(schema, skip_any_of, false, level, path, errors);
    if let Some(item) = schema.item() {
        nested(item, false, level, &path.child("items"), errors);
    }
    let properties = path.child("properties");
    for (name, property) in schema.named("properties") {
        nested(property, false, Level::Field, &properties.key(name), errors);
    }
    let mut forbid = |name: &str, words: &str| errors.push(Error::forbidden(&path.child(name), words));
    if !schema.kind().is_empty() {
        forbid("type", "must be empty to be structural");
    }
    if matches!(schema.additional(), Some(Additional::Schema(_) | Additional::Allowed(true))) {
        forbid("additionalProperties", "must be undefined to be structural");
    }
    if schema.get("default").is_some() {
        forbid("default", "must be undefined to be structural");
    }
    for name in ["title", "description"] {
        if !schema.text(name).is_empty() {
            forbid(name, "must be empty to be structural");
        }
    }
    for name in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        if schema.flag(name) {
            forbid(name, "must be false to be structural");
        }
    }
    if !schema.list("x-kubernetes-list-map-keys").is_empty() {
        forbid("x-kubernetes-list-map-keys", "must be empty to be structural");
    }
    for name in ["x-kubernetes-list-type", "x-kubernetes-map-type"] {
        if schema.get(name).is_some() {
            forbid(name, "must be undefined to be structural");
        }
    }
    if !schema.list("x-kubernetes-validations").is_empty() {
        forbid("x-kubernetes-validations", "must be empty to be structural");
    }
    if schema.property("metadata").is_some() {
        let words = "must not be specified in a nested context";
        errors.push(Error::forbidden(&properties.key("metadata"), words));
    }
}

/// Whether what a restriction speaks of is described.
fn complete(
    restriction: Props<'_>,
    described: Option<Props<'_>>,
    path: &Path<'_>,
    restriction_path: &Path<'_>,
    errors: &mut Errors,
) {
    if let Some(not) = restriction.schema("not") {
        complete_nested(not, described, path, &restriction_path.child("not"), errors);
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        let list_path = restriction_path.child(name);
        for (index, inner) in restriction.schemas(name).into_iter().enumerate() {
            complete_nested(inner, described, path, &list_path.index(index), errors);
        }
    }
}

fn complete_nested(
    restriction: Props<'_>,
    described: Option<Props<'_>>,
    path: &Path<'_>,
    restriction_path: &Path<'_>,
    errors: &mut Errors,
) {
    let Some(described) = described else {
        errors.push(Error::required(path, format!("because it is defined in {restriction_path}")));
        return;
    };
    complete(restriction, Some(described), path, restriction_path, errors);
    if let Some(item) = restriction.item() {
        let (path, restriction_path) = (path.child("items"), restriction_path.child("items"));
        complete_nested(item, described.item(), &path, &restriction_path, errors);
    }
    let (path, restriction_path) = (path.child("properties"), restriction_path.child("properties"));
    for (name, property) in restriction.named("properties") {
        let (path, restriction_path) = (path.key(name), restriction_path.key(name));
        complete_nested(property, described.property(name), &path, &restriction_path, errors);
    }
}
