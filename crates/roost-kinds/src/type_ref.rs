//! A place in a built-in kind, as patches and server-side apply look at it.

use roost_object::merge;
use serde_json::Value;

use crate::table::{Element, Field, ListType, Shape, Type};

/// A place in a built-in kind. Cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct TypeRef {
    place: Place,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Root(&'static Type),
    Field(&'static Field),
    Element(&'static Element),
    /// Below a place of which the types say nothing.
    Unknown,
}

impl From<&'static Type> for TypeRef {
    fn from(ty: &'static Type) -> Self {
        Self { place: Place::Root(ty) }
    }
}

impl TypeRef {
    /// The shape of the values here; none below places that hold any JSON.
    pub fn values(self) -> Option<Shape> {
        match self.place {
            Place::Root(ty) => Some(Shape::Struct(ty)),
            Place::Field(field) => Some(field.ty),
            Place::Element(element) => Some(element.ty),
            Place::Unknown => None,
        }
    }

    /// The struct here, if it is one.
    pub fn structure(self) -> Option<&'static Type> {
        match self.values() {
            Some(Shape::Struct(ty)) => Some(ty),
            _ => None,
        }
    }

    /// The table entry of the field here; none for roots and elements.
    pub fn entry(self) -> Option<&'static Field> {
        match self.place {
            Place::Field(field) => Some(field),
            _ => None,
        }
    }

    /// The field by which strategic merge patch matches the elements of the list here.
    pub fn patch_merge_key(self) -> Option<&'static str> {
        self.entry().map(|field| field.patch_merge_key).filter(|key| !key.is_empty())
    }
}

impl merge::Node for TypeRef {
    fn shape(self) -> merge::Shape {
        let entry = self.entry();
        let Some(values) = self.values() else { return merge::Shape::Untyped };
        match values {
            Shape::Struct(_) if entry.is_some_and(|field| field.granular) => merge::Shape::Map,
            Shape::Struct(ty) if ty.atomic || entry.is_some_and(|field| field.atomic) => merge::Shape::Atomic,
            Shape::Map(_) if entry.is_some_and(|field| field.atomic) => merge::Shape::Atomic,
            Shape::Struct(_) | Shape::Map(_) => merge::Shape::Map,
            Shape::List(_) | Shape::Items(_) => match entry.and_then(|field| field.list_type) {
                Some(ListType::Set) => merge::Shape::Set,
                Some(ListType::Map) => merge::Shape::ListMap,
                Some(ListType::Atomic) | None => merge::Shape::Atomic,
            },
            Shape::FieldsV1
            | Shape::Json
            | Shape::SchemaOrBool(_)
            | Shape::SchemaOrArray(_)
            | Shape::SchemaOrStringArray(_) => merge::Shape::Untyped,
            Shape::String
            | Shape::Bool
            | Shape::Int32
            | Shape::Int64
            | Shape::Float64
            | Shape::Bytes
            | Shape::Time
            | Shape::MicroTime
            | Shape::Quantity
            | Shape::IntOrString
            | Shape::RawExtension => merge::Shape::Atomic,
        }
    }

    fn field(self, name: &str) -> Option<Self> {
        match self.values() {
            // OpenAPI cannot tell a struct without fields from a map of anything.
            Some(Shape::Struct(ty)) if ty.fields.is_empty() => Some(Self { place: Place::Unknown }),
            Some(Shape::Struct(ty)) => ty.field(name).map(|field| Self { place: Place::Field(field) }),
            Some(Shape::Map(element)) => Some(Self { place: Place::Element(element) }),
            Some(
                Shape::RawExtension
                | Shape::FieldsV1
                | Shape::Json
                | Shape::SchemaOrBool(_)
                | Shape::SchemaOrArray(_)
                | Shape::SchemaOrStringArray(_),
            )
            | None => Some(Self { place: Place::Unknown }),
            Some(_) => None,
        }
    }

    fn element(self) -> Option<Self> {
        match self.values() {
            Some(Shape::List(element) | Shape::Items(element)) => Some(Self { place: Place::Element(element) }),
            None => Some(self),
            Some(_) => None,
        }
    }

    fn list_keys(self) -> Vec<String> {
        self.entry().map(|field| field.list_keys.iter().map(|&key| key.to_owned()).collect()).unwrap_or_default()
    }

    fn default(self) -> Option<Value> {
        let field = self.entry()?;
        match field.ty {
            Shape::String | Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Float64 => {
                field.default.and_then(|text| serde_json::from_str(text).ok())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use merge::Node as _;

    use super::*;

    fn at(path: &[&str]) -> TypeRef {
        let mut place = TypeRef::from(crate::type_of("v1", "Pod").unwrap());
        for step in path {
            place = if *step == "[]" { place.element().unwrap() } else { place.field(step).unwrap() };
        }
        place
    }

    #[test]
    fn pods_merge_as_their_openapi_document_says() {
        assert_eq!(at(&["spec", "containers"]).shape(), merge::Shape::ListMap);
        assert_eq!(at(&["spec", "containers"]).list_keys(), ["name"]);
        let ports = at(&["spec", "containers", "[]", "ports"]);
        assert_eq!(ports.list_keys(), ["containerPort", "protocol"]);
        assert_eq!(ports.element().unwrap().field("protocol").unwrap().default(), Some(Value::from("TCP")));
        assert_eq!(ports.patch_merge_key(), Some("containerPort"));
        assert_eq!(at(&["metadata", "finalizers"]).shape(), merge::Shape::Set);
        assert_eq!(at(&["metadata", "labels"]).shape(), merge::Shape::Map);
        assert_eq!(at(&["spec", "nodeSelector"]).shape(), merge::Shape::Atomic);
        assert_eq!(at(&["spec", "containers", "[]", "command"]).shape(), merge::Shape::Atomic);
        assert_eq!(at(&["spec", "containers", "[]", "resources", "limits", "cpu"]).shape(), merge::Shape::Atomic);
        assert!(at(&["spec"]).field("nonsense").is_none());
    }

    #[test]
    fn inlined_structs_are_looked_through() {
        let volumes = at(&["spec", "volumes"]);
        assert!(volumes.element().unwrap().field("emptyDir").is_some());
    }
}
