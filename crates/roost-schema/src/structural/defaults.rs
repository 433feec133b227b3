//! Filling in what a schema gives by default.

use std::borrow::Cow;

use serde_json::Value;

use super::Structural;

impl Structural {
    /// Drops the nulls that the schema does not allow, then fills in defaults.
    pub fn apply_defaults(&self, object: &mut Value) {
        prune_nulls(object, Some(self));
        self.fill_defaults(object);
    }

    /// Fills in defaults alone: what is applied keeps its nulls.
    pub fn fill_defaults(&self, object: &mut Value) {
        default(object, self);
    }

    /// Drops the nulls that the schema does not allow and for which it has no default.
    pub(crate) fn prune_nulls(&self, object: &mut Value) {
        prune_nulls(object, Some(self));
    }

    /// An object without those nulls, which only what is applied can have until it is stored.
    pub fn without_nulls<'a>(&self, object: &'a Value) -> Cow<'a, Value> {
        if !holds_null(object) {
            return Cow::Borrowed(object);
        }
        let mut object = object.clone();
        self.prune_nulls(&mut object);
        Cow::Owned(object)
    }

    fn refuses_null(&self) -> bool {
        !self.nullable
    }
}

fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().any(holds_null),
        Value::Array(list) => list.iter().any(holds_null),
        _ => false,
    }
}

fn prune_nulls(value: &mut Value, schema: Option<&Structural>) {
    let Some(schema) = schema else { return };
    match value {
        Value::Object(map) => map.retain(|name, inner| match schema.child(name) {
            Some(child) if inner.is_null() => !(child.refuses_null() && child.default.is_none()),
            child => {
                prune_nulls(inner, child);
                true
            }
        }),
        Value::Array(list) => {
            let items = schema.items.as_deref();
            for inner in list {
                prune_nulls(inner, items);
            }
        }
        _ => {}
    }
}

fn default(value: &mut Value, schema: &Structural) {
    if !schema.below.defaults {
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, property) in &schema.properties {
                let Some(fallback) = &property.default else { continue };
                match map.get_mut(name.as_ref()) {
                    Some(given) if given.is_null() && property.refuses_null() => given.clone_from(fallback),
                    Some(_) => {}
                    None => {
                        map.insert(name.to_string(), Value::clone(fallback));
                    }
                }
            }
            for (name, inner) in map.iter_mut() {
                if let Some(property) = schema.property(name) {
                    default(inner, property);
                } else if let Some(additional) = schema.additional.schema() {
                    replace_null(inner, additional);
                    default(inner, additional);
                }
            }
        }
        Value::Array(list) => {
            let Some(items) = schema.items.as_deref() else { return };
            for inner in list {
                replace_null(inner, items);
                default(inner, items);
            }
        }
        _ => {}
    }
}

fn replace_null(value: &mut Value, schema: &Structural) {
    if value.is_null()
        && schema.refuses_null()
        && let Some(fallback) = &schema.default
    {
        value.clone_from(fallback);
    }
}
