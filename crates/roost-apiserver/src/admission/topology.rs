//! `PodTopologyLabels` and what nodes say about pods on them: zones as labels, and whether a resize can fit.

use roost_object::status::{Cause, Details};
use roost_object::{Quantity, Status, Value};
use serde_json::json;

use super::{Attributes, Verb};
use crate::cluster::Cluster;

const COPIED: &[&str] = &["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

/// Labels a pod that names its node itself with that node's zone and region.
pub(super) fn complete(attributes: &Attributes<'_>, pod: &mut Value) {
    if attributes.verb != Verb::Create || !attributes.is("", "pods") {
        return;
    }
    let Some(node) = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()) else { return };
    let labels = labels_of(&attributes.target.call.cluster, node);
    add(pod, labels);
}

/// Labels a binding, whose labels the pod gets, with the zone and region of its node.
pub(super) fn complete_binding(attributes: &Attributes<'_>, binding: &mut Value) {
    let target = &attributes.target;
    if !target.resource.is("", "pods") || target.subresource != "binding" || binding["target"]["kind"] != "Node" {
        return;
    }
    let node = binding["target"]["name"].as_str().unwrap_or_default();
    let labels = labels_of(&target.call.cluster, node);
    add(binding, labels);
}

fn labels_of(cluster: &Cluster, node: &str) -> Vec<(&'static str, Value)> {
    let Some(node) = cluster.find("", "nodes", "", node) else { return Vec::new() };
    let label = |name: &&'static str| Some((*name, node["metadata"]["labels"].get(*name)?.clone()));
    COPIED.iter().filter_map(label).collect()
}

fn add(object: &mut Value, labels: Vec<(&'static str, Value)>) {
    if labels.is_empty() {
        return;
    }
    let all = crate::write::metadata_mut(object).entry("labels").or_insert_with(|| json!({}));
    if !all.is_object() {
        *all = json!({});
    }
    for (name, value) in labels {
        all[name] = value;
    }
}

/// `NodeDeclaredFeatureValidator` and `PodResizeValidator`: a running pod's node must know the kind of resize, and have
/// room for it.
pub(super) fn check_resize(attributes: &Attributes<'_>, pod: &Value) -> Result<(), Status> {
    let target = &attributes.target;
    let (Verb::Update, "resize", Some(old)) = (attributes.verb, target.subresource, attributes.old) else {
        return Ok(());
    };
    let name = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if !target.resource.is("", "pods")
        || name.is_empty()
        || old["metadata"]["generation"] == pod["metadata"]["generation"]
    {
        return Ok(());
    }
    let Some(node) = target.call.cluster.find("", "nodes", "", name) else {
        return Err(attributes.forbidden(pod, &format!("node \"{name}\" not found")));
    };
    let declared = node["status"]["declaredFeatures"].as_array().map_or(&[][..], Vec::as_slice);
    let mut features = roost_rules::pod::features_of_resize(pod, old);
    features.retain(|feature| !declared.iter().any(|declared| declared == feature));
    if !features.is_empty() {
        let features = features.join(", ");
        let why = format!("pod update requires features {features} which are not available on node \"{name}\"");
        return Err(attributes.forbidden(pod, &why));
    }
    let system = node["metadata"]["labels"]["kubernetes.io/os"].as_str().unwrap_or("linux");
    if system != "linux" {
        let why = format!("pod resize is only supported on linux nodes, node \"{name}\" is \"{system}\"");
        return Err(with_cause(attributes.forbidden(pod, &why), "UnsupportedPlatform"));
    }
    let requests = roost_rules::pod::effective_requests(pod);
    let mut lacking = Vec::new();
    for (resource, words) in [("cpu", Quantity::milli_value as fn(&Quantity) -> i64), ("memory", Quantity::value)] {
        let allocatable = Quantity::from_value(&node["status"]["allocatable"][resource]).unwrap_or(Quantity::ZERO);
        let Some(requested) = requests.get(resource).filter(|requested| **requested > allocatable) else { continue };
        lacking.push(format!("{resource}, requested: {}, allocatable: {}", words(requested), words(&allocatable)));
    }
    if lacking.is_empty() {
        return Ok(());
    }
    let why = format!("node didn't have enough allocatable resources: {}", lacking.join("; "));
    Err(with_cause(attributes.forbidden(pod, &why), "NodeCapacity"))
}

fn with_cause(mut status: Status, reason: &str) -> Status {
    let cause = Cause { reason: reason.into(), message: String::new(), field: String::new() };
    status.details.get_or_insert_with(|| Box::new(Details::default())).causes.push(cause);
    status
}
