//! The steps of a write in which kinds differ: each asks the rules of a built-in kind or the schema of a custom one.

use roost_merge::apply::{self, Tracking};
use roost_merge::managed::Filter;
use roost_object::field::{Error, Errors, Path};
use roost_object::{Status, Value, metadata};
use roost_rules::{Generation, NameRule};

use super::{Target, metadata_mut, metadata_text};
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
    if from == to {
        return Ok(object);
    }
    match &resource.origin {
        Origin::BuiltIn(..) => {
            roost_kinds::convert(object, from, to).map_err(|error| Status::internal(error.to_string()))
        }
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
    let has_generation = match &resource.origin {
        Origin::BuiltIn(_, rules) => {
            (rules.prepare_create)(object);
            rules.generation != Generation::Never
        }
        Origin::Custom(custom) => {
            if custom.version().status {
                roost_rules::drop_status(object);
            }
            true
        }
    };
    if has_generation {
        metadata_mut(object).insert("generation".into(), 1.into());
    }
}

/// Carries over what an update may not touch, and moves the generation.
pub(crate) fn prepare_update(target: &Target<'_>, new: &mut Value, old: &Value) {
    let generation = old["metadata"].get("generation").cloned();
    match &generation {
        Some(generation) => metadata_mut(new).insert("generation".into(), generation.clone()),
        None => metadata_mut(new).remove("generation"),
    };
    let has_generation = match &target.resource.origin {
        Origin::BuiltIn(_, rules) => {
            let strategy = match target.subresource {
                "status" => Some(rules.prepare_status_update),
                "finalize" => Some(take_namespace_finalizers as fn(&mut Value, &Value)),
                "approval" => Some(take_approval as fn(&mut Value, &Value)),
                "ephemeralcontainers" => Some(take_ephemeral_containers as fn(&mut Value, &Value)),
                _ => None,
            };
            if let Some(strategy) = strategy {
                keep_managed_fields(new, old, strategy);
                return;
            }
            (rules.prepare_update)(new, old);
            rules.generation != Generation::Never
        }
        Origin::Custom(custom) => {
            if target.subresource == "status" {
                keep_managed_fields(new, old, roost_rules::keep_all_but_status);
                return;
            }
            if custom.version().status {
                roost_rules::keep_status(new, old);
            }
            true
        }
    };
    if has_generation && differs_outside_metadata(new, old, target.resource) {
        let next = generation.as_ref().and_then(Value::as_i64).unwrap_or(0) + 1;
        metadata_mut(new).insert("generation".into(), next.into());
    }
}

/// The finalize subresource of namespaces changes `spec.finalizers` alone.
fn take_namespace_finalizers(new: &mut Value, old: &Value) {
    let finalizers = new["spec"].get("finalizers").cloned();
    *new = old.clone();
    match finalizers {
        Some(finalizers) => new["spec"]["finalizers"] = finalizers,
        None => new["spec"] = Value::Object(roost_object::Map::new()),
    }
}

/// The approval subresource of certificate requests changes `status.conditions` alone.
fn take_approval(new: &mut Value, old: &Value) {
    let conditions = new["status"].get("conditions").cloned();
    *new = old.clone();
    if let Some(mut conditions) = conditions {
        let now = clock::now_text();
        for condition in conditions.as_array_mut().into_iter().flatten() {
            for time in ["lastUpdateTime", "lastTransitionTime"] {
                if condition.get(time).is_none_or(Value::is_null) {
                    condition[time] = now.as_str().into();
                }
            }
        }
        new["status"]["conditions"] = conditions;
    }
}

/// The ephemeralcontainers subresource of pods changes `spec.ephemeralContainers` alone.
fn take_ephemeral_containers(new: &mut Value, old: &Value) {
    let containers = new["spec"].get("ephemeralContainers").cloned();
    *new = old.clone();
    if let Some(containers) = containers {
        new["spec"]["ephemeralContainers"] = containers;
    }
}

/// Runs a status strategy, which takes all metadata from the old object, and puts the new managedFields back.
fn keep_managed_fields(new: &mut Value, old: &Value, strategy: fn(&mut Value, &Value)) {
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

/// Whether anything but metadata changed, and but status where that is a subresource.
fn differs_outside_metadata(new: &Value, old: &Value, resource: &Resource) -> bool {
    let status_counts = match &resource.origin {
        Origin::BuiltIn(..) => false,
        Origin::Custom(custom) => !custom.version().status,
    };
    let significant = |object: &Value| -> Vec<(String, Value)> {
        object
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| {
                !matches!(name.as_str(), "metadata" | "apiVersion" | "kind") && (status_counts || *name != "status")
            })
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    significant(new) != significant(old)
}

/// Checks a new object; all that is wrong comes back in one answer.
pub(crate) fn validate_create(target: &Target<'_>, object: &Value) -> Result<(), Status> {
    let resource = target.resource;
    let mut errors = Errors::new();
    let path = Path::new("metadata");
    let meta = object.get("metadata").unwrap_or(&Value::Null);
    match &resource.origin {
        Origin::BuiltIn(_, rules) => {
            metadata::validate(meta, resource.namespaced, name_check(rules.name), &path, &mut errors);
            (rules.validate)(object, &mut errors);
            let mut warnings = Vec::new();
            if errors.is_empty() {
                (rules.warnings)(object, &mut warnings);
            }
            warnings.into_iter().for_each(|warning| target.call.warnings.add(warning));
        }
        Origin::Custom(custom) => {
            metadata::validate(meta, resource.namespaced, name_check(NameRule::Subdomain), &path, &mut errors);
            let outcome = custom.version().validate_create(object, errors);
            outcome.warnings.into_iter().for_each(|warning| target.call.warnings.add(warning));
            errors = outcome.errors;
        }
    }
    refuse(resource, object, &errors)
}

/// A name rule as the function that the check of metadata wants.
fn name_check(rule: NameRule) -> fn(&str, bool) -> Vec<String> {
    match rule {
        NameRule::Subdomain => |name, prefix| NameRule::Subdomain.check(name, prefix),
        NameRule::Label => |name, prefix| NameRule::Label.check(name, prefix),
        NameRule::Label1035 => |name, prefix| NameRule::Label1035.check(name, prefix),
        NameRule::PathSegment => |name, prefix| NameRule::PathSegment.check(name, prefix),
    }
}

/// Checks a change of an object.
pub(crate) fn validate_update(target: &Target<'_>, new: &Value, old: &Value) -> Result<(), Status> {
    let resource = target.resource;
    let mut errors = Errors::new();
    let path = Path::new("metadata");
    metadata::validate_update(&new["metadata"], &old["metadata"], &path, &mut errors);
    match &resource.origin {
        Origin::BuiltIn(_, rules) => {
            let check =
                if target.subresource == "status" { rules.validate_status_update } else { rules.validate_update };
            check(new, old, &mut errors);
            let mut warnings = Vec::new();
            if errors.is_empty() && target.subresource.is_empty() {
                (rules.warnings)(new, &mut warnings);
            }
            warnings.into_iter().for_each(|warning| target.call.warnings.add(warning));
        }
        Origin::Custom(custom) => {
            let version = custom.version();
            let outcome = if target.subresource == "status" {
                version.validate_status_update(new, old, errors)
            } else {
                version.validate_update(new, old, errors)
            };
            outcome.warnings.into_iter().for_each(|warning| target.call.warnings.add(warning));
            errors = outcome.errors;
        }
    }
    refuse(resource, new, &errors)
}

fn refuse(resource: &Resource, object: &Value, errors: &[Error]) -> Result<(), Status> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid(&resource.group_kind(), metadata_text(object, "name"), errors))
    }
}

/// Brings managedFields up to date after a write that is not an apply.
pub(crate) fn track(target: &Target<'_>, live: Option<&Value>, new: &mut Value, manager: &str) {
    let now = clock::now_text();
    let filter = filter(target);
    let tracking = tracking(target, manager, &now, &filter);
    apply::update(live, new, &tracking, target.resource.node());
}

/// Who writes what through this target.
pub(crate) fn tracking<'a>(target: &'a Target<'_>, manager: &'a str, now: &'a str, filter: &'a Filter) -> Tracking<'a> {
    Tracking {
        subresource: target.subresource,
        kind: &target.resource.kind,
        filter,
        empty: target.resource.empty(),
        ..Tracking::new(manager, &target.resource.api_version, now)
    }
}

/// The fields that a write through this target can set, and so own.
pub(crate) fn filter(target: &Target<'_>) -> Filter {
    let splits_status = target.resource.has_subresource("status");
    match target.subresource {
        "" if splits_status => Filter::except_fields(&[&["status"]]),
        "status" => Filter::except_fields(&[&["spec"]]),
        _ => Filter::EVERYTHING.clone(),
    }
}
