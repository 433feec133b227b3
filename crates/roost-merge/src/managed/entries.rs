//! The entries of `managedFields`: reading, writing, sorting, and merging the oldest.

use jiff::Timestamp;
use roost_object::field::quote;
use serde_json::{Map, Value};

use super::fields::FieldsError;
use super::set::FieldSet;
use crate::go_text;

/// How many entries of updates an object keeps; the oldest beyond it are merged, so that objects cannot grow by
/// managers that come and go.
pub(crate) const MAX_UPDATE_MANAGERS: usize = 10;

/// Whose name merged entries carry.
const ANCIENT_CHANGES: &str = "ancient-changes";

/// How a manager came to its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    /// The name in an entry.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        }
    }
}

/// What one manager owns.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The manager's name.
    pub manager: String,
    /// How it came to own the fields.
    pub operation: Operation,
    /// The version whose fields these are.
    pub api_version: String,
    /// The subresource it wrote through; empty for the main resource.
    pub subresource: String,
    /// When its fields last changed.
    pub time: Option<String>,
    /// The fields.
    pub fields: FieldSet,
}

/// All entries of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Managed {
    /// The entries, each of another manager.
    pub entries: Vec<Entry>,
}

/// Why `managedFields` do not decode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManagedError {
    /// Neither apply nor update.
    #[error("operation must be `Apply` or `Update`")]
    Operation,
    /// No version.
    #[error("apiVersion must not be empty")]
    ApiVersion,
    /// No type of fields.
    #[error("missing fieldsType in managed fields entry {0}")]
    MissingFieldsType(usize),
    /// A type of fields that nobody knows.
    #[error("invalid fieldsType {} in managed fields entry {index}", quote(.name))]
    FieldsType {
        /// The type.
        name: String,
        /// The position of the entry.
        index: usize,
    },
    /// The fields do not decode.
    #[error("error decoding versioned set: error decoding set: {0}")]
    Fields(#[from] FieldsError),
}

impl Entry {
    /// Whether two entries are the same manager's: an applier is one in all versions, an updater one a version.
    pub fn is_same_manager(&self, other: &Entry) -> bool {
        self.manager == other.manager
            && self.operation == other.operation
            && self.subresource == other.subresource
            && (self.operation == Operation::Apply || self.api_version == other.api_version)
    }

    /// The text by which stock sorts and prints managers.
    pub(crate) fn identifier(&self) -> String {
        let api_version = if self.operation == Operation::Apply { "" } else { &self.api_version };
        let fields = [
            ("manager", self.manager.as_str()),
            ("operation", self.operation.as_str()),
            ("apiVersion", api_version),
            ("subresource", &self.subresource),
        ];
        let mut text = String::from("{");
        for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
            if text.len() > 1 {
                text.push(',');
            }
            go_text::write_string(&mut text, name, true);
            text.push(':');
            go_text::write_string(&mut text, value, true);
        }
        text.push('}');
        text
    }

    fn decode(index: usize, entry: &Value) -> Result<Self, ManagedError> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err(ManagedError::Operation),
        };
        let api_version = text("apiVersion");
        if api_version.is_empty() {
            return Err(ManagedError::ApiVersion);
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(ManagedError::MissingFieldsType(index)),
            name => return Err(ManagedError::FieldsType { name: name.to_owned(), index }),
        }
        let fields = entry.get("fieldsV1").map(FieldSet::from_fields_v1).transpose()?.unwrap_or_default();
        Ok(Self {
            manager: text("manager").to_owned(),
            operation,
            api_version: api_version.to_owned(),
            subresource: text("subresource").to_owned(),
            time: entry.get("time").and_then(Value::as_str).map(in_whole_seconds),
            fields,
        })
    }

    pub(crate) fn encode(self) -> Value {
        let mut entry = Map::new();
        entry.insert("apiVersion".to_owned(), self.api_version.into());
        entry.insert("fieldsType".to_owned(), "FieldsV1".into());
        entry.insert("fieldsV1".to_owned(), self.fields.into_fields_v1());
        if !self.manager.is_empty() {
            entry.insert("manager".to_owned(), self.manager.into());
        }
        entry.insert("operation".to_owned(), self.operation.as_str().into());
        if !self.subresource.is_empty() {
            entry.insert("subresource".to_owned(), self.subresource.into());
        }
        if let Some(time) = self.time {
            entry.insert("time".to_owned(), time.into());
        }
        Value::Object(entry)
    }

    fn seconds(&self) -> i64 {
        self.time.as_deref().map_or(0, seconds)
    }
}

fn seconds(time: &str) -> i64 {
    time.parse::<Timestamp>().map_or(0, Timestamp::as_second)
}

/// Whether a time is spelled as we spell times, so that the order of texts is the order of times.
fn is_plain(time: &str) -> bool {
    time.len() == "2006-01-02T15:04:05Z".len() && time.ends_with('Z')
}

/// Sorts entries as stock writes them: appliers first, then by time, name, version and subresource.
pub(crate) fn sort_encoded(entries: &mut [Value]) {
    fn text<'e>(entry: &'e Value, name: &str) -> &'e str {
        entry.get(name).and_then(Value::as_str).unwrap_or_default()
    }
    entries.sort_by(|a, b| {
        let by = |name| text(a, name).cmp(text(b, name));
        let by_time = || match (text(a, "time"), text(b, "time")) {
            (a, b) if is_plain(a) && is_plain(b) => a.cmp(b),
            (a, b) => seconds(a).cmp(&seconds(b)),
        };
        by("operation")
            .then_with(by_time)
            .then_with(|| by("manager"))
            .then_with(|| by("apiVersion"))
            .then_with(|| by("subresource"))
    });
}

/// Times are kept in UTC and whole seconds, whatever a client sent.
fn in_whole_seconds(time: &str) -> String {
    if is_plain(time) {
        return time.to_owned();
    }
    match time.parse::<Timestamp>().map(|time| Timestamp::from_second(time.as_second())) {
        Ok(Ok(time)) => time.to_string(),
        _ => time.to_owned(),
    }
}

impl Managed {
    /// Reads `metadata.managedFields`. Of two entries of one manager the later counts.
    pub fn decode(managed_fields: &[Value]) -> Result<Self, ManagedError> {
        let mut managed = Self { entries: Vec::with_capacity(managed_fields.len()) };
        for (index, entry) in managed_fields.iter().enumerate() {
            managed.put(Entry::decode(index, entry)?);
        }
        Ok(managed)
    }

    /// Reads the entries of an object that may have none.
    pub fn of(object: &Value) -> Result<Self, ManagedError> {
        match object.pointer("/metadata/managedFields") {
            Some(Value::Array(entries)) => Self::decode(entries),
            _ => Ok(Self::default()),
        }
    }

    /// Writes the entries in stock's order: appliers first, then by time, name, version and subresource.
    pub fn encode(self) -> Vec<Value> {
        let mut entries: Vec<_> = self.entries.into_iter().map(Entry::encode).collect();
        sort_encoded(&mut entries);
        entries
    }

    /// Writes the entries into an object, or removes the field if there are none.
    pub fn store(self, object: &mut Value) {
        let entries = self.encode();
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        if entries.is_empty() {
            metadata.remove("managedFields");
        } else {
            metadata.insert("managedFields".to_owned(), Value::Array(entries));
        }
    }

    /// Whether a request asks to forget all owners: an empty list, or a list of one empty entry.
    pub fn is_reset(managed_fields: &[Value]) -> bool {
        match managed_fields {
            [] => true,
            [Value::Object(entry)] => entry.values().all(|value| value.is_null() || value.as_str() == Some("")),
            _ => false,
        }
    }

    pub(crate) fn take(&mut self, like: &Entry) -> Option<Entry> {
        let at = self.entries.iter().position(|entry| entry.is_same_manager(like))?;
        Some(self.entries.swap_remove(at))
    }

    pub(crate) fn put(&mut self, entry: Entry) {
        match self.entries.iter_mut().find(|present| present.is_same_manager(&entry)) {
            Some(present) => *present = entry,
            None => self.entries.push(entry),
        }
    }

    /// Merges the oldest updaters of each version into one entry until few enough are left.
    pub(crate) fn cap_updaters(&mut self) {
        let is_update = |entry: &&Entry| entry.operation == Operation::Update;
        let mut count = self.entries.iter().filter(is_update).count();
        if count <= MAX_UPDATE_MANAGERS {
            return;
        }
        let mut updaters: Vec<Entry> = self.entries.iter().filter(is_update).cloned().collect();
        updaters.sort_by_cached_key(|entry| (entry.seconds(), entry.identifier()));
        let mut first_of_version: Vec<&Entry> = Vec::new();
        for updater in &updaters {
            if count <= MAX_UPDATE_MANAGERS {
                break;
            }
            let Some(first) = first_of_version.iter().find(|first| first.api_version == updater.api_version) else {
                first_of_version.push(updater);
                continue;
            };
            let mut bucket =
                Entry { manager: ANCIENT_CHANGES.to_owned(), subresource: String::new(), ..updater.clone() };
            let merged = self.take(&bucket).or_else(|| self.take(first));
            bucket.fields.extend(merged.map(|entry| entry.fields).unwrap_or_default());
            self.put(bucket);
            self.take(updater);
            count -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, time: &str) -> Value {
        json!({
            "manager": manager, "operation": operation, "apiVersion": "v1", "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": {format!("f:{manager}"): {}},
        })
    }

    #[test]
    fn entries_sort_as_stock_writes_them() {
        let entries = [
            entry("b", "Update", "2024-01-01T00:00:01Z"),
            entry("a", "Update", "2024-01-01T02:00:01+01:00"),
            entry("z", "Update", "2024-01-01T00:00:00.9Z"),
            entry("c", "Apply", "2025-01-01T00:00:00Z"),
        ];
        let written = Managed::decode(&entries).unwrap().encode();
        let order: Vec<_> = written.iter().map(|entry| entry["manager"].as_str().unwrap()).collect();
        assert_eq!(order, ["c", "z", "b", "a"]);
        assert_eq!(written[1]["time"], "2024-01-01T00:00:00Z");
        assert_eq!(written[3]["time"], "2024-01-01T01:00:01Z");
    }

    #[test]
    fn bad_entries_are_named() {
        let with = |name: &str, value: Value| {
            let mut bad = entry("a", "Update", "2024-01-01T00:00:00Z");
            bad[name] = value;
            Managed::decode(&[bad]).unwrap_err().to_string()
        };
        assert_eq!(with("operation", json!("Delete")), "operation must be `Apply` or `Update`");
        assert_eq!(with("apiVersion", json!("")), "apiVersion must not be empty");
        assert_eq!(with("fieldsType", json!("")), "missing fieldsType in managed fields entry 0");
        assert_eq!(with("fieldsType", json!("V2")), r#"invalid fieldsType "V2" in managed fields entry 0"#);
    }

    #[test]
    fn an_empty_list_and_one_empty_entry_reset() {
        assert!(Managed::is_reset(&[]));
        assert!(Managed::is_reset(&[json!({})]));
        assert!(!Managed::is_reset(&[json!({"manager": "a"})]));
        assert!(!Managed::is_reset(&[json!({}), json!({})]));
    }

    #[test]
    fn the_oldest_updaters_are_merged() {
        let mut managed = Managed::default();
        for number in 0..13 {
            let raw = entry(&format!("m{number:02}"), "Update", &format!("2024-01-01T00:00:{number:02}Z"));
            managed.put(Entry::decode(0, &raw).unwrap());
        }
        managed.cap_updaters();
        let written = managed.encode();
        assert_eq!(written.len(), 10);
        assert_eq!(written[0]["manager"], "ancient-changes");
        assert_eq!(written[0]["time"], "2024-01-01T00:00:03Z");
        assert_eq!(written[0]["fieldsV1"], json!({"f:m00": {}, "f:m01": {}, "f:m02": {}, "f:m03": {}}));
        assert_eq!(written[1]["manager"], "m04");
    }
}
