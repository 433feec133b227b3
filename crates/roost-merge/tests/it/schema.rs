//! A kind for tests, whose schema is written as OpenAPI.

use std::sync::LazyLock;

use roost_object::merge::{Node, Shape};
use serde_json::{Value, json};

/// A place in the test kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    Known(&'static Value),
    Unknown,
}

/// The version of the test kind.
pub(crate) const API_VERSION: &str = "test.io/v1";

/// The root of the test kind.
pub(crate) fn thing() -> Place {
    Place::Known(&THING)
}

/// The schema of the test kind: every way of merging that a schema can ask for.
pub(crate) static THING: LazyLock<Value> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let port = json!({
        "type": "object",
        "properties": {
            "port": number, "protocol": {"type": "string", "default": "TCP"}, "name": text,
            "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
        },
    });
    let item = json!({
        "type": "object",
        "properties": {
            "name": text, "value": number, "labels": texts,
            "ports": {
                "type": "array", "items": port,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
            },
        },
    });
    let pair = json!({"type": "object", "properties": {"a": number, "b": text}});
    let atomic_pair =
        json!({"type": "object", "properties": {"a": number, "b": text}, "x-kubernetes-map-type": "atomic"});
    json!({
        "type": "object",
        "x-kubernetes-group-version-kind": [{"group": "test.io", "version": "v1", "kind": "Thing"}],
        "properties": {
            "apiVersion": text,
            "kind": text,
            "metadata": {
                "type": "object",
                "properties": {
                    "name": text, "namespace": text, "uid": text, "resourceVersion": text,
                    "generation": number, "creationTimestamp": text,
                    "labels": texts, "annotations": texts,
                    "finalizers": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
                    "managedFields": {"type": "array", "items": {"type": "object"}},
                },
            },
            "spec": {
                "type": "object",
                "properties": {
                    "number": number, "text": text, "flag": {"type": "boolean"},
                    "pair": pair, "atomicPair": atomic_pair,
                    "labels": texts,
                    "atomicLabels": {"type": "object", "additionalProperties": text, "x-kubernetes-map-type": "atomic"},
                    "pairs": {"type": "object", "additionalProperties": pair},
                    "list": {"type": "array", "items": pair},
                    "set": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
                    "numbers": {"type": "array", "items": number, "x-kubernetes-list-type": "set"},
                    "items": {
                        "type": "array", "items": item,
                        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    },
                    "atomicItems": {
                        "type": "array", "items": atomic_pair,
                        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b"],
                    },
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                    "any": {"x-kubernetes-preserve-unknown-fields": true},
                    "open": {"type": "object", "properties": {"pair": pair, "a": number}, "x-kubernetes-preserve-unknown-fields": true},
                },
            },
            "status": {"type": "object", "properties": {"number": number, "pair": pair}},
        },
    })
});

impl Place {
    fn schema(self) -> Option<&'static Value> {
        match self {
            Place::Known(schema) => Some(schema),
            Place::Unknown => None,
        }
    }
}

impl Node for Place {
    fn shape(self) -> Shape {
        let Some(schema) = self.schema() else { return Shape::Untyped };
        match (schema["type"].as_str(), schema["x-kubernetes-list-type"].as_str()) {
            (None, _) => Shape::Untyped,
            (Some("object"), _) if schema["x-kubernetes-map-type"] == "atomic" => Shape::Atomic,
            (Some("object"), _) => Shape::Map,
            (Some("array"), Some("map")) => Shape::ListMap,
            (Some("array"), Some("set")) => Shape::Set,
            _ => Shape::Atomic,
        }
    }

    fn field(self, name: &str) -> Option<Self> {
        let schema = self.schema()?;
        if let Some(field) = schema["properties"].get(name) {
            return Some(Place::Known(field));
        }
        match schema.get("additionalProperties") {
            Some(entry) => Some(Place::Known(entry)),
            None if schema["x-kubernetes-preserve-unknown-fields"] == true => Some(Place::Unknown),
            None if schema["type"] == "object" && schema.get("properties").is_none() => Some(Place::Unknown),
            None => None,
        }
    }

    fn element(self) -> Option<Self> {
        self.schema()?.get("items").map(Place::Known)
    }

    fn list_keys(self) -> Vec<String> {
        let keys = self.schema().and_then(|schema| schema["x-kubernetes-list-map-keys"].as_array());
        keys.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    fn default(self) -> Option<Value> {
        self.schema()?.get("default").cloned()
    }
}
