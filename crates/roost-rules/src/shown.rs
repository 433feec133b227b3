//! Errors whose value the stock server shows as the JSON of one of its internal types.

use roost_object::Value;
use roost_object::field::{Error, Kind, Path};

use crate::internal;

/// `Invalid value: <json>: <words>`.
pub(crate) fn invalid(path: &Path<'_>, kind: &str, value: &Value, words: &str) -> Error {
    error(Kind::Invalid, path, format!("{}: {words}", internal::print(kind, value)))
}

/// `Duplicate value: <json>`.
pub(crate) fn duplicate(path: &Path<'_>, kind: &str, value: &Value) -> Error {
    error(Kind::Duplicate, path, internal::print(kind, value))
}

/// `Unsupported value: <json>: <words>`.
pub(crate) fn not_supported(path: &Path<'_>, kind: &str, value: &Value, supported: &[&str]) -> Error {
    let quoted: Vec<_> = supported.iter().map(|word| roost_object::field::quote(word)).collect();
    let words = format!("{}: supported values: {}", internal::print(kind, value), quoted.join(", "));
    error(Kind::NotSupported, path, words)
}

/// An error whose value is part of its words, because values keep no order of fields.
fn error(kind: Kind, path: &Path<'_>, detail: String) -> Error {
    Error { kind, field: path.to_string(), value: None, detail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn structures_keep_the_order_of_their_fields() {
        assert_eq!(
            duplicate(&Path::new("spec.ports[1]"), "NodeAddress", &json!({"address": "a"})).to_string(),
            r#"spec.ports[1]: Duplicate value: {"Type":"","Address":"a"}"#
        );
    }
}
