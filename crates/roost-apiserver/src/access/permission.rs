//! Whether a request may go on, and as whom.

use http::HeaderMap;
use roost_access::{Attributes, User, impersonation};
use roost_object::Status;
use roost_object::selector::{FieldSelector, Selector};

use crate::cluster::Cluster;
use crate::request::{Query, RequestInfo};

/// How many users' ways of impersonating are remembered.
const MAX_REMEMBERED_MODES: usize = 1024;

/// The other identity that the caller asks for, where they may take it on.
pub(crate) fn impersonate(
    cluster: &Cluster,
    user: &User,
    headers: &HeaderMap,
    info: &RequestInfo,
) -> Result<Option<User>, Status> {
    let pairs = headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let Some(wanted) = impersonation::wanted_user(pairs)? else { return Ok(None) };
    let request = attributes(user, info);
    let preferred = cluster.impersonation.lock().get(&user.name).copied();
    let impersonated = cluster
        .authorizer
        .with(cluster, |_, authorizer| impersonation::impersonate(authorizer, &request, &wanted, preferred))?;
    let mut modes = cluster.impersonation.lock();
    if modes.len() >= MAX_REMEMBERED_MODES {
        modes.clear();
    }
    modes.insert(user.name.clone(), impersonated.mode);
    Ok(Some(impersonated.user))
}

/// Refuses what the caller may not do.
pub(crate) fn authorize(cluster: &Cluster, user: &User, info: &RequestInfo, query: &Query) -> Result<(), Status> {
    if !info.is_resource && matches!(info.path.split('/').nth(1), Some("healthz" | "livez" | "readyz")) {
        return Ok(());
    }
    let limited = matches!(info.verb.as_str(), "list" | "watch" | "deletecollection");
    let selector = |name| query.get(name).filter(|_| limited);
    let fields = selector("fieldSelector").and_then(|text| FieldSelector::parse(text).ok());
    let labels = selector("labelSelector").and_then(|text| Selector::parse(text).ok());
    let mut wanted = attributes(user, info);
    wanted.field_selector = fields.as_ref();
    wanted.label_selector = labels.as_ref();
    let decision = cluster.authorizer.decide(cluster, &wanted);
    if decision.is_allowed() {
        return Ok(());
    }
    Err(wanted.forbidden(&decision.reason().to_string()))
}

fn attributes<'a>(user: &'a User, info: &'a RequestInfo) -> Attributes<'a> {
    if !info.is_resource {
        return Attributes::path(user, &info.verb, &info.path);
    }
    Attributes { path: &info.path, ..Attributes::resource(user, &info.verb, info.attributes()) }
}
