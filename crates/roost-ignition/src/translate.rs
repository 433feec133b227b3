//! The same config in the words of another version of the spec.

use serde_json::{Map, Value};

use crate::schema::{Field, Shape};

/// Removes what a version has no words for, and names what had a meaning.
pub(crate) fn reduce(
    fields: &'static [Field],
    minor: u8,
    path: &str,
    record: &mut Map<String, Value>,
    lost: &mut Vec<String>,
) {
    for field in fields {
        let Some(value) = record.get_mut(field.name) else { continue };
        let below = if path.is_empty() { field.name.to_owned() } else { format!("{path}.{}", field.name) };
        if field.since > minor {
            if has_meaning(value) {
                lost.push(below);
            } else {
                record.remove(field.name);
            }
            continue;
        }
        match (&field.shape, value) {
            (Shape::Record(fields), Value::Object(record)) => reduce(fields, minor, &below, record, lost),
            (Shape::List(Shape::Record(fields), _), Value::Array(items)) => {
                for (index, item) in items.iter_mut().enumerate() {
                    if let Value::Object(record) = item {
                        reduce(fields, minor, &format!("{below}[{index}]"), record, lost);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Whether leaving a value out would change what a host becomes.
fn has_meaning(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_i64() != Some(0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => fields.values().any(has_meaning),
    }
}
