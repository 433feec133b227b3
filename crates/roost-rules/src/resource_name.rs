//! The names of resources that pods ask for and quotas limit, and what amounts of each may be.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Quantity, names};

use crate::check::NOT_NEGATIVE;

const STANDARD: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

const COUNTED: &[&str] = &[
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

/// Whether the name is a size of huge pages.
pub fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether a quota may name these huge pages.
pub fn is_huge_page_for_quota(name: &str) -> bool {
    is_huge_page(name) || name.starts_with("requests.hugepages-")
}

/// Whether the name is one of the API's own.
pub fn is_standard(name: &str) -> bool {
    STANDARD.contains(&name) || is_huge_page_for_quota(name)
}

/// Whether the name is the API's own that containers may ask for.
pub fn is_standard_for_containers(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage") || is_huge_page(name)
}

/// Whether the name belongs to the API's own domain.
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether the name is one that a device plugin or a cluster brings along.
pub fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && names::is_qualified_name(&format!("requests.{name}")).is_empty()
}

/// Whether more may be requested than there is.
pub fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// Whether a pod may ask for it as a whole.
pub fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || is_huge_page(name)
}

/// Whether the resource only comes in whole numbers.
pub fn is_counted(name: &str) -> bool {
    COUNTED.contains(&name) || is_extended(name)
}

/// Checks the name of any resource.
pub fn validate(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let before = errors.len();
    errors.extend(names::is_qualified_name(name).into_iter().map(|words| Error::invalid(path, name, words)));
    if errors.len() == before && !name.contains('/') && !is_standard(name) {
        errors.push(Error::invalid(path, name, "must be a standard resource type or fully qualified"));
    }
}

/// Checks the name of a resource that a container asks for.
pub fn validate_for_container(name: &str, path: &Path<'_>, errors: &mut Errors) {
    validate(name, path, errors);
    if !name.contains('/') {
        if !is_standard_for_containers(name) {
            errors.push(Error::invalid(path, name, "must be a standard resource for containers"));
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.push(Error::invalid(path, name, "doesn't follow extended resource name standard"));
    }
}

/// Checks the name of a resource that a pod asks for as a whole.
pub fn validate_for_pod(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let before = errors.len();
    validate(name, path, errors);
    if errors.len() == before && !is_pod_level(name) {
        errors.push(Error::not_supported(path, name, &["cpu", "hugepages-", "memory"]));
    }
}

/// Checks an amount of a resource: not negative, and whole where only whole numbers exist.
pub fn validate_amount(name: &str, amount: &Quantity, path: &Path<'_>, errors: &mut Errors) {
    if amount.is_negative() {
        errors.push(Error::invalid(path, amount.to_string(), NOT_NEGATIVE));
    }
    if is_counted(name) && amount.milli_value() % 1000 != 0 {
        errors.push(Error::invalid(path, amount.to_string(), "must be an integer"));
    }
}

/// Whether an amount of huge pages is made of whole pages.
pub fn is_whole_pages(name: &str, amount: &Quantity) -> bool {
    let Some(size) = name.strip_prefix("hugepages-").and_then(|size| Quantity::parse(size).ok()) else { return false };
    !size.is_negative() && !size.is_zero() && size.milli_value() % 1000 == 0 && amount.value() % size.value() == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_into_families() {
        assert!(is_extended("example.com/gpu"));
        assert!(!is_extended("requests.example.com/gpu"));
        assert!(!is_extended("kubernetes.io/x"));
        assert!(is_counted("example.com/gpu") && is_counted("pods") && !is_counted("cpu"));
        assert!(may_overcommit("memory") && !may_overcommit("hugepages-2Mi"));
        let whole = |amount| is_whole_pages("hugepages-2Mi", &Quantity::parse(amount).expect("a quantity"));
        assert!(whole("4Mi") && !whole("3Mi"));
        let mut errors = Errors::new();
        validate_for_container("gpu", &Path::new("x"), &mut errors);
        let details: Vec<_> = errors.iter().map(|error| error.detail.as_str()).collect();
        assert_eq!(
            details,
            ["must be a standard resource type or fully qualified", "must be a standard resource for containers"]
        );
    }
}
