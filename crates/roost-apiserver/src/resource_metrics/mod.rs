//! `metrics.k8s.io`: what nodes and pods use, as a metrics server tells it, straight from the kubelets.
//!
//! Nothing is collected in the background: the kubelets are asked when somebody asks here.

mod collect;

use http::Response;
use jiff::Timestamp;
use roost_kinds::discovery::DynamicResource;
use roost_object::quantity::Format as QuantityFormat;
use roost_object::selector::{FieldSelector, Selector};
use roost_object::{GroupResource, Map, Quantity, Status, Value};
use roost_workloads::autoscaler::WINDOW;
use serde_json::json;

use crate::call::Call;
use crate::clock;
use crate::cluster::Cluster;
use crate::negotiate::{self, CUSTOM};
use crate::respond::{self, Body};
use crate::route;
use crate::write::metadata_text;
pub(crate) use collect::{Collected, Usage};

const GROUP: &str = "metrics.k8s.io";
const VERSION: &str = "v1beta1";
/// What there is: the plural, the kind and whether it lives in namespaces.
const RESOURCES: [(&str, &str, bool); 2] = [("nodes", "NodeMetrics", false), ("pods", "PodMetrics", true)];

/// The group's resources, for clusters that run pods.
pub(crate) fn resources(cluster: &Cluster) -> Vec<DynamicResource> {
    if cluster.workloads.is_none() {
        return Vec::new();
    }
    let describe = |(plural, kind, namespaced): (&str, &str, bool)| DynamicResource {
        group: GROUP.to_owned(),
        version: VERSION.to_owned(),
        plural: plural.to_owned(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        namespaced,
        read_only: true,
        ..DynamicResource::default()
    };
    RESOURCES.map(describe).into()
}

/// Answers a request for what is used; none when it is for something else.
pub(crate) async fn answer(call: &Call) -> Option<Result<Response<Body>, Status>> {
    let info = &call.info;
    let workloads = call.cluster.workloads.as_deref()?;
    if (info.group.as_str(), info.version.as_str()) != (GROUP, VERSION) || !info.subresource.is_empty() {
        return None;
    }
    let (plural, kind, namespaced) = *RESOURCES.iter().find(|(plural, ..)| *plural == info.resource)?;
    let nameless = namespaced && info.namespace.is_empty() && !info.name.is_empty();
    if nameless || (!namespaced && !info.namespace.is_empty()) {
        return Some(Ok(route::unknown_path(call)));
    }
    if !matches!(info.verb.as_str(), "get" | "list") {
        return Some(Err(Status::method_not_supported(&GroupResource::new(GROUP, plural), &info.verb)));
    }
    let usage = workloads.usage.usage(&call.cluster).await;
    Some(find(call, &usage, plural, kind))
}

fn find(call: &Call, usage: &Usage, plural: &str, kind: &str) -> Result<Response<Body>, Status> {
    let info = &call.info;
    let format = negotiate::negotiate(&call.headers, &call.query, CUSTOM)?;
    let format = negotiate::Format { view: negotiate::View::Object, ..format };
    let api_version = format!("{GROUP}/{VERSION}");
    let now = clock::now_text();
    if info.verb == "get" {
        let resource = GroupResource::new(GROUP, plural);
        let object = call.cluster.find("", plural, &info.namespace, &info.name);
        let object = object.ok_or_else(|| Status::not_found(&resource, &info.name))?;
        let mut item = describe(usage, &object, &now).ok_or_else(|| {
            let name = if info.namespace.is_empty() { info.name.clone() } else { key(&object) };
            Status::not_found(&resource, &name)
        })?;
        item["apiVersion"] = api_version.into();
        item["kind"] = kind.into();
        return Ok(respond::object(200, &format, &item));
    }
    let wrong = |error: roost_object::selector::Error| Status::bad_request(error.to_string());
    let labels = Selector::parse(call.query.get("labelSelector").unwrap_or_default()).map_err(wrong)?;
    let fields = FieldSelector::parse(call.query.get("fieldSelector").unwrap_or_default()).map_err(wrong)?;
    let field = |object: &Value, name: &str| {
        let name = name.strip_prefix("metadata.").unwrap_or_default();
        std::borrow::Cow::Owned(metadata_text(object, name).to_owned())
    };
    let mut objects = call.cluster.find_all("", plural, &info.namespace);
    objects.retain(|object| labels.matches_object(object) && fields.matches(|name| field(object, name)));
    objects.sort_by_cached_key(key);
    let items: Vec<Value> = objects.iter().filter_map(|object| describe(usage, object, &now)).collect();
    let list = json!({"apiVersion": api_version, "kind": format!("{kind}List"), "metadata": {}, "items": items});
    Ok(respond::object(200, &format, &list))
}

fn key(object: &Value) -> String {
    format!("{}/{}", metadata_text(object, "namespace"), metadata_text(object, "name"))
}

/// What a node or a pod uses; none when nobody knows.
fn describe(usage: &Usage, object: &Value, now: &str) -> Option<Value> {
    let (namespace, name) = (metadata_text(object, "namespace"), metadata_text(object, "name"));
    let mut metadata = Map::new();
    metadata.insert("name".into(), name.into());
    metadata.insert("creationTimestamp".into(), now.into());
    if let Some(labels) = object["metadata"].get("labels") {
        metadata.insert("labels".into(), labels.clone());
    }
    let window = format!("{}s", WINDOW.as_secs());
    if namespace.is_empty() {
        let node = usage.nodes.get(name)?;
        let usage = amounts(node.nano_cores, node.memory_bytes);
        return Some(json!({"metadata": metadata, "timestamp": time(node.time), "window": window, "usage": usage}));
    }
    let pod = usage.pods.get(&(namespace.to_owned(), name.to_owned()))?;
    metadata.insert("namespace".into(), namespace.into());
    let containers: Vec<Value> = pod
        .containers
        .iter()
        .map(|one| json!({"name": one.name, "usage": amounts(one.nano_cores, one.memory_bytes)}))
        .collect();
    Some(json!({"metadata": metadata, "timestamp": time(pod.time), "window": window, "containers": containers}))
}

fn time(time: Timestamp) -> String {
    clock::text(time)
}

fn amounts(nano_cores: u64, memory_bytes: u64) -> Value {
    let memory = Quantity::new(i64::try_from(memory_bytes).unwrap_or(i64::MAX), QuantityFormat::BinarySi);
    json!({"cpu": cores(nano_cores), "memory": memory.to_string()})
}

/// Processors in the largest unit that loses nothing.
fn cores(nano: u64) -> String {
    match [(1_000_000_000, ""), (1_000_000, "m"), (1000, "u")].iter().find(|(unit, _)| nano.is_multiple_of(*unit)) {
        Some((unit, suffix)) if nano > 0 => format!("{}{suffix}", nano / unit),
        Some(_) => "0".to_owned(),
        None => format!("{nano}n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_written_without_loss() {
        for (nano, text) in [(0, "0"), (10_000_000, "10m"), (2_000_000_000, "2"), (1_234_567, "1234567n"), (7000, "7u")]
        {
            assert_eq!(cores(nano), text);
        }
        assert_eq!(amounts(1, 32 << 20), json!({"cpu": "1n", "memory": "32Mi"}));
    }
}
