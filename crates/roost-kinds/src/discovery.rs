//! The discovery documents: which groups, versions and resources there are, and what can be done with them.
//!
//! The documents are made from the generated table and the custom resources that the caller knows, in the order in which
//! a stock server's aggregator puts them.

use std::cmp::Reverse;

use serde_json::{Value, json};

use crate::table::{Resource, Subresource};
use crate::version::Precedence;

/// The place of groups made of custom resources among the others.
const DYNAMIC_GROUP_PRIORITY: i32 = 1000;
/// The place of groups of which nothing is stored: behind all others, where a metrics server registers its own.
const READ_ONLY_GROUP_PRIORITY: i32 = 100;
/// The place of a custom resource's versions among those of its group.
const DYNAMIC_VERSION_PRIORITY: i32 = 100;

const VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const TERMINATING_VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "watch"];
const READ_ONLY_VERBS: &[&str] = &["get", "list"];
const SUBRESOURCE_VERBS: &[&str] = &["get", "patch", "update"];

/// A custom resource in one served version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DynamicResource {
    /// The API group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The name in the URL.
    pub plural: String,
    /// The name of one.
    pub singular: String,
    /// The kind of its objects.
    pub kind: String,
    /// The kind of its lists.
    pub list_kind: String,
    /// The short names for `kubectl`.
    pub short_names: Vec<String>,
    /// The categories, such as `all`.
    pub categories: Vec<String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether it has the status subresource.
    pub status: bool,
    /// Whether it has the scale subresource.
    pub scale: bool,
    /// Whether the definition is being deleted, so that nothing can be written any more.
    pub terminating: bool,
    /// Whether nothing is stored: objects can be got and listed, and never are written.
    pub read_only: bool,
    /// The first eight bytes of the SHA-256 of `group/version/kind` of the storage version, in base64.
    pub storage_version_hash: String,
}

/// `/api`: the versions of the core group, and where clients find the server.
pub fn core_versions(server_address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
    })
}

/// `/apis`: every group but the core one.
pub fn group_list(dynamic: &[DynamicResource]) -> Value {
    let groups: Vec<_> = groups(dynamic).iter().map(group_entry).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/<group>`; none when there is no such group.
pub fn group(name: &str, dynamic: &[DynamicResource]) -> Option<Value> {
    let groups = groups(dynamic);
    let group = groups.iter().find(|group| group.name == name)?;
    let mut document = group_entry(group);
    document["kind"] = "APIGroup".into();
    document["apiVersion"] = "v1".into();
    Some(document)
}

/// `/api/v1` and `/apis/<group>/<version>`; none when there is no such version.
pub fn resource_list(group: &str, version: &str, dynamic: &[DynamicResource]) -> Option<Value> {
    let mut entries = Vec::new();
    for resource in built_in(group, version) {
        entries.push(resource_entry(resource));
        entries.extend(resource.subresources.iter().map(|below| subresource_entry(resource, below)));
    }
    for resource in custom(group, version, dynamic) {
        dynamic_entries(resource, &mut entries);
    }
    if entries.is_empty() {
        return None;
    }
    let mut document = json!({
        "kind": "APIResourceList",
        "groupVersion": roost_object::group::api_version(group, version),
        "resources": entries,
    });
    if !group.is_empty() {
        document["apiVersion"] = "v1".into();
    }
    Some(document)
}

/// The aggregated document of `/api`.
pub fn aggregated_core() -> Value {
    let versions = [aggregated_version("", "v1", &[])];
    aggregated_list(&[json!({"metadata": {}, "versions": versions})])
}

/// The aggregated document of `/apis`.
pub fn aggregated(dynamic: &[DynamicResource]) -> Value {
    let items: Vec<_> = groups(dynamic)
        .iter()
        .map(|group| {
            let versions: Vec<_> =
                group.versions.iter().map(|version| aggregated_version(group.name, version, dynamic)).collect();
            json!({"metadata": {"name": group.name}, "versions": versions})
        })
        .collect();
    aggregated_list(&items)
}

struct Group<'a> {
    name: &'a str,
    versions: Vec<&'a str>,
}

/// The groups in the aggregator's order: by priority, then by name; their versions likewise.
fn groups(dynamic: &[DynamicResource]) -> Vec<Group<'_>> {
    let built_in = crate::versions()
        .iter()
        .filter(|version| !version.group.is_empty())
        .map(|version| (version.group, version.version, version.group_priority, version.version_priority));
    let custom = dynamic.iter().map(|resource| {
        let priority = if resource.read_only { READ_ONLY_GROUP_PRIORITY } else { DYNAMIC_GROUP_PRIORITY };
        (&*resource.group, &*resource.version, priority, DYNAMIC_VERSION_PRIORITY)
    });
    let mut all: Vec<_> = built_in.chain(custom).collect();
    let priority = |name: &str| all.iter().filter(|entry| entry.0 == name).map(|entry| entry.2).max();
    let mut names: Vec<_> = all.iter().map(|entry| entry.0).collect();
    names.sort_unstable_by_key(|name| (Reverse(priority(name)), *name));
    names.dedup();
    all.sort_by_key(|&(_, version, _, priority)| (Reverse(priority), Precedence::of(version)));
    names
        .into_iter()
        .map(|name| {
            let mut versions: Vec<&str> = Vec::new();
            for &(group, version, ..) in &all {
                if group == name && !versions.contains(&version) {
                    versions.push(version);
                }
            }
            Group { name, versions }
        })
        .collect()
}

fn group_entry(group: &Group<'_>) -> Value {
    let version = |version: &&str| json!({"groupVersion": format!("{}/{version}", group.name), "version": version});
    let versions: Vec<_> = group.versions.iter().map(version).collect();
    json!({"name": group.name, "preferredVersion": versions[0], "versions": versions})
}

fn built_in<'a>(group: &'a str, version: &'a str) -> impl Iterator<Item = &'static Resource> + 'a {
    crate::resources().iter().filter(move |resource| resource.group == group && resource.version == version)
}

fn custom<'a>(group: &str, version: &str, dynamic: &'a [DynamicResource]) -> Vec<&'a DynamicResource> {
    let mut found: Vec<_> =
        dynamic.iter().filter(|resource| resource.group == group && resource.version == version).collect();
    found.sort_unstable_by(|one, other| one.plural.cmp(&other.plural));
    found
}

fn resource_entry(resource: &Resource) -> Value {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    if !resource.storage_version_hash.is_empty() {
        entry["storageVersionHash"] = resource.storage_version_hash.into();
    }
    entry
}

fn subresource_entry(resource: &Resource, below: &Subresource) -> Value {
    let mut entry = json!({
        "name": format!("{}/{}", resource.plural, below.name),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": below.kind,
        "verbs": below.verbs,
    });
    if !below.version.is_empty() {
        entry["group"] = below.group.into();
        entry["version"] = below.version.into();
    }
    entry
}

fn dynamic_verbs(resource: &DynamicResource) -> &'static [&'static str] {
    match (resource.read_only, resource.terminating) {
        (true, _) => READ_ONLY_VERBS,
        (false, true) => TERMINATING_VERBS,
        (false, false) => VERBS,
    }
}

fn dynamic_entries(resource: &DynamicResource, entries: &mut Vec<Value>) {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": dynamic_verbs(resource),
    });
    if !resource.storage_version_hash.is_empty() {
        entry["storageVersionHash"] = resource.storage_version_hash.as_str().into();
    }
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    entries.push(entry);
    let below = |name: &str, kind: &str| {
        json!({
            "name": format!("{}/{name}", resource.plural),
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": kind,
            "verbs": SUBRESOURCE_VERBS,
        })
    };
    if resource.status {
        entries.push(below("status", &resource.kind));
    }
    if resource.scale {
        let mut entry = below("scale", "Scale");
        entry["group"] = "autoscaling".into();
        entry["version"] = "v1".into();
        entries.push(entry);
    }
}

fn aggregated_list(items: &[Value]) -> Value {
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn aggregated_version(group: &str, version: &str, dynamic: &[DynamicResource]) -> Value {
    let mut resources: Vec<_> = built_in(group, version).map(aggregated_resource).collect();
    resources.extend(custom(group, version, dynamic).into_iter().map(aggregated_dynamic));
    json!({"version": version, "resources": resources, "freshness": "Current"})
}

fn response_kind(group: &str, version: &str, kind: &str) -> Value {
    json!({"group": group, "version": version, "kind": kind})
}

fn scope(namespaced: bool) -> &'static str {
    if namespaced { "Namespaced" } else { "Cluster" }
}

fn aggregated_resource(resource: &'static Resource) -> Value {
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": response_kind("", "", resource.kind),
        "scope": scope(resource.namespaced),
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    if !resource.subresources.is_empty() {
        let below = resource.subresources.iter().map(|below| {
            json!({
                "subresource": below.name,
                "responseKind": response_kind(below.group, below.version, below.kind),
                "verbs": below.verbs,
            })
        });
        entry["subresources"] = below.collect();
    }
    entry
}

fn aggregated_dynamic(resource: &DynamicResource) -> Value {
    let own = response_kind(&resource.group, &resource.version, &resource.kind);
    let mut below = Vec::new();
    if resource.status {
        below.push(json!({"subresource": "status", "responseKind": own, "verbs": SUBRESOURCE_VERBS}));
    }
    if resource.scale {
        let kind = response_kind("autoscaling", "v1", "Scale");
        below.push(json!({"subresource": "scale", "responseKind": kind, "verbs": SUBRESOURCE_VERBS}));
    }
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": own,
        "scope": scope(resource.namespaced),
        "singularResource": resource.singular,
        "verbs": dynamic_verbs(resource),
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    if !below.is_empty() {
        entry["subresources"] = Value::Array(below);
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widgets(group: &str, version: &str) -> DynamicResource {
        DynamicResource {
            group: group.into(),
            version: version.into(),
            plural: "widgets".into(),
            singular: "widget".into(),
            kind: "Widget".into(),
            namespaced: true,
            status: true,
            scale: true,
            ..DynamicResource::default()
        }
    }

    fn names(list: &Value, field: &str) -> Vec<String> {
        list.as_array().unwrap().iter().map(|entry| entry[field].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn custom_groups_follow_the_built_in_ones_and_their_versions_are_ordered() {
        let dynamic =
            [widgets("zzz.io", "v1beta1"), widgets("aaa.io", "v1"), widgets("zzz.io", "v2"), widgets("zzz.io", "v1")];
        let document = group_list(&dynamic);
        let groups = names(&document["groups"], "name");
        assert_eq!(groups[0], "apiregistration.k8s.io");
        assert_eq!(groups[groups.len() - 3..], ["flowcontrol.apiserver.k8s.io", "aaa.io", "zzz.io"]);
        let group = group("zzz.io", &dynamic).unwrap();
        assert_eq!(names(&group["versions"], "version"), ["v2", "v1", "v1beta1"]);
        assert_eq!(group["preferredVersion"]["groupVersion"], "zzz.io/v2");
        assert_eq!(super::group("nowhere.io", &dynamic), None);
    }

    #[test]
    fn resources_are_listed_with_their_subresources() {
        let list = resource_list("", "v1", &[]).unwrap();
        assert!(list.get("apiVersion").is_none());
        let entries = names(&list["resources"], "name");
        assert!(entries.contains(&"pods/eviction".to_owned()));
        let list = resource_list("zzz.io", "v1", &[widgets("zzz.io", "v1")]).unwrap();
        assert_eq!(names(&list["resources"], "name"), ["widgets", "widgets/status", "widgets/scale"]);
        assert_eq!(list["resources"][2]["group"], "autoscaling");
        assert_eq!(resource_list("zzz.io", "v2", &[widgets("zzz.io", "v1")]), None);
    }

    #[test]
    fn nothing_can_be_written_while_a_definition_goes() {
        let going = DynamicResource { terminating: true, ..widgets("zzz.io", "v1") };
        let document = aggregated(&[going]);
        let groups = document["items"].as_array().unwrap();
        let resource = &groups[groups.len() - 1]["versions"][0]["resources"][0];
        assert_eq!(resource["verbs"], json!(["delete", "deletecollection", "get", "list", "watch"]));
        assert_eq!(names(&resource["subresources"], "subresource"), ["status", "scale"]);
    }
}
