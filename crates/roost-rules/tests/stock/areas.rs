//! All kinds but pods and workloads.

use roost_object::field::{Errors, Path};
use roost_object::{Value, metadata};
use roost_rules::network::service_allocation::{Pools, Refusal, allocate_for_create, allocate_for_update};
use roost_rules::{Generation, Rules, access_control::certificate, core::namespace, of};

use super::cases::{TIME, UID, compare, compare_causes, play, texts};

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
fn differences(case: &Value) -> Vec<String> {
    let outcome = if case["old"].is_null() {
        create(&case["new"])
    } else {
        update(&case["new"], &case["old"], case["subresource"].as_str().unwrap_or_default())
    };
    let expected = &case["expect"];
    let mut found = compare_causes(case, &outcome.errors);
    if !found.is_empty() {
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

#[test]
fn core() {
    play("core", include_str!("answers/core.json"), differences);
}

#[test]
fn network() {
    play("network", include_str!("answers/network.json"), differences);
}

#[test]
fn storage() {
    play("storage", include_str!("answers/storage.json"), differences);
}

#[test]
fn access() {
    play("access", include_str!("answers/access.json"), differences);
}

#[test]
fn admission() {
    play("admission", include_str!("answers/admission.json"), differences);
}

#[test]
fn devices() {
    play("devices", include_str!("answers/devices.json"), differences);
}
