//! What leaves the server: upstream's words where it has some.

use std::sync::LazyLock;

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, IF_NONE_MATCH, RETRY_AFTER, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body_util::{Either, Full};

use crate::artifacts::FileBody;
use crate::authority::{Payload, Refusal};

pub(crate) type Answer = Response<Either<Full<Bytes>, FileBody>>;

fn whole(bytes: impl Into<Bytes>) -> Answer {
    Response::new(Either::Left(Full::new(bytes.into())))
}

/// Plain words, as Go's `http.Error` writes them.
pub(crate) fn words(status: StatusCode, text: &str) -> Answer {
    let mut answer = whole(format!("{text}\n"));
    *answer.status_mut() = status;
    set(&mut answer, CONTENT_TYPE, "text/plain; charset=utf-8");
    set(&mut answer, X_CONTENT_TYPE_OPTIONS, "nosniff");
    answer
}

fn set(answer: &mut Answer, name: HeaderName, value: &'static str) {
    answer.headers_mut().insert(name, HeaderValue::from_static(value));
}

pub(crate) fn not_found() -> Answer {
    words(StatusCode::NOT_FOUND, "404 page not found")
}

pub(crate) fn unauthorized() -> Answer {
    words(StatusCode::UNAUTHORIZED, "Unauthorized")
}

pub(crate) fn bad_request(text: &str) -> Answer {
    words(StatusCode::BAD_REQUEST, &format!("Bad Request: {text}"))
}

/// The empty answer of the health check.
pub(crate) fn healthy() -> Answer {
    whole(Bytes::new())
}

/// Too many requests. Ignition tries again after any 5xx and gives up on 429, and a machine that waits its turn must
/// not fail to boot; so Ignition is told the same with 503.
pub(crate) fn limited(seconds: u64, is_ignition: bool) -> Answer {
    let status = if is_ignition { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::TOO_MANY_REQUESTS };
    let mut answer = words(status, "Too many requests");
    answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
    answer
}

/// Nobody can be served at this moment; machines try again.
pub(crate) fn busy() -> Answer {
    let mut answer = words(StatusCode::SERVICE_UNAVAILABLE, "Service unavailable");
    set(&mut answer, RETRY_AFTER, "5");
    answer
}

pub(crate) fn refused(refusal: &Refusal, is_ignition: bool) -> Answer {
    match refusal {
        Refusal::UnknownToken | Refusal::NotBuilt => {
            words(StatusCode::NETWORK_AUTHENTICATION_REQUIRED, "Token not found")
        }
        Refusal::InvalidPayload => words(StatusCode::INTERNAL_SERVER_ERROR, "Invalid ignition payload"),
        Refusal::Forbidden(text) => words(StatusCode::FORBIDDEN, &one_line(text)),
        Refusal::Conflict(text) => words(StatusCode::CONFLICT, &one_line(text)),
        Refusal::Limited { retry_after } => {
            limited(retry_after.as_secs() + u64::from(retry_after.subsec_nanos() > 0), is_ignition)
        }
        Refusal::Unavailable(_) => busy(),
    }
}

/// A text that stays one line of a body.
fn one_line(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).take(512).collect()
}

/// A payload, or word that the machine has it already.
pub(crate) fn payload(payload: &Payload, request: &HeaderMap) -> Answer {
    let tag = entity_tag(&payload.body);
    let unchanged = request.get_all(IF_NONE_MATCH).iter().any(|value| !tag.is_empty() && names(value.as_bytes(), &tag));
    let mut answer = if unchanged {
        let mut answer = whole(Bytes::new());
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        answer
    } else {
        let mut answer = whole(payload.body.clone());
        set(&mut answer, CONTENT_TYPE, "application/json; charset=utf-8");
        answer
    };
    if !tag.is_empty()
        && let Ok(tag) = HeaderValue::from_str(&tag)
    {
        answer.headers_mut().insert(ETAG, tag);
    }
    // A payload belongs to one machine and holds its credential.
    set(&mut answer, CACHE_CONTROL, "no-store");
    set(&mut answer, VARY, "Accept, Authorization");
    answer
}

/// A checksum of 128 bits. With a key that everybody knows it proves nothing, and need not: it only tells payloads
/// apart, several times faster than a hash, which would cost a boot storm as much as its encryption.
fn entity_tag(body: &[u8]) -> String {
    static KEY: LazyLock<Option<LessSafeKey>> =
        LazyLock::new(|| UnboundKey::new(&AES_128_GCM, &[0; 16]).ok().map(LessSafeKey::new));
    let sum = KEY.as_ref().and_then(|key| {
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        key.seal_in_place_separate_tag(nonce, Aad::from(body), &mut []).ok()
    });
    sum.map_or_else(String::new, |sum| format!("\"{}\"", URL_SAFE_NO_PAD.encode(sum)))
}

/// Whether a list of entity tags names this one. Weak ones count, as for every GET.
pub(crate) fn names(list: &[u8], tag: &str) -> bool {
    let Ok(list) = std::str::from_utf8(list) else { return false };
    list.split(',').map(str::trim).any(|item| item == "*" || item.strip_prefix("W/").unwrap_or(item) == tag)
}

#[cfg(test)]
mod tests {
    use super::{entity_tag, names};

    #[test]
    fn payloads_are_told_apart() {
        let tags: std::collections::HashSet<String> =
            [&b""[..], b"a", b"b", b"aa", &[0; 16], &[0; 17], &[0; 4096]].map(entity_tag).into();
        assert_eq!(tags.len(), 7);
        assert_eq!(entity_tag(b"a"), entity_tag(b"a"));
        assert!(tags.iter().all(|tag| tag.len() == 24), "{tags:?}");
    }

    #[test]
    fn lists_of_tags_are_read() {
        for list in ["\"a\"", "W/\"a\"", "\"b\" , \"a\"", "*"] {
            assert!(names(list.as_bytes(), "\"a\""), "{list}");
        }
        for list in ["", "a", "\"A\"", "\"ab\"", "\u{e9}"] {
            assert!(!names(list.as_bytes(), "\"a\""), "{list}");
        }
    }
}
