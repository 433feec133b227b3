//! How custom resources merge: a schema as patches and server-side apply see it.

use std::sync::LazyLock;

use roost_object::merge::{Node, Shape};
use serde_json::{Value, json};

use super::{Additional, ListType, MapType, Structural, Type};

/// A place in a schema, as a merge sees it.
#[derive(Clone, Copy, Debug)]
pub struct SchemaRef<'a>(pub &'a Structural);

/// Metadata merges in every resource as the stock `ObjectMeta` does, whatever the custom resource's schema says of it.
static METADATA: LazyLock<Structural> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let time = json!({"type": "string", "format": "date-time"});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let schema = json!({"type": "object", "properties": {
        "annotations": texts,
        "creationTimestamp": time,
        "deletionGracePeriodSeconds": {"type": "integer"},
        "deletionTimestamp": time,
        "finalizers": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
        "generateName": text,
        "generation": {"type": "integer"},
        "labels": texts,
        "managedFields": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object"}},
        "name": text,
        "namespace": text,
        "ownerReferences": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
            "items": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
                "apiVersion": text, "blockOwnerDeletion": {"type": "boolean"}, "controller": {"type": "boolean"},
                "kind": text, "name": text, "uid": text,
            }},
        },
        "resourceVersion": text,
        "selfLink": text,
        "uid": text,
    }});
    Structural::compile_part(&schema).expect("the schema above is well formed")
});

static TEXT: LazyLock<Structural> = LazyLock::new(|| Structural { kind: Type::String, ..Structural::default() });

static UNTYPED: LazyLock<Structural> = LazyLock::new(|| Structural { preserve_unknown: true, ..Structural::default() });

/// What the values of a place in a schema are, as a merge checks them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Anything.
    Any,
    /// A map.
    Map,
    /// A list.
    List,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A text.
    Text,
    /// A text with a format, which a merge takes for any scalar.
    Formatted,
}

impl SchemaRef<'_> {
    /// What the values here are.
    pub fn values(self) -> Values {
        match self.0.kind {
            Type::Any => Values::Any,
            Type::Object => Values::Map,
            Type::Array => Values::List,
            Type::Integer | Type::Number => Values::Number,
            Type::Boolean => Values::Boolean,
            Type::String if self.0.formatted => Values::Formatted,
            Type::String => Values::Text,
        }
    }
}

impl Node for SchemaRef<'_> {
    fn shape(self) -> Shape {
        match self.0.kind {
            Type::Object if self.0.map_type == MapType::Atomic => Shape::Atomic,
            Type::Object if self.0.is_opaque() => Shape::Untyped,
            Type::Object => Shape::Map,
            Type::Array => match self.0.list_type {
                ListType::Map => Shape::ListMap,
                ListType::Set => Shape::Set,
                ListType::Atomic | ListType::Unset => Shape::Atomic,
            },
            Type::Any => Shape::Untyped,
            _ => Shape::Atomic,
        }
    }

    fn field(self, name: &str) -> Option<Self> {
        if self.0.root || self.0.embedded {
            match name {
                "metadata" => return Some(SchemaRef(&METADATA)),
                "apiVersion" | "kind" => return Some(SchemaRef(&TEXT)),
                _ => {}
            }
        }
        if let Some(property) = self.0.property(name) {
            return Some(SchemaRef(property));
        }
        match &self.0.additional {
            Additional::Schema(schema) => Some(SchemaRef(schema)),
            Additional::Allowed(true) => Some(SchemaRef(&UNTYPED)),
            Additional::Unset if self.0.is_free_form() => Some(SchemaRef(&UNTYPED)),
            _ if self.0.preserve_unknown => Some(SchemaRef(&UNTYPED)),
            _ => None,
        }
    }

    fn declares(self, name: &str) -> bool {
        let is_of_every_resource = matches!(name, "metadata" | "apiVersion" | "kind");
        (self.0.root || self.0.embedded) && is_of_every_resource || self.0.property(name).is_some()
    }

    fn is_closed(self) -> bool {
        std::ptr::eq(self.0, LazyLock::force(&METADATA))
    }

    fn element(self) -> Option<Self> {
        match self.0.items.as_deref() {
            Some(items) => Some(SchemaRef(items)),
            None if self.0.preserve_unknown && self.0.kind != Type::Object => Some(SchemaRef(&UNTYPED)),
            None => None,
        }
    }

    fn list_keys(self) -> Vec<String> {
        self.0.list_keys.iter().map(ToString::to_string).collect()
    }

    fn default(self) -> Option<Value> {
        self.0.default.as_deref().cloned()
    }
}

impl Structural {
    /// Whether nothing is said of an object's keys, which a merge takes for leave to have any; pruning does not.
    fn is_free_form(&self) -> bool {
        self.properties.is_empty() && !self.root && !self.embedded
    }

    /// Whether an object's keys are all unknown and kept.
    fn is_opaque(&self) -> bool {
        self.preserve_unknown && self.properties.is_empty() && !self.additional.is_set() && !self.root && !self.embedded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_merge_as_their_schema_says() {
        let schema = Structural::compile(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
                    "items": {"type": "object", "properties": {
                        "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}}}},
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "atom": {"type": "object", "x-kubernetes-map-type": "atomic"},
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
            }},
        }}))
        .unwrap();
        let root = SchemaRef(&schema);
        let spec = root.field("spec").unwrap();
        assert_eq!(spec.shape(), Shape::Map);
        let ports = spec.field("ports").unwrap();
        assert_eq!((ports.shape(), ports.list_keys()), (Shape::ListMap, vec!["port".to_owned()]));
        assert_eq!(ports.element().unwrap().field("protocol").unwrap().default(), Some(json!("TCP")));
        assert_eq!(spec.field("any").unwrap().shape(), Shape::Untyped);
        assert_eq!(spec.field("any").unwrap().field("x").unwrap().shape(), Shape::Untyped);
        assert_eq!(spec.field("atom").unwrap().shape(), Shape::Atomic);
        assert!(spec.field("nope").is_none());
        let open = spec.field("open").unwrap();
        assert!(open.declares("free") && !open.declares("nope"), "unknown fields are entries, known ones are not");
        assert!(open.element().is_none(), "a map has no elements");
        assert!(root.declares("metadata") && !spec.declares("metadata"));
        let metadata = root.field("metadata").unwrap();
        assert_eq!(metadata.field("finalizers").unwrap().shape(), Shape::Set);
        assert_eq!(metadata.field("labels").unwrap().field("a").unwrap().shape(), Shape::Atomic);
    }
}
