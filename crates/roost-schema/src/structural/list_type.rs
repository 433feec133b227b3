//! Lists whose elements must be unique, as a whole or by their keys.

use std::collections::HashMap;

use roost_object::field::{Error, Errors, Kind, Path};
use serde_json::{Map, Value};

use super::{ListType, Structural};
use crate::wording;

impl Structural {
    /// Checks that lists of type set and map hold no element twice.
    pub(crate) fn validate_lists(&self, object: &Value, path: &Path<'_>, errors: &mut Errors) {
        if self.below.keyed_lists {
            walk(object, self, path, errors);
        }
    }
}

fn walk(value: &Value, schema: &Structural, path: &Path<'_>, errors: &mut Errors) {
    if !schema.below.keyed_lists {
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                if let Some(additional) = schema.additional.schema() {
                    walk(inner, additional, &path.key(name), errors);
                }
                if let Some(property) = schema.property(name) {
                    walk(inner, property, &path.child(name), errors);
                }
            }
        }
        Value::Array(list) => {
            match schema.list_type {
                ListType::Set => {
                    for index in repeated(list.iter().map(Some)) {
                        errors.push(duplicate(&path.index(index), &list[index]));
                    }
                }
                ListType::Map => keyed(list, &schema.list_keys, path, errors),
                ListType::Unset | ListType::Atomic => {}
            }
            if let Some(items) = &schema.items {
                for (index, inner) in list.iter().enumerate() {
                    walk(inner, items, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn keyed(list: &[Value], keys: &[Box<str>], path: &Path<'_>, errors: &mut Errors) {
    if let Some(index) = list.iter().position(|element| !element.is_object() && !element.is_null()) {
        let words = "must be an object for an array of list-type map";
        errors.push(wording::error(Kind::Invalid, path.index(index).to_string(), &list[index], words.to_owned()));
        return;
    }
    if list.len() < 2 {
        return;
    }
    if let [key] = keys {
        let values = list.iter().map(|element| element.get(key.as_ref()));
        for index in repeated(values) {
            let shown: Map<_, _> =
                list[index].get(key.as_ref()).map(|value| (key.to_string(), value.clone())).into_iter().collect();
            errors.push(duplicate(&path.index(index), &Value::Object(shown)));
        }
        return;
    }
    let identities: Vec<Value> = list
        .iter()
        .map(|element| {
            let present = keys.iter().filter_map(|key| Some((key.to_string(), element.get(key.as_ref())?.clone())));
            Value::Object(present.collect())
        })
        .collect();
    for index in repeated(identities.iter().map(Some)) {
        errors.push(duplicate(&path.index(index), &identities[index]));
    }
}

fn duplicate(path: &Path<'_>, value: &Value) -> Error {
    wording::error(Kind::Duplicate, path.to_string(), value, String::new())
}

/// The places where a value occurs for the second time; further repeats are not reported.
fn repeated<'a>(values: impl Iterator<Item = Option<&'a Value>>) -> Vec<usize> {
    let mut seen: HashMap<Identity<'a>, usize> = HashMap::new();
    let mut places = Vec::new();
    for (index, value) in values.enumerate() {
        let times = seen.entry(Identity::of(value)).or_default();
        *times += 1;
        if *times == 2 {
            places.push(index);
        }
    }
    places
}

#[derive(PartialEq, Eq, Hash)]
enum Identity<'a> {
    Missing,
    Null,
    Bool(bool),
    Integer(i64),
    Float(u64),
    Text(&'a str),
    Compound(String),
}

impl<'a> Identity<'a> {
    fn of(value: Option<&'a Value>) -> Self {
        match value {
            None => Identity::Missing,
            Some(Value::Null) => Identity::Null,
            Some(Value::Bool(flag)) => Identity::Bool(*flag),
            Some(Value::Number(number)) => match number.as_i64() {
                Some(integer) => Identity::Integer(integer),
                None => Identity::Float(number.as_f64().unwrap_or_default().to_bits()),
            },
            Some(Value::String(text)) => Identity::Text(text),
            Some(compound) => Identity::Compound(compound.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn errors(schema: &Value, object: &Value) -> Vec<String> {
        let mut errors = Errors::new();
        Structural::compile(schema).unwrap().validate_lists(object, &Path::ROOT, &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn repeats_are_reported_once_per_value() {
        let schema = json!({"type": "object", "properties": {
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"],
                "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "two": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
                "items": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}},
        }});
        let object = json!({
            "set": ["x", "y", "x", "x"],
            "map": [{"a": "1"}, {"a": "2"}, {"a": "1"}, {}, {}],
            "two": [{"a": "1", "b": 1}, {"a": "1", "b": 2}, {"a": "1", "b": 1}],
        });
        assert_eq!(
            errors(&schema, &object),
            [
                r#"map[2]: Duplicate value: {"a":"1"}"#,
                "map[4]: Duplicate value: {}",
                r#"set[2]: Duplicate value: "x""#,
                r#"two[2]: Duplicate value: {"a":"1","b":1}"#,
            ]
        );
    }
}
