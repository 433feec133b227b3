//! Which names of resources (cpu, memory, pods, …) may stand where.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Quantity, Value, names};

use crate::check::NOT_NEGATIVE;

/// What quotas can count that only comes in whole numbers.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// What quotas can add up.
const MEASURED: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

pub(super) fn is_standard_for_quota(name: &str) -> bool {
    COUNTED.contains(&name)
        || MEASURED.contains(&name)
        || is_huge_pages(name)
        || name.starts_with("requests.hugepages-")
}

/// Whether the resource belongs to Kubernetes itself.
fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::is_qualified_name(&format!("requests.{name}")).is_empty()
}

/// Whether more of the resource may be promised than there is.
pub(super) fn may_be_overcommitted(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// Checks the name of any resource. Answers whether it can be read as a name at all.
fn validate(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let sentences = names::is_qualified_name(name);
    if sentences.is_empty() {
        if !name.contains('/') && name != "storage" && !is_standard_for_quota(name) {
            errors.push(Error::invalid(path, name, "must be a standard resource type or fully qualified"));
        }
    } else {
        errors.extend(sentences.into_iter().map(|words| Error::invalid(path, name, words)));
    }
}

/// Checks the name of a resource that a quota limits.
pub(super) fn validate_for_quota(name: &str, path: &Path<'_>, errors: &mut Errors) {
    validate(name, path, errors);
    if !name.contains('/') && !is_standard_for_quota(name) {
        errors.push(Error::invalid(path, name, "must be a standard resource for quota"));
    }
}

/// Checks the name of a resource in a limit range for one type of object.
pub(super) fn validate_for_limits(limited: &str, name: &str, path: &Path<'_>, errors: &mut Errors) {
    validate(name, path, errors);
    if !matches!(limited, "Pod" | "Container") {
        return;
    }
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_pages(name) {
            errors.push(Error::invalid(path, name, "must be a standard resource for containers"));
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.push(Error::invalid(path, name, "doesn't follow extended resource name standard"));
    }
}

/// Checks the amount of a resource.
pub(super) fn validate_amount(name: &str, amount: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Ok(quantity) = Quantity::from_value(amount) else { return };
    if quantity.is_negative() {
        errors.push(Error::invalid(path, quantity.to_string(), NOT_NEGATIVE));
    }
    if (COUNTED.contains(&name) || is_extended(name)) && quantity.milli_value() % 1000 != 0 {
        errors.push(Error::invalid(path, quantity.to_string(), "must be an integer"));
    }
}
