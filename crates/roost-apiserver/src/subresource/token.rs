//! Tokens for service accounts.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use http::Response;
use jiff::Timestamp;
use roost_access::token::{BoundReference, TokenRequest, TokenRequestSettings};
use roost_object::{GroupResource, Status, Value};

use super::decode_as;
use crate::admission::{self, Action};
use crate::call::Call;
use crate::negotiate;
use crate::options::{WriteKind, WriteOptions};
use crate::resource::Resource;
use crate::respond::Body;
use crate::tokens;
use crate::write::{Target, match_namespace, track};

/// How long a token lives whose request does not say.
const DEFAULT_EXPIRATION_SECONDS: i64 = 3600;

/// The kind of requests for tokens, which are answered and never stored.
static TOKEN_REQUESTS: LazyLock<Arc<Resource>> = LazyLock::new(|| {
    let kind = Resource::of_kind("authentication.k8s.io", "v1", "TokenRequest", true);
    Arc::new(kind.expect("TokenRequest is a built-in kind"))
});

/// Issues a token.
pub(super) async fn create(call: &Call, accounts: &Arc<Resource>, bytes: &Bytes) -> Result<Response<Body>, Status> {
    let info = &call.info;
    let cluster = &call.cluster;
    let format = negotiate::negotiate_without_table(&call.headers, &call.query)?;
    let options = WriteOptions::parse(&call.query, WriteKind::Create)?;
    let mut body = decode_as(call, bytes, "authentication.k8s.io/v1", "TokenRequest", &options)?;
    let target =
        Target { call, resource: accounts, namespace: &info.namespace, name: &info.name, subresource: "token" };
    match_namespace(&target, &mut body)?;
    if body["spec"].get("expirationSeconds").is_none_or(Value::is_null) {
        body["spec"]["expirationSeconds"] = DEFAULT_EXPIRATION_SECONDS.into();
    }
    track(
        &Target { resource: &TOKEN_REQUESTS, ..target },
        None,
        &mut body,
        &call.manager_or_agent(&options.field_manager),
    );
    let action = Action { operation: "CREATE", kind: ["authentication.k8s.io", "v1", "TokenRequest"] };
    admission::admit(target, &action, &mut body, options.dry_run).await?;
    TokenRequest::check_name(&body, &info.namespace, &info.name)?;
    let account = cluster
        .find("", "serviceaccounts", &info.namespace, &info.name)
        .ok_or_else(|| Status::not_found(&accounts.group_resource(), &info.name))?;
    let settings = TokenRequestSettings::new(tokens::own_audiences(cluster));
    let now = Timestamp::now();
    let request = TokenRequest::new(body, &info.namespace, &info.name, Arc::new(account), &settings, now)?;
    let target = match request.bound() {
        None => None,
        Some(bound) => Some(find_bound(call, bound)?),
    };
    let node = match (request.bound(), &target) {
        (Some(BoundReference::Pod(_)), Some(pod)) => {
            TokenRequest::node_of(pod).and_then(|name| cluster.find("", "nodes", "", name))
        }
        _ => None,
    };
    let id = uuid::Uuid::new_v4().to_string();
    let issued = request.issue(&cluster.identity().token_issuer, &settings, target.as_ref(), node.as_ref(), id, now)?;
    call.warnings.extend(issued.warnings);
    crate::read::present(call, &TOKEN_REQUESTS, &format, 201, issued.answer.expose().clone())
}

fn find_bound(call: &Call, bound: &BoundReference) -> Result<Value, Status> {
    let (plural, namespace, name) = match bound {
        BoundReference::Pod(name) => ("pods", call.info.namespace.as_str(), name),
        BoundReference::Secret(name) => ("secrets", call.info.namespace.as_str(), name),
        BoundReference::Node(name) => ("nodes", "", name),
    };
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    call.cluster
        .find("", plural, namespace, name)
        .ok_or_else(|| Status::not_found(&GroupResource::new("", plural), name))
}
