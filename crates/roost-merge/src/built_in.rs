//! What patches and apply need to know about built-in kinds, from their tables.

use std::borrow::Cow;

use roost_kinds::{Shape, TypeRef};
use roost_object::field::quote;
use roost_object::merge::Node;
use serde_json::Value;

use crate::apply::{Holds, Versions};
use crate::strategic::{PatchField, StrategicSchema};

impl StrategicSchema for TypeRef {
    fn patch_field(self, name: &str) -> Result<PatchField<Self>, String> {
        let Some(structure) = self.structure() else {
            let kind = match self.values() {
                Some(Shape::Map(_)) => "map",
                Some(Shape::List(_) | Shape::Items(_)) => "slice",
                _ => "interface",
            };
            return Err(format!("merging an object in json but data type is not struct, instead is: {kind}"));
        };
        let field = self.field(name).ok_or_else(|| {
            format!("unable to find api field in struct {} for the json field {}", structure.name(), quote(name))
        })?;
        Ok(PatchField {
            schema: Some(field),
            strategy: field.entry().map_or("", |entry| entry.patch_strategy),
            merge_key: field.patch_merge_key().unwrap_or_default(),
        })
    }

    fn patch_element(self) -> Option<Self> {
        self.element()
    }
}

/// What the values of a place in a built-in kind are, for [`crate::apply::check`].
pub fn holds(place: TypeRef) -> Holds {
    match place.values() {
        Some(Shape::String | Shape::Bytes) => Holds::Text,
        Some(Shape::Bool) => Holds::Boolean,
        Some(Shape::Int32 | Shape::Int64 | Shape::Float64) => Holds::Number,
        Some(Shape::Time | Shape::MicroTime | Shape::Quantity | Shape::IntOrString) => Holds::Scalar,
        Some(Shape::Struct(_) | Shape::Map(_)) => Holds::Map,
        Some(Shape::List(_) | Shape::Items(_)) => Holds::List,
        _ => Holds::Anything,
    }
}

/// The served versions of a built-in kind.
#[derive(Clone, Copy, Debug)]
pub struct ServedVersions<'a> {
    /// The version of the objects.
    pub api_version: &'a str,
    /// The kind.
    pub kind: &'a str,
}

impl ServedVersions<'_> {
    /// The object in another version and that version's schema; none if it is not served.
    pub fn convert(&self, object: &Value, api_version: &str) -> Option<(Value, TypeRef)> {
        let ty = roost_kinds::type_of(api_version, self.kind)?;
        let mut object = object.clone();
        object["kind"] = self.kind.into();
        let converted = roost_kinds::convert(object, self.api_version, api_version).ok()?;
        Some((converted, TypeRef::from(ty)))
    }
}

impl Versions<TypeRef> for ServedVersions<'_> {
    fn convert<'o>(&self, object: &'o Value, api_version: &str) -> Option<(Cow<'o, Value>, TypeRef)> {
        if api_version == self.api_version {
            let ty = roost_kinds::type_of(api_version, self.kind)?;
            return Some((Cow::Borrowed(object), TypeRef::from(ty)));
        }
        ServedVersions::convert(self, object, api_version).map(|(object, node)| (Cow::Owned(object), node))
    }
}
