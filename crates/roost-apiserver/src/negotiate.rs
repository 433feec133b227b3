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
    kind: &'a str,
    subkind: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

impl<'a> Clause<'a> {
    /// Reads a clause; none when it names no media type.
    fn parse(text: &'a str) -> Option<Clause<'a>> {
        let mut parts = text.split(';');
        let media_type = parts.next()?;
        let (kind, subkind) = match media_type.split_once('/').filter(|(_, subkind)| !subkind.is_empty()) {
            Some((kind, subkind)) => (trim_blanks(kind), trim_blanks(subkind)),
            None if trim_blanks(media_type.trim_end_matches('/')) == "*" => ("*", "*"),
            None => return None,
        };
        if subkind.contains('/') {
            return None;
        }
        let mut clause = Clause { kind, subkind, parameters: Vec::new(), quality: 1.0 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            if value.is_empty() || value.trim_end_matches('=').contains('=') || value.ends_with("==") {
                continue;
            }
            let value = value.strip_suffix('=').unwrap_or(value);
            match trim_blanks(name) {
                "q" => clause.quality = value.parse().unwrap_or(0.0),
                name => clause.parameters.push((name, trim_blanks(value))),
            }
        }
        Some(clause)
    }

    /// A parameter's value, the last one where it is given twice.
    pub(crate) fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().rfind(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    /// Whether the clause allows a media type.
    pub(crate) fn allows(&self, media_type: &str) -> bool {
        let Some((kind, subkind)) = media_type.split_once('/') else { return false };
        match (self.kind, self.subkind) {
            ("*", "*") => true,
            (own, "*") => own == kind,
            own => own == (kind, subkind),
        }
    }

    /// Whether something else than the object is asked for.
    fn converts(&self) -> bool {
        ["as", "g", "v"].iter().any(|name| self.parameter(name).is_some())
    }

    /// Whether the parameters that only watches know are ones that there are.
    fn has_known_options(&self, encoding: Encoding) -> bool {
        let streams = |value: &str| value.is_empty() || value == "watch" && encoding != Encoding::Yaml;
        self.parameter("stream").is_none_or(streams) && self.parameter("sv").is_none_or(|value| value == "v1")
    }

    fn is_before(&self, other: &Clause<'_>) -> bool {
        self.quality > other.quality
            || (self.kind != "*" && other.kind == "*")
            || (self.subkind != "*" && other.subkind == "*")
    }
}

fn trim_blanks(text: &str) -> &str {
    text.trim_matches(' ')
}

/// The `Accept` header, the first where there are several.
fn accepted_text(headers: &HeaderMap) -> &str {
    headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The clauses of the `Accept` header, the best first. The order is no total one, so it depends on how it is sorted:
/// each clause moves forward as long as it is before its neighbour.
pub(crate) fn clauses(headers: &HeaderMap) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> =
        accepted_text(headers).split(',').take(MAX_CLAUSES).filter_map(Clause::parse).collect();
    for sorted in 1..clauses.len() {
        let mut place = sorted;
        while place > 0 && clauses[place].is_before(&clauses[place - 1]) {
            clauses.swap(place, place - 1);
            place -= 1;
        }
    }
    clauses
}

/// The first look at `Accept`, as stock's router takes it: some clause must name one of the media types, or any.
pub(crate) fn route(headers: &HeaderMap, accepted: &[Encoding]) -> Result<(), Status> {
    let names: Vec<_> = accepted.iter().map(|encoding| encoding.media_type()).collect();
    route_to(headers, &names)
}

/// The same for what is no object.
pub(crate) fn route_to(headers: &HeaderMap, names: &[&str]) -> Result<(), Status> {
    let text = accepted_text(headers);
    let fits = |clause: &str| {
        let media_type = clause.split(';').next().unwrap_or_default().trim_matches(' ');
        media_type == "*/*" || names.contains(&media_type)
    };
    if text.is_empty() || text.split(',').take(MAX_CLAUSES).any(fits) {
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
    if accepted_text(headers).is_empty() {
        return Ok(Format { pretty, ..Format::JSON });
    }
    for clause in &clauses(headers) {
        for &encoding in BUILT_IN {
            if !clause.allows(encoding.media_type()) || !clause.has_known_options(encoding) {
                continue;
            }
            if let Some((view, view_version)) = view_of(clause) {
                // What has no protobuf form itself still has metadata, which do.
                let is_written = match view {
                    View::Object => accepted.contains(&encoding),
                    View::Table => encoding != Encoding::Protobuf,
                    View::Metadata | View::MetadataList => true,
                };
                if !views.contains(&view) || !is_written {
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
    if !clause.converts() {
        return Some((View::Object, "v1"));
    }
    if clause.parameter("g") != Some("meta.k8s.io") {
        return None;
    }
    let version = match clause.parameter("v") {
        Some("v1") => "v1",
        Some("v1beta1") => "v1beta1",
        _ => return None,
    };
    match clause.parameter("as") {
        Some("Table") => Some((View::Table, version)),
        Some("PartialObjectMetadata") => Some((View::Metadata, version)),
        Some("PartialObjectMetadataList") => Some((View::MetadataList, version)),
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
    let text = value.to_str().unwrap_or_default();
    if text.is_empty() {
        return Ok(Encoding::Json);
    }
    let media_type = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    accepted
        .iter()
        .copied()
        .find(|encoding| encoding.media_type() == media_type && has_whole_parameters(text))
        .ok_or_else(|| Status::unsupported_media_type(&names))
}

/// Whether what stands behind a media type are parameters with names and values, none of them twice.
fn has_whole_parameters(content_type: &str) -> bool {
    let Some((_, rest)) = content_type.split_once(';') else { return true };
    let mut names: Vec<String> = Vec::new();
    let mut rest = rest.trim();
    while !rest.is_empty() {
        let Some((name, value)) = rest.split_once('=') else { return false };
        let name = name.trim_end().to_ascii_lowercase();
        let (is_whole, behind) = match value.strip_prefix('"').map(|quoted| quoted.split_once('"')) {
            Some(Some((_, behind))) => (true, behind),
            Some(None) => (false, ""),
            None => {
                let end = value.find(|character: char| !is_token(character)).unwrap_or(value.len());
                (end > 0, &value[end..])
            }
        };
        let behind = behind.trim_start();
        if !is_whole || name.is_empty() || !name.chars().all(is_token) || names.contains(&name) {
            return false;
        }
        names.push(name);
        rest = match behind.strip_prefix(';') {
            Some(behind) => behind.trim_start(),
            None if behind.is_empty() => "",
            None => return false,
        };
    }
    true
}

/// What names and values of parameters are made of.
fn is_token(character: char) -> bool {
    character.is_ascii_graphic() && !"()<>@,;:\\\"/[]?=".contains(character)
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
    fn clauses_are_sorted_as_stock_sorts_them() {
        let best =
            |accept: &str| negotiate(&headers(accept), &Query::default(), BUILT_IN).map(|format| format.encoding);
        assert_eq!(best("application/yaml;q=0.5,application/json;q=0.9").unwrap(), Encoding::Json);
        assert_eq!(best("*/*,application/yaml").unwrap(), Encoding::Yaml);
        assert_eq!(best("application/json;q=odd,application/yaml;q=0.1").unwrap(), Encoding::Yaml);
        assert!(best("application/json;v=v1").is_err());
        assert!(best("application/yaml;stream=watch").is_err());
    }

    #[test]
    fn parameters_of_content_types_have_names_and_values() {
        for whole in ["application/json", "application/json;", "a/b; c=d", "a/b;c=\"d e\" ; f=g;"] {
            assert!(has_whole_parameters(whole), "{whole}");
        }
        for broken in ["a/b; c", "a/b; c=", "a/b; =d", "a/b; c=d e", "a/b; c=d; c=e", "a/b; c=\"d"] {
            assert!(!has_whole_parameters(broken), "{broken}");
        }
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
