//! The kinds that a schema stands for.
//!
//! Nearly every schema is one kind in one version. The options of deletions and the events of watches are the same type in
//! every version, and documents list more or fewer of those.

use serde_json::{Value, json};

use crate::generated::openapi::OPTION_VERSIONS;

/// A group and a version.
pub(super) type GroupVersion = (String, String);

/// The versions that only the server itself knows the options in.
const SERVER_ONLY: [(&str, &str); 7] = [
    ("admission.k8s.io", "v1"),
    ("admission.k8s.io", "v1beta1"),
    ("apiextensions.k8s.io", "v1"),
    ("apiextensions.k8s.io", "v1beta1"),
    ("apiregistration.k8s.io", "v1"),
    ("apiregistration.k8s.io", "v1beta1"),
    ("imagepolicy.k8s.io", "v1alpha1"),
];

fn owned(versions: impl Iterator<Item = (&'static str, &'static str)>) -> Vec<GroupVersion> {
    versions.map(|(group, version)| (group.to_owned(), version.to_owned())).collect()
}

/// The versions in which clients know the options.
pub(super) fn of_clients() -> Vec<GroupVersion> {
    owned(OPTION_VERSIONS.iter().copied())
}

/// The versions in which the server knows the options.
pub(super) fn of_the_server() -> Vec<GroupVersion> {
    let mut versions = owned(OPTION_VERSIONS.iter().copied().chain(SERVER_ONLY));
    versions.sort();
    versions
}

/// The versions in which one group version knows the options.
pub(super) fn of(group: &str, version: &str) -> Vec<GroupVersion> {
    let mut versions = owned([("", "v1")].into_iter());
    let own = (group.to_owned(), version.to_owned());
    if !versions.contains(&own) {
        versions.push(own);
    }
    versions
}

/// The kinds of a schema, as documents list them; null for schemas that are no kind.
pub(super) fn kinds(schema: &str, option_versions: &[GroupVersion]) -> Value {
    let Some(kind) = schema.rsplit('.').next() else { return Value::Null };
    let shared = matches!(kind, "DeleteOptions" | "WatchEvent") && schema.contains(".meta.v1.");
    if shared {
        let list = |(group, version): &GroupVersion| json!({"group": group, "kind": kind, "version": version});
        return option_versions.iter().map(list).collect();
    }
    let found = crate::roots().find(|(_, _, ty)| ty.openapi == schema);
    let Some((api_version, kind, _)) = found else { return Value::Null };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    json!([{"group": group, "kind": kind, "version": version}])
}
