//! `NamespaceLifecycle`: nothing is created in a namespace that is not there or is going, and some namespaces stay.

use roost_object::status::{Cause, Details};
use roost_object::{GroupResource, Status, Value};

use super::{Attributes, Verb};

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

pub(super) fn check(attributes: &Attributes<'_>, object: &Value) -> Result<(), Status> {
    let target = &attributes.target;
    if attributes.verb == Verb::Delete && target.resource.is("", "namespaces") && IMMORTAL.contains(&target.name) {
        let namespaces = GroupResource::new("", "namespaces");
        return Err(Status::forbidden(&namespaces, target.name, "this namespace may not be deleted"));
    }
    if attributes.verb != Verb::Create || !target.resource.namespaced || is_review(attributes) {
        return Ok(());
    }
    let Some(namespace) = target.call.cluster.namespace(target.namespace) else {
        return Err(Status::not_found(&GroupResource::new("", "namespaces"), target.namespace));
    };
    if !namespace.is_terminating() {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {} because it is being terminated", target.namespace);
    let mut status = attributes.forbidden(object, &why);
    let cause = Cause {
        reason: "NamespaceTerminating".into(),
        message: format!("namespace {} is being terminated", target.namespace),
        field: "metadata.namespace".into(),
    };
    status.details.get_or_insert_with(|| Box::new(Details::default())).causes.push(cause);
    Err(status)
}

/// Access reviews look at namespaces that need not exist.
fn is_review(attributes: &Attributes<'_>) -> bool {
    attributes.target.resource.is("authorization.k8s.io", "localsubjectaccessreviews")
}
