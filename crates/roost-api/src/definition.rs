//! From a kind's Rust types to its custom resource definition: a structural schema, as `kubectl explain` shows it.
//!
//! The schema says nothing of `Option`: an optional field is one that is not required, never one that may be null,
//! unless the field says `nullable` itself.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceValidation, JSONSchemaProps,
};
use kube_core::crd::v1::CustomResourceExt;
use kube_core::object::{HasSpec, HasStatus};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::rules::Rule;

/// The definition of a kind whose derive has `schema = "disabled"`, with the schema of its spec and status.
///
/// `rules` hold for the whole object.
pub fn definition<K>(description: &str, rules: &[Rule]) -> CustomResourceDefinition
where
    K: CustomResourceExt + HasSpec<Spec: JsonSchema> + HasStatus<Status: JsonSchema>,
{
    let mut root = json!({
        "description": description,
        "type": "object",
        // Readers of these types need it: one object without a spec would stop every typed watch.
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string", "description": "The group and version that this object is written in."},
            "kind": {"type": "string", "description": "The kind of this object."},
            "metadata": {"type": "object"},
        },
    });
    // Large values are moved in, for the macro would copy them.
    root["properties"]["spec"] = schema_of::<K::Spec>();
    root["properties"]["status"] = schema_of::<K::Status>();
    if !rules.is_empty() {
        root["x-kubernetes-validations"] = json!(rules);
    }
    let schema: JSONSchemaProps = serde_json::from_value(root).expect("a schema of Rust types is a schema");
    let mut definition = K::crd();
    let names = &mut definition.spec.names;
    names.list_kind = Some(format!("{}List", names.kind));
    if let [version] = definition.spec.versions.as_mut_slice() {
        version.schema = Some(CustomResourceValidation { open_api_v3_schema: Some(schema) });
    }
    definition
}

/// The structural schema of a type.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    make_structural(&mut schema);
    schema
}

/// Rewrites what schemars says in the words of JSON Schema into those that a structural schema allows.
fn make_structural(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else { return };
    schema.remove("title");
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = unwrap_lines(description);
    }
    drop_null(schema);
    gather_enum(schema);
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        schema.insert("anyOf".to_owned(), json!([{"type": "integer"}, {"type": "string"}]));
    }
    if schema.contains_key("properties") && schema.get("additionalProperties") == Some(&Value::Bool(true)) {
        schema.remove("additionalProperties");
        schema.insert("x-kubernetes-preserve-unknown-fields".to_owned(), Value::Bool(true));
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(make_structural);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(inner) {
            make_structural(inner);
        }
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.sort_unstable_by(|left, right| left.as_str().cmp(&right.as_str()));
    }
}

/// Joins the lines of each paragraph: they are broken for the reader of the source.
fn unwrap_lines(text: &str) -> String {
    text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n")
}

/// An `Option` is a type or null: only the type stays.
fn drop_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if types.len() == 1 {
            let only = types.remove(0);
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(names)) = schema.get_mut("enum") {
        names.retain(|name| !name.is_null());
    }
    let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") else { return };
    if alternatives.len() != 2 || alternatives[1] != json!({"type": "null"}) {
        return;
    }
    let Value::Object(inner) = alternatives[0].take() else { return };
    schema.remove("anyOf");
    for (key, value) in inner {
        schema.entry(key).or_insert(value);
    }
}

/// The variants of an enum are alternatives when they have descriptions: they become one list of strings.
fn gather_enum(schema: &mut Map<String, Value>) {
    let Some(Value::Array(alternatives)) = schema.get("oneOf") else { return };
    let mut names = Vec::new();
    for alternative in alternatives {
        match (alternative.get("const"), alternative.get("enum")) {
            (Some(name), _) => names.push(name.clone()),
            (None, Some(Value::Array(some))) => names.extend(some.iter().cloned()),
            _ => return,
        }
    }
    schema.remove("oneOf");
    schema.insert("type".to_owned(), json!("string"));
    schema.insert("enum".to_owned(), Value::Array(names));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::schema_of;
    use crate::preserved::Preserved;
    use crate::rules::{Rule, Rules};

    #[derive(Serialize, Deserialize, JsonSchema)]
    enum Size {
        /// Little.
        Small,
        /// Much.
        #[serde(rename = "")]
        Big,
    }

    /// A part.
    #[derive(Serialize, Deserialize, JsonSchema)]
    #[schemars(transform = Rules([Rule::new("b", "of the type")]))]
    struct Part {
        /// Its size.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("default" = "Small"))]
        size: Option<Size>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(length(max = 3), inner(length(max = 9)), extend("x-kubernetes-list-type" = "set"))]
        names: Vec<String>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        labels: BTreeMap<String, String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        storage: Option<Quantity>,
        #[schemars(required, extend("nullable" = true))]
        count: Option<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cloud: Option<Preserved>,
    }

    /// The whole,
    /// in two lines.
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Whole {
        /// The only part.
        #[schemars(transform = Rules([Rule::new("a", "of the field")]))]
        #[serde(skip_serializing_if = "Option::is_none")]
        part: Option<Part>,
    }

    #[test]
    fn types_become_structural_schemas() {
        let mut schema = schema_of::<Whole>();
        schema["properties"]["part"]["properties"]["storage"].as_object_mut().unwrap().remove("description");
        assert_eq!(
            schema,
            json!({
                "description": "The whole, in two lines.",
                "type": "object",
                "properties": {"part": {
                    "description": "The only part.",
                    "type": "object",
                    "required": ["count"],
                    "x-kubernetes-validations": [
                        {"rule": "b", "message": "of the type"},
                        {"rule": "a", "message": "of the field"},
                    ],
                    "properties": {
                        "size": {"description": "Its size.", "type": "string", "enum": ["Small", ""], "default": "Small"},
                        "names": {
                            "type": "array",
                            "maxItems": 3,
                            "x-kubernetes-list-type": "set",
                            "items": {"type": "string", "maxLength": 9},
                        },
                        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                        "storage": {
                            "anyOf": [{"type": "integer"}, {"type": "string"}],
                            "x-kubernetes-int-or-string": true,
                        },
                        "count": {"type": "integer", "format": "int32", "nullable": true},
                        "cloud": {
                            "description": "An object that is kept as it was written.",
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": true,
                        },
                    },
                }},
            })
        );
    }
}
