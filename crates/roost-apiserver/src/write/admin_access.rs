//! Who asks for devices as an administrator: only namespaces with a label may.

use roost_object::Value;
use roost_object::field::{Error, Errors, Path};

use super::{Target, metadata_text};

const LABEL: &str = "resource.kubernetes.io/admin-access";

/// Checks what a new object asks for.
pub(super) fn check_create(target: &Target<'_>, object: &Value, errors: &mut Errors) {
    let resource = target.resource;
    let claim = if resource.is("resource.k8s.io", "resourceclaims") {
        &object["spec"]
    } else if resource.is("resource.k8s.io", "resourceclaimtemplates") {
        &object["spec"]["spec"]
    } else {
        return;
    };
    let asked = asking(&claim["devices"]["requests"], |request| &request["exactly"]["adminAccess"]);
    refuse(target, object, asked, "spec.devices.requests", errors);
}

/// Checks what the status of a claim grants that it did not grant before.
pub(super) fn check_status(target: &Target<'_>, new: &Value, old: &Value, errors: &mut Errors) {
    if target.subresource != "status" || !target.resource.is("resource.k8s.io", "resourceclaims") {
        return;
    }
    let granted =
        |claim: &Value| asking(&claim["status"]["allocation"]["devices"]["results"], |result| &result["adminAccess"]);
    if granted(old).is_none() {
        refuse(target, new, granted(new), "status.allocation.devices.results", errors);
    }
}

/// The first that asks.
fn asking(list: &Value, flag: impl Fn(&Value) -> &Value) -> Option<usize> {
    list.as_array()?.iter().position(|element| flag(element) == &Value::Bool(true))
}

fn refuse(target: &Target<'_>, object: &Value, asked: Option<usize>, list: &str, errors: &mut Errors) {
    let Some(index) = asked else { return };
    let list = Path::new(list);
    let element = list.index(index);
    let path = element.child("adminAccess");
    match target.call.cluster.find("", "namespaces", "", metadata_text(object, "namespace")) {
        Some(namespace) if namespace["metadata"]["labels"][LABEL] == "true" => {}
        _ => errors.push(Error::forbidden(
            &path,
            format!("admin access to devices requires the `{LABEL}: true` label on the containing namespace"),
        )),
    }
}
