//! Objects as types: which fields they have, and how large their values can become.

use std::sync::Arc;

use super::escape::{escape, unescape};
use super::types::Type;
use crate::structural::{Structural, Type as SchemaType};

/// The largest request that is accepted, which bounds what no schema bounds.
pub(crate) const MAX_REQUEST_BYTES: u64 = 3 * 1024 * 1024;

/// The type of an object.
#[derive(Clone, Debug)]
pub enum ObjectType<'s> {
    /// A type of a library, without fields.
    Library(&'static str),
    /// An object that a schema describes.
    Schema(SchemaObject<'s>),
    /// Metadata of a resource whose schema does not describe it: name and generateName.
    Metadata(Arc<str>),
    /// An object with fields that are listed.
    Declared(Arc<Declared>),
    /// An object that expressions can make, by the name of its type.
    Constructed(Arc<str>),
}

/// An object that a schema describes, at a named place.
#[derive(Clone, Debug)]
pub struct SchemaObject<'s> {
    name: Arc<str>,
    place: Place<'s>,
}

/// An object with fields that are listed.
#[derive(Debug)]
pub struct Declared {
    /// The type's name in messages.
    pub name: String,
    /// The fields with their types.
    pub fields: Vec<(String, Type<'static>)>,
}

impl<'s> ObjectType<'s> {
    pub(crate) fn name(&self) -> &str {
        match self {
            ObjectType::Library(name) => name,
            ObjectType::Metadata(name) | ObjectType::Constructed(name) => name,
            ObjectType::Schema(object) => &object.name,
            ObjectType::Declared(declared) => &declared.name,
        }
    }

    /// The type of a field; none when the object does not have it.
    pub(crate) fn field(&self, field: &str) -> Option<Type<'s>> {
        match self {
            ObjectType::Library(_) => None,
            ObjectType::Schema(object) => {
                let place = object.place.field(field)?;
                place.declared_type(&format!("{}.{field}", object.name))
            }
            ObjectType::Metadata(_) => matches!(field, "name" | "generateName").then_some(Type::String),
            ObjectType::Declared(declared) => {
                declared.fields.iter().find(|(name, _)| name == field).map(|(_, kind)| kind.clone())
            }
            ObjectType::Constructed(name) => super::patch::field_type(name, field),
        }
    }
}

/// A place of a schema as CEL sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'s> {
    /// A described place; `resource` when it is the root of a resource, whose type and name are always there.
    Schema { schema: &'s Structural, resource: bool },
    /// Metadata of a resource whose schema does not describe it.
    Metadata,
    /// Text that nothing bounds.
    Text,
    /// The keys of a map, whose size is not counted.
    Keys,
}

impl<'s> Place<'s> {
    pub(crate) fn root(schema: &'s Structural, resource: bool) -> Self {
        Place::Schema { schema, resource }
    }

    fn of(schema: &'s Structural) -> Self {
        Place::Schema { schema, resource: schema.embedded }
    }

    /// The type of values here; none when they are not visible to expressions.
    pub(crate) fn declared_type(self, name: &str) -> Option<Type<'s>> {
        let Place::Schema { schema, resource } = self else {
            return Some(match self {
                Place::Metadata => Type::Object(ObjectType::Metadata(name.into())),
                _ => Type::String,
            });
        };
        if schema.int_or_string {
            return Some(Type::Dyn);
        }
        match schema.kind {
            SchemaType::Array => {
                let items = Place::of(schema.items.as_deref()?);
                Some(Type::list(items.declared_type(&format!("{name}.@idx"))?))
            }
            SchemaType::Object => {
                if let Some(additional) = schema.additional.schema() {
                    let value = Place::of(additional).declared_type(&format!("{name}.@elem"))?;
                    Some(Type::map(Type::String, value))
                } else {
                    let place = Place::Schema { schema, resource };
                    Some(Type::Object(ObjectType::Schema(SchemaObject { name: name.into(), place })))
                }
            }
            SchemaType::String => Some(match schema.format_name() {
                "byte" => Type::Bytes,
                "duration" => Type::Duration,
                "date" | "date-time" => Type::Timestamp,
                _ => Type::String,
            }),
            SchemaType::Boolean => Some(Type::Bool),
            SchemaType::Number => Some(Type::Double),
            SchemaType::Integer => Some(Type::Int),
            SchemaType::Any => None,
        }
    }

    pub(crate) fn is_visible(self) -> bool {
        let Place::Schema { schema, .. } = self else { return true };
        if schema.int_or_string {
            return true;
        }
        match schema.kind {
            SchemaType::Any => false,
            SchemaType::Array => schema.items.as_deref().is_some_and(|items| Place::of(items).is_visible()),
            SchemaType::Object => schema.additional.schema().is_none_or(|inner| Place::of(inner).is_visible()),
            _ => true,
        }
    }

    /// The place of a field by its identifier.
    pub(crate) fn field(self, identifier: &str) -> Option<Place<'s>> {
        match self {
            Place::Schema { schema, resource } => {
                if resource
                    && !schema.describes_metadata()
                    && let Some(implied) = implied_field(identifier)
                {
                    return Some(implied);
                }
                let name = unescape(identifier)?;
                if escape(&name).as_deref() != Some(identifier) || schema.additional.schema().is_some() {
                    return None;
                }
                let place = Place::of(schema.property(&name)?);
                place.is_visible().then_some(place)
            }
            Place::Metadata => matches!(identifier, "name" | "generateName").then_some(Place::Text),
            Place::Text | Place::Keys => None,
        }
    }

    /// The place of elements or of a map's values.
    pub(crate) fn element(self) -> Option<Place<'s>> {
        let Place::Schema { schema, .. } = self else { return None };
        match schema.kind {
            SchemaType::Array => schema.items.as_deref().map(Place::of),
            SchemaType::Object => schema.additional.schema().map(Place::of),
            _ => None,
        }
    }

    /// The place of a map's keys.
    pub(crate) fn keys(self) -> Option<Place<'s>> {
        let Place::Schema { schema, .. } = self else { return None };
        (schema.kind == SchemaType::Object && schema.additional.schema().is_some()).then_some(Place::Keys)
    }

    /// How many elements, entries or bytes a value here can have at most. Zero for what is not counted.
    pub(crate) fn max_elements(self) -> u64 {
        let Place::Schema { schema, .. } = self else {
            return if matches!(self, Place::Text) { MAX_REQUEST_BYTES - 2 } else { 0 };
        };
        let limit = |limit: Option<i64>| limit.map(|limit| u64::try_from(limit).unwrap_or_default());
        let checks = schema.checks.as_deref();
        let max_length = limit(checks.and_then(|checks| checks.max_length));
        if schema.int_or_string {
            return max_length.map_or(MAX_REQUEST_BYTES - 2, |length| length * 4);
        }
        match schema.kind {
            SchemaType::Array => limit(checks.and_then(|checks| checks.max_items)).unwrap_or_else(|| {
                let smallest = self.element().map_or(0, Place::min_serialized_size);
                (MAX_REQUEST_BYTES - 2) / (smallest + 1)
            }),
            SchemaType::Object if schema.additional.schema().is_some() => {
                limit(checks.and_then(|checks| checks.max_properties)).unwrap_or_else(|| {
                    let smallest = self.element().map_or(0, Place::min_serialized_size);
                    (MAX_REQUEST_BYTES - 2) / (smallest + 6)
                })
            }
            SchemaType::String => match (schema.format_name(), max_length) {
                ("byte", Some(length)) => length,
                ("duration" | "date-time", _) => 32,
                ("date", _) => 12,
                ("byte", None) => MAX_REQUEST_BYTES - 2,
                (_, Some(length)) => length * 4,
                (_, None) => match checks.map(|checks| &checks.one_value_of).filter(|values| !values.is_empty()) {
                    Some(values) => values.iter().filter_map(|v| v.as_str()).map(|v| v.len() as u64).max().unwrap_or(0),
                    None => MAX_REQUEST_BYTES - 2,
                },
            },
            _ => 0,
        }
    }

    /// The fewest bytes that a value here takes in JSON.
    pub(crate) fn min_serialized_size(self) -> u64 {
        let Place::Schema { schema, resource } = self else { return 2 };
        if schema.int_or_string {
            return 1;
        }
        match schema.kind {
            SchemaType::Array => 2,
            SchemaType::Object if schema.additional.schema().is_some() => 2,
            SchemaType::Object => {
                let implied = resource && !schema.describes_metadata();
                let required = schema.required_names().iter().filter_map(|name| {
                    let implied = if implied { implied_field(name) } else { None };
                    let place = match (implied, schema.property(name)) {
                        (Some(implied), _) => implied,
                        (None, Some(property)) if property.default.is_none() => Place::of(property),
                        _ => return None,
                    };
                    place.is_visible().then(|| name.len() as u64 + place.min_serialized_size() + 4)
                });
                2 + required.sum::<u64>()
            }
            SchemaType::String => match schema.format_name() {
                "duration" => 3,
                "date" => 12,
                "date-time" => 21,
                _ => 2,
            },
            SchemaType::Boolean => 4,
            SchemaType::Number | SchemaType::Integer => 1,
            SchemaType::Any => 0,
        }
    }
}

fn implied_field<'s>(identifier: &str) -> Option<Place<'s>> {
    match identifier {
        "metadata" => Some(Place::Metadata),
        "apiVersion" | "kind" => Some(Place::Text),
        _ => None,
    }
}

impl Structural {
    /// The name of the format that is checked, or nothing.
    pub(crate) fn format_name(&self) -> &'static str {
        self.checks.as_ref().and_then(|checks| checks.format).map_or("", crate::validate::format::Format::name)
    }

    /// Whether a resource's schema describes its type and the names in its metadata itself.
    pub(crate) fn describes_metadata(&self) -> bool {
        let is = |schema: Option<&Structural>, kind| schema.is_some_and(|schema| schema.kind == kind);
        let metadata = self.property("metadata");
        is(self.property("kind"), SchemaType::String)
            && is(self.property("apiVersion"), SchemaType::String)
            && is(metadata, SchemaType::Object)
            && ["name", "generateName"]
                .iter()
                .all(|name| is(metadata.and_then(|metadata| metadata.property(name)), SchemaType::String))
    }
}
