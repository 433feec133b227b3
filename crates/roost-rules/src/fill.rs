//! The vocabulary of defaults: filling in what the caller left out.

use roost_object::{Map, Quantity, Value};

/// Ways to fill in fields of an object.
pub trait Fill {
    /// Sets a field that is absent or null.
    fn fill(&mut self, name: &str, value: impl Into<Value>);
    /// Sets a text that is absent or empty.
    fn fill_text(&mut self, name: &str, text: &str);
    /// Sets a number that is absent or zero.
    fn fill_number(&mut self, name: &str, number: i64);
    /// Sets a field, whatever it was.
    fn put(&mut self, name: &str, value: impl Into<Value>);
    /// The field, if it is there and not null.
    fn at(&mut self, name: &str) -> Option<&mut Value>;
    /// The field, which becomes an empty object if it is not there.
    fn at_or_empty(&mut self, name: &str) -> &mut Value;
    /// The elements of a list in a field.
    fn each(&mut self, name: &str) -> std::slice::IterMut<'_, Value>;
    /// Takes a field away.
    fn drop_field(&mut self, name: &str);
}

impl Fill for Value {
    fn fill(&mut self, name: &str, value: impl Into<Value>) {
        set_if(self, name, Value::is_null, || value.into());
    }

    fn fill_text(&mut self, name: &str, text: &str) {
        set_if(self, name, |found| found.is_null() || found == "", || text.into());
    }

    fn fill_number(&mut self, name: &str, number: i64) {
        set_if(self, name, |found| found.is_null() || found == 0, || number.into());
    }

    fn put(&mut self, name: &str, value: impl Into<Value>) {
        set_if(self, name, |_| true, || value.into());
    }

    fn at(&mut self, name: &str) -> Option<&mut Value> {
        self.get_mut(name).filter(|value| !value.is_null())
    }

    fn at_or_empty(&mut self, name: &str) -> &mut Value {
        if !self.is_object() {
            *self = Value::Object(Map::new());
        }
        self.fill(name, Map::new());
        &mut self[name]
    }

    fn each(&mut self, name: &str) -> std::slice::IterMut<'_, Value> {
        match self.get_mut(name) {
            Some(Value::Array(list)) => list.iter_mut(),
            _ => [].iter_mut(),
        }
    }

    fn drop_field(&mut self, name: &str) {
        if let Value::Object(map) = self {
            map.remove(name);
        }
    }
}

fn set_if(object: &mut Value, name: &str, missing: impl Fn(&Value) -> bool, value: impl FnOnce() -> Value) {
    let Value::Object(map) = object else { return };
    match map.get_mut(name) {
        Some(found) if missing(found) => *found = value(),
        Some(_) => {}
        None => {
            map.insert(name.to_owned(), value());
        }
    }
}

/// Writes the quantities of a resource list as the API prints them, rounded up to thousandths.
pub fn round_resource_list(list: Option<&mut Value>) {
    let Some(map) = list.and_then(Value::as_object_mut) else { return };
    for value in map.values_mut() {
        let Ok(mut quantity) = Quantity::from_value(value) else { continue };
        quantity.round_up_to_milli();
        let printed = quantity.to_string();
        if value.as_str() != Some(&printed) {
            *value = printed.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_missing_is_filled() {
        let mut value = json!({"a": null, "b": "", "c": 0, "d": 5});
        value.fill("a", 1);
        value.fill_text("b", "x");
        value.fill_number("c", 3);
        value.fill_number("d", 3);
        value.at_or_empty("e").fill("f", true);
        assert_eq!(value, json!({"a": 1, "b": "x", "c": 3, "d": 5, "e": {"f": true}}));
        assert!(value.at("z").is_none());
    }

    #[test]
    fn resource_lists_are_rounded_and_canonical() {
        let mut value = json!({"cpu": 0.5, "memory": "1024Ki", "a.b/c": "1u"});
        round_resource_list(Some(&mut value));
        assert_eq!(value, json!({"cpu": "500m", "memory": "1Mi", "a.b/c": "1m"}));
    }
}
