//! What a stock server answered to objects, beside what the rules make of them.
//!
//! Every case under `stock/` was sent to kube-apiserver 1.36.3 as a dry run: `new` is the body, `old` the stored object it
//! replaces, `expect` the answer. Uids and times are replaced by fixed ones.

use roost_object::field::{Errors, Path};
use roost_object::{Value, metadata};
use roost_rules::{Rules, of, pod, validate_finalizers};

const UID: &str = "00000000-0000-0000-0000-000000000000";
const TIME: &str = "2026-01-01T00:00:00Z";

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
fn differences(case: &Value, outcome: &Outcome) -> Vec<String> {
    let expected = &case["expect"];
    let mut found = Vec::new();
    let mut ours: Vec<String> = outcome
        .errors
        .iter()
        .map(|error| format!("{} {}: {}", error.kind.cause(), error.field, error.body()))
        .collect();
    let text = |cause: &Value, index: usize| cause[index].as_str().unwrap_or_default().to_owned();
    let mut theirs: Vec<String> = expected["causes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|cause| format!("{} {}: {}", text(cause, 0), text(cause, 1), text(cause, 2)))
        .collect();
    if case["unordered"] == true {
        ours.sort();
        theirs.sort();
    }
    if ours != theirs {
        for line in theirs.iter().filter(|line| !ours.contains(line)) {
            found.push(format!("missing  {line}"));
        }
        for line in ours.iter().filter(|line| !theirs.contains(line)) {
            found.push(format!("too much {line}"));
        }
        if found.is_empty() {
            found.push(format!("order or number: ours {ours:#?} theirs {theirs:#?}"));
        }
    }
    let warnings: Vec<String> = expected["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|text| text.as_str().unwrap_or_default().to_owned())
        .collect();
    let mut ours_once: Vec<&String> = Vec::new();
    for warning in &outcome.warnings {
        if !ours_once.contains(&warning) {
            ours_once.push(warning);
        }
    }
    if expected["causes"].is_null() && ours_once != warnings.iter().collect::<Vec<_>>() {
        found.push(format!("warnings: ours {ours_once:#?} theirs {warnings:#?}"));
    }
    if !expected["object"].is_null() && theirs == ours {
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

fn compare(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in one {
                compare(&format!("{path}.{key}"), value, other.get(key).unwrap_or(&Value::Null), found);
            }
            for (key, value) in other.iter().filter(|(key, _)| !one.contains_key(*key)) {
                compare(&format!("{path}.{key}"), &Value::Null, value, found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{path}[{index}]"), one, other, found);
            }
        }
        _ if ours == theirs => {}
        _ => found.push(format!("{path}: ours {ours} theirs {theirs}")),
    }
}

fn run(file: &str, cases: &str) {
    let cases: Vec<Value> = serde_json::from_str(cases).expect("a list of cases");
    let mut failures = Vec::new();
    for case in &cases {
        let outcome = if case["old"].is_null() {
            create(&case["new"])
        } else {
            update(&case["new"], &case["old"], case["subresource"].as_str().unwrap_or_default())
        };
        let found = differences(case, &outcome);
        if !found.is_empty() {
            failures.push(format!("{}:\n    {}", case["name"], found.join("\n    ")));
        }
    }
    assert!(failures.is_empty(), "{file}: {} of {} cases\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn new_pods() {
    run("pods", include_str!("stock/pod_create.json"));
}

#[test]
fn changed_pods() {
    run("changed pods", include_str!("stock/pod_update.json"));
}

#[test]
fn new_workloads() {
    run("new workloads", include_str!("stock/workload_create.json"));
}

#[test]
fn changed_workloads() {
    run("changed workloads", include_str!("stock/workload_update.json"));
}
