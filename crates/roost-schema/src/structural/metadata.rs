//! Metadata of resources and of the objects embedded in them: decoding, coercion and validation.

use roost_object::field::{Error, Kind};
use roost_object::json;
use serde_json::{Map, Value};

use super::Structural;
use super::prune::{Nulls, Trail};
use crate::time::Instant;
use crate::wording;

/// Why an object cannot be decoded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MetadataError {
    /// The object's own metadata is malformed; the words are those of Go's JSON decoder.
    #[error("{0}")]
    Malformed(String),
    /// Metadata of an embedded object is malformed.
    #[error("{0}")]
    Embedded(Box<Error>),
}

/// How a field of metadata is decoded.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// A text, and the name of its Go type.
    Text(&'static str),
    Integer {
        keep_zero: bool,
    },
    Flag,
    Time,
    TextMap,
    TextList,
    Anything,
    Entries(&'static Record),
}

pub(super) struct Record {
    name: &'static str,
    fields: &'static [(&'static str, Shape)],
    /// Texts that are written even when empty.
    always: &'static [&'static str],
}

pub(super) static OBJECT_META: Record = Record {
    name: "ObjectMeta",
    fields: &[
        ("name", Shape::Text("string")),
        ("generateName", Shape::Text("string")),
        ("namespace", Shape::Text("string")),
        ("selfLink", Shape::Text("string")),
        ("uid", Shape::Text("types.UID")),
        ("resourceVersion", Shape::Text("string")),
        ("generation", Shape::Integer { keep_zero: false }),
        ("creationTimestamp", Shape::Time),
        ("deletionTimestamp", Shape::Time),
        ("deletionGracePeriodSeconds", Shape::Integer { keep_zero: true }),
        ("labels", Shape::TextMap),
        ("annotations", Shape::TextMap),
        ("ownerReferences", Shape::Entries(&OWNER_REFERENCE)),
        ("finalizers", Shape::TextList),
        ("managedFields", Shape::Entries(&MANAGED_FIELDS_ENTRY)),
    ],
    always: &[],
};

static OWNER_REFERENCE: Record = Record {
    name: "OwnerReference",
    fields: &[
        ("apiVersion", Shape::Text("string")),
        ("kind", Shape::Text("string")),
        ("name", Shape::Text("string")),
        ("uid", Shape::Text("types.UID")),
        ("controller", Shape::Flag),
        ("blockOwnerDeletion", Shape::Flag),
    ],
    always: &["apiVersion", "kind", "name", "uid"],
};

static MANAGED_FIELDS_ENTRY: Record = Record {
    name: "ManagedFieldsEntry",
    fields: &[
        ("manager", Shape::Text("string")),
        ("operation", Shape::Text("v1.ManagedFieldsOperationType")),
        ("apiVersion", Shape::Text("string")),
        ("time", Shape::Time),
        ("fieldsType", Shape::Text("string")),
        ("fieldsV1", Shape::Anything),
        ("subresource", Shape::Text("string")),
    ],
    always: &[],
};

impl Structural {
    /// Decodes a request's object: refuses malformed metadata, removes unknown fields and the nulls that the schema does
    /// not allow. Returns the paths of what was removed as unknown, in the order in which stock reports them.
    pub fn decode(&self, object: &mut Value) -> Result<Vec<String>, MetadataError> {
        self.decode_with(object, false, Nulls::Dropped)
    }

    pub(super) fn decode_with(
        &self,
        object: &mut Value,
        drop_malformed: bool,
        nulls: Nulls,
    ) -> Result<Vec<String>, MetadataError> {
        let mut unknown = Vec::new();
        if let Some(map) = object.as_object_mut() {
            for name in ["kind", "apiVersion"] {
                if let Some(value) = map.get(name).filter(|value| !value.is_string())
                    && !drop_malformed
                {
                    let words = format!(
                        ".{name} accessor error: {} is of the type {}, expected string",
                        wording::go_value(value),
                        go_type(value)
                    );
                    return Err(MetadataError::Malformed(words));
                }
            }
            if let Some(metadata) = map.get_mut("metadata") {
                decode(metadata, drop_malformed, "metadata", &mut unknown).map_err(MetadataError::Malformed)?;
            }
        }
        self.prune_fields(object, &mut unknown);
        if nulls == Nulls::Dropped {
            self.prune_nulls(object);
        }
        if self.below.embedded {
            let before = unknown.len();
            let mut coercion = Coercion { drop_malformed, unknown: &mut unknown };
            coercion.walk(object, self, &Trail::Root).map_err(|error| MetadataError::Embedded(Box::new(error)))?;
            unknown[before..].sort();
        }
        Ok(unknown)
    }

    /// Coerces the metadata inside a value of this schema, as for a default value.
    pub(crate) fn coerce_embedded(&self, value: &mut Value) -> Result<(), Error> {
        let mut unknown = Vec::new();
        Coercion { drop_malformed: false, unknown: &mut unknown }.walk(value, self, &Trail::Root)
    }
}

struct Coercion<'a> {
    drop_malformed: bool,
    unknown: &'a mut Vec<String>,
}

impl Coercion<'_> {
    fn walk(&mut self, value: &mut Value, schema: &Structural, trail: &Trail<'_>) -> Result<(), Error> {
        if !schema.below.embedded {
            return Ok(());
        }
        match value {
            Value::Object(map) => {
                if schema.embedded {
                    self.resource(map, trail)?;
                }
                for (name, inner) in map.iter_mut() {
                    if let Some(property) = schema.property(name) {
                        self.walk(inner, property, &Trail::Key(trail, name))?;
                    } else if let Some(additional) = schema.additional.schema() {
                        self.walk(inner, additional, &Trail::Entry(trail, name))?;
                    }
                }
            }
            Value::Array(list) => {
                let Some(items) = schema.items.as_deref() else { return Ok(()) };
                for (index, inner) in list.iter_mut().enumerate() {
                    self.walk(inner, items, &Trail::Index(trail, index))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn resource(&mut self, map: &mut Map<String, Value>, trail: &Trail<'_>) -> Result<(), Error> {
        for name in ["apiVersion", "kind"] {
            let Some(value) = map.get(name).filter(|value| !value.is_string()) else { continue };
            if !self.drop_malformed {
                return Err(wording::error(Kind::Invalid, trail.field(name), value, "must be a string".to_owned()));
            }
            map.remove(name);
        }
        let Some(metadata) = map.get_mut("metadata") else { return Ok(()) };
        let prefix = trail.field("metadata");
        match decode(metadata, self.drop_malformed, &prefix, self.unknown) {
            Err(words) if !self.drop_malformed => {
                Err(wording::error(Kind::Invalid, trail.field("metadata"), metadata, words))
            }
            _ => Ok(()),
        }
    }
}

/// Decodes metadata in place. With `drop_malformed`, fields of a wrong type are dropped instead of refused.
fn decode(metadata: &mut Value, drop_malformed: bool, prefix: &str, unknown: &mut Vec<String>) -> Result<(), String> {
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    let Value::Object(map) = metadata else {
        return Err(if drop_malformed {
            format!("invalid metadata: expected object, got {}", go_type(metadata))
        } else {
            format!("json: cannot unmarshal {} into Go value of type v1.ObjectMeta", json::Kind::of(metadata).go())
        });
    };
    if let Some(problem) = record_problem(map, &OBJECT_META, "") {
        if !drop_malformed {
            return Err(problem);
        }
        map.retain(|name, value| field_problem(name, value, &OBJECT_META, "").is_none());
    }
    normalise(map, &OBJECT_META, prefix, unknown);
    Ok(())
}

pub(super) fn record_problem(map: &Map<String, Value>, record: &Record, parent: &str) -> Option<String> {
    map.iter().find_map(|(name, value)| field_problem(name, value, record, parent))
}

fn field_problem(name: &str, value: &Value, record: &Record, parent: &str) -> Option<String> {
    let (_, shape) = record.fields.iter().find(|(field, _)| *field == name)?;
    if value.is_null() {
        return None;
    }
    let place = if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") };
    let mismatch = |value: &Value, wanted: &str| {
        let given = match value {
            Value::Number(number) if wanted == "int64" => format!("number {number}"),
            other => json::Kind::of(other).go().to_owned(),
        };
        Some(format!("json: cannot unmarshal {given} into Go struct field {}.{place} of type {wanted}", record.name))
    };
    match (shape, value) {
        (Shape::Text(_), Value::String(_)) | (Shape::Flag, Value::Bool(_)) | (Shape::Anything, _) => None,
        (Shape::Text(name), other) => mismatch(other, name),
        (Shape::Flag, other) => mismatch(other, "bool"),
        (Shape::Integer { .. }, other) => {
            if other.is_i64() {
                None
            } else {
                mismatch(other, "int64")
            }
        }
        (Shape::Time, Value::String(text)) => Instant::parse(text).err(),
        (Shape::Time, other) => mismatch(other, "string"),
        (Shape::TextMap, Value::Object(map)) => map
            .values()
            .find(|inner| !inner.is_string() && !inner.is_null())
            .and_then(|inner| mismatch(inner, "string")),
        (Shape::TextMap, other) => mismatch(other, "map[string]string"),
        (Shape::TextList, Value::Array(list)) => {
            list.iter().find(|inner| !inner.is_string() && !inner.is_null()).and_then(|inner| mismatch(inner, "string"))
        }
        (Shape::TextList, other) => mismatch(other, "[]string"),
        (Shape::Entries(entry), Value::Array(list)) => list.iter().find_map(|inner| match inner {
            Value::Object(map) => record_problem(map, entry, &place),
            Value::Null => None,
            other => mismatch(other, &format!("v1.{}", entry.name)),
        }),
        (Shape::Entries(entry), other) => mismatch(other, &format!("[]v1.{}", entry.name)),
    }
}

/// Writes a well-typed record as Go would: unknown and empty fields left out, times in UTC.
fn normalise(map: &mut Map<String, Value>, record: &Record, prefix: &str, unknown: &mut Vec<String>) {
    map.retain(|name, value| {
        let Some((_, shape)) = record.fields.iter().find(|(field, _)| *field == name.as_str()) else {
            unknown.push(format!("{prefix}.{name}"));
            return false;
        };
        match (shape, &mut *value) {
            (_, Value::Null) => false,
            (Shape::Text(_), Value::String(text)) => !text.is_empty() || record.always.contains(&name.as_str()),
            (Shape::Integer { keep_zero }, number) => *keep_zero || number.as_i64() != Some(0),
            (Shape::Time, Value::String(text)) => {
                if let Ok(instant) = Instant::parse(text) {
                    *text = instant.to_seconds_text();
                }
                text != "0001-01-01T00:00:00Z"
            }
            (Shape::TextMap, Value::Object(inner)) => {
                inner.values_mut().filter(|text| text.is_null()).for_each(|text| *text = Value::String(String::new()));
                !inner.is_empty()
            }
            (Shape::TextList, Value::Array(inner)) => {
                inner.iter_mut().filter(|text| text.is_null()).for_each(|text| *text = Value::String(String::new()));
                !inner.is_empty()
            }
            (Shape::Entries(entry), Value::Array(inner)) => {
                for (index, element) in inner.iter_mut().enumerate() {
                    if element.is_null() {
                        *element = Value::Object(Map::new());
                    }
                    if let Value::Object(fields) = element {
                        normalise(fields, entry, &format!("{prefix}.{name}[{index}]"), unknown);
                        for missing in entry.always {
                            fields.entry(*missing).or_insert_with(|| Value::String(String::new()));
                        }
                    }
                }
                !inner.is_empty()
            }
            _ => true,
        }
    });
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
