//! Makes two servers' answers comparable: what is random or depends on the time becomes a placeholder that keeps
//! equality, so that the same uid seen twice is still the same.

mod credentials;
mod protobuf;
mod text;

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

pub use protobuf::describe as describe_protobuf;

/// The ports that Services get by default.
const NODE_PORTS: std::ops::RangeInclusive<u64> = 30_000..=32_767;

static GENERATED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""generateName":"([^"$]+)""#).expect("the pattern is a constant"));

static AGE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^(\d+[smhdy]){1,2}$").expect("the pattern is a constant"));

/// What was seen on one server in one sequence.
#[derive(Debug, Default)]
pub struct Normalizer {
    /// What the sequence itself says; nothing of it is random.
    literals: String,
    /// The prefixes of generated names that the sequence mentions, for names that only appear in messages.
    prefixes: Vec<Regex>,
    uids: Numbering,
    versions: Numbering,
    generated: Numbering,
    addresses: Numbering,
    ports: Numbering,
}

/// Numbers values in the order in which they are first seen.
#[derive(Debug, Default)]
struct Numbering {
    numbers: HashMap<String, usize>,
}

impl Numbering {
    fn number(&mut self, value: &str) -> usize {
        let next = self.numbers.len() + 1;
        *self.numbers.entry(value.to_owned()).or_insert(next)
    }
}

impl Normalizer {
    /// A normalizer for a sequence whose text is given.
    pub fn new(literals: String) -> Self {
        let prefixes = GENERATED
            .captures_iter(&literals)
            .filter_map(|found| {
                Regex::new(&format!("{}[bcdfghjklmnpqrstvwxz2456789]{{5}}", regex::escape(&found[1]))).ok()
            })
            .collect();
        Self { literals, prefixes, ..Self::default() }
    }

    /// Replaces in a JSON body.
    pub fn value(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) => self.object(fields),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::String(text) => *text = self.text(text),
            _ => {}
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>) {
        self.note_generated_name(fields);
        if fields.get("type").is_some_and(|kind| kind == "BOOKMARK")
            && let Some(version) =
                fields.get_mut("object").and_then(|object| object.pointer_mut("/metadata/resourceVersion"))
        {
            *version = Value::from("<collection version>");
        }
        let is_collection = fields.contains_key("items") || fields.contains_key("rows");
        if is_collection
            && let Some(Value::Object(metadata)) = fields.get_mut("metadata")
            && let Some(version) = metadata.get_mut("resourceVersion").filter(|version| *version != "")
        {
            *version = Value::from("<collection version>");
        }
        for (key, value) in fields.iter_mut() {
            self.field(key, value);
        }
        self.keys(fields);
        // Stock orders the managers by the second of their last write, which depends on the speed of the run.
        if let Some(Value::Array(managers)) = fields.get_mut("managedFields") {
            managers.sort_by_cached_key(Value::to_string);
        }
    }

    /// The keys of owned list items hold what is random, too.
    fn keys(&mut self, fields: &mut Map<String, Value>) {
        let is_item = |key: &String| key.starts_with("k:{") || key.starts_with("v:");
        let items: Vec<String> = fields.keys().filter(|key| is_item(key)).cloned().collect();
        for key in items {
            let replaced = self.text(&key);
            if let Some(value) = fields.remove(&key) {
                fields.insert(replaced, value);
            }
        }
    }

    fn field(&mut self, key: &str, value: &mut Value) {
        match (key, &mut *value) {
            ("resourceVersion", Value::String(version)) => self.version(version),
            ("continue", Value::String(token)) if !token.is_empty() => "<continue>".clone_into(token),
            ("clusterIP", Value::String(address)) => self.address(address),
            ("clusterIPs", Value::Array(addresses)) => {
                for address in addresses {
                    if let Value::String(address) = address {
                        self.address(address);
                    }
                }
            }
            ("nodePort" | "healthCheckNodePort", Value::Number(port)) => {
                let is_allocated = port.as_u64().is_some_and(|port| NODE_PORTS.contains(&port));
                if is_allocated && !self.literals.contains(&port.to_string()) {
                    *value = Value::from(format!("<port {}>", self.ports.number(&port.to_string())));
                }
            }
            (number, Value::Array(values)) if is_field_number(number) => {
                for value in values {
                    self.protobuf_value(value);
                }
            }
            ("columnDefinitions", Value::Array(columns)) => columns.iter_mut().for_each(describe_column),
            ("cells", Value::Array(cells)) => cells.iter_mut().for_each(|cell| self.cell(cell)),
            ("certificate", Value::String(certificate)) => {
                *certificate = credentials::describe_certificate(certificate);
            }
            _ => self.value(value),
        }
    }

    fn cell(&mut self, cell: &mut Value) {
        match cell {
            Value::String(text) if AGE.is_match(text) => "<age>".clone_into(text),
            other => self.value(other),
        }
    }

    /// Protobuf has no names of fields, so a text that is a known version is taken for one.
    fn protobuf_value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if self.versions.numbers.contains_key(text) => self.version(text),
            other => self.value(other),
        }
    }

    fn note_generated_name(&mut self, fields: &Map<String, Value>) {
        if let (Some(Value::String(prefix)), Some(Value::String(name))) =
            (fields.get("generateName"), fields.get("name"))
            && name.starts_with(prefix.as_str())
            && name != prefix
            && !self.literals.contains(name.as_str())
        {
            self.generated.number(name);
        }
    }

    fn version(&mut self, version: &mut String) {
        let is_number = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && version != "0" && !self.literals.contains(&format!("\"{version}\"")) {
            *version = format!("<version {}>", self.versions.number(version));
        }
    }

    fn address(&mut self, address: &mut String) {
        if address.parse::<std::net::IpAddr>().is_ok() && !self.literals.contains(address.as_str()) {
            *address = format!("<address {}>", self.addresses.number(address));
        }
    }
}

/// The prose of a column is documentation, in words of our own; that there is some is what is compared.
fn describe_column(column: &mut Value) {
    if let Some(Value::String(description)) = column.get_mut("description")
        && !description.is_empty()
    {
        "<words>".clone_into(description);
    }
}

/// Whether a key is one of those that describe protobuf.
fn is_field_number(key: &str) -> bool {
    key.len() == 3 && key.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Normalizer;

    #[test]
    fn equality_is_kept() {
        let mut normalizer = Normalizer::new(String::new());
        let mut object = json!({"metadata": {
            "uid": "5f0c1f86-6a3c-4b8d-9a51-111111111111", "resourceVersion": "271",
            "creationTimestamp": "2026-01-02T03:04:05Z", "generateName": "a-", "name": "a-x7k2p",
        }});
        normalizer.value(&mut object);
        assert_eq!(
            object,
            json!({"metadata": {
                "uid": "<uid 1>", "resourceVersion": "<version 1>", "creationTimestamp": "<time>",
                "generateName": "a-", "name": "<generated 1>",
            }})
        );
        let message =
            normalizer.text("the ResourceVersion in record (271) of a-x7k2p is 5f0c1f86-6a3c-4b8d-9a51-111111111111");
        assert_eq!(message, "the ResourceVersion in record (<version 1>) of <generated 1> is <uid 1>");
    }

    #[test]
    fn what_the_sequence_says_is_kept() {
        let mut normalizer = Normalizer::new("eventTime: 2026-01-02T03:04:05.000000Z".to_owned());
        assert_eq!(normalizer.text("2026-01-02T03:04:05.000000Z"), "2026-01-02T03:04:05.000000Z");
        assert_eq!(normalizer.text("2026-01-02T03:04:06.000001Z"), "<time with microseconds>");
    }
}
