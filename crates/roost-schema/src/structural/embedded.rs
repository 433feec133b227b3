//! The metadata of embedded objects: what it must satisfy.

use roost_object::field::{Error, Errors, Kind, Path};
use roost_object::{json, metadata, names};
use serde_json::{Map, Value};

use super::Structural;
use super::metadata::{OBJECT_META, record_problem};
use crate::wording;

impl Structural {
    /// Checks the metadata of the objects embedded in a custom resource.
    pub(crate) fn validate_embedded(&self, object: &Value, path: &Path<'_>, errors: &mut Errors) {
        if self.below.embedded {
            validate_walk(object, self, path, errors);
        }
    }
}

fn validate_walk(value: &Value, schema: &Structural, path: &Path<'_>, errors: &mut Errors) {
    if !schema.below.embedded {
        return;
    }
    match value {
        Value::Object(map) => {
            if schema.embedded {
                validate_resource(map, path, errors);
            }
            for (name, inner) in map {
                if let Some(property) = schema.property(name) {
                    validate_walk(inner, property, &path.child(name), errors);
                } else if let Some(additional) = schema.additional.schema() {
                    validate_walk(inner, additional, &path.key(name), errors);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = schema.items.as_deref() else { return };
            for (index, inner) in list.iter().enumerate() {
                validate_walk(inner, items, &path.index(index), errors);
            }
        }
        _ => {}
    }
}

pub(crate) fn validate_resource(map: &Map<String, Value>, path: &Path<'_>, errors: &mut Errors) {
    for name in ["apiVersion", "kind"] {
        if !map.contains_key(name) {
            errors.push(Error::required(&path.child(name), ""));
        }
    }
    if let Some(value) = map.get("apiVersion") {
        let path = path.child("apiVersion");
        match value.as_str() {
            None => errors.push(wording::error(Kind::Invalid, path.to_string(), value, "must be a string".to_owned())),
            Some("") => errors.push(Error::invalid(&path, "", "must not be empty")),
            Some(text) if text.matches('/').count() > 1 => {
                errors.push(Error::invalid(&path, text, format!("unexpected GroupVersion string: {text}")));
            }
            Some(_) => {}
        }
    }
    if let Some(value) = map.get("kind") {
        let path = path.child("kind");
        match value.as_str() {
            None => errors.push(wording::error(Kind::Invalid, path.to_string(), value, "must be a string".to_owned())),
            Some("") => errors.push(Error::invalid(&path, "", "must not be empty")),
            Some(text) => {
                let problems = names::is_dns1035_label(&text.to_lowercase());
                if !problems.is_empty() {
                    let words = format!("may have mixed case, but should otherwise match: {}", problems.join(","));
                    errors.push(Error::invalid(&path, text, words));
                }
            }
        }
    }
    if let Some(metadata) = map.get("metadata") {
        let path = path.child("metadata");
        let problem = match metadata {
            Value::Object(fields) => record_problem(fields, &OBJECT_META, ""),
            Value::Null => None,
            other => Some(format!(
                "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                json::Kind::of(other).go()
            )),
        };
        match (problem, metadata.as_object()) {
            (Some(words), _) => errors.push(wording::error(Kind::Invalid, path.to_string(), metadata, words)),
            (None, Some(fields)) => validate_metadata(fields, &path, errors),
            (None, None) => {}
        }
    }
}

/// Checks well-typed metadata of an embedded object, whose name and namespace are optional.
fn validate_metadata(fields: &Map<String, Value>, path: &Path<'_>, errors: &mut Errors) {
    let is_given = |name: &str| fields.get(name).and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    let mut named = fields.clone();
    if !is_given("name") {
        named.insert("name".to_owned(), "any".into());
    }
    let rule = metadata::name_is_path_segment;
    metadata::validate(&Value::Object(named), is_given("namespace"), rule, path, errors);
}
