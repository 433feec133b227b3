//! Subresources and resources that are more than a stored object: each a small module, chosen here by name.

mod binding;
mod connect;
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

pub(crate) use binding::{assign, set_condition};
pub(crate) use connect::backend_of_kubelet;

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
        ("", "pods", "log") => Some(connect::log(call, resource).await),
        ("", "pods", "exec" | "attach" | "portforward") => Some(connect::stream(call, resource).await),
        ("", "pods" | "nodes" | "services", "proxy") => Some(connect::proxy(call, resource, body).await),
        ("", "componentstatuses", "") => Some(reviews::component_statuses(call)),
        ("authorization.k8s.io" | "authentication.k8s.io", _, "") if info.verb == "create" => {
            Some(reviews::create(call, resource, body).await)
        }
        _ => None,
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
    let is_old_eviction = kind == "Eviction" && decoded.kind.version == "v1beta1";
    if decoded.kind.version != expected.version && !is_old_eviction {
        return Err(Status::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({api_version})",
            decoded.kind.api_version(),
        )));
    }
    call.warnings.extend(decoded.warnings);
    let mut object = decoded.object;
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".into(), api_version.into());
        fields.insert("kind".into(), kind.into());
    }
    Ok(object)
}
