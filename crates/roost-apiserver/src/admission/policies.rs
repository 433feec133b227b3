//! Admission that the cluster's own objects define: webhooks, policies, quotas and limits.

use roost_object::{Status, Value};

use super::Attributes;

/// What the tenant's webhooks and policies are known by.
pub(crate) struct Policies {}

impl Policies {
    /// Nothing is read before the first write.
    pub(crate) fn new(_tenant: &str) -> Policies {
        Policies {}
    }
}

pub(super) async fn mutate(_attributes: &Attributes<'_>, _object: &mut Value) -> Result<(), Status> {
    Ok(())
}

pub(super) async fn validate(_attributes: &Attributes<'_>, _object: &Value) -> Result<(), Status> {
    Ok(())
}
