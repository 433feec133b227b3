//! Binding a pod to a node: what a scheduler does.

use bytes::Bytes;
use http::Response;
use roost_object::status::Details;
use roost_object::{Status, Value};
use serde_json::json;

use super::decode_as;
use crate::admission::{self, Action};
use crate::call::Call;
use crate::clock;
use crate::negotiate::{self, Format};
use crate::options::{WriteKind, WriteOptions};
use crate::respond::{self, Body};
use crate::write::{self, Change, ChangeKind, Target, metadata_text};

/// Binds a pod.
pub(super) async fn create(call: &Call, bytes: &Bytes) -> Result<Response<Body>, Status> {
    let format = negotiate::negotiate_without_table(&call.headers, &call.query)?;
    let options = WriteOptions::parse(&call.query, WriteKind::Create)?;
    let binding = decode_as(call, bytes, "v1", "Binding", &options)?;
    let name = if call.info.name.is_empty() { metadata_text(&binding, "name") } else { &call.info.name }.to_owned();
    assign(call, &call.info.namespace, &name, binding, &options).await?;
    Ok(created(&format))
}

/// Puts a pod on the node that a binding names.
pub(crate) async fn assign(
    call: &Call,
    namespace: &str,
    name: &str,
    mut binding: Value,
    options: &WriteOptions,
) -> Result<(), Status> {
    let pods = call.cluster.resource("", "v1", "pods").ok_or_else(Status::unknown_path)?;
    let target = Target { call, resource: &pods, namespace, name, subresource: "binding" };
    let action = Action { operation: "CREATE", kind: ["", "v1", "Binding"] };
    write::match_namespace(&target, &mut binding)?;
    admission::admit(target, &action, &mut binding, options.dry_run).await?;
    if metadata_text(&binding, "name") != name {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    check(&binding)?;
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    let words = roost_object::names::is_path_segment(name);
    if !words.is_empty() {
        let name = roost_object::field::quote(name);
        return Err(Status::bad_request(format!("Name parameter invalid: {name}: {}", words.join(";"))));
    }
    let node = binding["target"]["name"].as_str().unwrap_or_default();
    let now = clock::now_text();
    let transform = |live: &Value| bind(&target, live, &binding, node, &now);
    let change = Change { kind: ChangeKind::Bare, transform: &transform, create: false };
    write::update(target, change, options).await?;
    Ok(())
}

fn bind(target: &Target<'_>, live: &Value, binding: &Value, node: &str, now: &str) -> Result<Value, Status> {
    let refuse =
        |why: String| Err(Status::conflict(&roost_object::GroupResource::new("", "pods/binding"), target.name, &why));
    for (what, field) in [("UID", "uid"), ("ResourceVersion", "resourceVersion")] {
        let (wanted, found) = (metadata_text(binding, field), metadata_text(live, field));
        if !wanted.is_empty() && wanted != found {
            return Err(write::failed_precondition(target, what, wanted, found));
        }
    }
    if live["metadata"].get("deletionTimestamp").is_some() {
        return refuse(format!("pod {} is being deleted, cannot be assigned to a host", target.name));
    }
    let current = live["spec"]["nodeName"].as_str().unwrap_or_default();
    if !current.is_empty() {
        return refuse(format!("pod {} is already assigned to node \"{current}\"", target.name));
    }
    if live["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
        return refuse(format!("pod {} has non-empty .spec.schedulingGates", target.name));
    }
    let mut next = live.clone();
    next["spec"]["nodeName"] = node.into();
    let metadata = write::metadata_mut(&mut next);
    if let Some(annotations) = binding["metadata"]["annotations"].as_object() {
        let all = metadata.entry("annotations").or_insert_with(|| json!({}));
        for (key, value) in annotations {
            all[key.as_str()] = value.clone();
        }
    }
    if let Some(labels) = binding["metadata"]["labels"].as_object() {
        let all = metadata.entry("labels").or_insert_with(|| json!({}));
        for (key, value) in labels {
            all[key.as_str()] = value.clone();
        }
    }
    if let Some(status) = next.get_mut("status").and_then(Value::as_object_mut) {
        status.remove("nominatedNodeName");
    }
    set_condition(&mut next, json!({"type": "PodScheduled", "status": "True"}), now);
    Ok(next)
}

/// Sets a condition of a pod; its time moves with its status.
pub(crate) fn set_condition(pod: &mut Value, mut condition: Value, now: &str) {
    condition["lastProbeTime"] = Value::Null;
    condition["lastTransitionTime"] = now.into();
    let conditions = &mut pod["status"]["conditions"];
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else { return };
    match conditions.iter_mut().find(|present| present["type"] == condition["type"]) {
        Some(present) => {
            if present["status"] == condition["status"] {
                condition["lastTransitionTime"] = present["lastTransitionTime"].take();
            }
            *present = condition;
        }
        None => conditions.push(condition),
    }
}

/// What is wrong with a binding: stock reports it without saying that it is the caller's fault.
fn check(binding: &Value) -> Result<(), Status> {
    use roost_object::field::{Error, Path};
    let mut errors = Vec::new();
    let kind = binding["target"]["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "" | "Node") {
        errors.push(Error::not_supported(&Path::new("target.kind"), kind, &["Node", "<empty>"]));
    }
    if binding["target"]["name"].as_str().unwrap_or_default().is_empty() {
        errors.push(Error::required(&Path::new("target.name"), ""));
    }
    if errors.is_empty() { Ok(()) } else { Err(Status::failure(500, "", roost_object::field::aggregate(&errors))) }
}

/// `Success`, as a `Status` with code 201.
pub(super) fn created(format: &Format) -> Response<Body> {
    let mut response = crate::handle::success(Details::default(), format);
    let value = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201});
    *response.body_mut() = respond::full(respond::encode(&value, format));
    *response.status_mut() = http::StatusCode::CREATED;
    response
}
