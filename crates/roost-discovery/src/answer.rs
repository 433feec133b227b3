//! What leaves the service: upstream's bodies.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use roost_host::wire::ErrorBody;
use serde::Serialize;
use serde_json::json;

use crate::registry::{Document, Refusal};
use crate::token::TokenProblem;

/// An answer with its whole body: what hosts are told is short.
pub(crate) type Answer = Response<Full<Bytes>>;

/// The longest text of a refusal.
const LONGEST: usize = 1024;

pub(crate) fn bytes(status: StatusCode, content_type: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    // What hosts are told holds their credentials.
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

pub(crate) fn json(status: StatusCode, body: &impl Serialize) -> Answer {
    bytes(status, "application/json", serde_json::to_vec(body).unwrap_or_default().into())
}

pub(crate) fn empty(status: StatusCode) -> Answer {
    bytes(status, "application/json", Bytes::new())
}

pub(crate) fn document(document: Document) -> Answer {
    bytes(StatusCode::OK, document.content_type, document.body)
}

/// What a host without a good token is told, in the shorter form that upstream has for it.
pub(crate) fn unauthorized(problem: TokenProblem) -> Answer {
    json(StatusCode::UNAUTHORIZED, &json!({"code": 401, "message": problem.to_string()}))
}

pub(crate) fn limited(seconds: u64) -> Answer {
    // Upstream's agent tries again after 503 and knows no 429.
    let mut answer = error(StatusCode::SERVICE_UNAVAILABLE, "too many requests");
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    answer
}

pub(crate) fn refused(refusal: &Refusal) -> Answer {
    let status = match refusal {
        Refusal::Invalid(_) => StatusCode::BAD_REQUEST,
        Refusal::Forbidden(_) => StatusCode::FORBIDDEN,
        Refusal::NotFound(_) => StatusCode::NOT_FOUND,
        Refusal::Conflict(_) => StatusCode::CONFLICT,
        Refusal::Unavailable(problem) => {
            // What failed inside is for the log.
            tracing::warn!(problem, "a host was not answered");
            let mut answer = error(StatusCode::SERVICE_UNAVAILABLE, "the service is busy; ask again");
            answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("2"));
            return answer;
        }
    };
    error(status, &refusal.to_string())
}

pub(crate) fn error(status: StatusCode, reason: &str) -> Answer {
    let reason = reason.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(LONGEST).collect();
    let code = i64::from(status.as_u16());
    json(status, &ErrorBody { kind: "Error".to_owned(), id: code, href: String::new(), code: code.to_string(), reason })
}
