//! The schemas of custom definitions as documents show them.

use serde_json::{Map, Value, json};

use super::{Generation, reference};

/// How deep a schema is followed; what lies below is shown as anything. Definitions of real kinds stay far above it.
const MAX_DEPTH: usize = 200;

/// The keywords that are shown as they are.
const PLAIN: [&str; 25] = [
    "type",
    "description",
    "title",
    "externalDocs",
    "example",
    "format",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "enum",
    "maxProperties",
    "minProperties",
    "required",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
];
/// The keywords that only the third generation knows.
const THIRD_ONLY: [&str; 6] = ["nullable", "default", "allOf", "anyOf", "oneOf", "not"];
/// The keywords that are shown when they are true.
const FLAGS: [&str; 3] =
    ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"];

/// Whether a schema lets unknown fields through.
pub(super) fn keeps_unknown_fields(schema: &Value) -> bool {
    is_set(schema, "x-kubernetes-preserve-unknown-fields")
}

fn is_set(schema: &Value, flag: &str) -> bool {
    schema.get(flag) == Some(&Value::Bool(true))
}

/// A reference with words beside it.
pub(super) fn described_reference(generation: Generation, schema: &str, words: &str) -> Value {
    let target = reference(generation, schema);
    match generation {
        _ if words.is_empty() => target,
        Generation::V2 => json!({"description": words, "$ref": target["$ref"]}),
        Generation::V3 => json!({"description": words, "allOf": [target]}),
    }
}

/// Changes the properties of a schema.
pub(super) fn set_properties(schema: &mut Value, change: impl FnOnce(&mut Map<String, Value>)) {
    let properties = &mut schema["properties"];
    if !properties.is_object() {
        *properties = Value::Object(Map::new());
    }
    if let Value::Object(properties) = properties {
        change(properties);
    }
}

/// A schema as a document shows it. `embed` adds the fields that every object has.
pub(super) fn published(schema: &Value, generation: Generation, embed: &dyn Fn(&mut Map<String, Value>)) -> Value {
    Publisher { generation, embed }.schema(schema, 0)
}

struct Publisher<'a> {
    generation: Generation,
    embed: &'a dyn Fn(&mut Map<String, Value>),
}

impl Publisher<'_> {
    fn schema(&self, schema: &Value, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return json!({"x-kubernetes-preserve-unknown-fields": true});
        }
        let third = self.generation == Generation::V3;
        let mut shown = Map::new();
        for keyword in PLAIN.into_iter().chain(THIRD_ONLY.into_iter().filter(|_| third)) {
            match schema.get(keyword) {
                None | Some(Value::Null) => {}
                Some(Value::Bool(false)) if !matches!(keyword, "default" | "example") => {}
                Some(value) => {
                    shown.insert(keyword.to_owned(), value.clone());
                }
            }
        }
        for flag in FLAGS {
            if is_set(schema, flag) {
                shown.insert(flag.to_owned(), true.into());
            }
        }
        // Clients of the second generation cannot cope with lists and structs that may be something else.
        let opaque = !third && (is_set(schema, "nullable") || keeps_unknown_fields(schema));
        if let (false, Some(items)) = (opaque, schema.get("items")) {
            shown.insert("items".into(), self.schema(items, depth + 1));
        }
        if let (false, Some(Value::Object(properties))) = (opaque, schema.get("properties")) {
            let below = properties.iter().map(|(name, value)| (name.clone(), self.schema(value, depth + 1)));
            shown.insert("properties".into(), Value::Object(below.collect()));
        }
        match schema.get("additionalProperties") {
            None | Some(Value::Null) => {}
            Some(Value::Bool(allowed)) => {
                shown.insert("additionalProperties".into(), (*allowed).into());
            }
            Some(values) => {
                shown.insert("additionalProperties".into(), self.schema(values, depth + 1));
            }
        }
        if third {
            unfold(&mut shown);
        } else {
            simplify(schema, &mut shown);
        }
        let mut shown = Value::Object(shown);
        if is_set(schema, "x-kubernetes-embedded-resource") && (third || !keeps_unknown_fields(schema)) {
            set_properties(&mut shown, |properties| (self.embed)(properties));
            let mut required = shown["required"].as_array().cloned().unwrap_or_default();
            for name in ["kind", "apiVersion"] {
                if !required.iter().any(|other| other == name) {
                    required.push(name.into());
                }
            }
            shown["required"] = Value::Array(required);
        }
        shown
    }
}

/// Says in plain keywords that a value is a number or text.
fn unfold(shown: &mut Map<String, Value>) {
    if !shown.contains_key("x-kubernetes-int-or-string") {
        return;
    }
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    if shown.get("anyOf") == Some(&either) || shown.get("allOf").is_some_and(|all| all[0]["anyOf"] == either) {
        return;
    }
    if shown.contains_key("anyOf") {
        let mut all = vec![json!({"anyOf": either})];
        all.extend(shown.get("allOf").and_then(Value::as_array).cloned().unwrap_or_default());
        shown.insert("allOf".into(), all.into());
    } else {
        shown.insert("anyOf".into(), either);
    }
}

/// Leaves out what clients of the second generation would misread.
fn simplify(schema: &Value, shown: &mut Map<String, Value>) {
    let of_type = shown.get("type").and_then(Value::as_str).unwrap_or_default();
    let listless = of_type == "array" && !shown.contains_key("items");
    if is_set(schema, "nullable") || listless || (keeps_unknown_fields(schema) && of_type == "object") {
        shown.remove("type");
    }
    let nullable = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        shown.contains_key("properties") && is_set(&schema["properties"][name], "nullable")
    };
    let mut required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    required.retain(|name| !nullable(name));
    if required.is_empty() || is_set(&schema["additionalProperties"], "nullable") {
        shown.remove("required");
    } else {
        shown.insert("required".into(), required.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(schema: &Value) -> Value {
        published(schema, Generation::V2, &|_| {})
    }

    fn third(schema: &Value) -> Value {
        published(schema, Generation::V3, &|_| {})
    }

    #[test]
    fn numbers_or_texts_are_spelled_out() {
        let either = json!([{"type": "integer"}, {"type": "string"}]);
        let flag = json!({"x-kubernetes-int-or-string": true});
        assert_eq!(third(&flag), json!({"x-kubernetes-int-or-string": true, "anyOf": either}));
        assert_eq!(second(&flag), flag);
        let spelled = json!({"x-kubernetes-int-or-string": true, "allOf": [{"anyOf": either}, {"pattern": "y"}]});
        assert_eq!(third(&spelled), spelled);
    }

    #[test]
    fn the_second_generation_leaves_out_what_its_clients_misread() {
        for (schema, expected) in [
            (
                json!({"type": "object", "nullable": true, "required": ["z"], "properties": {"z": {"type": "string"}}}),
                json!({"required": ["z"]}),
            ),
            (
                json!({"type": "object", "required": ["a", "b"], "properties": {
                    "a": {"type": "string", "nullable": true, "maxLength": 3}, "b": {"type": "integer", "default": 1}}}),
                json!({"type": "object", "required": ["b"], "properties": {"a": {"maxLength": 3}, "b": {"type": "integer"}}}),
            ),
            (
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}}),
                json!({"x-kubernetes-preserve-unknown-fields": true}),
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string", "nullable": true}}),
                json!({"type": "object", "additionalProperties": {}}),
            ),
            (json!({"type": "object", "oneOf": [{"required": ["a"]}]}), json!({"type": "object"})),
        ] {
            assert_eq!(second(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let mut schema = json!({"type": "string"});
        for _ in 0..MAX_DEPTH + 50 {
            schema = json!({"type": "object", "properties": {"a": schema}});
        }
        let shown = third(&schema);
        let mut depth = 0;
        let mut place = &shown;
        while let Some(below) = place.get("properties") {
            place = &below["a"];
            depth += 1;
        }
        assert_eq!(depth, MAX_DEPTH + 1);
    }
}
