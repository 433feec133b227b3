//! RBAC objects: nobody grants what they do not have.

use roost_access::rbac::{EscalationRequest, GROUP, ObjectKind, check_binding, check_role};
use roost_object::{Status, Value};

use crate::admission::{Attributes, Verb};

/// Refuses a role with more rules than its writer has, and a binding to such a role.
pub(crate) fn check(attributes: &Attributes<'_>, object: &Value) -> Result<(), Status> {
    let target = &attributes.target;
    if attributes.verb == Verb::Delete || target.resource.group != GROUP || target.resource.as_custom().is_some() {
        return Ok(());
    }
    let Some(kind) = ObjectKind::of_resource(&target.resource.plural) else { return Ok(()) };
    let cluster = &target.call.cluster;
    cluster.authorizer.with(cluster, |index, authorizer| {
        let request = EscalationRequest {
            authorizer,
            index,
            user: &target.call.user,
            namespace: target.namespace,
            name: if attributes.verb == Verb::Create { "" } else { target.name },
        };
        match kind {
            ObjectKind::Role | ObjectKind::ClusterRole => check_role(&request, kind, object, attributes.old),
            _ => check_binding(&request, kind, object, attributes.old),
        }
    })
}
