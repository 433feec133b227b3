//! The few fields of an object by which others find it.

use std::collections::BTreeMap;

use roost_object::selector::Selector;
use serde::Deserialize;
use serde_json::Value;

use crate::metadata::Metadata;
use crate::selector;

/// What is remembered of an object.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) labels: BTreeMap<String, String>,
    /// The uid of the owner that cares for it.
    pub(super) controller: Option<String>,
    pub(super) selector: Option<Selector>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Written {
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Spec {
    selector: Value,
}

impl Summary {
    /// Reads an object; none when it is not one.
    pub(super) fn read(json: &[u8]) -> Option<Summary> {
        let written: Written = serde_json::from_slice(json).ok()?;
        let controller = written.metadata.controller().map(|owner| owner.uid.clone());
        let wanted = &written.spec.selector;
        let selector = if wanted.is_null() {
            None
        } else if wanted.get("matchLabels").is_some_and(Value::is_object) || wanted.get("matchExpressions").is_some() {
            Some(selector::read(wanted))
        } else if wanted.as_object().is_some_and(|labels| labels.values().all(Value::is_string)) {
            // A Service selects by plain labels; an empty map selects everything, which for a Service is nothing.
            Some(selector::of_labels(wanted))
        } else {
            None
        };
        Some(Summary { labels: written.metadata.labels, controller, selector })
    }

    /// Whether its selector means some labels.
    pub(super) fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }
}
