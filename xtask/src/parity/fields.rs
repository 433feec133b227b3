//! A definition as a flat list of fields, each with the facts that a client or the server can notice.
//!
//! Descriptions are no facts: ours are written in our own words.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// What is known about one field, by the name of the fact.
pub(super) type Facts = BTreeMap<String, Value>;

/// A custom resource definition, taken apart.
#[derive(Debug)]
pub(super) struct Definition {
    /// The plural and the group, as definitions are named.
    pub(super) name: String,
    /// The kind.
    pub(super) kind: String,
    /// What is said about the definition as a whole, and then every field of each served version.
    pub(super) fields: BTreeMap<FieldName, Facts>,
}

/// Where a field is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FieldName {
    /// The version; empty for what holds for all.
    pub(super) version: String,
    /// The path: `spec.list[].name`, `spec.map{}`; in parentheses what is no field of the object.
    pub(super) path: String,
}

impl FieldName {
    fn new(version: &str, path: impl Into<String>) -> Self {
        Self { version: version.to_owned(), path: path.into() }
    }

    /// Whether this field is part of another one.
    pub(super) fn is_below(&self, parent: &Self) -> bool {
        self.version == parent.version
            && self.path.strip_prefix(&parent.path).is_some_and(|rest| rest.starts_with(['.', '[', '{']))
    }

    /// The last name of the path.
    pub(super) fn last(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }
}

impl std::fmt::Display for FieldName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.version.is_empty() {
            write!(formatter, "{}", self.path)
        } else {
            write!(formatter, "{} {}", self.version, self.path)
        }
    }
}

/// Keywords that say nothing about what is accepted, or that are taken apart on their own.
const NOT_FACTS: &[&str] = &[
    "description",
    "title",
    "properties",
    "items",
    "additionalProperties",
    "required",
    "x-kubernetes-validations",
    "$schema",
];

/// What every object has; the server knows it without being told.
const IMPLIED: &[&str] = &["apiVersion", "kind", "metadata"];

impl Definition {
    /// Takes a definition apart; nothing when the document is something else.
    pub(super) fn read(document: &Value) -> Option<Self> {
        if document["kind"] != "CustomResourceDefinition" {
            return None;
        }
        let spec = &document["spec"];
        let kind = spec["names"]["kind"].as_str()?.to_owned();
        let name = format!("{}.{}", spec["names"]["plural"].as_str()?, spec["group"].as_str()?);
        let mut fields = BTreeMap::new();
        fields.insert(FieldName::new("", "(names)"), names(spec, &kind));
        for version in spec["versions"].as_array().into_iter().flatten() {
            if version["served"] == true {
                read_version(version, &mut fields);
            }
        }
        Some(Self { name, kind, fields })
    }
}

fn names(spec: &Value, kind: &str) -> Facts {
    let names = &spec["names"];
    let mut facts = Facts::new();
    let mut add = |name: &str, value: &Value, usual: Value| {
        facts.insert(name.to_owned(), if value.is_null() { usual } else { value.clone() });
    };
    add("plural", &names["plural"], Value::Null);
    add("singular", &names["singular"], json!(kind.to_lowercase()));
    add("listKind", &names["listKind"], json!(format!("{kind}List")));
    add("shortNames", &names["shortNames"], json!([]));
    add("categories", &names["categories"], json!([]));
    add("scope", &spec["scope"], Value::Null);
    add("conversion", &spec["conversion"]["strategy"], json!("None"));
    facts
}

fn read_version(version: &Value, fields: &mut BTreeMap<FieldName, Facts>) {
    let name = version["name"].as_str().unwrap_or_default();
    let mut facts = Facts::new();
    for key in ["storage", "deprecated", "deprecationWarning", "selectableFields"] {
        if let Some(value) = version.get(key).filter(|value| !is_empty(value)) {
            facts.insert(key.to_owned(), value.clone());
        }
    }
    for (key, value) in version["subresources"].as_object().into_iter().flatten() {
        facts.insert(format!("subresource {key}"), value.clone());
    }
    fields.insert(FieldName::new(name, "(version)"), facts);
    for (position, column) in version["additionalPrinterColumns"].as_array().into_iter().flatten().enumerate() {
        let mut facts = own_facts(column);
        facts.insert("position".to_owned(), json!(position + 1));
        let title = column["name"].as_str().unwrap_or_default();
        facts.remove("name");
        fields.insert(FieldName::new(name, format!("(column {title})")), facts);
    }
    let schema = &version["schema"]["openAPIV3Schema"];
    fields.insert(FieldName::new(name, "(object)"), facts_of(schema));
    let required = required_of(schema);
    for (property, schema) in schema["properties"].as_object().into_iter().flatten() {
        if !IMPLIED.contains(&property.as_str()) {
            read_schema(name, property, schema, required.contains(&property.as_str()), fields);
        }
    }
}

fn read_schema(version: &str, path: &str, schema: &Value, required: bool, fields: &mut BTreeMap<FieldName, Facts>) {
    let mut facts = facts_of(schema);
    if required {
        facts.insert("required".to_owned(), Value::Bool(true));
    }
    let additional = &schema["additionalProperties"];
    if additional.is_boolean() {
        facts.insert("additionalProperties".to_owned(), additional.clone());
    }
    fields.insert(FieldName::new(version, path), facts);
    let required = required_of(schema);
    for (property, child) in schema["properties"].as_object().into_iter().flatten() {
        let below = format!("{path}.{property}");
        read_schema(version, &below, child, required.contains(&property.as_str()), fields);
    }
    if schema["items"].is_object() {
        read_schema(version, &format!("{path}[]"), &schema["items"], false, fields);
    }
    if additional.is_object() {
        read_schema(version, &format!("{path}{{}}"), additional, false, fields);
    }
}

fn required_of(schema: &Value) -> Vec<&str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The facts of a schema, without those of its children.
fn facts_of(schema: &Value) -> Facts {
    let mut facts = own_facts(schema);
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        let mut details = rule.as_object().cloned().unwrap_or_default();
        let text = details.remove("rule").unwrap_or_default();
        let mut name = format!("rule {}", text.as_str().unwrap_or_default());
        // The same rule may be given twice, with two messages.
        while facts.contains_key(&name) {
            name.push_str(" (again)");
        }
        facts.insert(name, Value::Object(details));
    }
    facts
}

fn own_facts(schema: &Value) -> Facts {
    // To say no is to say nothing, except for a default.
    let says_something =
        |key: &str, value: &Value| key == "default" || !matches!(value, Value::Bool(false) | Value::Null);
    let keywords = schema.as_object().into_iter().flatten();
    keywords
        .filter(|(key, value)| !NOT_FACTS.contains(&key.as_str()) && says_something(key, value))
        .map(|(key, value)| (key.clone(), without_descriptions(value)))
        .collect()
}

fn without_descriptions(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| *key != "description");
            Value::Object(kept.map(|(key, value)| (key.clone(), without_descriptions(value))).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(without_descriptions).collect(),
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(false)) || value.as_array().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Definition, FieldName};

    #[test]
    fn fields_are_flat() {
        let definition = Definition::read(&json!({"kind": "CustomResourceDefinition", "spec": {
            "group": "x.example", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"metadata": {"type": "object"}, "spec": {
                    "type": "object", "required": ["list"], "properties": {
                        "list": {"type": "array", "items": {"type": "string"}},
                        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                    }, "x-kubernetes-validations": [{"rule": "true", "message": "always"}],
                }},
            }}}, {"name": "v0", "served": false}],
        }}))
        .unwrap();
        let paths: Vec<String> = definition.fields.keys().map(ToString::to_string).collect();
        let expected = [
            "(names)",
            "v1 (object)",
            "v1 (version)",
            "v1 spec",
            "v1 spec.list",
            "v1 spec.list[]",
            "v1 spec.map",
            "v1 spec.map{}",
        ];
        assert_eq!(paths, expected);
        let facts = |path: &str| &definition.fields[&FieldName::new("v1", path)];
        assert_eq!(facts("spec.list")["required"], true);
        assert_eq!(facts("spec")["rule true"], json!({"message": "always"}));
        assert_eq!(definition.name, "things.x.example");
        assert!(Definition::read(&json!({"kind": "Secret"})).is_none());
    }

    #[test]
    fn a_longer_name_is_not_below() {
        let name = |path: &str| FieldName::new("v1", path);
        assert!(name("spec.a.b").is_below(&name("spec.a")));
        assert!(name("spec.a[]").is_below(&name("spec.a")));
        assert!(!name("spec.ab").is_below(&name("spec.a")));
    }
}
