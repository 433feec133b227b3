//! Events: what happened to an object, for those who ask with `kubectl describe`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::condition;
use crate::machine::digits;
use crate::object::{Objects, Reference};

/// Who speaks.
const COMPONENT: &str = "roost-operator";
/// The longest message that the API takes.
const LONGEST: usize = 1024;

/// Whether an event is good news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Normal,
    Warning,
}

/// Tells of something that happened to an object. The same words about the same object are one event. That an event
/// could not be written is no reason to stop.
pub(crate) async fn record(objects: &Objects, about: &Reference, uid: &str, tone: Tone, reason: &str, message: &str) {
    let document = document(about, uid, tone, reason, message, Timestamp::now());
    if let Err(error) = objects.apply(&document).await {
        tracing::debug!(%about, reason, error = crate::context::words(&error), "an event was not written");
    }
}

fn document(about: &Reference, uid: &str, tone: Tone, reason: &str, message: &str, now: Timestamp) -> Value {
    let namespace = if about.namespace.is_empty() { "default" } else { &about.namespace };
    let message: String = message.chars().take(LONGEST).collect();
    let name: String = about.name.chars().take(200).collect();
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": format!("{name}.{}", digits(&format!("{uid}/{reason}/{message}"), 16)), "namespace": namespace},
        "involvedObject": {
            "apiVersion": about.kind.api_version(), "kind": about.kind.name(),
            "namespace": about.namespace, "name": about.name, "uid": uid,
        },
        "type": match tone { Tone::Normal => "Normal", Tone::Warning => "Warning" },
        "reason": reason,
        "message": message,
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "lastTimestamp": condition::time(now),
        "count": 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Kind;

    #[test]
    fn the_same_words_are_the_same_event() {
        let about = Reference::new(Kind::Machine, "clusters-demo", "workers-1");
        let now = Timestamp::UNIX_EPOCH;
        let one = document(&about, "u", Tone::Warning, "NodeNameWrong", "words", now);
        assert_eq!(
            one["metadata"]["name"],
            document(&about, "u", Tone::Warning, "NodeNameWrong", "words", now)["metadata"]["name"]
        );
        assert_ne!(
            one["metadata"]["name"],
            document(&about, "u", Tone::Warning, "NodeNameWrong", "other", now)["metadata"]["name"]
        );
        assert_eq!(one["metadata"]["namespace"], "clusters-demo");
    }
}
