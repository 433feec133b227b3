//! Values of a schema: right ones, and as many wrong ones as wanted.

use serde_json::{Map, Number, Value, json};

use super::formats::{FORMATS, PATTERNS, PLAIN, Texts};
use crate::random::Random;

/// Stands behind the name of a field that is sent twice; `text` writes the name without it.
pub(super) const TWICE: &str = "#twice";

/// The keys of maps.
const KEYS: &[&str] = &["a", "b", "c.d", "e/f", "A", "x y"];

/// Draws values; the same numbers give the same values.
pub(super) struct Drawer {
    pub(super) random: Random,
    /// How often, in a hundred, a value is not what its schema wants.
    pub(super) wrong: u64,
}

/// The text of a body, with the fields that are there twice.
pub(super) fn text(body: &Value) -> String {
    body.to_string().replace(&format!("{TWICE}\""), "\"")
}

impl Drawer {
    /// A value for a schema.
    pub(super) fn value(&mut self, schema: &Value) -> Value {
        if self.random.chance(self.wrong) {
            return self.wrong_value(schema);
        }
        if schema["nullable"] == true && self.random.chance(15) {
            return Value::Null;
        }
        if let Some(values) = schema["enum"].as_array().filter(|values| !values.is_empty()) {
            return self.random.pick(values).clone();
        }
        if let Some(default) = schema.get("default").filter(|_| self.random.chance(15)) {
            return default.clone();
        }
        if schema["x-kubernetes-int-or-string"] == true {
            return self.random.pick(&[json!(1), json!(5), json!("5"), json!("10%"), json!("a")]).clone();
        }
        if schema["x-kubernetes-embedded-resource"] == true {
            return self.embedded();
        }
        match schema["type"].as_str() {
            Some("string") => Value::from(self.fitting_text(schema)),
            Some("integer") => json!(self.integer(schema)),
            Some("number") => self.number(schema),
            Some("boolean") => Value::Bool(self.random.chance(50)),
            Some("array") => self.list(schema),
            Some("object") => self.object(schema),
            _ => self.anything(),
        }
    }

    fn embedded(&mut self) -> Value {
        let good = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": {"a": "b"}}, "data": {"a": "b"}});
        if !self.random.chance(self.wrong * 2) {
            return good;
        }
        let bad = [
            json!({}),
            json!({"apiVersion": "v1"}),
            json!({"kind": "X", "metadata": {"name": "A_b"}, "apiVersion": "a/b/c"}),
            json!({"kind": "x y", "apiVersion": "v1", "metadata": {"labels": {"a b": "c"}, "unknown": 1}}),
            json!({"kind": "X", "apiVersion": "v1", "metadata": {"labels": {"a": 1}}}),
            json!({"kind": "X", "apiVersion": "v1", "metadata": 5}),
            json!({"kind": 5, "apiVersion": "v1"}),
            json!({"kind": "X", "apiVersion": "v1", "metadata": {"generation": "x", "finalizers": ["a"]}}),
            json!({"kind": "X", "apiVersion": "v1", "metadata": {"creationTimestamp": null, "ownerReferences": [{"uid": "u"}]}}),
        ];
        self.random.pick(&bad).clone()
    }

    fn fitting_text(&mut self, schema: &Value) -> String {
        let known = of(FORMATS, &schema["format"]).or_else(|| of(PATTERNS, &schema["pattern"]));
        if let Some(known) = known {
            return (*self.random.pick(known.good)).to_owned();
        }
        let (least, most) = (length(schema, "minLength", 0), length(schema, "maxLength", 12));
        let fitting: Vec<&str> =
            PLAIN.iter().copied().filter(|text| (least..=most).contains(&text.chars().count())).collect();
        if fitting.is_empty() { "x".repeat(least) } else { (*self.random.pick(&fitting)).to_owned() }
    }

    fn integer(&mut self, schema: &Value) -> i64 {
        let least = schema["minimum"].as_i64().unwrap_or(-1) + i64::from(schema["exclusiveMinimum"] == true);
        let most = schema["maximum"].as_i64().unwrap_or(least + 12) - i64::from(schema["exclusiveMaximum"] == true);
        let span = u64::try_from(most - least).unwrap_or_default();
        let drawn = least + i64::try_from(self.random.below(span.saturating_add(1))).unwrap_or_default();
        match schema["multipleOf"].as_i64() {
            Some(unit) if unit != 0 => drawn - drawn.rem_euclid(unit),
            _ => drawn,
        }
    }

    fn number(&mut self, schema: &Value) -> Value {
        let least = schema["minimum"].as_f64().unwrap_or(0.0);
        let part = *self.random.pick(&[0.0, 0.5, 1.0, 1.25, 2.0, 3.75]);
        Number::from_f64(least + part).map_or(json!(1), Value::Number)
    }

    fn list(&mut self, schema: &Value) -> Value {
        let least = length(schema, "minItems", 0);
        let most = length(schema, "maxItems", 4).min(least + 3);
        let count = least + self.random.below((most.saturating_sub(least) + 1) as u64) as usize;
        let mut items: Vec<Value> = (0..count).map(|_| self.value(&schema["items"])).collect();
        match schema["x-kubernetes-list-type"].as_str() {
            Some("set") if !self.random.chance(self.wrong) => {
                let mut seen = Vec::new();
                items.retain(|item| {
                    !seen.contains(item) && {
                        seen.push(item.clone());
                        true
                    }
                });
            }
            Some("map") => self.tell_apart(&mut items, schema),
            _ => {}
        }
        Value::Array(items)
    }

    /// Gives the items of a list of type map keys of their own, or mostly.
    fn tell_apart(&mut self, items: &mut [Value], schema: &Value) {
        let key = schema["x-kubernetes-list-map-keys"].get(0).and_then(Value::as_str).unwrap_or_default();
        let of_key = schema.pointer(&format!("/items/properties/{key}/type")).and_then(Value::as_str);
        for (number, item) in items.iter_mut().enumerate() {
            if let Value::Object(fields) = item
                && !self.random.chance(self.wrong)
            {
                let name = ["a", "b", "c", "d"][number % 4];
                let value = if of_key == Some("integer") { json!(number + 1) } else { json!(name) };
                fields.insert(key.to_owned(), value);
            }
        }
    }

    fn object(&mut self, schema: &Value) -> Value {
        let mut object = Map::new();
        let fields: Vec<(&String, &Value)> = schema["properties"].as_object().into_iter().flatten().collect();
        let density = *self.random.pick(&[30, 60, 90]);
        for (name, field) in fields {
            let required = schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name));
            if self.random.chance(if required { 100_u64.saturating_sub(self.wrong * 2) } else { density }) {
                let value = self.value(field);
                if self.random.chance(self.wrong / 4) {
                    object.insert(format!("{name}{TWICE}"), value.clone());
                }
                object.insert(name.clone(), value);
            }
        }
        if let Some(values) = schema.get("additionalProperties") {
            for _ in 0..self.random.below(3) {
                let key = (*self.random.pick(KEYS)).to_owned();
                let value = self.value(values);
                object.insert(key, value);
            }
        }
        let is_open = schema["x-kubernetes-preserve-unknown-fields"] == true;
        if self.random.chance(if is_open { 50 } else { self.wrong }) {
            let value = self.anything();
            object.insert((*self.random.pick(&["unknown", "other", "metadata"])).to_owned(), value);
        }
        Value::Object(object)
    }

    /// Any JSON.
    pub(super) fn anything(&mut self) -> Value {
        let values = [
            json!(null),
            json!(true),
            json!(1),
            json!(-1),
            json!(1.5),
            json!(0),
            json!("a"),
            json!(""),
            json!([]),
            json!({}),
            json!(["a", 1, null]),
            json!({"a": 1, "b": {"c": [null]}}),
            json!(9_007_199_254_740_993_i64),
            json!(1e30),
            json!(3_000_000_000_i64),
            json!(1.0),
            json!("${repeat:70:x}"),
            json!([[1], [1]]),
        ];
        self.random.pick(&values).clone()
    }

    /// A value that is most likely not what the schema wants.
    fn wrong_value(&mut self, schema: &Value) -> Value {
        let way = self.random.below(10);
        match (schema["type"].as_str(), way) {
            (Some("string"), 0..7) => {
                let known = of(FORMATS, &schema["format"]).or_else(|| of(PATTERNS, &schema["pattern"]));
                match known {
                    Some(known) => json!(self.random.pick(known.bad)),
                    None => json!(self.random.pick(PLAIN)),
                }
            }
            (Some("integer" | "number"), 0..7) => {
                let numbers = [
                    json!(0),
                    json!(-1),
                    json!(1),
                    json!(7),
                    json!(100),
                    json!(1.5),
                    json!(3_000_000_000_i64),
                    json!(i64::MAX),
                    json!(2.0),
                ];
                self.random.pick(&numbers).clone()
            }
            (Some("array"), 0..6) => {
                let mut right = Self { random: self.fork(), wrong: 0 };
                let Value::Array(mut items) = right.list(schema) else { return Value::Null };
                let more = right.value(&schema["items"]);
                match way {
                    0 => items.clear(),
                    1 | 2 => items.extend(items.clone()),
                    3 => items.extend([more.clone(), more]),
                    4 => items.push(Value::Null),
                    _ => items.extend(std::iter::repeat_n(more, 6)),
                }
                Value::Array(items)
            }
            (Some("object"), 0..6) => {
                let object = Self { random: self.fork(), wrong: 25 }.object(schema);
                if way == 0 { json!({}) } else { object }
            }
            _ => self.anything(),
        }
    }

    fn fork(&mut self) -> Random {
        Random::new(self.random.below(u64::MAX))
    }
}

/// What is known of a format or a pattern.
pub(super) fn of<'a>(known: &'a [Texts], name: &Value) -> Option<&'a Texts> {
    known.iter().find(|texts| name == texts.name)
}

fn length(schema: &Value, name: &str, default: usize) -> usize {
    schema[name].as_u64().and_then(|length| usize::try_from(length).ok()).unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Drawer, text};
    use crate::random::Random;

    #[test]
    fn right_values_are_of_their_type() {
        let schema = json!({"type": "object", "required": ["list"], "properties": {
            "list": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "integer", "minimum": 2, "maximum": 5}},
            "text": {"type": "string", "pattern": "^[a-z]+$"},
        }});
        for seed in 0..50 {
            let value = Drawer { random: Random::new(seed), wrong: 0 }.value(&schema);
            let list = value["list"].as_array().expect("a required list is there");
            assert!((1..=3).contains(&list.len()));
            assert!(list.iter().all(|item| (2..=5).contains(&item.as_i64().unwrap_or_default())));
            assert!(value.get("text").is_none_or(|text| text == "abc" || text == "z"));
        }
    }

    #[test]
    fn fields_can_be_sent_twice() {
        assert_eq!(text(&json!({"a": 1, "a#twice": 2})), r#"{"a":1,"a":2}"#);
    }
}
