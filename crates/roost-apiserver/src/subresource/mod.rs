//! Subresources and resources that are more than a stored object: each a small module, chosen here by name.

mod binding;
mod eviction;
mod reviews;
pub(crate) mod scale;
mod token;

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use roost_object::{GroupVersionKind, Status, Value};

use crate::body;
use crate::call::Call;
use crate::negotiate;
use crate::options::WriteOptions;
use crate::resource::Resource;
use crate::respond::Body;

/// Answers a request that is not plain reading or writing of a stored object; none when it is.
pub(crate) async fn handle(
    call: &Call,
    resource: &Arc<Resource>,
    body: &Bytes,
) -> Option<Result<Response<Body>, Status>> {
    let info = &call.info;
    match (&*resource.group, &*resource.plural, &*info.subresource) {
        (_, _, "scale") => Some(scale::handle(call, resource, body).await),
        ("", "pods", "binding") | ("", "bindings", "") => Some(binding::create(call, body).await),
        ("", "pods", "eviction") => Some(eviction::create(call, resource, body).await),
        ("", "serviceaccounts", "token") => Some(token::create(call, resource, body).await),
        ("", "pods", "log" | "exec" | "attach" | "portforward" | "proxy") => Some(Err(unreachable_pod(call, resource))),
        ("", "nodes" | "services", "proxy") => {
            Some(Err(Status::unavailable("no path to the node or service is set up")))
        }
        ("", "componentstatuses", "") => Some(reviews::component_statuses(call)),
        ("authorization.k8s.io" | "authentication.k8s.io", _, "") if info.verb == "create" => {
            Some(reviews::create(call, resource, body).await)
        }
        _ => None,
    }
}

/// What can be said of a pod that nothing runs.
fn unreachable_pod(call: &Call, resource: &Arc<Resource>) -> Status {
    let info = &call.info;
    match call.cluster.find("", "pods", &info.namespace, &info.name) {
        None => Status::not_found(&resource.group_resource(), &info.name),
        Some(pod) if pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty() => {
            Status::bad_request(format!("pod {} does not have a host assigned", info.name))
        }
        Some(pod) => {
            let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
            Status::internal(format!("error dialing backend: no path to node {node} is set up"))
        }
    }
}

/// Decodes a body of a given built-in kind.
pub(super) fn decode_as(
    call: &Call,
    bytes: &Bytes,
    api_version: &str,
    kind: &str,
    options: &WriteOptions,
) -> Result<Value, Status> {
    let encoding = negotiate::body_encoding(&call.headers, negotiate::BUILT_IN)?;
    let expected = GroupVersionKind::parse(api_version, kind);
    let decoded = body::decode(bytes, encoding, &expected, options.validation, None)?;
    call.warnings.extend(decoded.warnings);
    let mut object = decoded.object;
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".into(), api_version.into());
        fields.insert("kind".into(), kind.into());
    }
    Ok(object)
}
