//! What a stock server answered to objects of all kinds but pods and workloads, beside what the rules make of them.
//!
//! Every case under `stock/` was sent to kube-apiserver 1.36.3 as a dry run: `new` is the body, `old` the stored object it
//! replaces, `expect` the answer. Uids and times are replaced by fixed ones.

use roost_object::field::{Errors, Path};
use roost_object::{Value, metadata};
use roost_rules::network::service_allocation::{Pools, Refusal, allocate_for_create, allocate_for_update};
use roost_rules::{Generation, Rules, access_control::certificate, core::namespace, of};

const UID: &str = "00000000-0000-0000-0000-000000000000";
const TIME: &str = "2026-01-01T00:00:00Z";

#[derive(Default)]
struct Outcome {
    object: Value,
    errors: Errors,
    warnings: Vec<String>,
    message: Option<String>,
}

struct Kind {
    rules: &'static Rules,
    ty: &'static roost_kinds::Type,
    namespaced: bool,
    is_review: bool,
    served_as: String,
    stored_as: String,
}

impl Kind {
    fn of(object: &Value) -> Self {
        let api_version = object["apiVersion"].as_str().expect("an apiVersion");
        let kind = object["kind"].as_str().expect("a kind");
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let ty = roost_kinds::type_of(api_version, kind).expect("a known kind");
        let namespaced = roost_kinds::resource_of(api_version, kind).is_some_and(|resource| resource.namespaced);
        let served_as = api_version.to_owned();
        // Both groups of events store the same objects.
        let stored_as = if group == "events.k8s.io" { "v1".to_owned() } else { served_as.clone() };
        Self { rules: of(group, kind), ty, namespaced, is_review: kind.ends_with("AccessReview"), served_as, stored_as }
    }

    /// The value in the form in which Go writes it, in the version that is stored.
    fn decode(&self, value: &Value) -> Value {
        let value = roost_kinds::json::decode(value.clone(), self.ty).expect("the case decodes").value;
        if self.stored_as == self.served_as {
            return value;
        }
        roost_kinds::convert(value, &self.served_as, &self.stored_as).expect("the case converts")
    }

    /// The value in the form in which it is stored, in the version of the case.
    fn encode(&self, value: Value) -> Value {
        let value = if self.stored_as == self.served_as {
            value
        } else {
            roost_kinds::convert(value, &self.stored_as, &self.served_as).expect("the outcome converts")
        };
        let value = roost_kinds::json::decode(value, self.ty).expect("the outcome decodes").value;
        roost_kinds::json::stored(&value, self.ty).into_owned()
    }
}

/// A cluster in which nothing is taken.
fn pools(ranges: &[ipnet::IpNet]) -> Pools<'_> {
    Pools {
        ranges,
        address_in_use: &|_| false,
        ports: roost_rules::network::allocation::NODE_PORTS,
        port_in_use: &|_| false,
        seed: 0,
        dry_run: true,
    }
}

fn refuse(refusal: Refusal) -> Outcome {
    match refusal {
        Refusal::Invalid(errors) => Outcome { errors, ..Outcome::default() },
        Refusal::Exhausted(words) | Refusal::Failed(words) => {
            Outcome { message: Some(format!("Internal error occurred: {words}")), ..Outcome::default() }
        }
    }
}

fn create(body: &Value) -> Outcome {
    let kind = Kind::of(body);
    let rules = kind.rules;
    let mut object = kind.decode(body);
    (rules.defaults)(&mut object);
    if !kind.is_review {
        object["metadata"]["uid"] = UID.into();
        object["metadata"]["creationTimestamp"] = TIME.into();
    }
    if kind.namespaced {
        object["metadata"]["namespace"] = "default".into();
    }
    let ranges = ["10.0.0.0/24".parse().expect("a range")];
    if body["kind"] == "Service"
        && let Err(refusal) = allocate_for_create(&mut object, &pools(&ranges))
    {
        return refuse(refusal);
    }
    (rules.prepare_create)(&mut object);
    (rules.stamp)(&mut object, None, TIME);
    if rules.generation != Generation::Never {
        object["metadata"]["generation"] = 1.into();
    }
    let mut outcome = Outcome::default();
    let check = |name: &str, prefix: bool| rules.name.check(&object, name, prefix);
    // Reviews are answered and not stored, so they need no names.
    if !kind.is_review {
        let path = Path::new("metadata");
        metadata::validate(&object["metadata"], kind.namespaced, check, &path, &mut outcome.errors);
    }
    (rules.validate)(&object, &mut outcome.errors);
    if outcome.errors.is_empty() {
        (rules.warnings)(&object, &mut outcome.warnings);
    }
    outcome.object = kind.encode(object);
    outcome
}

fn update(body: &Value, old: &Value, subresource: &str) -> Outcome {
    let kind = Kind::of(body);
    let rules = kind.rules;
    let (mut object, old) = (kind.decode(body), kind.decode(old));
    (rules.defaults)(&mut object);
    object["metadata"]["resourceVersion"] = "1".into();
    let mut outcome = Outcome::default();
    match subresource {
        "status" => {
            (rules.prepare_status_update)(&mut object, &old);
            object["metadata"]["resourceVersion"] = "1".into();
            (rules.stamp)(&mut object, Some(&old), TIME);
            (rules.validate_status_update)(&object, &old, &mut outcome.errors);
        }
        "approval" => {
            certificate::prepare_approval_update(&mut object, &old);
            (rules.stamp)(&mut object, Some(&old), TIME);
            certificate::validate_update(&object, &old, certificate::Part::Approval, &mut outcome.errors);
        }
        "finalize" => {
            namespace::prepare_finalize(&mut object, &old);
            namespace::validate_finalize(&object, &mut outcome.errors);
        }
        _ => {
            let ranges = ["10.0.0.0/24".parse().expect("a range")];
            if body["kind"] == "Service"
                && let Err(refusal) = allocate_for_update(&mut object, &old, &pools(&ranges))
            {
                return refuse(refusal);
            }
            (rules.prepare_update)(&mut object, &old);
            (rules.stamp)(&mut object, Some(&old), TIME);
            let parts = ["spec", "webhooks"];
            let counts = matches!(rules.generation, Generation::Spec | Generation::SpecAsSent);
            if counts && parts.iter().any(|part| object[part] != old[part]) {
                let generation = old["metadata"]["generation"].as_i64().unwrap_or_default() + 1;
                object["metadata"]["generation"] = generation.into();
            }
            (rules.validate_update)(&object, &old, &mut outcome.errors);
            if outcome.errors.is_empty() && (rules.warns_on_update)(&object, &old) {
                (rules.warnings)(&object, &mut outcome.warnings);
            }
        }
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    outcome.object = kind.encode(object);
    outcome
}

/// Says where the outcome is another than the answer.
fn differences(case: &Value, outcome: &Outcome) -> Vec<String> {
    let expected = &case["expect"];
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().map(|text| text.as_str().unwrap_or_default().to_owned()).collect()
    };
    let mut found = Vec::new();
    let mut ours: Vec<String> = outcome
        .errors
        .iter()
        .map(|error| format!("{} {}: {}", error.kind.cause(), error.field, error.body()))
        .collect();
    let mut theirs: Vec<String> = expected["causes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|cause| {
            let words = texts(cause);
            format!("{} {}: {}", words[0], words[1], words[2])
        })
        .collect();
    // Stock walks maps in random order.
    if case["unordered"] == true {
        ours.sort();
        theirs.sort();
    }
    if ours != theirs {
        found.extend(theirs.iter().filter(|line| !ours.contains(line)).map(|line| format!("missing  {line}")));
        found.extend(ours.iter().filter(|line| !theirs.contains(line)).map(|line| format!("too much {line}")));
        if found.is_empty() {
            found.push(format!("order or number: ours {ours:#?} theirs {theirs:#?}"));
        }
        return found;
    }
    if let Some(message) = expected["message"].as_str()
        && outcome.message.as_deref() != Some(message)
    {
        found.push(format!("message: ours {:?} theirs {message:?}", outcome.message));
    }
    if !expected["object"].is_null() {
        let mut warnings = outcome.warnings.clone();
        warnings.dedup();
        let expected_warnings = texts(&expected["warnings"]);
        let ours = |warning: &&String| !warning.contains("is deprecated in v1");
        if warnings != expected_warnings.iter().filter(ours).cloned().collect::<Vec<_>>() {
            found.push(format!("warnings: ours {warnings:#?} theirs {expected_warnings:#?}"));
        }
        compare("", &outcome.object, &expected["object"], &mut found);
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

fn run(area: &str, cases: &str) {
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
    assert!(failures.is_empty(), "{area}: {} of {} cases\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[test]
fn core() {
    run("core", include_str!("stock/core.json"));
}

#[test]
fn network() {
    run("network", include_str!("stock/network.json"));
}

#[test]
fn storage() {
    run("storage", include_str!("stock/storage.json"));
}

#[test]
fn access() {
    run("access", include_str!("stock/access.json"));
}

#[test]
fn admission() {
    run("admission", include_str!("stock/admission.json"));
}

#[test]
fn devices() {
    run("devices", include_str!("stock/devices.json"));
}
