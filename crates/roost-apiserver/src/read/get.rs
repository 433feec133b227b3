//! Answers with one object.

use bytes::{BufMut, BytesMut};
use http::Response;
use roost_object::{Status, Value};
use roost_store::Revision;

use super::table::present;
use crate::conversion;
use crate::negotiate::Format;
use crate::resource::Resource;
use crate::respond::{self, Body};
use crate::stored::Stored;
use crate::write::{Target, Written, convert_from_storage};

/// Answers with one object in the agreed form.
pub(crate) async fn get(target: &Target<'_>, format: &Format) -> Result<Response<Body>, Status> {
    let cluster = &target.call.cluster;
    let resource = target.resource;
    if target.call.query.flag("export") {
        let why = "the export parameter, deprecated since v1.14, is no longer supported";
        return Err(Status::bad_request(why));
    }
    check_revision(target)?;
    let collection = target.collection();
    let entry = cluster.store.get(&collection, &target.key()).ok_or_else(|| target.not_found())?;
    let stored = cluster.open(resource, &entry)?;
    if format.is_plain() && resource.is_served_as_stored() && resource.is_current(&stored, entry.modified) {
        return Ok(as_stored(resource, 200, &stored, entry.modified));
    }
    let object: Value = if resource.webhook().is_some() {
        conversion::one_to_served(cluster, resource, cluster.decode(resource, &entry)?).await?
    } else {
        cluster.decode_served(resource, &entry)?
    };
    present(target.call, resource, format, 200, object)
}

/// Answers with an object that was written.
pub(crate) fn written(
    target: &Target<'_>,
    format: &Format,
    code: u16,
    written: Written,
) -> Result<Response<Body>, Status> {
    match &written.stored {
        Some((stored, revision)) if format.is_plain() => Ok(as_stored(target.resource, code, stored, *revision)),
        _ => {
            let served = convert_from_storage(target.resource, written.object)?;
            present(target.call, target.resource, format, code, served)
        }
    }
}

/// An object without a detour over a tree.
fn as_stored(resource: &Resource, code: u16, stored: &Stored, revision: Revision) -> Response<Body> {
    let mut out = BytesMut::new();
    stored.write_json(&mut out, &resource.api_version, &resource.kind, revision);
    out.put_u8(b'\n');
    respond::bytes(code, "application/json", out.freeze())
}

/// A get may ask for a minimal revision; one in the future is refused.
fn check_revision(target: &Target<'_>) -> Result<(), Status> {
    let Some(text) = target.call.query.non_empty("resourceVersion") else { return Ok(()) };
    let wanted = super::list::parse_watch_revision(text)?;
    super::list::not_in_future(wanted, target.call.cluster.store.revision())
}
