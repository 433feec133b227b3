//! `APIService` objects: one for each group and version that is served here, as the aggregator shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use roost_object::{Status, Value};
use serde_json::json;

use super::edit::{self, Object};
use crate::cluster::Cluster;
use crate::write::{API_SERVER, metadata_text};

const GROUP: &str = "apiregistration.k8s.io";
const PLURAL: &str = "apiservices";
/// Says how the object is kept: from the start of the server on, or always.
const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";
/// The priority of groups that definitions bring: low, so that they never stand before the built-in ones.
const CUSTOM_PRIORITY: (i32, i32) = (1000, 100);

/// The objects of the built-in groups, for a cluster that starts at a time.
pub(crate) fn built_in(now: &str) -> impl Iterator<Item = Value> + use<'_> {
    let own = |group: &str| group == GROUP;
    roost_kinds::versions().iter().filter(move |version| !own(version.group)).map(move |version| {
        let priority = (version.group_priority, version.version_priority);
        let mut service = service(version.group, version.version, priority, "onstart");
        service["status"]["conditions"] = json!([{
            "type": "Available", "status": "True", "reason": "Local",
            "message": "Local APIServices are always available", "lastTransitionTime": now,
        }]);
        service
    })
}

fn service(group: &str, version: &str, priority: (i32, i32), managed: &str) -> Value {
    let mut service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("{version}.{group}"), "labels": {MANAGED: managed}},
        "spec": {"version": version, "groupPriorityMinimum": priority.0, "versionPriority": priority.1},
    });
    if !group.is_empty() {
        service["spec"]["group"] = group.into();
    }
    service
}

/// Makes the objects of the groups that definitions bring, and removes those of groups that went.
pub(super) async fn register(cluster: &Arc<Cluster>) -> Result<(), Status> {
    let definitions = cluster.find_all("apiextensions.k8s.io", "customresourcedefinitions", "");
    let wanted = wanted(&definitions);
    let current: BTreeMap<String, Value> = cluster
        .find_all(GROUP, PLURAL, "")
        .into_iter()
        .map(|service| (metadata_text(&service, "name").to_owned(), service))
        .collect();
    for (name, service) in current.iter().filter(|(name, service)| is_kept(service) && !wanted.contains_key(*name)) {
        edit::remove(cluster, Object::of_cluster(GROUP, PLURAL, name), metadata_text(service, "uid")).await?;
    }
    for (name, service) in wanted {
        match current.get(&name) {
            None => edit::make(cluster, service, API_SERVER).await?,
            Some(found) if !is_kept(found) || found["spec"] == service["spec"] => {}
            Some(_) => {
                let transform = |live: &Value| {
                    let mut next = live.clone();
                    next["spec"] = service["spec"].clone();
                    Ok(next)
                };
                edit::change(cluster, Object::of_cluster(GROUP, PLURAL, &name), "", API_SERVER, &transform).await?;
            }
        }
    }
    Ok(())
}

/// Whether the object is one that is kept as definitions say.
fn is_kept(service: &Value) -> bool {
    service["metadata"]["labels"][MANAGED] == "true"
}

/// The objects that definitions call for, by name.
fn wanted(definitions: &[Value]) -> BTreeMap<String, Value> {
    let mut versions = BTreeSet::new();
    for definition in definitions {
        let Some(group) = definition["spec"]["group"].as_str() else { continue };
        let served = definition["spec"]["versions"].as_array().into_iter().flatten();
        let served = served.filter(|version| version["served"] == true).filter_map(|version| version["name"].as_str());
        versions.extend(served.map(|version| (group, version)));
    }
    versions
        .into_iter()
        .map(|(group, version)| service(group, version, CUSTOM_PRIORITY, "true"))
        .map(|service| (metadata_text(&service, "name").to_owned(), service))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_served_version_of_a_group_has_one() {
        let definition = |plural: &str, versions: &[(&str, bool)]| {
            let versions: Vec<Value> =
                versions.iter().map(|(name, served)| json!({"name": name, "served": served})).collect();
            json!({"spec": {"group": "example.com", "names": {"plural": plural}, "versions": versions}})
        };
        let definitions =
            [definition("a", &[("v1", true), ("v1beta1", false)]), definition("b", &[("v1", true), ("v2", true)])];
        let wanted = wanted(&definitions);
        assert_eq!(wanted.keys().collect::<Vec<_>>(), ["v1.example.com", "v2.example.com"]);
        assert_eq!(
            wanted["v1.example.com"]["spec"],
            json!({"group": "example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 100})
        );
    }

    #[test]
    fn the_built_in_groups_are_all_there_but_the_aggregator_itself() {
        let names: Vec<String> = built_in("").map(|service| metadata_text(&service, "name").to_owned()).collect();
        assert!(names.contains(&"v1.".to_owned()) && names.contains(&"v2.autoscaling".to_owned()), "{names:?}");
        assert!(!names.iter().any(|name| name.contains(GROUP)), "{names:?}");
        assert_eq!(names.len(), 21);
    }
}
