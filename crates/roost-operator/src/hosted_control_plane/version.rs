//! Version histories: what runs, since when, and what ran before.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::condition::time;

/// Entries that a history keeps.
const LENGTH: usize = 100;

/// A version status in the shape of a ClusterVersion's, carried on from the earlier one.
pub(crate) fn version_status(
    earlier: &Value,
    image: &str,
    version: &str,
    complete: bool,
    generation: i64,
    now: Timestamp,
) -> Value {
    json!({
        "desired": {"image": image, "version": version},
        "history": history(&earlier["history"], image, version, complete, now, true),
        "observedGeneration": generation,
        "availableUpdates": null,
    })
}

/// A version status of the control plane alone.
pub(crate) fn control_plane_version(
    earlier: &Value,
    image: &str,
    version: &str,
    complete: bool,
    generation: i64,
    now: Timestamp,
) -> Value {
    json!({
        "desired": {"image": image, "version": version},
        "history": history(&earlier["history"], image, version, complete, now, false),
        "observedGeneration": generation,
    })
}

fn history(earlier: &Value, image: &str, version: &str, complete: bool, now: Timestamp, verified: bool) -> Value {
    let mut entries = earlier.as_array().cloned().unwrap_or_default();
    let is_current = |entry: &Value| entry["image"] == image && entry["version"] == version;
    if !entries.first().is_some_and(is_current) {
        let mut entry = json!({"state": "Partial", "image": image, "version": version, "startedTime": time(now)});
        if verified {
            entry["verified"] = json!(false);
            entry["completionTime"] = Value::Null;
        }
        // One that never completed and was overtaken says when it was given up.
        if let Some(overtaken) = entries.first_mut()
            && overtaken["completionTime"].is_null()
        {
            overtaken["completionTime"] = json!(time(now));
        }
        entries.insert(0, entry);
    }
    if complete
        && let Some(entry) = entries.first_mut()
        && entry["state"] != "Completed"
    {
        entry["state"] = json!("Completed");
        entry["completionTime"] = json!(time(now));
    }
    entries.truncate(LENGTH);
    entries.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_grows_only_when_something_changes() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let first = version_status(&Value::Null, "embedded:v1", "1.36.3", false, 1, at("2026-01-01T00:00:00Z"));
        assert_eq!(first["history"][0]["state"], "Partial");
        let done = version_status(&first, "embedded:v1", "1.36.3", true, 1, at("2026-01-01T00:00:01Z"));
        assert_eq!(done["history"][0]["completionTime"], "2026-01-01T00:00:01Z");
        let same = version_status(&done, "embedded:v1", "1.36.3", true, 1, at("2026-01-02T00:00:00Z"));
        assert_eq!(same, done);
        let next = version_status(&same, "embedded:v2", "1.36.3", true, 2, at("2026-01-03T00:00:00Z"));
        assert_eq!(next["history"].as_array().map(Vec::len), Some(2));
        assert_eq!(next["history"][0]["image"], "embedded:v2");
    }
}
