//! `LimitRanger`: the limit ranges of a namespace over its pods and claims.

use roost_admission::limits::{LimitRange, apply_defaults};
use roost_object::{Status, Value};

use super::{Attributes, Verb};

/// Gives containers what the ranges say they get.
pub(super) fn complete(attributes: &Attributes<'_>, object: &mut Value) {
    if !concerns_pod(attributes) || is_going(attributes) {
        return;
    }
    let target = &attributes.target;
    for range in target.call.cluster.limit_ranges(target.namespace) {
        apply_defaults(&range, object);
    }
}

/// Refuses what is outside of the ranges.
pub(super) fn check(attributes: &Attributes<'_>, object: &Value) -> Result<(), Status> {
    let check: fn(&LimitRange, &Value) -> Option<String> = if concerns_pod(attributes) {
        LimitRange::check_pod
    } else if attributes.is("", "persistentvolumeclaims") {
        LimitRange::check_claim
    } else {
        return Ok(());
    };
    if is_going(attributes) {
        return Ok(());
    }
    let target = &attributes.target;
    for range in target.call.cluster.limit_ranges(target.namespace) {
        if let Some(why) = check(&range, object) {
            return Err(attributes.forbidden(object, &why));
        }
    }
    Ok(())
}

/// Pods are looked at when they are made and when they are resized: nothing else changes what they ask for.
fn concerns_pod(attributes: &Attributes<'_>) -> bool {
    let target = &attributes.target;
    target.resource.is("", "pods")
        && match target.subresource {
            "" => attributes.verb == Verb::Create,
            "resize" => attributes.verb == Verb::Update,
            _ => false,
        }
}

fn is_going(attributes: &Attributes<'_>) -> bool {
    attributes.old.is_some_and(|old| old["metadata"].get("deletionTimestamp").is_some())
}
