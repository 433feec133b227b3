//! Fields that stand twice in a value that a JSON patch brings. Stock puts such a value into the object as it is written, so
//! they stand twice in the object as well, unless a later operation looks into it.

use std::fmt::Write as _;

use roost_merge::json_patch;
use roost_object::Value;

/// The complaints about the patched object that follow from those about the patch.
pub(super) fn duplicates(operations: &Value, complaints: &[String], patched: &Value) -> Vec<String> {
    complaints.iter().filter_map(|complaint| carried(operations.as_array()?, complaint, patched)).collect()
}

fn carried(operations: &[Value], complaint: &str, patched: &Value) -> Option<String> {
    let (number, rest) = complaint.strip_prefix("duplicate field \"[")?.split_once("].value")?;
    let number: usize = number.parse().ok()?;
    let operation = operations.get(number)?;
    let path = text(operation, "path");
    if !matches!(text(operation, "op"), "add" | "replace") {
        return None;
    }
    let is_touched = |later: &Value| ["path", "from"].iter().any(|name| touches(text(later, name), path));
    if operations[number + 1..].iter().any(is_touched) {
        return None;
    }
    let mut place = String::new();
    let mut value = patched;
    for token in json_patch::steps(path) {
        value = match value {
            Value::Array(items) => {
                let index = if token == "-" { items.len().checked_sub(1)? } else { token.parse().ok()? };
                let _ = write!(place, "[{index}]");
                items.get(index)?
            }
            other => {
                if !place.is_empty() {
                    place.push('.');
                }
                place.push_str(&token);
                other.get(&token)?
            }
        };
    }
    (!place.is_empty()).then(|| format!("duplicate field \"{place}{rest}"))
}

fn text<'a>(operation: &'a Value, name: &str) -> &'a str {
    operation.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a path leads into what another names, or beside it, where it may move it.
fn touches(later: &str, path: &str) -> bool {
    let beside = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let is_within = |outer: &str, inner: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    !later.is_empty() && (is_within(later, path) || later == path || is_within(path, later) || is_within(beside, later))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::duplicates;

    #[test]
    fn what_stands_twice_in_a_value_stands_twice_in_the_object() {
        let patched = json!({"spec": {"list": [{}, {"a": 1}]}});
        let complaints = [r#"duplicate field "[0].value.a""#.to_owned()];
        let of = |operations| duplicates(&operations, &complaints, &patched);
        let add = json!({"op": "add", "path": "/spec/list/-", "value": {"a": 1}});
        assert_eq!(of(json!([add])), [r#"duplicate field "spec.list[1].a""#]);
        assert!(of(json!([{"op": "test", "path": "/spec/list/1", "value": {"a": 1}}])).is_empty());
        assert!(of(json!([add, {"op": "remove", "path": "/spec/list/0"}])).is_empty(), "it may have moved");
        assert!(of(json!([add, {"op": "add", "path": "/spec/list/1/b", "value": 1}])).is_empty(), "it was read");
    }
}
