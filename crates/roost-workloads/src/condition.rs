//! Conditions in a status: found by type, replaced when they say something else.

use serde_json::{Value, json};

use crate::value;

/// A condition by its type.
pub fn find<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    value::list(object, &["status", "conditions"]).iter().find(|condition| condition["type"] == kind)
}

/// Removes a condition.
pub fn remove(status: &mut Value, kind: &str) {
    let Some(conditions) = status["conditions"].as_array_mut() else { return };
    conditions.retain(|condition| condition["type"] != kind);
    if conditions.is_empty() {
        value::remove(status, &["conditions"]);
    }
}

/// Puts a condition at the end of a status, in the place of one of the same type.
pub fn replace(status: &mut Value, condition: Value) {
    let kind = value::text(&condition, &["type"]).to_owned();
    remove(status, &kind);
    match status.get_mut("conditions").and_then(Value::as_array_mut) {
        Some(conditions) => conditions.push(condition),
        None => value::set(status, &["conditions"], json!([condition])),
    }
}

/// Whether a pod's or another object's condition is true.
pub fn is_true(object: &Value, kind: &str) -> bool {
    find(object, kind).is_some_and(|condition| condition["status"] == "True")
}
