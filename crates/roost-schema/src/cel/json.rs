//! JSON seen through a schema: strings become times, numbers doubles, and unknown fields stay hidden.

use base64::Engine as _;
use serde_json::{Map as JsonObject, Value as Json};

use super::escape::{escape, unescape};
use super::value::{EvalError, List, ListRule, Map, Outcome, Text, Value};
use crate::structural::{ListType, Structural, Type};
use crate::{duration, time};

/// What is known about a JSON value.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    /// A schema describes it; `resource` when it is the root of a resource.
    Schema {
        /// The schema.
        schema: &'a Structural,
        /// Whether type and metadata are there whatever the schema says.
        resource: bool,
    },
    /// Metadata of a resource: only its names are seen.
    Metadata,
    /// Text.
    Text,
    /// Nothing is known.
    Untyped,
}

/// A JSON list and what is known about its elements.
#[derive(Clone, Copy, Debug)]
pub struct JsonList<'a> {
    elements: &'a [Json],
    items: View<'a>,
    rule: ListRule<'a>,
}

/// A JSON object and what is known about its values.
#[derive(Clone, Copy, Debug)]
pub struct JsonMap<'a> {
    map: &'a JsonObject<String, Json>,
    entries: Entries<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Entries<'a> {
    /// Fields by name, written in expressions as identifiers.
    Fields { schema: &'a Structural, implied: bool },
    /// Any keys, with one schema for all values.
    Additional(&'a Structural),
    /// Metadata of a resource.
    Metadata,
    /// Keys that no schema names; none is seen.
    Hidden,
    /// Any keys with any values.
    Untyped,
}

impl<'a> View<'a> {
    fn of(schema: &'a Structural) -> Self {
        View::Schema { schema, resource: schema.embedded }
    }

    /// The value that an expression sees.
    pub(crate) fn value(self, json: &'a Json) -> Outcome<'a> {
        match self {
            View::Untyped => Ok(untyped(json)),
            View::Text => match json {
                Json::String(text) => Ok(Value::String(Text::Borrowed(text))),
                Json::Null => Err(unexpected_null()),
                other => Err(wrong_type("string", other)),
            },
            View::Metadata => match json {
                Json::Object(map) => Ok(Value::Map(Map::Json(JsonMap { map, entries: Entries::Metadata }))),
                Json::Null => Err(unexpected_null()),
                _ => Err(EvalError::new("invalid data, expected a map for the provided schema with type=object")),
            },
            View::Schema { schema, resource } => described(schema, resource, json),
        }
    }
}

/// JSON of which nothing is known.
impl<'a> From<&'a Json> for Value<'a> {
    fn from(json: &'a Json) -> Self {
        untyped(json)
    }
}

fn unexpected_null() -> EvalError {
    EvalError::new("invalid data, got null for schema with nullable=false")
}

fn wrong_type(wanted: &str, given: &Json) -> EvalError {
    let given = match given {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_i64() => "int64",
        Json::Number(_) => "float64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    };
    EvalError::Failed(format!("invalid data, expected {wanted}, got {given}"))
}

fn untyped(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::Int(integer),
            None => Value::Double(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::String(Text::Borrowed(text)),
        Json::Array(elements) => {
            Value::List(List::Json(JsonList { elements, items: View::Untyped, rule: ListRule::Plain }))
        }
        Json::Object(map) => Value::Map(Map::Json(JsonMap { map, entries: Entries::Untyped })),
    }
}

fn described<'a>(schema: &'a Structural, resource: bool, json: &'a Json) -> Outcome<'a> {
    if json.is_null() {
        return if schema.nullable { Ok(Value::Null) } else { Err(unexpected_null()) };
    }
    if schema.int_or_string {
        return match json {
            Json::String(text) => Ok(Value::String(Text::Borrowed(text))),
            Json::Number(number) if number.is_i64() => Ok(Value::Int(number.as_i64().unwrap_or_default())),
            _ => Err(EvalError::new("invalid data, expected XIntOrString value to be either a string or integer")),
        };
    }
    match (schema.kind, json) {
        (Type::Object, Json::Object(map)) => {
            let entries = if resource || schema.embedded || !schema.properties.is_empty() {
                let implied = (resource || schema.embedded) && !schema.describes_metadata();
                Entries::Fields { schema, implied }
            } else if let Some(additional) = schema.additional.schema() {
                Entries::Additional(additional)
            } else {
                Entries::Hidden
            };
            Ok(Value::Map(Map::Json(JsonMap { map, entries })))
        }
        (Type::Object, _) => {
            Err(EvalError::new("invalid data, expected a map for the provided schema with type=object"))
        }
        (Type::Array, Json::Array(elements)) => {
            let Some(items) = schema.items.as_deref() else {
                return Err(EvalError::new("invalid array type, expected Items with a non-empty Schema"));
            };
            let rule = match schema.list_type {
                ListType::Map => ListRule::Keyed(&schema.list_keys),
                ListType::Set => ListRule::Set,
                ListType::Atomic | ListType::Unset => ListRule::Plain,
            };
            Ok(Value::List(List::Json(JsonList { elements, items: View::of(items), rule })))
        }
        (Type::Array, _) => {
            Err(EvalError::new("invalid data, expected an array for the provided schema with type=array"))
        }
        (Type::String, Json::String(text)) => formatted(schema.format_name(), text),
        (Type::String, other) => Err(wrong_type("string", other)),
        (Type::Number, Json::Number(number)) => Ok(Value::Double(number.as_f64().unwrap_or_default())),
        (Type::Number, other) => Err(wrong_type("float", other)),
        (Type::Integer, Json::Number(number)) if number.is_i64() => Ok(Value::Int(number.as_i64().unwrap_or_default())),
        (Type::Integer, other) => Err(wrong_type("int", other)),
        (Type::Boolean, Json::Bool(flag)) => Ok(Value::Bool(*flag)),
        (Type::Boolean, other) => Err(wrong_type("bool", other)),
        (Type::Any, json) if schema.preserve_unknown => Ok(Value::Preserved(json)),
        (Type::Any, _) => Err(EvalError::new(
            "invalid type, expected object, array, number, integer, boolean or string, or no type with \
             x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ",
        )),
    }
}

fn formatted<'a>(format: &str, text: &'a str) -> Outcome<'a> {
    match format {
        "duration" => match duration::parse_lenient(text) {
            Some(nanos) => Ok(Value::Duration(nanos)),
            None => Err(EvalError::Failed(format!("Invalid duration {text}: unable to parse {text} as duration"))),
        },
        "date" => match time::parse_date(text) {
            Some(instant) => Ok(Value::Timestamp(instant)),
            None => Err(EvalError::Failed(format!("Invalid date formatted string {text}"))),
        },
        "date-time" => match time::parse_date_time(text) {
            Ok(instant) => Ok(Value::Timestamp(instant)),
            Err(words) => Err(EvalError::Failed(format!("Invalid date-time formatted string {text}: {words}"))),
        },
        "byte" => {
            if let Ok(bytes) = base64::engine::general_purpose::URL_SAFE.decode(text) {
                Ok(Value::Bytes(bytes.into()))
            } else {
                let at = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(text.len());
                let words = format!("illegal base64 data at input byte {at}");
                Err(EvalError::Failed(format!("Invalid byte formatted string {text}: {words}")))
            }
        }
        _ => Ok(Value::String(Text::Borrowed(text))),
    }
}

impl<'a> JsonList<'a> {
    pub(crate) fn len(&self) -> usize {
        self.elements.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<Outcome<'a>> {
        Some(self.items.value(self.elements.get(index)?))
    }

    /// Whether no schema describes the elements.
    pub(crate) fn is_untyped(&self) -> bool {
        matches!(self.items, View::Untyped)
    }

    pub(crate) fn rule(&self) -> ListRule<'a> {
        self.rule
    }
}

impl<'a> JsonMap<'a> {
    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    pub(crate) fn json(&self) -> &'a JsonObject<String, Json> {
        self.map
    }

    /// What is known of a property's value; none when expressions do not see it.
    pub(crate) fn view(&self, property: &str) -> Option<View<'a>> {
        match self.entries {
            Entries::Untyped => Some(View::Untyped),
            Entries::Additional(schema) => Some(View::of(schema)),
            Entries::Hidden => None,
            Entries::Metadata => matches!(property, "name" | "generateName").then_some(View::Text),
            Entries::Fields { schema, implied } => {
                if implied {
                    match property {
                        "metadata" => return Some(View::Metadata),
                        "apiVersion" | "kind" => return Some(View::Text),
                        _ => {}
                    }
                }
                schema.property(property).map(View::of)
            }
        }
    }

    pub(crate) fn is_untyped(&self) -> bool {
        matches!(self.entries, Entries::Untyped)
    }

    pub(crate) fn has_fields(&self) -> bool {
        matches!(self.entries, Entries::Fields { .. } | Entries::Metadata)
    }

    /// The value of a property by its name in JSON.
    pub(crate) fn property(&self, name: &str) -> Result<Option<Value<'a>>, EvalError> {
        let Some(json) = self.map.get(name) else { return Ok(None) };
        if json.is_null() && self.has_fields() {
            return Ok(None);
        }
        match self.view(name) {
            None => Ok(None),
            Some(view) => view.value(json).map(Some),
        }
    }

    /// The value of a key or of a field by its identifier.
    pub(crate) fn find(&self, key: &str) -> Result<Option<Value<'a>>, EvalError> {
        if !self.has_fields() {
            return self.property(key);
        }
        match unescape(key) {
            Some(name) => self.property(&name),
            None => Ok(None),
        }
    }

    pub(crate) fn keys(&self) -> Vec<Value<'a>> {
        let fields = self.has_fields();
        let visible = self.map.keys().filter(|key| self.view(key).is_some());
        let shown = visible.map(|key| match escape(key) {
            Some(std::borrow::Cow::Owned(escaped)) if fields => Value::text(escaped),
            _ => Value::String(Text::Borrowed(key)),
        });
        shown.collect()
    }
}
