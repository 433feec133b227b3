//! Admission: what the server adds to an object, and what it refuses, beyond the rules of the kind itself.
//!
//! The plug-ins and their order are stock's defaults. Each is a function of the attributes and the object.

mod certificate;
mod lifecycle;
mod pod_defaults;
mod policies;
mod service_account;
mod storage;

use roost_object::{Status, Value};

pub(crate) use policies::Policies;

use crate::write::Target;

/// What is being done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Create,
    Update,
    Delete,
}

/// A write on its way.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a> {
    /// The object and who writes it.
    pub(crate) target: Target<'a>,
    /// What is being done.
    pub(crate) verb: Verb,
    /// The object as it is stored, but for a create.
    pub(crate) old: Option<&'a Value>,
    /// Whether nothing will be written.
    pub(crate) dry_run: bool,
}

impl Attributes<'_> {
    /// Whether the write is about a built-in resource itself, not a subresource.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.target.subresource.is_empty() && self.target.resource.is(group, plural)
    }

    /// A refusal that names the object.
    pub(crate) fn forbidden(&self, object: &Value, why: &str) -> Status {
        let name = crate::write::metadata_text(object, "name");
        let name = if name.is_empty() { self.target.name } else { name };
        let name = if name.is_empty() { "Unknown/" } else { name };
        Status::forbidden(&self.target.resource.group_resource(), name, why)
    }
}

/// Completes an object before it is validated.
pub(crate) async fn mutate(attributes: &Attributes<'_>, object: &mut Value) -> Result<(), Status> {
    lifecycle::check(attributes, object)?;
    crate::node::restrict(attributes, Some(object))?;
    service_account::complete(attributes, object)?;
    pod_defaults::complete(attributes, object)?;
    storage::complete(attributes, object);
    policies::mutate(attributes, object).await
}

/// Refuses an object that is valid but not wanted. For a delete, `object` is null and the old one counts.
pub(crate) async fn validate(attributes: &Attributes<'_>, object: &Value) -> Result<(), Status> {
    if attributes.verb == Verb::Delete {
        lifecycle::check(attributes, object)?;
        crate::node::restrict(attributes, None)?;
    }
    certificate::check(attributes, object)?;
    crate::escalation::check(attributes, object)?;
    policies::validate(attributes, object).await
}
