//! Reading one object.

use bytes::{BufMut, BytesMut};
use http::Response;
use roost_object::{Status, Value};

use super::table::present;
use crate::conversion;
use crate::negotiate::{Encoding, Format, View};
use crate::respond::{self, Body};
use crate::write::Target;

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
    let plain = format.encoding == Encoding::Json && format.view == View::Object && !format.pretty;
    let stored = cluster.open(resource, &entry)?;
    if plain && resource.is_served_as_stored() && resource.is_current(&stored, entry.modified) {
        let mut out = BytesMut::new();
        stored.write_json(&mut out, &resource.api_version, &resource.kind, entry.modified);
        out.put_u8(b'\n');
        return Ok(respond::bytes(200, "application/json", out.freeze()));
    }
    let object: Value = if resource.webhook().is_some() {
        conversion::one_to_served(cluster, resource, cluster.decode(resource, &entry)?).await?
    } else {
        cluster.decode_served(resource, &entry)?
    };
    present(target.call, resource, format, 200, object)
}

/// A get may ask for a minimal revision; one in the future is refused.
fn check_revision(target: &Target<'_>) -> Result<(), Status> {
    let Some(text) = target.call.query.non_empty("resourceVersion") else { return Ok(()) };
    let wanted = super::list::parse_watch_revision(text)?;
    super::list::not_in_future(wanted, target.call.cluster.store.revision())
}
