//! Errors whose value the stock server shows as the JSON of a Go structure, whose fields stand in the order of the
//! structure and not of the alphabet.

use std::fmt::Write as _;

use roost_object::Value;
use roost_object::field::{Error, Kind, Path};

/// A Go structure in JSON, written field by field.
#[derive(Debug, Default)]
pub struct Shown(String);

impl Shown {
    /// A structure without fields yet.
    pub fn new() -> Self {
        Self(String::new())
    }

    /// Adds a field.
    #[must_use]
    pub fn with(self, name: &str, value: &Value) -> Self {
        self.with_json(name, &value.to_string())
    }

    /// Adds a text, which in Go is empty where there is none.
    #[must_use]
    pub fn with_text(self, name: &str, value: &Value) -> Self {
        match value {
            Value::Null => self.with_json(name, "\"\""),
            value => self.with(name, value),
        }
    }

    /// Adds a number, which in Go is zero where there is none.
    #[must_use]
    pub fn with_number(self, name: &str, value: &Value) -> Self {
        match value {
            Value::Null => self.with_json(name, "0"),
            value => self.with(name, value),
        }
    }

    /// Adds a field that is left out where there is no value.
    #[must_use]
    pub fn with_given(self, name: &str, value: &Value) -> Self {
        if crate::check::is_missing(value) { self } else { self.with(name, value) }
    }

    /// Adds a field whose value is JSON already.
    #[must_use]
    pub fn with_json(mut self, name: &str, json: &str) -> Self {
        let separator = if self.0.is_empty() { "" } else { "," };
        let _ = write!(self.0, "{separator}\"{name}\":{json}");
        self
    }

    /// The structure as JSON.
    pub fn json(&self) -> String {
        format!("{{{}}}", self.0)
    }
}

/// `Invalid value: <json>: <words>`.
pub fn invalid(path: &Path<'_>, json: &str, words: &str) -> Error {
    error(Kind::Invalid, path, format!("{json}: {words}"))
}

/// `Duplicate value: <json>`.
pub fn duplicate(path: &Path<'_>, json: &str) -> Error {
    error(Kind::Duplicate, path, json.to_owned())
}

/// `Duplicate value: <json>: <words>`.
pub fn duplicate_because(path: &Path<'_>, json: &str, words: &str) -> Error {
    error(Kind::Duplicate, path, format!("{json}: {words}"))
}

/// An error whose value is part of its words.
fn error(kind: Kind, path: &Path<'_>, detail: String) -> Error {
    Error { kind, field: path.to_string(), value: None, detail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn structures_keep_the_order_of_their_fields() {
        let shown =
            Shown::new().with_text("Name", &Value::Null).with("Port", &json!(80)).with_given("Note", &Value::Null);
        assert_eq!(
            duplicate(&Path::new("spec.ports[1]"), &shown.json()).to_string(),
            r#"spec.ports[1]: Duplicate value: {"Name":"","Port":80}"#
        );
    }
}
