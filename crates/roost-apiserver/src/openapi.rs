//! OpenAPI documents.

use http::Response;
use roost_object::Status;

use crate::call::Call;
use crate::handle::not_found_page;
use crate::respond::Body;

/// Answers a request below `/openapi/`.
pub(crate) fn answer(_call: &Call, _rest: &str) -> Result<Response<Body>, Status> {
    Ok(not_found_page())
}

/// The description of a field of a kind.
pub(crate) fn description(_api_version: &str, _kind: &str, _field: &str) -> String {
    String::new()
}
