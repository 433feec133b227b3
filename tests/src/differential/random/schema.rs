//! The kinds that stock serves and the shapes of their fields, read from its OpenAPI v3 documents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::Value;

use crate::client::{Call, Client, ClientError};

/// Where the objects of namespaced kinds are made.
pub(super) const NAMESPACE: &str = "random";

/// The group of the custom resources that the valid objects bring; theirs is not a built-in kind.
const OWN_GROUP: &str = "random.example.com";

/// The words that a description quotes are often the values that a field may have.
static QUOTED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"["`']([A-Za-z0-9./-]{1,40})["`']"#).expect("the pattern is a constant"));

/// What a field may hold.
#[derive(Debug)]
pub(super) enum Shape {
    Object(Vec<Field>),
    Map(Box<Shape>),
    List(Box<Shape>),
    /// With the words that are values, or are likely to be.
    Text(Vec<String>),
    Bytes,
    Time,
    Quantity,
    IntegerOrText,
    Integer,
    Number,
    Boolean,
    /// The metadata of an object or of a template.
    Metadata,
    /// Any JSON.
    Anything,
    /// A definition of the same document.
    Named(String),
}

/// One field of an object.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) required: bool,
    pub(super) shape: Shape,
}

/// The definitions of one group and version.
pub(super) type Shapes = BTreeMap<String, Shape>;

/// A kind of which objects can be created.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) api_version: String,
    pub(super) name: String,
    /// The path that objects are created at.
    pub(super) collection: String,
    pub(super) has_status: bool,
    pub(super) shape: Shape,
    pub(super) shapes: Arc<Shapes>,
}

impl Kind {
    /// The kind as it is named on the command line and in reports.
    pub(super) fn title(&self) -> String {
        format!("{}/{}", self.api_version, self.name)
    }

    /// Whether somebody who says `Pod` or `v1/Pod` means this kind.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.title() == name
    }
}

/// The shape behind names.
pub(super) fn resolve<'a>(shapes: &'a Shapes, shape: &'a Shape) -> &'a Shape {
    match shape {
        Shape::Named(name) => shapes.get(name).unwrap_or(&Shape::Anything),
        other => other,
    }
}

/// All built-in kinds, in the order of their paths. Reviews are left out: they are questions, and nothing is stored.
pub(super) async fn read(client: &Client) -> Result<Vec<Kind>, ClientError> {
    let index = client.send(Call::get("/openapi/v3")).await?.json();
    let mut kinds = Vec::new();
    for (path, entry) in index["paths"].as_object().into_iter().flatten() {
        let is_version = path.starts_with("api/") || (path.starts_with("apis/") && path.matches('/').count() == 2);
        let Some(address) = entry["serverRelativeURL"].as_str().filter(|_| is_version && !path.contains(OWN_GROUP))
        else {
            continue;
        };
        let document = client.send(Call::get(address)).await?.json();
        kinds.extend(kinds_of(&document));
    }
    Ok(kinds)
}

fn kinds_of(document: &Value) -> Vec<Kind> {
    let Some(definitions) = document.pointer("/components/schemas").and_then(Value::as_object) else {
        return Vec::new();
    };
    let shapes: Arc<Shapes> =
        Arc::new(definitions.iter().map(|(name, schema)| (name.clone(), definition(name, schema))).collect());
    let paths = document["paths"].as_object();
    let mut kinds = Vec::new();
    for (path, operations) in paths.into_iter().flatten() {
        let kind_of_body = &operations["post"]["x-kubernetes-group-version-kind"];
        let is_collection = path.matches('{').count() == usize::from(path.contains("{namespace}"));
        let (Some(group), Some(version), Some(kind)) =
            (kind_of_body["group"].as_str(), kind_of_body["version"].as_str(), kind_of_body["kind"].as_str())
        else {
            continue;
        };
        let is_same = |schema: &Value| {
            schema["x-kubernetes-group-version-kind"].as_array().is_some_and(|kinds| kinds.contains(kind_of_body))
        };
        let definition = definitions.iter().find(|(_, schema)| is_same(schema)).map(|(name, _)| name.clone());
        if let Some(name) = definition.filter(|_| is_collection && !kind.ends_with("Review")) {
            kinds.push(Kind {
                api_version: if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") },
                name: kind.to_owned(),
                collection: path.replace("{namespace}", NAMESPACE),
                has_status: paths.is_some_and(|paths| paths.contains_key(&format!("{path}/{{name}}/status"))),
                shape: Shape::Named(name),
                shapes: shapes.clone(),
            });
        }
    }
    kinds
}

/// Some definitions are written as a type and mean another.
fn definition(name: &str, schema: &Value) -> Shape {
    match name.rsplit('.').next().unwrap_or_default() {
        "Quantity" => Shape::Quantity,
        "IntOrString" => Shape::IntegerOrText,
        "Time" | "MicroTime" => Shape::Time,
        "ObjectMeta" => Shape::Metadata,
        "RawExtension" | "FieldsV1" => Shape::Map(Box::new(Shape::Anything)),
        _ => shape(schema),
    }
}

fn shape(schema: &Value) -> Shape {
    // A reference that has a description or a default beside it is wrapped.
    let reference = schema["$ref"].as_str().or_else(|| schema.pointer("/allOf/0/$ref").and_then(Value::as_str));
    if let Some(reference) = reference {
        return Shape::Named(reference.rsplit('/').next().unwrap_or_default().to_owned());
    }
    match schema["type"].as_str() {
        Some("object") => object(schema),
        Some("array") => Shape::List(Box::new(shape(&schema["items"]))),
        Some("integer") => Shape::Integer,
        Some("number") => Shape::Number,
        Some("boolean") => Shape::Boolean,
        Some("string") => match schema["format"].as_str() {
            Some("date-time") => Shape::Time,
            Some("byte") => Shape::Bytes,
            _ => Shape::Text(words(schema)),
        },
        _ => Shape::Anything,
    }
}

fn object(schema: &Value) -> Shape {
    let required: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    match (schema["properties"].as_object(), schema.get("additionalProperties")) {
        (Some(properties), _) => Shape::Object(
            properties
                .iter()
                .map(|(name, schema)| Field {
                    name: name.clone(),
                    required: required.contains(name.as_str()),
                    shape: shape(schema),
                })
                .collect(),
        ),
        (None, Some(values)) => Shape::Map(Box::new(shape(values))),
        (None, None) => Shape::Map(Box::new(Shape::Anything)),
    }
}

fn words(schema: &Value) -> Vec<String> {
    let description = schema["description"].as_str().unwrap_or_default();
    let listed = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    listed.chain(QUOTED.captures_iter(description).map(|found| found[1].to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Shape, kinds_of, resolve};

    #[test]
    fn kinds_and_their_fields_are_found() {
        let kind = json!({"group": "apps", "version": "v1", "kind": "Thing"});
        let document = json!({
            "components": {"schemas": {
                "io.Thing": {
                    "type": "object",
                    "required": ["mode"],
                    "properties": {
                        "mode": {"type": "string", "description": "Either \"Fast\" or `Slow`.", "enum": ["Fast"]},
                        "size": {"allOf": [{"$ref": "#/components/schemas/io.Quantity"}], "description": "How much."},
                    },
                    "x-kubernetes-group-version-kind": [kind],
                },
                "io.Quantity": {"type": "string"},
            }},
            "paths": {
                "/apis/apps/v1/namespaces/{namespace}/things": {"post": {"x-kubernetes-group-version-kind": kind}},
                "/apis/apps/v1/namespaces/{namespace}/things/{name}/status": {},
                "/apis/apps/v1/namespaces/{namespace}/things/{name}/part": {"post": {"x-kubernetes-group-version-kind": kind}},
            },
        });
        let kinds = kinds_of(&document);
        let [thing] = kinds.as_slice() else { panic!("{kinds:?} is not one kind") };
        assert_eq!(thing.collection, "/apis/apps/v1/namespaces/random/things");
        assert!(thing.has_status && thing.is_called("Thing") && thing.is_called("apps/v1/Thing"));
        let Shape::Object(fields) = resolve(&thing.shapes, &thing.shape) else { panic!("a thing is an object") };
        assert!(fields[0].required && !fields[1].required);
        assert!(matches!(&fields[0].shape, Shape::Text(words) if *words == ["Fast", "Fast", "Slow"]));
        assert!(matches!(resolve(&thing.shapes, &fields[1].shape), Shape::Quantity));
    }
}
