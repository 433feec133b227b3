//! Two configs become one by Ignition's own rules: the child says more, and where both speak the child is right.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::schema::{Field, Join, KeyOf, Shape};

/// Merges a child record into its parent.
pub(crate) fn records(
    fields: &'static [Field],
    mut parent: Map<String, Value>,
    mut child: Map<String, Value>,
) -> Map<String, Value> {
    let elsewhere = keys_of_groups(fields, &child);
    let mut merged = Map::new();
    for field in fields {
        let value = match (parent.remove(field.name), child.remove(field.name)) {
            (None, None) => continue,
            (Some(parent), None) => match &field.shape {
                Shape::List(..) if field.group.is_some() => lists(field, &elsewhere, parent, Value::Array(Vec::new())),
                _ => parent,
            },
            (None, Some(child)) => child,
            (Some(parent), Some(child)) => match &field.shape {
                Shape::Record(below) => match (parent, child) {
                    (Value::Object(parent), Value::Object(child)) => Value::Object(records(below, parent, child)),
                    (_, child) => child,
                },
                Shape::List(..) => lists(field, &elsewhere, parent, child),
                Shape::Text | Shape::Integer | Shape::Flag => child,
            },
        };
        if value.as_array().is_none_or(|list| !list.is_empty()) {
            merged.insert(field.name.to_owned(), value);
        }
    }
    merged
}

/// For every group of lists, the keys of the child's items and the list that each stands in.
type GroupKeys = HashMap<(&'static str, String), &'static str>;

fn keys_of_groups(fields: &'static [Field], child: &Map<String, Value>) -> GroupKeys {
    let mut keys = GroupKeys::new();
    for field in fields {
        let (Some(group), Shape::List(_, Join::Key(key))) = (field.group, &field.shape) else { continue };
        for item in child.get(field.name).and_then(Value::as_array).into_iter().flatten() {
            keys.insert((group, key.of(item).into_owned()), field.name);
        }
    }
    keys
}

fn lists(field: &'static Field, elsewhere: &GroupKeys, parent: Value, child: Value) -> Value {
    let (Value::Array(parent), Value::Array(child)) = (parent, child) else { return Value::Null };
    let Shape::List(item, join) = &field.shape else { return Value::Array(child) };
    let key = match join {
        Join::Append => return Value::Array(parent.into_iter().chain(child).collect()),
        Join::Key(key) => *key,
    };
    let parent_keys: HashSet<String> = parent.iter().map(|item| key.of(item).into_owned()).collect();
    let mut of_child: HashMap<String, Value> = HashMap::new();
    let mut new = Vec::new();
    for item in child {
        match key.of(&item) {
            Cow::Borrowed(text) if !parent_keys.contains(text) => new.push(item),
            Cow::Owned(text) if !parent_keys.contains(&text) => new.push(item),
            text => {
                let text = text.into_owned();
                of_child.insert(text, item);
            }
        }
    }
    let mut merged = Vec::with_capacity(parent.len() + new.len());
    for parent_item in parent {
        let text = key.of(&parent_item).into_owned();
        if let Some(child_item) = of_child.get(&text) {
            if matches!(key, KeyOf::Header) && child_item.get("value").is_none() {
                continue;
            }
            merged.push(items(item, parent_item, child_item.clone()));
            continue;
        }
        let moved = field.group.is_some_and(|group| elsewhere.contains_key(&(group, text)));
        if !moved {
            merged.push(parent_item);
        }
    }
    merged.extend(new);
    Value::Array(merged)
}

fn items(shape: &'static Shape, parent: Value, child: Value) -> Value {
    match (shape, parent, child) {
        (Shape::Record(fields), Value::Object(parent), Value::Object(child)) => {
            Value::Object(records(fields, parent, child))
        }
        (_, _, child) => child,
    }
}

#[cfg(test)]
#[path = "merge/tests.rs"]
mod tests;
