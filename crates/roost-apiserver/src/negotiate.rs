//! Which form an answer takes: the `Accept` header read as the stock server reads it.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use roost_object::Status;
use roost_object::status::Details;

use crate::request::Query;

/// The encodings of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// `application/json`
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`, for built-in kinds.
    Protobuf,
}

impl Encoding {
    /// The media type without parameters.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Encoding::Json => "application/json",
            Encoding::Yaml => "application/yaml",
            Encoding::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }
}

/// What the caller wants instead of the object itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// The object.
    Object,
    /// Columns and cells, as `kubectl get` prints them.
    Table,
    /// Only the metadata.
    Metadata,
    /// Only the metadata of each item of a list.
    MetadataList,
}

/// The agreed form of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// How objects are written.
    pub(crate) encoding: Encoding,
    /// What is written.
    pub(crate) view: View,
    /// The version of the view's own kind: `v1` or `v1beta1`.
    pub(crate) view_version: &'static str,
    /// Whether JSON is indented for people.
    pub(crate) pretty: bool,
}

impl Format {
    /// Plain JSON, for answers that are not negotiated.
    pub(crate) const JSON: Format =
        Format { encoding: Encoding::Json, view: View::Object, view_version: "v1", pretty: false };

    /// JSON for people, where nothing could be agreed on.
    pub(crate) const INDENTED: Format = Format { pretty: true, ..Format::JSON };

    /// Whether objects are written as they are stored.
    pub(crate) fn is_plain(&self) -> bool {
        self.encoding == Encoding::Json && self.view == View::Object && !self.pretty
    }
}

/// The media types of built-in kinds.
pub(crate) const BUILT_IN: &[Encoding] = &[Encoding::Json, Encoding::Yaml, Encoding::Protobuf];
/// The media types of custom resources, which have no protobuf form.
pub(crate) const CUSTOM: &[Encoding] = &[Encoding::Json, Encoding::Yaml];

/// The most clauses of one `Accept` header that are looked at.
const MAX_CLAUSES: usize = 64;

/// One clause of an `Accept` header.
pub(crate) struct Clause<'a> {
    media_type: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

impl<'a> Clause<'a> {
    /// A parameter's value.
    pub(crate) fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    /// Whether the clause allows a media type.
    pub(crate) fn allows(&self, media_type: &str) -> bool {
        self.media_type == media_type
            || self.media_type == "*/*"
            || self.media_type.strip_suffix("/*").is_some_and(|kind| media_type.split('/').next() == Some(kind))
    }
}

/// The clauses of all `Accept` headers, the best first.
pub(crate) fn clauses(headers: &HeaderMap) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .take(MAX_CLAUSES)
        .filter_map(|text| {
            let mut parts = text.split(';').map(str::trim);
            let media_type = parts.next().filter(|media_type| !media_type.is_empty())?;
            let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
            let quality =
                parameters.iter().find(|(key, _)| *key == "q").and_then(|(_, q)| q.parse().ok()).unwrap_or(1.0);
            Some(Clause { media_type, parameters, quality })
        })
        .collect();
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    clauses
}

/// The first look at `Accept`, as stock's router takes it: some clause must name one of the media types, or any.
pub(crate) fn route(headers: &HeaderMap, accepted: &[Encoding]) -> Result<(), Status> {
    let names: Vec<_> = accepted.iter().map(|encoding| encoding.media_type()).collect();
    route_to(headers, &names)
}

/// The same for what is no object.
pub(crate) fn route_to(headers: &HeaderMap, names: &[&str]) -> Result<(), Status> {
    let clauses = clauses(headers);
    let fits = |clause: &Clause<'_>| clause.media_type == "*/*" || names.contains(&clause.media_type);
    if clauses.is_empty() || clauses.iter().any(fits) {
        return Ok(());
    }
    let message = format!("406: Not Acceptable\n\nAvailable representations: {}", names.join(", "));
    Err(Status::failure(406, "NotAcceptable", message).with_details(Details::default()))
}

/// Agrees on a form, or says which media types there are.
pub(crate) fn negotiate(headers: &HeaderMap, query: &Query, accepted: &[Encoding]) -> Result<Format, Status> {
    agree(headers, query, accepted, &[View::Object, View::Table, View::Metadata, View::MetadataList])
}

/// The same for what is answered and never stored, and so has no table.
pub(crate) fn negotiate_without_table(headers: &HeaderMap, query: &Query) -> Result<Format, Status> {
    agree(headers, query, BUILT_IN, &[View::Object, View::Metadata, View::MetadataList])
}

/// The same for documents, of which there is nothing else to see.
pub(crate) fn negotiate_plain(headers: &HeaderMap, query: &Query) -> Result<Format, Status> {
    agree(headers, query, BUILT_IN, &[View::Object])
}

/// The form of refusals, which reach also those who take nothing that there is.
pub(crate) fn for_refusals(headers: &HeaderMap, query: &Query) -> Format {
    negotiate_plain(headers, query).unwrap_or(Format::INDENTED)
}

fn agree(headers: &HeaderMap, query: &Query, accepted: &[Encoding], views: &[View]) -> Result<Format, Status> {
    let pretty = wants_pretty(headers, query);
    let clauses = clauses(headers);
    if clauses.is_empty() {
        return Ok(Format { pretty, ..Format::JSON });
    }
    for clause in &clauses {
        for &encoding in accepted {
            if !clause.allows(encoding.media_type()) {
                continue;
            }
            if let Some((view, view_version)) = view_of(clause) {
                if !views.contains(&view) || (view == View::Table && encoding == Encoding::Protobuf) {
                    continue;
                }
                let pretty = pretty || clause.parameter("pretty") == Some("1");
                return Ok(Format { encoding, view, view_version, pretty });
            }
        }
    }
    let names: Vec<_> = BUILT_IN.iter().map(|encoding| encoding.media_type()).collect();
    Err(Status::not_acceptable(&names))
}

/// What a clause's `as`, `g` and `v` ask for; none when there is no such view.
fn view_of(clause: &Clause<'_>) -> Option<(View, &'static str)> {
    let Some(kind) = clause.parameter("as") else {
        return Some((View::Object, "v1"));
    };
    if clause.parameter("g") != Some("meta.k8s.io") {
        return None;
    }
    let version = match clause.parameter("v") {
        Some("v1") => "v1",
        Some("v1beta1") => "v1beta1",
        _ => return None,
    };
    match kind {
        "Table" => Some((View::Table, version)),
        "PartialObjectMetadata" => Some((View::Metadata, version)),
        "PartialObjectMetadataList" => Some((View::MetadataList, version)),
        _ => None,
    }
}

/// Whether JSON should be indented: asked for by a parameter, or guessed from a tool that people read from.
pub(crate) fn wants_pretty(headers: &HeaderMap, query: &Query) -> bool {
    if let Some(value) = query.get("pretty") {
        return matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True");
    }
    let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    ["curl", "Wget", "Mozilla/5.0"].iter().any(|tool| agent.starts_with(tool))
}

/// The encoding of a request body; a missing content type means JSON.
pub(crate) fn body_encoding(headers: &HeaderMap, accepted: &[Encoding]) -> Result<Encoding, Status> {
    let names: Vec<_> = BUILT_IN.iter().map(|encoding| encoding.media_type()).collect();
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return Ok(Encoding::Json);
    };
    let media_type = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let media_type = media_type.to_ascii_lowercase();
    if media_type.is_empty() {
        return Ok(Encoding::Json);
    }
    accepted
        .iter()
        .copied()
        .find(|encoding| encoding.media_type() == media_type)
        .ok_or_else(|| Status::unsupported_media_type(&names))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(accept: &str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())])
    }

    #[test]
    fn kubectl_gets_a_table_and_kubelet_protobuf() {
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        let format = negotiate(&headers(kubectl), &Query::default(), CUSTOM).unwrap();
        assert_eq!(format.view, View::Table);
        let kubelet = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(negotiate(&headers(kubelet), &Query::default(), BUILT_IN).unwrap().encoding, Encoding::Protobuf);
        assert_eq!(negotiate(&headers(kubelet), &Query::default(), CUSTOM).unwrap().encoding, Encoding::Json);
    }

    #[test]
    fn unknown_media_types_are_refused_with_the_known_ones() {
        let status = negotiate(&headers("text/html"), &Query::default(), CUSTOM).unwrap_err();
        assert_eq!(status.code, 406);
        assert_eq!(
            status.message,
            "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
        );
    }
}
