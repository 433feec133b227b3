//! Configs made of any bytes, for property tests: every field of the schema, few names, so that configs collide.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::Config;
use crate::schema::{CONFIG, Field, Join, Shape};
use crate::version::SpecVersion;

/// Any config of a version.
pub(crate) fn config(version: SpecVersion) -> impl Strategy<Value = Config> {
    proptest::collection::vec(any::<u8>(), 0..200).prop_map(move |bytes| from_bytes(version, &bytes))
}

/// Any config of any version.
pub(crate) fn any_config() -> impl Strategy<Value = Config> {
    let bytes = proptest::collection::vec(any::<u8>(), 0..200);
    (0..SpecVersion::ALL.len(), bytes).prop_map(|(version, bytes)| from_bytes(SpecVersion::ALL[version], &bytes))
}

fn from_bytes(version: SpecVersion, bytes: &[u8]) -> Config {
    let mut choices = Choices { bytes: bytes.iter().copied(), minor: version.minor() };
    let mut root = choices.record(CONFIG);
    let ignition = root.entry("ignition").or_insert_with(|| Value::Object(Map::new()));
    ignition["version"] = version.to_string().into();
    Config::from_value(Value::Object(root)).expect("a config by the schema")
}

/// Whether a value is left out when it is read.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        _ => false,
    }
}

/// Decisions, taken from bytes; when those are used up, every decision is for less.
struct Choices<'a> {
    bytes: std::iter::Copied<std::slice::Iter<'a, u8>>,
    minor: u8,
}

impl Choices<'_> {
    fn next(&mut self, limit: u8) -> u8 {
        self.bytes.next().unwrap_or(0) % limit
    }

    fn record(&mut self, fields: &'static [Field]) -> Map<String, Value> {
        let mut record = Map::new();
        let mut keys: HashSet<(&str, String)> = HashSet::new();
        let minor = self.minor;
        for field in fields.iter().filter(|field| field.since <= minor) {
            let is_key = matches!(field.name, "path" | "name" | "device" | "source" | "url");
            if !is_key && self.next(3) == 0 {
                continue;
            }
            let value = match &field.shape {
                Shape::List(shape, join) => {
                    let mut items = Vec::new();
                    for _ in 0..self.next(4) {
                        let item = self.value(field.name, shape);
                        if item.as_object().is_some_and(|fields| fields.values().all(is_nothing)) {
                            continue;
                        }
                        if let Join::Key(key) = join
                            && !keys.insert((field.group.unwrap_or(field.name), key.of(&item).into_owned()))
                        {
                            continue;
                        }
                        items.push(item);
                    }
                    Value::Array(items)
                }
                shape => self.value(field.name, shape),
            };
            record.insert(field.name.to_owned(), value);
        }
        record
    }

    fn value(&mut self, name: &str, shape: &'static Shape) -> Value {
        match shape {
            Shape::Record(fields) => Value::Object(self.record(fields)),
            Shape::List(..) => Value::Array(Vec::new()),
            Shape::Flag => (self.next(2) == 1).into(),
            Shape::Integer => self.next(4).into(),
            Shape::Text => {
                let texts: &[&str] = match name {
                    "path" | "device" | "target" => &["/a", "/a/b", "/c"],
                    "source" => &["data:,a", "https://x/y", "data:;base64,YQ=="],
                    "url" => &["http://a", "http://b"],
                    "label" => &["a", "b"],
                    _ => &["a.service", "b.service", "c.conf"],
                };
                texts[usize::from(self.next(texts.len() as u8))].into()
            }
        }
    }
}
