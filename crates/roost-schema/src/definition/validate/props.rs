//! A schema as it is written, read the way stock reads it into its types: empty and missing are the same.

use serde_json::{Map, Value};

/// The JSON of one schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct Props<'a>(&'a Map<String, Value>);

/// What follows `items`.
pub(super) enum Items<'a> {
    /// Something that is neither a schema nor a list, which stock reads as neither.
    Nothing,
    One(Props<'a>),
    Many(Vec<Props<'a>>),
}

/// What follows `additionalProperties` and `additionalItems`.
pub(super) enum Additional<'a> {
    Allowed(bool),
    Schema(Props<'a>),
}

impl<'a> Props<'a> {
    pub(super) fn of(value: &'a Value) -> Option<Props<'a>> {
        value.as_object().map(Props)
    }

    pub(super) fn json(self) -> &'a Map<String, Value> {
        self.0
    }

    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(self, name: &str) -> &'a str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Text of which even the empty is something.
    pub(super) fn text_if_given(self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(Value::as_str)
    }

    pub(super) fn flag(self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn kind(self) -> &'a str {
        self.text("type")
    }

    pub(super) fn list(self, name: &str) -> &'a [Value] {
        self.list_if_given(name).unwrap_or_default()
    }

    /// A list of which even the empty is something.
    pub(super) fn list_if_given(self, name: &str) -> Option<&'a [Value]> {
        self.get(name).and_then(Value::as_array).map(Vec::as_slice)
    }

    pub(super) fn names(self, name: &str) -> Vec<&'a str> {
        self.list(name).iter().filter_map(Value::as_str).collect()
    }

    pub(super) fn schemas(self, name: &str) -> Vec<Props<'a>> {
        self.list(name).iter().filter_map(Props::of).collect()
    }

    pub(super) fn schema(self, name: &str) -> Option<Props<'a>> {
        self.get(name).and_then(Props::of)
    }

    /// Schemas by name, such as the properties.
    pub(super) fn named(self, name: &str) -> impl Iterator<Item = (&'a str, Props<'a>)> {
        let map = self.get(name).and_then(Value::as_object);
        map.into_iter().flatten().filter_map(|(name, schema)| Some((name.as_str(), Props::of(schema)?)))
    }

    pub(super) fn property(self, name: &str) -> Option<Props<'a>> {
        self.get("properties").and_then(|properties| properties.get(name)).and_then(Props::of)
    }

    pub(super) fn has_properties(self) -> bool {
        self.get("properties").and_then(Value::as_object).is_some_and(|properties| !properties.is_empty())
    }

    pub(super) fn items(self) -> Option<Items<'a>> {
        match self.0.get("items")? {
            Value::Null => Some(Items::Nothing),
            Value::Array(list) => Some(Items::Many(list.iter().filter_map(Props::of).collect())),
            other => Props::of(other).map(Items::One),
        }
    }

    pub(super) fn item(self) -> Option<Props<'a>> {
        match self.items()? {
            Items::One(item) => Some(item),
            Items::Nothing | Items::Many(_) => None,
        }
    }

    pub(super) fn additional(self) -> Option<Additional<'a>> {
        self.schema_or_flag("additionalProperties")
    }

    pub(super) fn additional_items(self) -> Option<Additional<'a>> {
        self.schema_or_flag("additionalItems")
    }

    fn schema_or_flag(self, name: &str) -> Option<Additional<'a>> {
        match self.get(name)? {
            Value::Bool(allowed) => Some(Additional::Allowed(*allowed)),
            other => Props::of(other).map(Additional::Schema),
        }
    }

    /// Whether this schema or one anywhere below satisfies a test.
    pub(super) fn any(self, test: &mut dyn FnMut(Props<'a>) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut found = false;
        self.for_each_part(&mut |part| found = found || part.any(test));
        found
    }

    fn for_each_part(self, visit: &mut dyn FnMut(Props<'a>)) {
        match self.items() {
            Some(Items::One(item)) => visit(item),
            Some(Items::Many(items)) => items.into_iter().for_each(&mut *visit),
            Some(Items::Nothing) | None => {}
        }
        for name in ["allOf", "anyOf", "oneOf"] {
            self.schemas(name).into_iter().for_each(&mut *visit);
        }
        for name in ["not", "additionalProperties", "additionalItems"] {
            self.schema(name).into_iter().for_each(&mut *visit);
        }
        for name in ["properties", "patternProperties", "definitions", "dependencies"] {
            self.named(name).for_each(|(_, part)| visit(part));
        }
    }
}

/// Whether a value says nothing: null, false, zero or empty.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}
