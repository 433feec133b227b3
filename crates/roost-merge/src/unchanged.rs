//! Whether a write changes anything but the times at which managers wrote.

use serde_json::Value;

use crate::go_text::equal;

/// Whether two states of an object are the same, apart from the times of their `managedFields`.
pub fn equal_ignoring_managed_time(left: &Value, right: &Value) -> bool {
    let (Value::Object(left), Value::Object(right)) = (left, right) else { return equal(left, right) };
    left.len() == right.len()
        && left.iter().zip(right).all(|((left_name, left), (right_name, right))| {
            left_name == right_name
                && if left_name == "metadata" { equal_metadata(left, right) } else { equal(left, right) }
        })
}

fn equal_metadata(left: &Value, right: &Value) -> bool {
    let (Value::Object(left), Value::Object(right)) = (left, right) else { return equal(left, right) };
    left.len() == right.len()
        && left.iter().zip(right).all(|((left_name, left), (right_name, right))| {
            left_name == right_name
                && if left_name == "managedFields" { equal_entries(left, right) } else { equal(left, right) }
        })
}

fn equal_entries(left: &Value, right: &Value) -> bool {
    let (Value::Array(left), Value::Array(right)) = (left, right) else { return equal(left, right) };
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal_entry(left, right))
}

fn equal_entry(left: &Value, right: &Value) -> bool {
    let (Value::Object(left), Value::Object(right)) = (left, right) else { return equal(left, right) };
    let timeless = |(name, _): &(&String, &Value)| *name != "time";
    left.iter().filter(timeless).eq(right.iter().filter(timeless))
}

/// Gives a new state the old times if nothing else differs, so that the write is none. Tells whether it did.
///
/// Stock does this for updates and patches.
pub fn revert_managed_times(old: &Value, new: &mut Value) -> bool {
    let Some(Value::Array(entries)) = old.pointer("/metadata/managedFields") else { return false };
    if entries.is_empty() || !equal_ignoring_managed_time(old, new) {
        return false;
    }
    if let Some(reverted) = new.pointer_mut("/metadata/managedFields") {
        *reverted = Value::Array(entries.clone());
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(time: &str, replicas: u32) -> Value {
        json!({
            "metadata": {"name": "a", "managedFields": [{"manager": "m", "time": time, "fieldsV1": {"f:a": {}}}]},
            "spec": {"replicas": replicas},
        })
    }

    #[test]
    fn only_times_are_ignored() {
        assert!(equal_ignoring_managed_time(&object("1", 1), &object("2", 1)));
        assert!(!equal_ignoring_managed_time(&object("1", 1), &object("1", 2)));
        let mut other = object("1", 1);
        other["metadata"]["managedFields"][0]["manager"] = json!("n");
        assert!(!equal_ignoring_managed_time(&object("1", 1), &other));
        other["metadata"]["managedFields"] = json!([]);
        assert!(!equal_ignoring_managed_time(&object("1", 1), &other));
    }

    #[test]
    fn times_go_back_when_nothing_else_changed() {
        let mut new = object("2", 1);
        assert!(revert_managed_times(&object("1", 1), &mut new));
        assert_eq!(new, object("1", 1));
        let mut new = object("2", 2);
        assert!(!revert_managed_times(&object("1", 1), &mut new));
        assert_eq!(new, object("2", 2));
    }
}
