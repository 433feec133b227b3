//! Which resources quotas and limit ranges may name.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Quantity, Value};

use crate::resource_name;

/// Whether a quota can limit the resource without its name being qualified.
pub(super) fn is_standard_for_quota(name: &str) -> bool {
    resource_name::is_standard(name) && name != "storage"
}

/// Checks the name of a resource that a quota limits.
pub(super) fn validate_for_quota(name: &str, path: &Path<'_>, errors: &mut Errors) {
    resource_name::validate(name, path, errors);
    if !name.contains('/') && !is_standard_for_quota(name) {
        errors.push(Error::invalid(path, name, "must be a standard resource for quota"));
    }
}

/// Checks the name of a resource in a limit range for one type of object.
pub(super) fn validate_for_limits(limited: &str, name: &str, path: &Path<'_>, errors: &mut Errors) {
    if matches!(limited, "Pod" | "Container") {
        resource_name::validate_for_container(name, path, errors);
    } else {
        resource_name::validate(name, path, errors);
    }
}

/// Checks the amount of a resource.
pub(super) fn validate_amount(name: &str, amount: &Value, path: &Path<'_>, errors: &mut Errors) {
    if let Ok(amount) = Quantity::from_value(amount) {
        resource_name::validate_amount(name, &amount, path, errors);
    }
}
