//! Finding the old value of a place, so that unchanged values may stay invalid.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::structural::{ListType, Structural, Type};

/// A place of which the new and the old value are known.
#[derive(Clone, Copy)]
pub(crate) struct Correlated<'a> {
    pub(crate) new: &'a Value,
    pub(crate) old: &'a Value,
    pub(crate) schema: &'a Structural,
}

impl<'a> Correlated<'a> {
    /// The same field of both values, if both have it and the schema knows it.
    pub(crate) fn key(self, name: &str) -> Option<Correlated<'a>> {
        let (new, old) = (self.new.as_object()?.get(name)?, self.old.as_object()?.get(name)?);
        Some(Correlated { new, old, schema: self.schema.child(name)? })
    }

    /// The old elements by key, for lists that have keys.
    pub(crate) fn elements(self) -> Elements<'a> {
        let old = self.old.as_array().map(Vec::as_slice).unwrap_or_default();
        Elements { old: KeyedElements::new(self.schema, old), schema: self.schema }
    }

    /// Whether nothing changed. Lists with keys are compared by key, and a value that the schema does not know counts
    /// as changed, as in stock.
    pub(crate) fn is_unchanged(self) -> bool {
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(old)) => {
                if new.len() != old.len() {
                    return false;
                }
                if self.schema.list_type != ListType::Map {
                    return new == old;
                }
                let elements = self.elements();
                new.iter().all(|element| elements.get(element).is_some_and(Correlated::is_unchanged))
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len() && new.keys().all(|name| self.key(name).is_some_and(Correlated::is_unchanged))
            }
            (new, old) => new == old,
        }
    }
}

/// The old elements of a list of which new elements are looked up.
pub(crate) struct Elements<'a> {
    old: KeyedElements<'a>,
    schema: &'a Structural,
}

impl<'a> Elements<'a> {
    pub(crate) fn get(&self, new: &'a Value) -> Option<Correlated<'a>> {
        let old = self.old.get(new)?;
        Some(Correlated { new, old, schema: self.schema.items.as_deref()? })
    }
}

/// The elements of a list with keys, found by key. Lists without keys find nothing.
pub(crate) struct KeyedElements<'a> {
    keys: &'a [Box<str>],
    elements: &'a [Value],
    index: OnceCell<HashMap<String, &'a Value>>,
}

impl<'a> KeyedElements<'a> {
    pub(crate) fn new(schema: &'a Structural, elements: &'a [Value]) -> Self {
        let keyed = schema.kind == Type::Array && schema.list_type == ListType::Map;
        let keys: &[Box<str>] = if keyed { &schema.list_keys } else { &[] };
        Self { keys, elements, index: OnceCell::new() }
    }

    /// The first element with the same keys.
    pub(crate) fn get(&self, element: &Value) -> Option<&'a Value> {
        if self.keys.is_empty() || self.elements.is_empty() {
            return None;
        }
        let wanted = identity(self.keys, element)?;
        let index = self.index.get_or_init(|| {
            let mut index = HashMap::with_capacity(self.elements.len());
            for element in self.elements {
                if let Some(identity) = identity(self.keys, element) {
                    index.entry(identity).or_insert(element);
                }
            }
            index
        });
        index.get(&wanted).copied()
    }
}

/// The values of an element's keys as text; none when one is missing or not a scalar.
fn identity(keys: &[Box<str>], element: &Value) -> Option<String> {
    let element = element.as_object()?;
    let mut text = String::new();
    for key in keys {
        match element.get(key.as_ref())? {
            scalar @ (Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                let _ = write!(text, "\0{scalar}");
            }
            _ => return None,
        }
    }
    Some(text)
}
