//! Answers: objects and refusals in the form that was agreed on.

use std::convert::Infallible;
use std::io::Write as _;

use bytes::{BufMut, Bytes, BytesMut};
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, VARY, WARNING,
};
use http::{HeaderMap, HeaderValue, Response};
use http_body::Body as _;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use roost_object::{Status, Value};

use crate::negotiate::{Encoding, Format};

/// The body of an answer: a buffer or a stream.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Smaller bodies are not worth compressing; the limit is stock's.
const GZIP_THRESHOLD_BYTES: u64 = 128 * 1024;

/// A body that is already complete.
pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// An answer with a complete body.
pub(crate) fn bytes(code: u16, content_type: &str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(full(body));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if let Ok(value) = HeaderValue::from_str(content_type) {
        headers.insert(CONTENT_TYPE, value);
    }
    response
}

/// Text from before stock's handlers, without what these add to all answers.
pub(crate) fn bare_text(code: u16, body: impl Into<String>) -> Response<Body> {
    let mut response = bytes(code, "text/plain; charset=utf-8", body.into());
    response.headers_mut().remove(CACHE_CONTROL);
    response
}

/// Plain text, for what stock answers as plain text.
pub(crate) fn text(code: u16, body: impl Into<String>) -> Response<Body> {
    let mut response = bytes(code, "text/plain; charset=utf-8", body.into());
    response.headers_mut().insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

/// Writes an object (with its `apiVersion` and `kind`) in the agreed encoding.
pub(crate) fn object(code: u16, format: &Format, value: &Value) -> Response<Body> {
    if format.encoding == Encoding::Yaml
        && let Err(error) = roost_object::yaml::check(value)
    {
        return status(&Status::failure(500, "", error.to_string()), format);
    }
    bytes(code, format.encoding.media_type(), encode(value, format))
}

/// An object's bytes in the agreed encoding.
pub(crate) fn encode(value: &Value, format: &Format) -> Bytes {
    match format.encoding {
        Encoding::Json => {
            let mut out = Vec::with_capacity(1024);
            // The documents of the core group do not say their version.
            let text = |name: &str| value.get(name).and_then(Value::as_str);
            match roost_kinds::type_of(text("apiVersion").unwrap_or("v1"), text("kind").unwrap_or_default()) {
                Some(ty) => roost_kinds::json::write(&mut out, value, ty),
                None => roost_kinds::json::write_untyped(&mut out, value),
            }
            if format.pretty {
                return indent(&out).into();
            }
            out.push(b'\n');
            out.into()
        }
        Encoding::Yaml => roost_object::yaml::write(value).into(),
        Encoding::Protobuf => {
            let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
            match roost_kinds::type_of(text("apiVersion"), text("kind")) {
                Some(ty) => roost_kinds::protobuf::encode(value, ty).into(),
                None => value.to_string().into(),
            }
        }
    }
}

/// Indents compact JSON for people, in the order in which it is written.
fn indent(compact: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(compact.len() * 2);
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.extend(std::iter::repeat_n(b' ', depth * 2));
    };
    for (index, byte) in compact.iter().copied().enumerate() {
        if quoted {
            out.push(byte);
            quoted = escaped || byte != b'"';
            escaped = byte == b'\\' && !escaped;
            continue;
        }
        let next = compact.get(index + 1).copied();
        match byte {
            b'"' => {
                quoted = true;
                out.push(byte);
            }
            b'{' | b'[' if matches!(next, Some(b'}' | b']')) => out.push(byte),
            b'{' | b'[' => {
                depth += 1;
                out.push(byte);
                line(&mut out, depth);
            }
            b'}' | b']' if matches!(out.last(), Some(b'{' | b'[')) => out.push(byte),
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            _ => out.push(byte),
        }
    }
    out
}

/// A refusal, in the encoding that the caller reads.
pub(crate) fn status(status: &Status, format: &Format) -> Response<Body> {
    let mut value = status_value(status);
    if let Value::Object(fields) = &mut value {
        fields.insert("apiVersion".into(), "v1".into());
        fields.insert("kind".into(), "Status".into());
        fields.insert("metadata".into(), Value::Object(roost_object::Map::new()));
    }
    let mut response = object(status.code, format, &value);
    if let Some(details) = &status.details
        && details.retry_after_seconds > 0
    {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(details.retry_after_seconds));
    }
    response
}

/// A `Status` as a value, without its type.
pub(crate) fn status_value(status: &Status) -> Value {
    serde_json::to_value(status).unwrap_or_default()
}

/// Adds a `Warning` header with its text quoted; stock leaves out what has control characters.
pub(crate) fn warn(headers: &mut HeaderMap, text: &str) {
    if text.contains(char::is_control) {
        return;
    }
    let mut quoted = String::with_capacity(text.len() + 8);
    quoted.push_str("299 - \"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    if let Ok(value) = HeaderValue::from_str(&quoted) {
        headers.append(WARNING, value);
    }
}

/// The answer to a HEAD: all headers, and no body, which over HTTP/2 nobody else would take away.
pub(crate) fn without_body(response: Response<Body>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    if let Some(length) = body.size_hint().exact().filter(|length| *length > 0) {
        parts.headers.entry(CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(length));
    }
    Response::from_parts(parts, full(Bytes::new()))
}

/// Whether the caller reads compressed bodies.
pub(crate) fn accepts_gzip(request: &HeaderMap) -> bool {
    let accepts = request.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepts.split(',').any(|part| part.split(';').next().map(str::trim) == Some("gzip"))
}

/// Whether a body is complete and large enough to be compressed; streams are not.
pub(crate) fn is_compressible(response: &Response<Body>) -> bool {
    let is_large = response.body().size_hint().exact().is_some_and(|length| length >= GZIP_THRESHOLD_BYTES);
    let headers = response.headers();
    is_large && headers.contains_key(CONTENT_TYPE) && !headers.contains_key(CONTENT_ENCODING)
}

/// Compresses a complete body.
pub(crate) async fn compress(response: Response<Body>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let body = match body.collect().await {
        Ok(collected) => collected.to_bytes(),
        Err(never) => match never {},
    };
    match gzip(&body) {
        Some(compressed) => {
            parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            parts.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
            Response::from_parts(parts, full(compressed))
        }
        None => Response::from_parts(parts, full(body)),
    }
}

/// Compresses bytes.
pub(crate) fn gzip(body: &[u8]) -> Option<Bytes> {
    let buffer = BytesMut::with_capacity(body.len() / 8).writer();
    let mut encoder = flate2::write::GzEncoder::new(buffer, flate2::Compression::fast());
    encoder.write_all(body).and_then(|()| encoder.finish()).ok().map(|compressed| compressed.into_inner().freeze())
}
