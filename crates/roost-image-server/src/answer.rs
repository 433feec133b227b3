//! From a request to an answer: status, headers, and which bytes of what.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};

use crate::catalog::Progress;
use crate::images::{Gate, ImageError, Images, ScriptRequest, Served};
use crate::metrics::Metrics;
use crate::range::{Wanted, wanted};
use crate::request::Request;
use crate::route::{Asked, Form, asked};
use crate::server::Exposure;

/// What is sent behind the head.
#[derive(Debug)]
pub(crate) enum Body {
    /// Nothing.
    Nothing,
    /// Words.
    Bytes(Bytes),
    /// A part of an image.
    Image(Arc<Served>, Range<u64>),
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(&'static str, String)>,
    /// The length that the head says, which a HEAD request only hears about.
    length: Option<u64>,
    pub(crate) body: Body,
}

impl Answer {
    /// Words for people, as Go's `http.Error` writes them.
    pub(crate) fn words(status: u16, text: &str) -> Self {
        let text = format!("{text}\n");
        Self {
            status,
            headers: vec![("Content-Type", "text/plain; charset=utf-8".to_owned())],
            length: Some(text.len() as u64),
            body: Body::Bytes(text.into()),
        }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The head as it is sent.
    pub(crate) fn head(&self, keep_alive: bool, now: Timestamp) -> String {
        let reason = http::StatusCode::from_u16(self.status).ok().and_then(|status| status.canonical_reason());
        let mut head = format!("HTTP/1.1 {} {}\r\nDate: {}\r\n", self.status, reason.unwrap_or_default(), date(now));
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if let Some(length) = self.length {
            let _ = write!(head, "Content-Length: {length}\r\n");
        }
        if !keep_alive {
            head.push_str("Connection: close\r\n");
        }
        head.push_str("\r\n");
        head
    }
}

/// Answers a request.
pub(crate) fn answer(
    request: &Request,
    exposure: Exposure,
    images: &Images,
    gate: &dyn Gate,
    metrics: &Metrics,
) -> Answer {
    let is_head = request.method == "HEAD";
    if !is_head && request.method != "GET" {
        return Answer::words(405, "Method Not Allowed").with("Allow", "GET, HEAD");
    }
    let asked = asked(request);
    let is_for_firmware = match &asked {
        Asked::Image { form, .. } => *form == Form::Initrd,
        Asked::Metrics => false,
        _ => true,
    };
    let mut answer = match asked {
        Asked::NotFound => not_found(),
        _ if exposure == Exposure::BootOnly && !is_for_firmware => not_found(),
        Asked::Live => Answer::words(200, "ok"),
        Asked::Health => health(images),
        Asked::Metrics => Answer::words(200, metrics.to_text().trim_end()),
        Asked::Malformed(problem) => Answer::words(400, problem),
        Asked::Part { artifact, version, architecture } => {
            served(request, images.part(artifact, &version, &architecture))
        }
        Asked::Disk { sha256 } => served(request, images.disk_file(&sha256)),
        Asked::Script { infra_env, token, card, is_controlled } => match token {
            Some(token) if gate.environment(&token).as_ref() == Some(&infra_env) => {
                let wanted = ScriptRequest { card: &card, is_controlled };
                script(images.boot_script(&infra_env, &token, wanted, gate))
            }
            _ => unauthorized(),
        },
        Asked::Image { infra_env, token, version, architecture, form } => {
            match token.and_then(|token| gate.environment(&token)) {
                Some(own) if infra_env.as_ref().is_none_or(|named| *named == own) => {
                    served(request, images.image(&own, version.as_deref(), &architecture, form))
                }
                _ => unauthorized(),
            }
        }
    };
    if is_head {
        answer.body = Body::Nothing;
    }
    answer
}

/// One answer for all who may not: a stranger learns nothing of which environments there are.
fn unauthorized() -> Answer {
    Answer::words(401, "this link is not good, or not any more; the status of the InfraEnv has the newest link")
}

fn not_found() -> Answer {
    Answer::words(404, "404 page not found")
}

fn health(images: &Images) -> Answer {
    let unfinished: Vec<String> = images
        .catalog()
        .progress()
        .into_iter()
        .filter(|(_, progress)| *progress != Progress::Ready)
        .map(|(image, progress)| format!("{} {}: {progress:?}", image.openshift_version, image.architecture))
        .collect();
    if unfinished.is_empty() { Answer::words(200, "ok") } else { Answer::words(503, &unfinished.join("\n")) }
}

fn served(request: &Request, found: Result<Arc<Served>, ImageError>) -> Answer {
    let image = match found {
        Ok(image) => image,
        Err(error) => return refused(&error),
    };
    let length = image.layout.length();
    let modified = image.modified.map(date);
    let mut headers = vec![("ETag", image.tag.clone()), ("Accept-Ranges", "bytes".to_owned())];
    // An image holds its environment's token; nobody between may keep it.
    headers.push(("Cache-Control", "private, no-transform".to_owned()));
    headers.extend(modified.iter().map(|modified| ("Last-Modified", modified.clone())));
    let with_body = |status, headers: Vec<_>, range: Range<u64>| Answer {
        status,
        headers,
        length: Some(range.end - range.start),
        body: Body::Image(Arc::clone(&image), range),
    };
    match precondition(request, &image) {
        Some(304) => return Answer { status: 304, headers, length: None, body: Body::Nothing },
        Some(status) => return Answer { headers, ..Answer::words(status, "Precondition Failed") },
        None => {}
    }
    headers.push(("Content-Type", "application/octet-stream".to_owned()));
    headers.push(("Content-Disposition", format!("attachment; filename={}", image.file_name)));
    let header = request.header("range").filter(|_| request.method == "GET" && still_the_same(request, &image));
    match wanted(header, length) {
        Wanted::Whole => with_body(200, headers, 0..length),
        Wanted::Part(range) => {
            headers.push(("Content-Range", format!("bytes {}-{}/{length}", range.start, range.end - 1)));
            with_body(206, headers, range)
        }
        Wanted::Refused => {
            Answer::words(416, "Range Not Satisfiable").with("Content-Range", format!("bytes */{length}"))
        }
    }
}

/// A script, or nothing for iPXE to run, after which firmware goes on with the disk.
fn script(found: Result<Option<String>, ImageError>) -> Answer {
    match found {
        Ok(Some(text)) => Answer::words(200, text.trim_end()).with("Cache-Control", "no-store"),
        Ok(None) => Answer::words(404, "the host boots its disk"),
        Err(error) => refused(&error),
    }
}

fn refused(error: &ImageError) -> Answer {
    let words = error.to_string();
    match error {
        ImageError::UnknownEnvironment | ImageError::NoPart(_) => Answer::words(404, &words),
        ImageError::UnknownVersion { .. } => Answer::words(400, &words),
        ImageError::NotReady(_) => Answer::words(503, &words).with("Retry-After", "10"),
        ImageError::Base(_) => Answer::words(500, &words),
    }
}

/// What the conditions of RFC 9110 say, in its order: 412, 304 or nothing.
fn precondition(request: &Request, image: &Served) -> Option<u16> {
    let later = |name: &str| -> Option<bool> {
        let since = parsed(request.header(name)?)?;
        Some(image.modified?.as_second() > since.as_second())
    };
    if let Some(tags) = request.header("if-match") {
        if !names(tags, &image.tag, false) {
            return Some(412);
        }
    } else if later("if-unmodified-since") == Some(true) {
        return Some(412);
    }
    if let Some(tags) = request.header("if-none-match") {
        return names(tags, &image.tag, true).then_some(304);
    }
    (later("if-modified-since") == Some(false)).then_some(304)
}

/// Whether a client that has some of it may have the rest: `If-Range` names exactly what there is.
fn still_the_same(request: &Request, image: &Served) -> bool {
    request.header("if-range").is_none_or(|validator| {
        validator == image.tag || image.modified.is_some_and(|modified| validator == date(modified))
    })
}

/// Whether a list of entity tags names this one.
fn names(list: &str, tag: &str, weak_counts: bool) -> bool {
    list.split(',').map(str::trim).any(|item| {
        let item = if weak_counts { item.strip_prefix("W/").unwrap_or(item) } else { item };
        item == "*" || item == tag
    })
}

fn date(time: Timestamp) -> String {
    DateTimePrinter::new().timestamp_to_rfc9110_string(&time).unwrap_or_default()
}

fn parsed(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}
