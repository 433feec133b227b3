//! The `scale` subresource: the number of replicas of any kind that has some.

use roost_object::Value;
use roost_object::field::Errors;

use super::counts;
use crate::check::Spot;

/// Checks the body of an update of a scale. Metadata is checked by the caller.
pub fn validate(scale: &Value, errors: &mut Errors) {
    let root = Spot::root(scale);
    counts::not_negative(&root.field("spec"), &["replicas"], errors);
}
