//! Events, in the lenient form of the core group and the strict one of `events.k8s.io`, and bindings.
//!
//! Both groups store the same kind, so rules see the fields of the core group.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, metadata, names};

use crate::check::{Check, Field, IMMUTABLE, Spot, text};
use crate::internal;
use crate::shown;
use crate::validate_finalizers;

/// The longest action, reason or name of an instance.
const WORD_MAX: usize = 128;
/// The longest message.
const MESSAGE_MAX: usize = 1024;

/// What may not change after creation, in the order in which changes are reported: the field, its name there, its shape.
const FIXED: [(&str, &str, &str); 14] = [
    ("involvedObject", "involvedObject", "ObjectReference"),
    ("reason", "reason", "s"),
    ("message", "message", "s"),
    ("source", "source", "EventSource"),
    ("firstTimestamp", "firstTimestamp", "t"),
    ("lastTimestamp", "lastTimestamp", "t"),
    ("count", "count", "n"),
    ("reason", "reason", "s"),
    ("type", "type", "s"),
    ("eventTime", "eventTime", "t"),
    ("action", "action", "s"),
    ("related", "related", "*ObjectReference"),
    ("reportingComponent", "reportingController", "s"),
    ("reportingInstance", "reportingInstance", "s"),
];

pub(super) fn validate(event: &Value, errors: &mut Errors) {
    validate_leniently(event, "reportingComponent", errors);
}

pub(super) fn validate_strictly(event: &Value, errors: &mut Errors) {
    validate_leniently(event, "reportingController", errors);
    metadata::validate(&event["metadata"], true, metadata::name_is_subdomain, &Path::new("metadata"), errors);
    validate_finalizers(&event["metadata"], errors);
    validate_series(event, errors);
    if event["eventTime"].is_null() {
        errors.push(Error::required(&Path::new("eventTime"), ""));
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(Error::invalid(&Path::new("type"), "", format!("has invalid value: {kind}")));
    }
    let mut unset = |name: &str, given: bool| {
        if given {
            errors.push(Error::invalid(&Path::new(name), "", "needs to be unset"));
        }
    };
    unset("firstTimestamp", !event["firstTimestamp"].is_null());
    unset("lastTimestamp", !event["lastTimestamp"].is_null());
    unset("count", event["count"].as_i64().unwrap_or_default() != 0);
    let source = &event["source"];
    unset("source", !text(source, "component").is_empty() || !text(source, "host").is_empty());
}

pub(super) fn validate_strict_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_leniently(new, "reportingController", errors);
    metadata::validate_update(&new["metadata"], &old["metadata"], &Path::new("metadata"), errors);
    validate_finalizers(&new["metadata"], errors);
    if !internal::same("*EventSeries", &new["series"], &old["series"]) {
        validate_series(new, errors);
    }
    for (field, reported, shape) in FIXED {
        if !internal::same(shape, &new[field], &old[field]) {
            errors.push(shown::invalid(&Path::new(reported), shape, &new[field], IMMUTABLE));
        }
    }
}

fn validate_series(event: &Value, errors: &mut Errors) {
    let series = &event["series"];
    if series.is_null() {
        return;
    }
    if series["count"].as_i64().unwrap_or_default() < 2 {
        errors.push(Error::invalid(&Path::new("series.count"), "", "should be at least 2"));
    }
    if series["lastObservedTime"].is_null() {
        errors.push(Error::required(&Path::new("series.lastObservedTime"), ""));
    }
}

fn validate_leniently(event: &Value, controller_field: &str, errors: &mut Errors) {
    let namespace = text(&event["metadata"], "namespace");
    let subject = text(&event["involvedObject"], "namespace");
    let timed = !event["eventTime"].is_null();
    let agrees = match (subject.is_empty(), timed) {
        (true, false) => matches!(namespace, "" | "default"),
        (true, true) => matches!(namespace, "default" | "kube-system"),
        (false, false) => namespace == subject,
        (false, true) => true,
    };
    if !agrees {
        let path = Path::new("involvedObject.namespace");
        errors.push(Error::invalid(&path, subject, "does not match event.namespace"));
    }
    if timed {
        let controller = Spot::new(&event["reportingComponent"], Path::new(controller_field));
        if !controller.filled() {
            errors.push(Error::required(&controller.path, ""));
        }
        controller.text_passes(names::is_qualified_name, errors);
        for (field, max, required) in [
            ("reportingInstance", WORD_MAX, true),
            ("action", WORD_MAX, true),
            ("reason", WORD_MAX, true),
            ("message", MESSAGE_MAX, false),
        ] {
            let path = Path::new(field);
            let length = text(event, field).len();
            if required && length == 0 {
                errors.push(Error::required(&path, ""));
            }
            if length > max {
                errors.push(Error::invalid(&path, "", format!("can have at most {max} characters")));
            }
        }
    }
    let path = Path::new("namespace");
    errors.extend(
        names::is_dns1123_subdomain(namespace).into_iter().map(|words| Error::invalid(&path, namespace, words)),
    );
}

/// Checks a request to place a pod on a node.
pub(super) fn validate_binding(binding: &Value, errors: &mut Errors) {
    static TARGET: &[Field] = &[("kind", &[Check::OneOf(&["Node", "<empty>"])]), ("name", &[Check::Required])];
    let root = Spot::root(binding);
    root.field("target").check_fields(TARGET, errors);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn the_namespace_of_the_subject_agrees() {
        let event = json!({"metadata": {"namespace": "a"}, "involvedObject": {"namespace": "b"}});
        assert_eq!(
            words(|errors| validate(&event, errors)),
            [r#"involvedObject.namespace: Invalid value: "b": does not match event.namespace"#]
        );
        let event = json!({"metadata": {"namespace": "default"}, "involvedObject": {}});
        assert!(words(|errors| validate(&event, errors)).is_empty());
    }

    #[test]
    fn timed_events_say_who_reports() {
        let event = json!({"metadata": {"namespace": "default"}, "involvedObject": {"namespace": "default"}, "eventTime": "2026-01-01T00:00:00.000000Z"});
        let found = words(|errors| validate(&event, errors));
        assert_eq!(found[0], "reportingComponent: Required value");
        assert_eq!(
            found[found.len() - 3..],
            ["reportingInstance: Required value", "action: Required value", "reason: Required value"]
        );
    }

    #[test]
    fn strict_events_change_only_their_series() {
        let old = json!({"metadata": {"name": "e", "namespace": "default", "resourceVersion": "1"}, "involvedObject": {"namespace": "default"}, "eventTime": "t",
            "reportingComponent": "a.b/c", "reportingInstance": "i", "action": "a", "reason": "r", "type": "Normal"});
        assert!(words(|errors| validate_strictly(&old, errors)).is_empty());
        let mut new = old.clone();
        new["action"] = json!("b");
        new["series"] = json!({"count": 1});
        assert_eq!(
            words(|errors| validate_strict_update(&new, &old, errors)),
            [
                r#"series.count: Invalid value: "": should be at least 2"#,
                "series.lastObservedTime: Required value",
                r#"action: Invalid value: "b": field is immutable"#
            ]
        );
    }

    #[test]
    fn bindings_name_a_node() {
        assert_eq!(
            words(|errors| validate_binding(&json!({"target": {"kind": "Pod"}}), errors)),
            [
                r#"target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>""#,
                "target.name: Required value"
            ]
        );
    }
}
