//! Looking into objects: dotted paths, and the texts that several kinds share.

use serde_json::{Map, Value};

/// The value at a dotted path.
pub(crate) fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(object, |value, name| value.get(name))
}

pub(crate) fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The text at a path, unless it is empty.
pub(crate) fn filled<'a>(object: &'a Value, path: &str) -> Option<&'a str> {
    at(object, path).and_then(Value::as_str).filter(|text| !text.is_empty())
}

pub(crate) fn integer(object: &Value, path: &str) -> i64 {
    at(object, path).and_then(Value::as_i64).unwrap_or_default()
}

pub(crate) fn flag(object: &Value, path: &str) -> bool {
    at(object, path).and_then(Value::as_bool).unwrap_or_default()
}

pub(crate) fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    at(object, path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub(crate) fn count(object: &Value, path: &str) -> usize {
    match at(object, path) {
        Some(Value::Array(list)) => list.len(),
        Some(Value::Object(map)) => map.len(),
        _ => 0,
    }
}

/// A number, a quantity or an int-or-string as its text.
pub(crate) fn plain(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => "0".to_owned(),
    }
}

pub(crate) fn being_deleted(object: &Value) -> bool {
    filled(object, "metadata.deletionTimestamp").is_some()
}

/// The first condition of a type in a list of conditions.
pub(crate) fn condition<'a>(conditions: &'a [Value], r#type: &str) -> Option<&'a Value> {
    conditions.iter().find(|condition| text(condition, "type") == r#type)
}

pub(crate) fn condition_holds(conditions: &[Value], r#type: &str) -> bool {
    condition(conditions, r#type).is_some_and(|condition| text(condition, "status") == "True")
}

/// Labels as `a=b,c=d`, or `<none>`.
pub(crate) fn labels(labels: Option<&Value>) -> String {
    let text = labels.and_then(Value::as_object).map(pairs).unwrap_or_default();
    if text.is_empty() { "<none>".to_owned() } else { text }
}

fn pairs(labels: &Map<String, Value>) -> String {
    let pairs: Vec<_> =
        labels.iter().map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    pairs.join(",")
}

/// A label selector as a query string; none if it cannot be one.
pub(crate) fn selector(selector: Option<&Value>) -> Option<String> {
    let Some(selector) = selector else { return Some(String::new()) };
    let mut terms: Vec<(&str, String)> = Vec::new();
    for (key, value) in at(selector, "matchLabels").and_then(Value::as_object).into_iter().flatten() {
        terms.push((key, format!("{key}={}", value.as_str().unwrap_or_default())));
    }
    for expression in list(selector, "matchExpressions") {
        let key = text(expression, "key");
        let mut values: Vec<_> = list(expression, "values").iter().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let term = match (text(expression, "operator"), values.is_empty()) {
            ("In", false) => format!("{key} in ({})", values.join(",")),
            ("NotIn", false) => format!("{key} notin ({})", values.join(",")),
            ("Exists", true) => key.to_owned(),
            ("DoesNotExist", true) => format!("!{key}"),
            _ => return None,
        };
        terms.push((key, term));
    }
    terms.sort_by(|left, right| left.0.cmp(right.0));
    Some(terms.into_iter().map(|(_, term)| term).collect::<Vec<_>>().join(","))
}

/// The first three entries and how many more there are.
pub(crate) fn first_three(entries: &[String], none: &str) -> String {
    const SHOWN: usize = 3;
    match entries.len() {
        0 => none.to_owned(),
        count if count > SHOWN => format!("{} + {} more...", entries[..SHOWN].join(","), count - SHOWN),
        _ => entries.join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_read_as_queries() {
        let value = json!({"matchLabels": {"b": "2"}, "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["y", "x"]}, {"key": "a", "operator": "Exists"},
            {"key": "d", "operator": "DoesNotExist"}, {"key": "e", "operator": "NotIn", "values": ["z"]}]});
        assert_eq!(selector(Some(&value)).as_deref(), Some("a,b=2,c in (x,y),!d,e notin (z)"));
        assert_eq!(selector(None).as_deref(), Some(""));
        assert_eq!(selector(Some(&json!({"matchExpressions": [{"key": "a", "operator": "In"}]}))), None);
    }
}
