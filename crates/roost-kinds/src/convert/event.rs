//! Events: the same fields under other names.

use serde_json::{Map, Value};

/// What the core group and the events group call the same field.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

pub(super) fn from_core(mut fields: Map<String, Value>) -> Map<String, Value> {
    for (core, events) in NAMES {
        rename(&mut fields, core, events);
    }
    fields
}

pub(super) fn to_core(mut fields: Map<String, Value>) -> Map<String, Value> {
    for (core, events) in NAMES {
        rename(&mut fields, events, core);
    }
    fields
}

fn rename(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.remove(from) {
        fields.insert(to.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::convert::convert;

    #[test]
    fn events_keep_everything_both_ways() {
        let core = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"},
            "involvedObject": {"kind": "Pod", "name": "p"}, "message": "text", "reason": "Why", "source": {"component": "c"},
            "firstTimestamp": "2026-01-02T03:04:05Z", "lastTimestamp": null, "count": 3, "type": "Normal",
            "eventTime": null, "reportingComponent": "x", "reportingInstance": "y"
        });
        let events = convert(core.clone(), "v1", "events.k8s.io/v1").unwrap();
        assert_eq!(
            events,
            json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "a"},
                "regarding": {"kind": "Pod", "name": "p"}, "note": "text", "reason": "Why",
                "deprecatedSource": {"component": "c"}, "deprecatedFirstTimestamp": "2026-01-02T03:04:05Z",
                "deprecatedLastTimestamp": null, "deprecatedCount": 3, "type": "Normal", "eventTime": null,
                "reportingController": "x", "reportingInstance": "y"
            })
        );
        assert_eq!(convert(events, "events.k8s.io/v1", "v1").unwrap(), core);
    }
}
