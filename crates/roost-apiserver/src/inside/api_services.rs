//! `APIService` objects: one for each group and version that is served here, as the aggregator shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use roost_object::field::quote;
use roost_object::{Status, Value};
use serde_json::json;

use super::edit::{self, Object};
use super::{Inside, Task};
use crate::clock;
use crate::cluster::Cluster;
use crate::write::{API_SERVER, metadata_text};

const GROUP: &str = "apiregistration.k8s.io";
const PLURAL: &str = "apiservices";
/// Says how the object is kept: from the start of the server on, or always.
const MANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";
/// How often the other end of a foreign group is looked for.
const FOREIGN_INTERVAL: Duration = Duration::from_secs(5);
/// The label of an EndpointSlice that names its Service.
const SERVICE_NAME: &str = "kubernetes.io/service-name";
/// The port of a Service when none is named.
const HTTPS_PORT: i64 = 443;
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
pub(super) async fn register(cluster: &Arc<Cluster>, inside: &Inside) -> Result<(), Status> {
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
    let foreign: Vec<&Value> = current.values().filter(|service| service["spec"]["service"].is_object()).collect();
    if !foreign.is_empty() {
        inside.timers.after(&cluster.tenant, Task::RegisterGroups, FOREIGN_INTERVAL);
    }
    for service in foreign {
        judge(cluster, service).await?;
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

/// Says of a group that another server is meant to serve why it is not available.
async fn judge(cluster: &Arc<Cluster>, service: &Value) -> Result<(), Status> {
    let (reason, message) = unavailable(cluster, service);
    let now = clock::now_text();
    let transform = |live: &Value| {
        let mut next = live.clone();
        crate::after::set_condition(&mut next, "Available", "False", reason, &message, &now);
        Ok(next)
    };
    let name = metadata_text(service, "name");
    edit::change(cluster, Object::of_cluster(GROUP, PLURAL, name), "status", API_SERVER, &transform).await
}

/// Why a group of another server is not available: the reason and its words.
fn unavailable(cluster: &Cluster, service: &Value) -> (&'static str, String) {
    let reference = &service["spec"]["service"];
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    let port = reference["port"].as_i64().unwrap_or(HTTPS_PORT);
    let place = quote(namespace);
    let Some(found) = cluster.find("", "services", namespace, name) else {
        return ("ServiceNotFound", format!("service/{name} in {place} is not present"));
    };
    if found["spec"]["type"] == "ClusterIP" {
        let listening = found["spec"]["ports"].as_array().into_iter().flatten().find(|entry| entry["port"] == port);
        let Some(listening) = listening else {
            return ("ServicePortError", format!("service/{name} in {place} is not listening on port {port}"));
        };
        let port_name = listening["name"].as_str().unwrap_or_default();
        let slices = cluster.find_all("discovery.k8s.io", "endpointslices", namespace);
        let slices: Vec<Value> =
            slices.into_iter().filter(|slice| slice["metadata"]["labels"][SERVICE_NAME] == name).collect();
        if slices.is_empty() {
            return ("EndpointsNotFound", format!("cannot find endpointslices for service/{name} in {place}"));
        }
        let has_port = |slice: &&Value| {
            let mut ports = slice["ports"].as_array().into_iter().flatten();
            ports.any(|entry| entry["name"].as_str().unwrap_or_default() == port_name)
        };
        let is_ready = |endpoint: &Value| endpoint["conditions"]["ready"] != false;
        let ready = slices
            .iter()
            .filter(has_port)
            .any(|slice| slice["endpoints"].as_array().into_iter().flatten().any(is_ready));
        if !ready {
            let port_name = quote(port_name);
            let why =
                format!("endpointslices for service/{name} in {place} have no addresses with port name {port_name}");
            return ("MissingEndpoints", why);
        }
    }
    let host = found["spec"]["clusterIP"].as_str().unwrap_or_default();
    let of = |field: &str| service["spec"][field].as_str().unwrap_or_default();
    let url = format!("https://{host}:{port}/apis/{}/{}", of("group"), of("version"));
    (
        "FailedDiscoveryCheck",
        format!("failing or missing response from {url}: other API servers are not called from here"),
    )
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

/// Whether another server is meant to serve a group and version.
pub(crate) fn is_foreign(cluster: &Cluster, group: &str, version: &str) -> bool {
    let service = cluster.find(GROUP, PLURAL, "", &format!("{version}.{group}"));
    service.is_some_and(|service| service["spec"]["service"].is_object())
}

/// The groups that other servers are meant to serve, as discovery shows them, or the one that is named.
pub(crate) fn foreign_groups(cluster: &Cluster, named: Option<&str>) -> Vec<Value> {
    let services = cluster.find_all(GROUP, PLURAL, "");
    let mut groups: BTreeMap<&str, Vec<(i64, &str)>> = BTreeMap::new();
    for service in services.iter().filter(|service| service["spec"]["service"].is_object()) {
        let text = |field: &str| service["spec"][field].as_str().unwrap_or_default();
        if named.is_none_or(|named| named == text("group")) {
            let priority = service["spec"]["versionPriority"].as_i64().unwrap_or(0);
            groups.entry(text("group")).or_default().push((-priority, text("version")));
        }
    }
    let show = |(group, mut versions): (&str, Vec<(i64, &str)>)| {
        versions.sort_unstable();
        let versions: Vec<Value> = versions
            .iter()
            .map(|(_, version)| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
            .collect();
        json!({"name": group, "versions": versions, "preferredVersion": versions.first()})
    };
    groups.into_iter().map(show).collect()
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
