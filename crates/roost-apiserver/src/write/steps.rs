//! The steps of a write in which kinds differ: each asks the rules of a built-in kind or the schema of a custom one.

use std::borrow::Cow;

use roost_object::field::{Error, Errors, Path};
use roost_object::{Map, Status, Value, metadata};
use roost_rules::access_control::certificate::{self, Part};
use roost_rules::core::namespace;
use roost_rules::{Generation, NameRule, Rules, pod};

use super::{Target, admin_access, metadata_checks, metadata_mut, metadata_text};
use crate::clock;
use crate::resource::{Origin, Resource};

/// Brings a decoded object from the served version to the stored one.
pub(crate) fn convert_to_storage(resource: &Resource, object: Value) -> Result<Value, Status> {
    convert(object, &resource.api_version, &resource.storage_api_version(), resource)
}

/// Brings a stored object to the served version.
pub(crate) fn convert_from_storage(resource: &Resource, object: Value) -> Result<Value, Status> {
    convert(object, &resource.storage_api_version(), &resource.api_version, resource)
}

fn convert(mut object: Value, from: &str, to: &str, resource: &Resource) -> Result<Value, Status> {
    match &resource.origin {
        Origin::BuiltIn(..) if from == to => Ok(object),
        Origin::BuiltIn(..) => {
            roost_kinds::convert(object, from, to).map_err(|error| Status::internal(error.to_string()))
        }
        // A webhook has converted it, or will.
        Origin::Custom(_) if resource.webhook().is_some() => Ok(object),
        Origin::Custom(_) => {
            if let Some(fields) = object.as_object_mut() {
                fields.insert("apiVersion".into(), to.into());
            }
            Ok(object)
        }
    }
}

/// Fills in what the caller left out.
pub(crate) fn apply_defaults(resource: &Resource, object: &mut Value) {
    match &resource.origin {
        Origin::BuiltIn(_, rules) => (rules.defaults)(object),
        Origin::Custom(custom) => {
            if let Some(schema) = &custom.version().schema {
                schema.apply_defaults(object);
            }
        }
    }
}

/// Drops what a caller may not set on create, and starts the generation.
pub(crate) fn prepare_create(resource: &Resource, object: &mut Value) {
    let generation = match &resource.origin {
        Origin::BuiltIn(_, rules) => {
            (rules.prepare_create)(object);
            (rules.stamp)(object, None, &clock::now_text());
            fill_zeros(resource, object);
            rules.generation
        }
        Origin::Custom(custom) => {
            if custom.version().status {
                roost_rules::drop_status(object);
            }
            Generation::Spec
        }
    };
    if generation != Generation::Never {
        metadata_mut(object).insert("generation".into(), 1.into());
    }
}

/// Puts back the parts that Go's encoder always writes, such as an empty status, where a rule took them away.
fn fill_zeros(resource: &Resource, object: &mut Value) {
    let (Some(empty), Some(fields)) = (resource.empty_stored().as_object(), object.as_object_mut()) else { return };
    for (name, value) in empty {
        if name != "metadata" && !fields.contains_key(name) {
            fields.insert(name.clone(), value.clone());
        }
    }
}

/// Carries over what an update may not touch, and moves the generation.
pub(crate) fn prepare_update(target: &Target<'_>, new: &mut Value, old: &Value) {
    keep_metadata(new, old, "generation");
    let generation = match &target.resource.origin {
        Origin::BuiltIn(_, rules) => {
            match subresource_strategy(target.subresource, rules) {
                Some(strategy) => keep_managed_fields(new, old, strategy),
                None => (rules.prepare_update)(new, old),
            }
            (rules.stamp)(new, Some(old), &clock::now_text());
            fill_zeros(target.resource, new);
            match target.subresource {
                "status" | "approval" | "finalize" => Generation::Never,
                _ => rules.generation,
            }
        }
        Origin::Custom(custom) => {
            if target.subresource == "status" {
                keep_managed_fields(new, old, roost_rules::keep_all_but_status);
                return;
            }
            if custom.version().status {
                roost_rules::keep_status(new, old);
            }
            Generation::SpecAsSent
        }
    };
    let moves = |new: &Value, old: &Value| match generation {
        Generation::Never | Generation::Once => false,
        Generation::Spec | Generation::SpecAsSent => differs_outside_metadata(new, old, target.resource),
        Generation::SpecOrAnnotations => {
            differs_outside_metadata(new, old, target.resource)
                || new["metadata"]["annotations"] != old["metadata"]["annotations"]
        }
    };
    let moves_compared = || moves(&target.resource.compared(new), &target.resource.compared(old));
    if moves(new, old) && (generation == Generation::SpecAsSent || moves_compared()) {
        let next = old["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
        metadata_mut(new).insert("generation".into(), next.into());
    }
}

type Strategy = fn(&mut Value, &Value);

/// What a subresource of a built-in kind takes from the caller.
fn subresource_strategy(subresource: &str, rules: &Rules) -> Option<Strategy> {
    match subresource {
        "status" => Some(rules.prepare_status_update),
        "finalize" => Some(namespace::prepare_finalize),
        "approval" => Some(certificate::prepare_approval_update),
        "ephemeralcontainers" => Some(pod::prepare_ephemeral_containers),
        "resize" => Some(pod::prepare_resize),
        _ => None,
    }
}

/// Runs a strategy that takes all metadata from the old object, and puts back what the server itself keeps there.
fn keep_managed_fields(new: &mut Value, old: &Value, strategy: Strategy) {
    let managed = new["metadata"].get("managedFields").cloned();
    let resource_version = new["metadata"].get("resourceVersion").cloned();
    strategy(new, old);
    let metadata = metadata_mut(new);
    for (name, value) in [("managedFields", managed), ("resourceVersion", resource_version)] {
        match value {
            Some(value) => metadata.insert(name.into(), value),
            None => metadata.remove(name),
        };
    }
}

fn keep_metadata(new: &mut Value, old: &Value, name: &str) {
    match old["metadata"].get(name) {
        Some(value) => metadata_mut(new).insert(name.to_owned(), value.clone()),
        None => metadata_mut(new).remove(name),
    };
}

/// Whether anything but metadata changed, and but status where that is a subresource.
fn differs_outside_metadata(new: &Value, old: &Value, resource: &Resource) -> bool {
    let status_counts = resource.as_custom().is_some_and(|custom| !custom.version().status);
    let counts = |name: &str| match name {
        "metadata" | "apiVersion" | "kind" => false,
        "status" => status_counts,
        _ => true,
    };
    let (Some(new), Some(old)) = (new.as_object(), old.as_object()) else { return false };
    let differs =
        |(name, value): (&String, &Value), other: &Map<String, Value>| counts(name) && other.get(name) != Some(value);
    new.iter().any(|field| differs(field, old)) || old.iter().any(|field| differs(field, new))
}

/// Checks a new object; all that is wrong comes back in one answer.
pub(crate) fn validate_create(target: &Target<'_>, object: &Value) -> Result<(), Status> {
    let resource = target.resource;
    let mut errors = Errors::new();
    let path = Path::new("metadata");
    let meta = object.get("metadata").unwrap_or(&Value::Null);
    match &resource.origin {
        Origin::BuiltIn(_, rules) => {
            let own_rules_first = metadata_checks::leaves_metadata(resource);
            if own_rules_first {
                (rules.validate)(object, &mut errors);
                refuse(resource, object, &errors)?;
            }
            admin_access::check_create(target, object, &mut errors);
            let check = |name: &str, prefix| rules.name.check(object, name, prefix);
            metadata::validate(meta, resource.namespaced, check, &path, &mut errors);
            if metadata_checks::names_finalizers(resource) {
                roost_rules::validate_finalizers(meta, &mut errors);
            }
            if resource.is("certificates.k8s.io", "certificatesigningrequests")
                && let Some(problem) = crate::identity::request_problem(object)
            {
                let request = object["spec"]["request"].clone();
                errors.push(Error::invalid(&Path::new("spec.request"), request, problem));
            }
            if !own_rules_first {
                (rules.validate)(object, &mut errors);
            }
            if errors.is_empty() && rules.name == NameRule::Any {
                metadata::validate(meta, resource.namespaced, metadata::name_is_path_segment, &path, &mut errors);
            }
            refuse(resource, object, &errors)?;
            warn(target, rules, object);
            Ok(())
        }
        Origin::Custom(custom) => {
            metadata::validate(meta, resource.namespaced, metadata::name_is_subdomain, &path, &mut errors);
            let outcome = custom.version().validate_create(&as_served(resource, object), errors);
            target.call.warnings.extend(outcome.warnings);
            refuse(resource, object, &outcome.errors)?;
            warn_of_finalizers(target, object, None);
            Ok(())
        }
    }
}

/// Checks a change of an object.
pub(crate) fn validate_update(target: &Target<'_>, new: &Value, old: &Value) -> Result<(), Status> {
    let resource = target.resource;
    let mut errors = Errors::new();
    let path = Path::new("metadata");
    let (meta, old_meta) = (&new["metadata"], &old["metadata"]);
    metadata::validate(meta, resource.namespaced, metadata::name_is_path_segment, &path, &mut errors);
    match &resource.origin {
        Origin::BuiltIn(_, rules) => {
            metadata::validate_update(meta, old_meta, &path, &mut errors);
            admin_access::check_status(target, new, old, &mut errors);
            let mut own = Errors::new();
            match target.subresource {
                "status" => (rules.validate_status_update)(new, old, &mut own),
                "approval" => certificate::validate_update(new, old, Part::Approval, &mut own),
                "finalize" => namespace::validate_finalize(new, &mut own),
                "ephemeralcontainers" => pod::validate_ephemeral_containers(new, old, &mut own),
                "resize" => pod::validate_resize(new, old, &mut own),
                "binding" => {}
                _ => (rules.validate_update)(new, old, &mut own),
            }
            let subresource = target.subresource;
            let changed = metadata_checks::Changed { resource, rules, subresource, new, old };
            changed.validate(&own, &mut errors);
            refuse(resource, new, &errors)?;
            if target.subresource.is_empty() {
                let mut warnings = Vec::new();
                (rules.update_warnings)(new, old, &mut warnings);
                target.call.warnings.extend(warnings);
                if (rules.warns_on_update)(new, old) {
                    warn(target, rules, if rules.warns_of_old { old } else { new });
                }
            }
            Ok(())
        }
        Origin::Custom(custom) => {
            // Once as for all kinds, and once more by the rules of custom resources.
            metadata::validate_update(meta, old_meta, &path, &mut errors);
            metadata::validate_update(meta, old_meta, &path, &mut errors);
            let version = custom.version();
            let (served, old_served) = (as_served(resource, new), as_served(resource, old));
            let outcome = if target.subresource == "status" {
                version.validate_status_update(&served, &old_served, errors)
            } else {
                version.validate_update(&served, &old_served, errors)
            };
            target.call.warnings.extend(outcome.warnings);
            refuse(resource, new, &outcome.errors)?;
            warn_of_finalizers(target, new, Some(old));
            Ok(())
        }
    }
}

/// A custom object as its rules see it: in the version that the caller asked for.
fn as_served<'a>(resource: &Resource, object: &'a Value) -> Cow<'a, Value> {
    if object["apiVersion"] == *resource.api_version {
        return Cow::Borrowed(object);
    }
    let mut served = object.clone();
    served["apiVersion"] = resource.api_version.as_str().into();
    Cow::Owned(served)
}

fn warn(target: &Target<'_>, rules: &Rules, object: &Value) {
    let mut warnings = Vec::new();
    (rules.warnings)(object, &mut warnings);
    target.call.warnings.extend(warnings);
}

/// Finalizers that only Kubernetes itself may name so plainly.
const STANDARD_FINALIZERS: [&str; 3] = ["foregroundDeletion", "kubernetes", "orphan"];

/// Tells whoever adds a finalizer without a domain that others may do the same.
fn warn_of_finalizers(target: &Target<'_>, new: &Value, old: Option<&Value>) {
    let before = old.map(super::finalizers).unwrap_or_default();
    let mut added: Vec<&str> = super::finalizers(new).into_iter().filter(|name| !before.contains(name)).collect();
    added.sort_unstable();
    added.dedup();
    for name in added.into_iter().filter(|name| !name.contains('/') && !STANDARD_FINALIZERS.contains(name)) {
        let path = if name.contains('.') { " including a path (/)" } else { "" };
        let name = roost_object::field::quote(name);
        target.call.warnings.add(format!(
            "metadata.finalizers: {name}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
        ));
    }
}

fn refuse(resource: &Resource, object: &Value, errors: &[Error]) -> Result<(), Status> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid(&resource.group_kind(), metadata_text(object, "name"), errors))
    }
}
