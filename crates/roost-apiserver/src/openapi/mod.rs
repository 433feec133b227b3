//! OpenAPI documents over HTTP: which one is meant, in which form, and whether the caller has it already.
//!
//! A document of built-in kinds is the same for every tenant and takes milliseconds to write, so none is kept for long; only
//! their hashes are. Those of custom kinds are written from the stored definitions each time.

mod custom;
mod hashes;
mod recent;
#[cfg(test)]
mod tests;
mod words;

use std::io::Write as _;
use std::sync::LazyLock;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, EXPIRES, IF_NONE_MATCH, LAST_MODIFIED,
    LOCATION, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use jiff::{Timestamp, ToSpan as _};
use roost_kinds::openapi::{self, Format};
use serde_json::json;

use crate::call::Call;
use crate::negotiate;
use crate::respond::{self, Body};
use crate::route::not_found_page;
use custom::Definitions;
use words::Words;

pub(crate) use words::description;

/// When this program began to write documents, which is when they last changed.
static WRITTEN: LazyLock<Timestamp> = LazyLock::new(Timestamp::now);

/// Answers a request below `/openapi/`; the rest of its path comes without a slash at the end.
pub(crate) fn answer(call: &Call, rest: &str) -> Response<Body> {
    let exact = !call.info.path.ends_with('/');
    match rest {
        "v2" if exact => second_generation(call),
        "v3" if exact => index(call),
        _ if rest == "v3" || rest.starts_with("v3/") => {
            let name = rest.strip_prefix("v3/").filter(|_| exact).unwrap_or_default();
            third_generation(call, name).unwrap_or_else(|| empty(404))
        }
        _ => not_found_page(),
    }
}

/// The list of all documents with their hashes.
fn index(call: &Call) -> Response<Body> {
    let place = |name: &str, hash: &str| json!({"serverRelativeURL": address(name, hash)});
    let mut paths = serde_json::Map::new();
    for (name, hash) in hashes::of_all_built_in() {
        paths.insert(name.clone(), place(&name, &hash));
    }
    for (name, hash) in custom::hashes(&call.cluster) {
        paths.entry(name.clone()).or_insert_with(|| place(&name, &hash));
    }
    let mut response = respond::bytes(200, "text/plain; charset=utf-8", json!({"paths": paths}).to_string());
    insert(response.headers_mut(), LAST_MODIFIED, &date(Timestamp::now(), "GMT"));
    response
}

fn address(name: &str, hash: &str) -> String {
    format!("/openapi/v3/{name}?hash={hash}")
}

/// One document of the third generation; none when there is no such document.
fn third_generation(call: &Call, name: &str) -> Option<Response<Body>> {
    let known = hashes::of_built_in(name);
    let custom = if known.is_none() { custom::of_document(&call.cluster, name) } else { Vec::new() };
    if known.is_none() && custom.is_empty() {
        return None;
    }
    let Some(form) = form(&call.headers, "v3") else {
        let mut response = empty(406);
        insert(response.headers_mut(), VARY, "Accept");
        return Some(response);
    };
    let hash = known.unwrap_or_else(|| custom::hash(&call.cluster, &custom));
    let mut response = match call.query.non_empty("hash") {
        Some(wanted) if wanted != hash => {
            let mut response = empty(301);
            insert(response.headers_mut(), CONTENT_TYPE, form.media_type);
            insert(response.headers_mut(), LOCATION, &address(name, &hash));
            response
        }
        wanted => {
            let mut response = unless_known(call, &hash, form, || {
                if custom.is_empty() {
                    return recent::built_in(name, form.format);
                }
                let definitions = Definitions::read(&call.cluster, &custom);
                openapi::custom(&definitions.kinds()).write(&Words::default(), form.format).into()
            });
            if wanted.is_some() {
                insert(response.headers_mut(), CACHE_CONTROL, "public, immutable");
                let expires = Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).saturating_add(1.year());
                insert(response.headers_mut(), EXPIRES, &date(expires.timestamp(), "UTC"));
            }
            response
        }
    };
    insert(response.headers_mut(), ETAG, &format!("\"{hash}\""));
    insert(response.headers_mut(), VARY, "Accept");
    Some(response)
}

/// The one document of the second generation.
fn second_generation(call: &Call) -> Response<Body> {
    let mut response = match form(&call.headers, "v2") {
        None => empty(406),
        Some(form) => {
            let custom: Vec<_> = custom::hashes(&call.cluster).into_iter().collect();
            let hash = hashes::of_everything(&custom);
            let mut response = unless_known(call, &hash, form, || {
                if custom.is_empty() {
                    return recent::everything(form.format);
                }
                let definitions = Definitions::read(&call.cluster, &custom::of_tenant(&call.cluster));
                openapi::everything(&definitions.kinds()).write(&Words::default(), form.format).into()
            });
            insert(response.headers_mut(), ETAG, &format!("\"{hash}\""));
            response
        }
    };
    insert(response.headers_mut(), VARY, "Accept-Encoding");
    response.headers_mut().append(VARY, HeaderValue::from_static("Accept"));
    response
}

/// A form in which documents can be had.
#[derive(Clone, Copy)]
struct Form {
    format: Format,
    media_type: &'static str,
    /// Whether the document is compressed, as only those of the second generation are.
    compressed: bool,
}

/// What the caller can read; none when it is nothing that there is.
fn form(headers: &HeaderMap, generation: &str) -> Option<Form> {
    let second = generation == "v2";
    let protobuf = if second {
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    } else {
        "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
    };
    let compressed = second && respond::accepts_gzip(headers);
    let json = Form { format: Format::Json, media_type: "application/json", compressed };
    let clauses = negotiate::clauses(headers);
    if clauses.is_empty() {
        return Some(json);
    }
    clauses.iter().find_map(|clause| {
        if clause.allows("application/json") {
            Some(json)
        } else if clause.allows(protobuf) || clause.allows(&protobuf.replacen(".v1.0", "@v1.0", 1)) {
            Some(Form { format: Format::Protobuf, media_type: protobuf, compressed })
        } else {
            None
        }
    })
}

/// The document, or word that the caller has it.
fn unless_known(call: &Call, hash: &str, form: Form, document: impl FnOnce() -> Bytes) -> Response<Body> {
    let has = |value: &HeaderValue| {
        let tags = value.to_str().unwrap_or_default().split(',').map(str::trim);
        tags.map(|tag| tag.strip_prefix("W/").unwrap_or(tag)).any(|tag| tag == "*" || tag.trim_matches('"') == hash)
    };
    if call.headers.get_all(IF_NONE_MATCH).iter().any(has) {
        return empty(304);
    }
    let mut response = empty(200);
    let mut document = document();
    if form.compressed {
        document = compress(&document);
        insert(response.headers_mut(), CONTENT_ENCODING, "gzip");
    }
    insert(response.headers_mut(), CONTENT_TYPE, form.media_type);
    insert(response.headers_mut(), LAST_MODIFIED, &date(*WRITTEN, "GMT"));
    insert(response.headers_mut(), CONTENT_LENGTH, &document.len().to_string());
    // A body of unannounced length is left as it is: stock does not compress documents of the third generation.
    *response.body_mut() = StreamBody::new(stream::once(async { Ok(Frame::data(document)) })).boxed_unsync();
    response
}

fn compress(document: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(document.len() / 8), Compression::fast());
    let written = encoder.write_all(document);
    debug_assert!(written.is_ok(), "memory takes everything");
    encoder.finish().unwrap_or_default().into()
}

fn empty(code: u16) -> Response<Body> {
    let mut response = respond::bytes(code, "", "");
    response.headers_mut().remove(CONTENT_TYPE);
    response
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn date(time: Timestamp, zone: &str) -> String {
    format!("{} {zone}", time.strftime("%a, %d %b %Y %H:%M:%S"))
}
