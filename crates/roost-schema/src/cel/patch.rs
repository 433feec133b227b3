//! What expressions that change objects can make: `Object{…}` for what is to be applied, `JSONPatch{…}` for operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::libraries::{Builtin, Invocation};
use super::types::Type;
use super::value::{Key, List, Map, Outcome, Value};

/// The type of operations.
pub(crate) const JSON_PATCH: &str = "JSONPatch";

/// The type of whole objects; the types of their parts have the path behind it.
const OBJECT: &str = "Object";

/// An object that an expression made.
#[derive(Clone, Debug)]
pub struct Instance<'a> {
    /// The name of its type.
    pub name: Arc<str>,
    /// Its fields.
    pub fields: BTreeMap<Box<str>, Value<'a>>,
}

/// Whether a type can be made.
pub(crate) fn is_constructed(name: &str) -> bool {
    name == JSON_PATCH || name == OBJECT || name.strip_prefix(OBJECT).is_some_and(|rest| rest.starts_with('.'))
}

/// The type of a field of a type that can be made; none when it has no such field.
pub(crate) fn field_type<'s>(name: &str, field: &str) -> Option<Type<'s>> {
    match (name, field) {
        (JSON_PATCH, "op" | "path" | "from") => Some(Type::String),
        (JSON_PATCH, "value") => Some(Type::Dyn),
        (JSON_PATCH, _) => None,
        _ => Some(Type::Dyn),
    }
}

pub(crate) fn builtin(function: &str) -> Option<Builtin> {
    (function == "jsonpatch.escapeKey").then_some(escape_key as Builtin)
}

/// A key as a part of a JSON pointer.
fn escape_key<'a>(call: &Invocation<'_, 'a>) -> Outcome<'a> {
    let [Value::String(key)] = call.args else { return call.no_such_overload() };
    Ok(Value::text(key.replace('~', "~0").replace('/', "~1")))
}

impl Instance<'_> {
    /// The types of parts that do not fit their places, in stock's words, one a line.
    pub fn misplaced_types(&self) -> Option<String> {
        let mut found = Vec::new();
        self.check_names(&self.name, &mut found);
        (!found.is_empty()).then(|| found.join("\n"))
    }

    fn check_names(&self, expected: &str, found: &mut Vec<String>) {
        if *self.name != *expected {
            found.push(format!(
                "unexpected type name \"{}\", expected \"{expected}\", which matches field name path from root Object type",
                self.name
            ));
        }
        for (field, value) in &self.fields {
            check_value(value, &format!("{expected}.{field}"), found);
        }
    }
}

fn check_value(value: &Value<'_>, expected: &str, found: &mut Vec<String>) {
    match value {
        Value::Instance(instance) => instance.check_names(expected, found),
        Value::List(List::Values(elements)) => {
            elements.iter().for_each(|element| check_value(element, expected, found));
        }
        Value::Map(Map::Values(entries)) => entries.values().for_each(|entry| check_value(entry, expected, found)),
        _ => {}
    }
}

/// How deep a value may be to become JSON.
const MAX_DEPTH: usize = 256;

impl Value<'_> {
    /// The value as JSON; the words say which part has no such form.
    pub fn to_json(&self) -> Result<Json, String> {
        self.json_at(MAX_DEPTH)
    }

    fn json_at(&self, depth: usize) -> Result<Json, String> {
        let Some(depth) = depth.checked_sub(1) else { return Err("value is nested too deeply".into()) };
        Ok(match self {
            Value::Null | Value::Optional(None) => Json::Null,
            Value::Bool(flag) => Json::Bool(*flag),
            Value::Int(number) => Json::from(*number),
            Value::Uint(number) => Json::Number((*number).into()),
            Value::Double(number) => serde_json::Number::from_f64(*number).map_or(Json::Null, Json::Number),
            Value::String(text) => text.to_string().into(),
            Value::Preserved(json) => (*json).clone(),
            Value::List(list) => {
                let mut elements = Vec::with_capacity(list.len());
                for element in list.iter() {
                    elements.push(element.map_err(|error| error.to_string())?.json_at(depth)?);
                }
                Json::Array(elements)
            }
            Value::Map(map) => {
                let mut fields = serde_json::Map::new();
                for key in map.keys() {
                    let value = map.find(&key).map_err(|error| error.to_string())?.unwrap_or(Value::Null);
                    let name = match Key::of(&key) {
                        Some(Key::String(text)) => text.to_string(),
                        Some(Key::Bool(flag)) => flag.to_string(),
                        Some(Key::Int(number)) => number.to_string(),
                        Some(Key::Uint(number)) => number.to_string(),
                        None => return Err(format!("unsupported key type: {}", key.type_name())),
                    };
                    fields.insert(name, value.json_at(depth)?);
                }
                Json::Object(fields)
            }
            Value::Instance(instance) => {
                let mut fields = serde_json::Map::new();
                for (name, value) in &instance.fields {
                    fields.insert(name.to_string(), value.json_at(depth)?);
                }
                Json::Object(fields)
            }
            Value::Duration(_) | Value::Timestamp(_) => super::libraries::to_text(self).into(),
            Value::Optional(Some(inner)) => inner.json_at(depth)?,
            other => {
                return Err(format!("type conversion error from '{}' to 'google.protobuf.Value'", other.type_name()));
            }
        })
    }
}
