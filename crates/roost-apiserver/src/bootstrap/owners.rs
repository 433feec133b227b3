//! Who made the objects of a fresh cluster, as stock's parts say of themselves.

use roost_merge::apply;
use roost_object::{Status, Value};
use serde_json::json;

use super::prepared::NO_TIME;
use crate::inside::{FLOW_CONSUMER, FLOW_GROUP};
use crate::write::{self, API_SERVER, CONTROLLERS, Target};

/// Who makes the flow schemas and priority levels.
const FLOW_PRODUCER: &str = "api-priority-and-fairness-config-producer-v1";
/// Who says that the first range of addresses is ready.
const ADDRESS_RANGES: &str = "kubernetes-service-cidr-controller";

/// What the server fills in after it has noted who owns what: the fields of the spec, by kind.
const SETTLED: [(&str, &[&str]); 2] = [("Namespace", &["finalizers"]), ("Service", &["clusterIPs", "ipFamilies"])];

/// Who creates an object.
pub(super) fn creator(object: &Value) -> &'static str {
    let in_flow_control = object["apiVersion"].as_str().is_some_and(|version| version.starts_with(FLOW_GROUP));
    match write::metadata_text(object, "name") {
        _ if in_flow_control => FLOW_PRODUCER,
        super::ROOT_AUTHORITY => CONTROLLERS,
        _ => API_SERVER,
    }
}

/// Takes away what nobody owns, because the server fills it in.
pub(super) fn take_settled(object: &mut Value) -> Vec<(&'static str, Value)> {
    let fields = SETTLED.iter().find(|(kind, _)| object["kind"] == *kind).map_or(&[][..], |(_, fields)| fields);
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return Vec::new() };
    fields.iter().filter_map(|field| Some((*field, spec.remove(*field)?))).collect()
}

/// Gives back what was taken away.
pub(super) fn put_settled(object: &mut Value, settled: Vec<(&'static str, Value)>) {
    for (field, value) in settled {
        object["spec"][field] = value;
    }
}

/// The status that another part of the server applies, and which part.
pub(super) fn judged(object: &Value) -> Option<(&'static str, Value)> {
    let manager = match object["kind"].as_str()? {
        "FlowSchema" => FLOW_CONSUMER,
        "ServiceCIDR" => ADDRESS_RANGES,
        _ => return None,
    };
    let mut status = object.get("status")?.clone();
    for condition in status["conditions"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        condition.insert("lastTransitionTime".into(), NO_TIME.into());
        condition.retain(|_, value| value != "");
    }
    Some((manager, status))
}

/// Has a manager apply some fields of an object.
pub(super) fn apply(target: &Target<'_>, object: &Value, manager: &str, mut said: Value) -> Result<Value, Status> {
    said["apiVersion"] = object["apiVersion"].clone();
    said["kind"] = object["kind"].clone();
    said["metadata"] = json!({"name": target.name});
    let filter = write::filter(target);
    let tracking = write::tracking(target, manager, NO_TIME, &filter);
    apply::apply(object, &said, &tracking, true, target.resource.node())
        .map_err(|error| Status::internal(error.to_string()))
}
