//! Who owns which fields after a write.

use std::borrow::Cow;

use roost_merge::apply::{self, Tracking};
use roost_merge::managed::Filter;
use roost_object::Value;

use super::{Target, metadata_mut, steps};
use crate::clock;
use crate::versions::ResourceVersions;

/// Brings managedFields up to date after a write that is not an apply.
pub(crate) fn track(target: &Target<'_>, live: Option<&Value>, new: &mut Value, manager: &str) {
    let is_trackable = |object: &Value| apply::is_trackable(object, target.resource.node(), crate::patch::holds);
    if target.resource.as_custom().is_some() && !(live.is_none_or(is_trackable) && is_trackable(new)) {
        super::metadata_mut(new).remove("managedFields");
        return;
    }
    let now = clock::now_text();
    let filter = filter(target);
    let tracking = tracking(target, manager, &now, &filter);
    let update = |new: &mut Value| {
        apply::update_in_versions(live, new, &tracking, target.resource.node(), &ResourceVersions(target.resource));
    };
    let Cow::Owned(mut written) = served(target, new) else { return update(new) };
    // An empty list of owners is a wish to clear them.
    if let Some(owners) = new["metadata"].get("managedFields") {
        metadata_mut(&mut written).insert("managedFields".into(), owners.clone());
    }
    update(&mut written);
    match metadata_mut(&mut written).remove("managedFields") {
        Some(owners) => metadata_mut(new).insert("managedFields".into(), owners),
        None => metadata_mut(new).remove("managedFields"),
    };
}

/// The object as it would be served: what is owned is owned as it comes back from the stored version.
fn served<'a>(target: &Target<'_>, object: &'a Value) -> Cow<'a, Value> {
    let resource = target.resource;
    if resource.as_custom().is_some() || resource.is_served_as_stored() {
        return resource.written(object);
    }
    let converted = steps::convert_to_storage(resource, object.clone())
        .and_then(|stored| steps::convert_from_storage(resource, stored));
    match converted {
        Ok(served) => Cow::Owned(resource.written(&served).into_owned()),
        Err(_) => resource.written(object),
    }
}

/// Who writes what through this target.
pub(crate) fn tracking<'a>(target: &'a Target<'_>, manager: &'a str, now: &'a str, filter: &'a Filter) -> Tracking<'a> {
    Tracking {
        subresource: target.subresource,
        kind: &target.resource.kind,
        filter,
        empty: target.resource.empty(),
        ..Tracking::new(manager, &target.resource.api_version, now)
    }
}

/// The fields that a write through this target cannot set, and so cannot own: by group, kind and subresource. What is
/// not listed is the rule: the main resource leaves `status` alone, the status subresource leaves `spec` alone.
const RESET_FIELDS: &[(&str, &str, &str, &[&[&str]])] = &[
    ("certificates.k8s.io", "CertificateSigningRequest", "", &[&["spec"], &["status"]]),
    ("certificates.k8s.io", "CertificateSigningRequest", "status", &[&["spec"], &["status", "conditions"]]),
    ("certificates.k8s.io", "CertificateSigningRequest", "approval", &[&["spec"], &["status", "certificate"]]),
    ("networking.k8s.io", "ServiceCIDR", "status", &[&["spec"], &["metadata"]]),
    ("resource.k8s.io", "ResourceClaim", "status", &[&["spec"], &["metadata"]]),
    ("storage.k8s.io", "VolumeAttachment", "status", &[&["spec"], &["metadata"]]),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema", "status", &[&["spec"], &["metadata"]]),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "status", &[&["spec"], &["metadata"]]),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "status", &[&["spec"], &["metadata"]]),
    ("apiregistration.k8s.io", "APIService", "status", &[&["spec"], &["metadata"]]),
    ("apps", "Deployment", "status", &[&["spec"], &["metadata", "labels"]]),
    ("", "Namespace", "finalize", &[&["status"]]),
    ("", "Pod", "status", &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]),
];

/// The fields that a write through this target can set, and so own.
pub(crate) fn filter(target: &Target<'_>) -> Filter {
    let resource = target.resource;
    let row = RESET_FIELDS.iter().find(|(group, kind, subresource, _)| {
        *group == resource.group && *kind == resource.kind && *subresource == target.subresource
    });
    if let (Some((_, _, _, fields)), None) = (row, resource.as_custom()) {
        return Filter::except_fields(fields);
    }
    match target.subresource {
        "" if resource.has_subresource("status") => Filter::except_fields(&[&["status"]]),
        "status" if resource.as_custom().is_some() => Filter::except_fields(&[&["spec"], &["metadata"]]),
        "status" => Filter::except_fields(&[&["spec"]]),
        "scale" => {
            let path = resource.as_custom().and_then(|custom| custom.version().scale.as_ref());
            let path = path.map_or(".spec.replicas", |scale| scale.spec_replicas.as_str());
            let steps: Vec<&str> = path.trim_start_matches('.').split('.').collect();
            Filter::only_fields(&[&steps])
        }
        _ => Filter::EVERYTHING.clone(),
    }
}
