//! Random structural schemas.

use serde_json::{Map, Value, json};

use super::drawer::Drawer;
use super::formats::{FORMATS, PATTERNS};
use super::rules;
use crate::random::Random;

/// How deep schemas nest below the fields of the object.
const LARGEST_DEPTH: u64 = 3;

/// What says only which values are good; without it a schema takes all that has its shape.
const OF_VALUES: &[&str] = &[
    "format",
    "pattern",
    "enum",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "required",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "x-kubernetes-validations",
];

/// Draws schemas, numbering the fields so that no two have the same name.
pub(super) struct Schemas {
    pub(super) random: Random,
    /// How often, in a hundred, a schema has a rule.
    pub(super) rules: u64,
    fields: u64,
}

impl Schemas {
    pub(super) fn new(random: Random) -> Self {
        Self { random, rules: 0, fields: 0 }
    }

    /// An object with so many fields at least.
    pub(super) fn object(&mut self, count: u64, depth: u64) -> Value {
        let mut properties = Map::new();
        for _ in 0..count + self.random.below(count + 1) {
            let (word, mut schema) = self.any(depth + 1);
            self.finish(&mut schema);
            self.fields += 1;
            properties.insert(format!("{word}{}", self.fields), schema);
        }
        let names: Vec<String> = properties.keys().cloned().collect();
        let mut schema = json!({"type": "object", "properties": properties});
        if !names.is_empty() && self.random.chance(30) {
            schema["required"] = json!([self.random.pick(&names)]);
        }
        self.sometimes(&mut schema, 6, "x-kubernetes-map-type", &[json!("atomic"), json!("granular")]);
        self.sometimes(&mut schema, 5, "x-kubernetes-preserve-unknown-fields", &[json!(true)]);
        self.sometimes(&mut schema, 6, "minProperties", &[json!(1), json!(2)]);
        self.sometimes(&mut schema, 4, "maxProperties", &[json!(1), json!(4)]);
        if !names.is_empty() && self.random.chance(10) {
            let (one, other) = (self.random.pick(&names).clone(), self.random.pick(&names).clone());
            let way = *self.random.pick(&["anyOf", "oneOf", "allOf"]);
            schema[way] = json!([{"required": [one]}, {"required": [other]}]);
        }
        schema
    }

    /// A schema of any kind, and the word for it.
    fn any(&mut self, depth: u64) -> (&'static str, Value) {
        let limit = if depth > LARGEST_DEPTH { 66 } else { 100 };
        match self.random.below(limit) {
            0..30 => ("text", self.text()),
            30..44 => ("integer", self.integer()),
            44..50 => ("number", self.number()),
            50..56 => ("boolean", json!({"type": "boolean"})),
            56..61 => ("mixed", json!({"x-kubernetes-int-or-string": true})),
            61..66 => ("free", self.free()),
            66..78 => ("object", self.object(1, depth)),
            78..86 => ("map", self.map(depth)),
            _ => ("list", self.list(depth)),
        }
    }

    fn text(&mut self) -> Value {
        let mut schema = json!({"type": "string"});
        match self.random.below(10) {
            0..4 => schema["format"] = json!(self.random.pick(FORMATS).name),
            4 | 5 => schema["pattern"] = json!(self.random.pick(PATTERNS).name),
            6 => schema["enum"] = json!(["a", "abc", "5"]),
            _ => {}
        }
        self.sometimes(&mut schema, 12, "minLength", &[json!(1), json!(2)]);
        self.sometimes(&mut schema, 70, "maxLength", &[json!(3), json!(20), json!(40)]);
        self.sometimes(
            &mut schema,
            5,
            "not",
            &[json!({"enum": ["b"]}), json!({"pattern": "^a"}), json!({"minLength": 4})],
        );
        let either = [json!([{"pattern": "^a"}, {"maxLength": 2}]), json!([{"enum": ["a"]}, {"enum": ["b", "a"]}])];
        self.sometimes(&mut schema, 3, "anyOf", &either);
        self.sometimes(&mut schema, 3, "oneOf", &either);
        schema
    }

    fn integer(&mut self) -> Value {
        let mut schema = json!({"type": "integer"});
        self.sometimes(&mut schema, 40, "format", &[json!("int32"), json!("int64")]);
        self.bounds(&mut schema);
        self.sometimes(&mut schema, 12, "multipleOf", &[json!(2), json!(3), json!(5)]);
        self.sometimes(&mut schema, 8, "enum", &[json!([1, 2, 3])]);
        schema
    }

    fn number(&mut self) -> Value {
        let mut schema = json!({"type": "number"});
        self.sometimes(&mut schema, 30, "format", &[json!("float"), json!("double")]);
        self.bounds(&mut schema);
        self.sometimes(&mut schema, 12, "multipleOf", &[json!(0.5), json!(0.1), json!(2)]);
        schema
    }

    fn bounds(&mut self, schema: &mut Value) {
        if self.sometimes(schema, 35, "minimum", &[json!(0), json!(1), json!(-5)]) {
            self.sometimes(schema, 30, "exclusiveMinimum", &[json!(true)]);
        }
        if self.sometimes(schema, 35, "maximum", &[json!(5), json!(10), json!(100)]) {
            self.sometimes(schema, 30, "exclusiveMaximum", &[json!(true)]);
        }
        self.sometimes(schema, 4, "not", &[json!({"enum": [1]}), json!({"maximum": 2})]);
        self.sometimes(schema, 4, "allOf", &[json!([{"minimum": 1}, {"not": {"maximum": 1}}])]);
    }

    fn free(&mut self) -> Value {
        let schemas = [
            json!({"x-kubernetes-preserve-unknown-fields": true}),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true}),
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"data": {"type": "object", "additionalProperties": {"type": "string"}}}}),
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"kind": {"enum": ["ConfigMap"], "type": "string"}}}),
        ];
        self.random.pick(&schemas).clone()
    }

    fn map(&mut self, depth: u64) -> Value {
        let (_, mut values) = self.any(depth + 1);
        self.finish(&mut values);
        let mut schema = json!({"type": "object", "additionalProperties": values});
        self.sometimes(&mut schema, 12, "minProperties", &[json!(1)]);
        self.sometimes(&mut schema, 50, "maxProperties", &[json!(1), json!(3), json!(8)]);
        self.sometimes(&mut schema, 12, "x-kubernetes-map-type", &[json!("atomic"), json!("granular")]);
        schema
    }

    fn list(&mut self, depth: u64) -> Value {
        let mut schema = json!({"type": "array"});
        match self.random.below(10) {
            0..3 => {
                let key = if self.random.chance(70) {
                    json!({"type": "string", "maxLength": 5})
                } else {
                    json!({"type": "integer"})
                };
                let mut items = self.object(1, depth + 1);
                items["properties"]["key"] = key.clone();
                items["required"] = json!(["key"]);
                let mut keys = vec!["key"];
                if self.random.chance(30) {
                    items["properties"]["second"] = json!({"type": "string", "default": "x", "maxLength": 5});
                    keys.push("second");
                }
                schema["items"] = items;
                schema["x-kubernetes-list-type"] = json!("map");
                schema["x-kubernetes-list-map-keys"] = json!(keys);
            }
            3..5 => {
                schema["items"] = if self.random.chance(60) { self.text() } else { self.integer() };
                schema["x-kubernetes-list-type"] = json!("set");
            }
            way => {
                let (_, mut items) = self.any(depth + 1);
                self.finish(&mut items);
                schema["items"] = items;
                if way < 7 {
                    schema["x-kubernetes-list-type"] = json!("atomic");
                }
            }
        }
        self.sometimes(&mut schema, 15, "minItems", &[json!(1), json!(2)]);
        self.sometimes(&mut schema, 65, "maxItems", &[json!(2), json!(4), json!(8)]);
        schema
    }

    /// What any schema may have: null, a default, rules, words.
    fn finish(&mut self, schema: &mut Value) {
        self.sometimes(schema, 10, "nullable", &[json!(true)]);
        self.sometimes(schema, 6, "description", &[json!("Says what it is."), json!("")]);
        self.sometimes(schema, 2, "title", &[json!("A title")]);
        self.sometimes(schema, 2, "example", &[json!("a"), json!({"a": 1})]);
        self.sometimes(schema, 1, "externalDocs", &[json!({"url": "https://a.example", "description": "d"})]);
        if self.random.chance(12) {
            let wrong = *self.random.pick(&[0, 0, 0, 0, 5]);
            let random = Random::new(self.random.below(u64::MAX));
            let value = Drawer { random, wrong }.value(schema);
            if !value.to_string().contains("#twice") {
                schema["default"] = value;
            }
        }
        if self.random.chance(self.rules) {
            let rules: Vec<Value> = (0..=self.random.below(2)).map(|_| rules::rule(&mut self.random, schema)).collect();
            schema["x-kubernetes-validations"] = Value::from(rules);
        }
    }

    fn sometimes(&mut self, schema: &mut Value, percent: u64, name: &str, values: &[Value]) -> bool {
        let happens = self.random.chance(percent);
        if happens {
            schema[name] = self.random.pick(values).clone();
        }
        happens
    }
}

/// The same schema without all that refuses values of its shape.
pub(super) fn loosened(schema: &Value) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let is_list_map = fields.get("x-kubernetes-list-type").is_some_and(|kind| kind == "map");
    let mut loose = Map::new();
    for (name, value) in fields {
        let value = match name.as_str() {
            name if OF_VALUES.contains(&name) => continue,
            "properties" => {
                let inner = value.as_object().into_iter().flatten();
                Value::Object(inner.map(|(name, schema)| (name.clone(), loosened(schema))).collect())
            }
            "items" | "additionalProperties" => loosened(value),
            _ => value.clone(),
        };
        loose.insert(name.clone(), value);
    }
    if is_list_map && let Some(items) = loose.get_mut("items") {
        // The keys of a list have to be there.
        items["required"] = fields["items"]["required"].clone();
    }
    Value::Object(loose)
}

/// The part of a schema that is about what a text mentions.
pub(super) fn mentioned(schema: &Value, text: &str) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let part = fields.iter().map(|(name, value)| {
        let value = match name.as_str() {
            "properties" => {
                let known = value.as_object().into_iter().flatten().filter(|(name, _)| text.contains(name.as_str()));
                Value::Object(known.map(|(name, schema)| (name.clone(), mentioned(schema, text))).collect())
            }
            "items" | "additionalProperties" => mentioned(value, text),
            _ => value.clone(),
        };
        (name.clone(), value)
    });
    Value::Object(part.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Schemas, loosened, mentioned};
    use crate::random::Random;

    #[test]
    fn a_seed_gives_the_same_schema_and_another_gives_another() {
        let draw = |seed| Schemas { rules: 20, ..Schemas::new(Random::new(seed)) }.object(5, 0);
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn loosened_schemas_keep_their_shape() {
        let item =
            json!({"type": "object", "required": ["key"], "properties": {"key": {"type": "string", "maxLength": 5}}});
        let list = json!({
            "type": "array", "maxItems": 3, "items": item,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"],
        });
        let schema =
            json!({"type": "object", "required": ["list"], "properties": {"list": list, "other": {"type": "string"}}});
        let loose = json!({"type": "object", "properties": {
            "list": {
                "type": "array",
                "items": {"type": "object", "required": ["key"], "properties": {"key": {"type": "string"}}},
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"],
            },
            "other": {"type": "string"},
        }});
        assert_eq!(loosened(&schema), loose);
        assert_eq!(
            mentioned(&loose, "list"),
            json!({"type": "object", "properties": {"list": {
                "type": "array", "items": {"type": "object", "required": ["key"], "properties": {}},
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"],
            }}})
        );
    }
}
