//! The kinds that stock serves and the shapes of their fields, read from its OpenAPI v3 documents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde_json::Value;

use crate::client::{Call, Client, ClientError};

/// Where the objects of namespaced kinds are made.
pub(super) const NAMESPACE: &str = "random";

/// Its answer lists rules in the order of a cache, which no two servers share.
const WITHOUT_ORDER: &str = "SelfSubjectRulesReview";

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

/// A kind of which objects can be created, or one of the parts that its objects have beside them.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) api_version: String,
    /// `Deployment`, or `Deployment/scale` for a part.
    pub(super) name: String,
    /// The path that objects are created at; of a part, the path of the objects that it belongs to.
    pub(super) collection: String,
    pub(super) part: Option<Part>,
    /// The version and the kind that a body says.
    pub(super) body: (String, String),
    pub(super) shape: Shape,
    pub(super) shapes: Arc<Shapes>,
}

/// What an object has beside it, at a path of its own.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: String,
    /// Whether it is created, as a binding or a token is, and not changed.
    pub(super) is_created: bool,
}

impl Kind {
    /// The kind as it is named on the command line and in reports.
    pub(super) fn title(&self) -> String {
        format!("{}/{}", self.api_version, self.name)
    }

    /// Whether somebody who says `Pod`, `v1/Pod` or, of a part, `Pod/status` means this kind.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.whole() == name || self.name == name || self.title() == name
    }

    /// The name of the kind, also where this is a part of it.
    pub(super) fn whole(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// The field that changes are mostly about.
    pub(super) fn main_field(&self) -> &'static str {
        if self.part.as_ref().is_some_and(|part| part.name == "status") { "status" } else { "spec" }
    }
}

/// The shape behind names.
pub(super) fn resolve<'a>(shapes: &'a Shapes, shape: &'a Shape) -> &'a Shape {
    match shape {
        Shape::Named(name) => shapes.get(name).unwrap_or(&Shape::Anything),
        other => other,
    }
}

/// All built-in kinds and their parts, in the order of their paths.
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
    let mut kinds = Vec::new();
    for (path, operations) in document["paths"].as_object().into_iter().flatten() {
        let post = &operations["post"]["x-kubernetes-group-version-kind"];
        let (is_created, body) = if post.is_object() {
            (true, post)
        } else {
            (false, &operations["put"]["x-kubernetes-group-version-kind"])
        };
        let Some((version, kind)) = named(body) else { continue };
        let is_same = |schema: &Value| {
            schema["x-kubernetes-group-version-kind"].as_array().is_some_and(|kinds| kinds.contains(body))
        };
        let Some((definition, _)) = definitions.iter().find(|(_, schema)| is_same(schema)) else { continue };
        let of_kind = |version: &str, name: String, collection: &str, part: Option<Part>| Kind {
            api_version: version.to_owned(),
            name,
            collection: collection.replace("{namespace}", NAMESPACE),
            part,
            body: (version.to_owned(), kind.to_owned()),
            shape: Shape::Named(definition.clone()),
            shapes: shapes.clone(),
        };
        if let Some((collection, part)) = path.split_once("/{name}/") {
            let whole = named(&document["paths"][collection]["post"]["x-kubernetes-group-version-kind"]);
            if let Some((api_version, whole)) = whole {
                let name = format!("{whole}/{part}");
                let part = Part { name: part.to_owned(), is_created };
                kinds.push(Kind {
                    body: (version.clone(), kind.to_owned()),
                    ..of_kind(&api_version, name, collection, Some(part))
                });
            }
        } else if is_created
            && kind != WITHOUT_ORDER
            && path.matches('{').count() == usize::from(path.contains("{namespace}"))
        {
            kinds.push(of_kind(&version, kind.to_owned(), path, None));
        }
    }
    kinds
}

/// The version and the kind that an operation is about.
fn named(kind: &Value) -> Option<(String, &str)> {
    let (group, version) = (kind["group"].as_str()?, kind["version"].as_str()?);
    let version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    Some((version, kind["kind"].as_str()?))
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
                "/apis/apps/v1/namespaces/{namespace}/things/{name}/status": {"put": {"x-kubernetes-group-version-kind": kind}},
                "/apis/apps/v1/namespaces/{namespace}/things/{name}/log": {"get": {"x-kubernetes-group-version-kind": kind}},
            },
        });
        let kinds = kinds_of(&document);
        let [thing, status] = kinds.as_slice() else { panic!("{kinds:?} is not one kind and its part") };
        assert_eq!(thing.collection, "/apis/apps/v1/namespaces/random/things");
        assert!(thing.part.is_none() && thing.is_called("Thing") && thing.is_called("apps/v1/Thing"));
        assert!(
            status.is_called("Thing") && status.is_called("apps/v1/Thing/status") && !thing.is_called("Thing/status")
        );
        assert_eq!((status.collection.as_str(), status.main_field()), (thing.collection.as_str(), "status"));
        let Shape::Object(fields) = resolve(&thing.shapes, &thing.shape) else { panic!("a thing is an object") };
        assert!(fields[0].required && !fields[1].required);
        assert!(matches!(&fields[0].shape, Shape::Text(words) if *words == ["Fast", "Fast", "Slow"]));
        assert!(matches!(resolve(&thing.shapes, &fields[1].shape), Shape::Quantity));
    }
}
