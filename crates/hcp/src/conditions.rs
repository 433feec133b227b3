//! Conditions as objects carry them, and how long ago something was.

use jiff::Timestamp;
use serde_json::Value;

/// One condition of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition<'a> {
    pub(crate) kind: &'a str,
    pub(crate) status: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
    pub(crate) since: Option<Timestamp>,
}

impl Condition<'_> {
    pub(crate) fn is_true(&self) -> bool {
        self.status == "True"
    }

    pub(crate) fn is_false(&self) -> bool {
        self.status == "False"
    }
}

/// All conditions of an object, in its order.
pub(crate) fn conditions(object: &Value) -> impl Iterator<Item = Condition<'_>> {
    object["status"]["conditions"].as_array().into_iter().flatten().map(|condition| {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        Condition {
            kind: text("type"),
            status: text("status"),
            reason: text("reason"),
            message: text("message"),
            since: text("lastTransitionTime").parse().ok(),
        }
    })
}

/// The condition of a type.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<Condition<'a>> {
    conditions(object).find(|condition| condition.kind == kind)
}

/// A time span as kubectl writes ages: the largest unit, and the next one while it still matters.
pub(crate) fn age(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |large: i64, unit: char, small: i64, small_unit: char| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{small}{small_unit}") }
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, 'd', hours % 24, 'h'),
        _ => format!("{days}d"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{age, condition};

    #[test]
    fn conditions_are_found() {
        let object = json!({"status": {"conditions": [
            {"type": "Available", "status": "False", "reason": "Waiting", "message": "for etcd",
             "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}});
        let found = condition(&object, "Available").unwrap();
        assert!(found.is_false());
        assert_eq!((found.reason, found.message), ("Waiting", "for etcd"));
        assert_eq!(condition(&object, "Degraded"), None);
        assert_eq!(condition(&json!({}), "Available"), None);
    }

    #[test]
    fn ages_are_short() {
        let cases = [
            (-1, "0s"),
            (119, "119s"),
            (185, "3m5s"),
            (180, "3m"),
            (660, "11m"),
            (11_400, "3h10m"),
            (200_000, "2d7h"),
            (999_999, "11d"),
        ];
        for (seconds, text) in cases {
            assert_eq!(age(seconds), text);
        }
    }
}
