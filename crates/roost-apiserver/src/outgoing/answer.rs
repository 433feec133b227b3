//! Reading answers as stock's client reads them: by status, by content type, and by kind.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::response::Parts;
use roost_admission::webhook::response_words;
use roost_object::field::quote;
use roost_object::{Value, json, yaml};

/// How much of a body that is text is shown.
const SHOWN_BYTES: usize = 2048;

/// Where stock's client has its kinds; its messages name it.
const SCHEME: &str = "pkg/runtime/scheme.go:111";

/// The body of a success, or what a failure means.
pub(super) fn body_of(parts: &Parts, body: Bytes) -> Result<Bytes, String> {
    let code = parts.status.as_u16();
    let content_type =
        parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    if !(200..=206).contains(&code) {
        if let Some(message) = status_message(&body) {
            return Err(message);
        }
        let is_text = content_type.is_empty() || content_type.starts_with("text/");
        let shown = String::from_utf8_lossy(&body[..body.len().min(SHOWN_BYTES)]);
        return Err(response_words(code, if is_text { shown.trim() } else { "unknown" }));
    }
    if body.is_empty() {
        return Err(format!("0-length response with status code: {code} and content type: {content_type}"));
    }
    Ok(body)
}

/// The words of a `Status` object.
fn status_message(body: &[u8]) -> Option<String> {
    let status = json::read(body).ok()?.value;
    let is_status = status["kind"] == "Status" && status["apiVersion"] == "v1" && status["status"] != "Success";
    is_status.then(|| status["message"].as_str().unwrap_or_default().to_owned())
}

/// Reads an object of a kind that is known in some versions of a group. YAML is understood too.
pub(crate) fn read_object(body: &[u8], group: &str, versions: &[&str], kind: &str) -> Result<Value, String> {
    let text: Cow<'_, [u8]> = if looks_like_json(body) {
        Cow::Borrowed(body)
    } else {
        let document = yaml::read(body).map_err(|error| error.to_string())?;
        Cow::Owned(document.value.to_string().into_bytes())
    };
    let found = json::type_meta(&text).map_err(|error| error.to_string())?;
    let known = versions.iter().any(|version| found.api_version == format!("{group}/{version}")) && found.kind == kind;
    if !known && !found.api_version.is_empty() && !found.kind.is_empty() {
        return Err(format!(
            "no kind {} is registered for version {} in scheme {}",
            quote(&found.kind),
            quote(&found.api_version),
            quote(SCHEME)
        ));
    }
    json::read(&text).map(|document| document.value).map_err(|error| error.to_string())
}

fn looks_like_json(body: &[u8]) -> bool {
    body.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| matches!(byte, b'{' | b'['))
}
