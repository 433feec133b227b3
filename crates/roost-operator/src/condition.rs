//! Conditions: what is so, since when and why.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// A condition's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    True,
    False,
    Unknown,
}

impl Truth {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Truth::True => "True",
            Truth::False => "False",
            Truth::Unknown => "Unknown",
        }
    }
}

/// A condition as a controller sees it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) kind: &'static str,
    pub(crate) truth: Truth,
    pub(crate) reason: String,
    pub(crate) message: String,
}

impl Condition {
    pub(crate) fn new(kind: &'static str, truth: Truth, reason: &str, message: impl Into<String>) -> Self {
        Self { kind, truth, reason: reason.to_owned(), message: message.into() }
    }

    pub(crate) fn good(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(kind, Truth::True, "AsExpected", message)
    }

    pub(crate) fn bad(kind: &'static str, reason: &str, message: impl Into<String>) -> Self {
        Self::new(kind, Truth::False, reason, message)
    }
}

/// The list to write: a condition that keeps its status keeps the time since when it has it, and those that are not
/// given are gone.
pub(crate) fn merge(earlier: &Value, now: Timestamp, generation: i64, conditions: &[Condition]) -> Value {
    let earlier = earlier.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut list: Vec<Value> = Vec::with_capacity(conditions.len());
    for condition in conditions {
        let kept = earlier
            .iter()
            .find(|before| before["type"] == condition.kind && before["status"] == condition.truth.text())
            .map(|before| before["lastTransitionTime"].clone())
            .filter(Value::is_string);
        list.push(json!({
            "type": condition.kind,
            "status": condition.truth.text(),
            "reason": condition.reason,
            "message": condition.message,
            "observedGeneration": generation,
            "lastTransitionTime": kept.unwrap_or_else(|| time(now).into()),
        }));
    }
    list.sort_by(|one, other| one["type"].as_str().cmp(&other["type"].as_str()));
    list.into()
}

/// The same for kinds whose conditions have no generation.
pub(crate) fn merge_plain(earlier: &Value, now: Timestamp, conditions: &[Condition]) -> Value {
    let mut list = merge(earlier, now, 0, conditions);
    for condition in list.as_array_mut().into_iter().flatten() {
        if let Some(condition) = condition.as_object_mut() {
            condition.remove("observedGeneration");
        }
    }
    list
}

/// The list to write when one condition is told of and all others stay as they are.
pub(crate) fn set(earlier: &Value, now: Timestamp, generation: i64, condition: Condition) -> Value {
    let kind = condition.kind;
    let Value::Array(mut list) = merge(earlier, now, generation, &[condition]) else { return earlier.clone() };
    list.extend(earlier.as_array().into_iter().flatten().filter(|other| other["type"] != kind).cloned());
    list.sort_by(|one, other| one["type"].as_str().cmp(&other["type"].as_str()));
    list.into()
}

/// A time as Kubernetes writes it.
pub(crate) fn time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The condition of a type in an object's status.
pub(crate) fn find<'a>(object: &'a Value, kind: &str) -> Option<&'a Map<String, Value>> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)?.as_object()
}

/// Whether an object's condition of a type is true.
pub(crate) fn is_true(object: &Value, kind: &str) -> bool {
    find(object, kind).is_some_and(|condition| condition.get("status").is_some_and(|status| status == "True"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stays_while_the_status_stays() {
        let (first, second): (Timestamp, Timestamp) =
            ("2026-01-01T00:00:00Z".parse().unwrap(), "2026-01-02T00:00:00Z".parse().unwrap());
        let earlier = merge(&Value::Null, first, 1, &[Condition::bad("Available", "Waiting", "not yet")]);
        let same = merge(&earlier, second, 2, &[Condition::bad("Available", "Other", "still not")]);
        assert_eq!(same[0]["lastTransitionTime"], "2026-01-01T00:00:00Z");
        assert_eq!(same[0]["reason"], "Other");
        let other = merge(&same, second, 2, &[Condition::good("Available", "")]);
        assert_eq!(other[0]["lastTransitionTime"], "2026-01-02T00:00:00Z");
        let both = set(&other, second, 3, Condition::bad("Destroyed", "Waiting", ""));
        assert_eq!((both[0].clone(), &both[1]["type"]), (other[0].clone(), &json!("Destroyed")));
        assert_eq!(set(&both, second, 3, Condition::bad("Destroyed", "Waiting", "")), both);
    }
}
