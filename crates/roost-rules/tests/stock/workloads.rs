//! Pods and what makes them.

use roost_object::field::{Errors, Path};
use roost_object::{Value, metadata};
use roost_rules::{Rules, of, pod, validate_finalizers};

use super::cases::{TIME, UID, compare, compare_causes, play, texts};

struct Outcome {
    object: Value,
    errors: Errors,
    warnings: Vec<String>,
}

/// The value in the form in which Go writes it.
fn decoded(value: &Value, kind: &'static roost_kinds::Type) -> Value {
    roost_kinds::json::decode(value.clone(), kind).expect("the case decodes").value
}

fn rules_of(object: &Value) -> (&'static Rules, &'static roost_kinds::Type, bool) {
    let api_version = object["apiVersion"].as_str().expect("an apiVersion");
    let kind = object["kind"].as_str().expect("a kind");
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let ty = roost_kinds::type_of(api_version, kind).expect("a known kind");
    let namespaced = roost_kinds::resource_of(api_version, kind).is_none_or(|resource| resource.namespaced);
    (of(group, kind), ty, namespaced)
}

fn create(body: &Value) -> Outcome {
    let (rules, ty, namespaced) = rules_of(body);
    let mut object = decoded(body, ty);
    (rules.defaults)(&mut object);
    object["metadata"]["uid"] = UID.into();
    object["metadata"]["creationTimestamp"] = TIME.into();
    if namespaced {
        object["metadata"]["namespace"] = "default".into();
    }
    (rules.prepare_create)(&mut object);
    let (mut errors, mut warnings) = (Errors::new(), Vec::new());
    let check = |name: &str, prefix: bool| rules.name.check(&object, name, prefix);
    metadata::validate(&object["metadata"], namespaced, check, &Path::new("metadata"), &mut errors);
    validate_finalizers(&object["metadata"], &mut errors);
    (rules.validate)(&object, &mut errors);
    if errors.is_empty() {
        (rules.warnings)(&object, &mut warnings);
    }
    Outcome { object: decoded(&object, ty), errors, warnings }
}

fn update(body: &Value, old: &Value, subresource: &str) -> Outcome {
    let (rules, ty, _) = rules_of(body);
    let mut object = decoded(body, ty);
    let old = decoded(old, ty);
    (rules.defaults)(&mut object);
    let (mut errors, mut warnings) = (Errors::new(), Vec::new());
    match subresource {
        "status" => {
            (rules.prepare_status_update)(&mut object, &old);
            (rules.validate_status_update)(&object, &old, &mut errors);
        }
        "ephemeralcontainers" => {
            pod::prepare_ephemeral_containers(&mut object, &old);
            pod::validate_ephemeral_containers(&object, &old, &mut errors);
        }
        "resize" => {
            pod::prepare_resize(&mut object, &old);
            pod::validate_resize(&object, &old, &mut errors);
        }
        _ => {
            (rules.prepare_update)(&mut object, &old);
            if object["spec"] != old["spec"] {
                object["metadata"]["generation"] = 2.into();
            }
            (rules.validate_update)(&object, &old, &mut errors);
            if errors.is_empty() && (rules.warns_on_update)(&object, &old) {
                (rules.warnings)(&object, &mut warnings);
            }
        }
    }
    Outcome { object: decoded(&object, ty), errors, warnings }
}

/// Says where the outcome is another than the answer.
fn differences(case: &Value) -> Vec<String> {
    let outcome = if case["old"].is_null() {
        create(&case["new"])
    } else {
        update(&case["new"], &case["old"], case["subresource"].as_str().unwrap_or_default())
    };
    let expected = &case["expect"];
    let mut found = compare_causes(case, &outcome.errors);
    let causes_are_equal = found.is_empty();
    let warnings = texts(&expected["warnings"]);
    let mut ours_once: Vec<&String> = Vec::new();
    for warning in &outcome.warnings {
        if !ours_once.contains(&warning) {
            ours_once.push(warning);
        }
    }
    if expected["causes"].is_null() && ours_once != warnings.iter().collect::<Vec<_>>() {
        found.push(format!("warnings: ours {ours_once:#?} theirs {warnings:#?}"));
    }
    if !expected["object"].is_null() && causes_are_equal {
        let mut object = outcome.object.clone();
        for name in ["generation", "resourceVersion", "managedFields"] {
            if let Some(meta) = object["metadata"].as_object_mut() {
                meta.remove(name);
            }
        }
        compare("", &object, &expected["object"], &mut found);
    }
    found
}

#[test]
fn new_pods() {
    play("pods", include_str!("answers/pod_create.json"), differences);
}

#[test]
fn changed_pods() {
    play("changed pods", include_str!("answers/pod_update.json"), differences);
}

#[test]
fn new_workloads() {
    play("new workloads", include_str!("answers/workload_create.json"), differences);
}

#[test]
fn changed_workloads() {
    play("changed workloads", include_str!("answers/workload_update.json"), differences);
}
