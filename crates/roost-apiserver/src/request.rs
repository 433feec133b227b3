//! What a request asks for: the path as coordinates, the query as parameters.

use std::borrow::Cow;

use http::Method;
use roost_access::ResourceAttributes;
use roost_object::Status;

/// The path and method of a request, read as the stock server reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestInfo {
    /// Whether the path addresses a resource; else it is a plain URL such as `/healthz`.
    pub(crate) is_resource: bool,
    /// The path as it came, percent-decoded.
    pub(crate) path: String,
    /// What authorization calls the action: `get`, `list`, `watch`, `create`, …; for plain URLs the method in lower case.
    pub(crate) verb: String,
    /// The API group; empty for the core group.
    pub(crate) group: String,
    /// The version within the group.
    pub(crate) version: String,
    /// The namespace in the path; empty when there is none.
    pub(crate) namespace: String,
    /// The resource's plural name.
    pub(crate) resource: String,
    /// The subresource, such as `status`.
    pub(crate) subresource: String,
    /// The object's name; empty for collections.
    pub(crate) name: String,
    /// What follows the subresource (the path behind `proxy`).
    pub(crate) rest: String,
    /// Whether the deprecated `/watch/` prefix was used.
    pub(crate) watch_prefix: bool,
    /// Whether the method is one that only reads.
    pub(crate) reads: bool,
    /// Whether only the headers of the answer are wanted.
    pub(crate) is_head: bool,
    /// Whether the path ends where it should say what is watched or reached.
    pub(crate) is_cut_off: bool,
}

/// Subresources of a namespace, which would else look like resources inside it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// The subresources that hold a connection to something else.
const CONNECTIONS: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

impl RequestInfo {
    /// Whether the caller is to be connected with something else, for as long as both like.
    pub(crate) fn is_connection(&self) -> bool {
        self.verb == "proxy"
            || self.verb != "watch" && self.is_resource && CONNECTIONS.contains(&self.subresource.as_str())
    }

    /// The resource that is asked for, for those who decide whether it may be.
    pub(crate) fn attributes(&self) -> ResourceAttributes<'_> {
        ResourceAttributes {
            group: &self.group,
            version: &self.version,
            resource: &self.resource,
            subresource: &self.subresource,
            namespace: &self.namespace,
            name: &self.name,
        }
    }

    /// Reads a request line. `query` decides between list and watch.
    pub(crate) fn parse(method: &Method, raw_path: &str, query: &Query) -> RequestInfo {
        let path = percent_encoding::percent_decode_str(raw_path).decode_utf8_lossy().into_owned();
        let mut info = RequestInfo {
            verb: method.as_str().to_ascii_lowercase(),
            path: path.clone(),
            reads: matches!(*method, Method::GET | Method::HEAD),
            is_head: *method == Method::HEAD,
            ..RequestInfo::default()
        };
        let trimmed = path.strip_prefix('/').unwrap_or(&path);
        let parts: Vec<&str> = trimmed.strip_suffix('/').unwrap_or(trimmed).split('/').collect();
        if parts.len() < 3 {
            return info;
        }
        let rest = match parts[0] {
            "api" => &parts[1..],
            "apis" if parts.len() >= 4 => {
                parts[1].clone_into(&mut info.group);
                &parts[2..]
            }
            _ => return info,
        };
        info.is_resource = true;
        rest[0].clone_into(&mut info.version);
        let mut rest = &rest[1..];
        if matches!(rest[0], "watch" | "proxy") {
            if rest.len() < 2 {
                info.is_cut_off = true;
                return info;
            }
            rest[0].clone_into(&mut info.verb);
            info.watch_prefix = rest[0] == "watch";
            rest = &rest[1..];
        } else {
            verb_of(method).clone_into(&mut info.verb);
        }
        if rest[0] == "namespaces" && rest.len() > 1 {
            rest[1].clone_into(&mut info.namespace);
            if rest.len() > 2 && !NAMESPACE_SUBRESOURCES.contains(&rest[2]) {
                rest = &rest[2..];
            }
        }
        rest[0].clone_into(&mut info.resource);
        if let Some(name) = rest.get(1) {
            (*name).clone_into(&mut info.name);
        }
        if let Some(subresource) = rest.get(2) {
            (*subresource).clone_into(&mut info.subresource);
            info.rest = rest[3..].join("/");
        }
        if info.name.is_empty() && info.verb == "get" {
            (if query.is_watch() { "watch" } else { "list" }).clone_into(&mut info.verb);
            if let Some(name) = query.get("fieldSelector").and_then(exact_name) {
                info.name = name;
            }
        }
        if info.name.is_empty() && info.verb == "delete" {
            "deletecollection".clone_into(&mut info.verb);
        }
        info
    }
}

/// The one name that a field selector allows, if it allows only one.
fn exact_name(selector: &str) -> Option<String> {
    let selector = roost_object::selector::FieldSelector::parse(selector).ok()?;
    selector
        .requires_exact_match("metadata.name")
        .filter(|name| !name.is_empty() && !name.contains(['/', '%']))
        .map(str::to_owned)
}

fn verb_of(method: &Method) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::GET | Method::HEAD => "get",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "",
    }
}

/// Whether every percent sign is followed by two hexadecimal digits. Go drops a parameter where one is not.
pub(crate) fn escapes_are_whole(text: &str) -> bool {
    let digits = |tail: &[u8]| tail.len() >= 2 && tail[..2].iter().all(u8::is_ascii_hexdigit);
    text.bytes().enumerate().all(|(index, byte)| byte != b'%' || digits(&text.as_bytes()[index + 1..]))
}

/// The decoded query string.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Decodes a query string; a missing one is empty.
    pub(crate) fn parse(query: Option<&str>) -> Query {
        let decode = |(name, value): (Cow<'_, str>, Cow<'_, str>)| (name.into_owned(), value.into_owned());
        let well_formed = |pair: &&str| !pair.contains(';') && escapes_are_whole(pair);
        let pairs = query.unwrap_or_default().split('&').filter(well_formed);
        Query(pairs.flat_map(|pair| form_urlencoded::parse(pair.as_bytes()).map(decode)).collect())
    }

    /// The first value of a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter, unless it is empty.
    pub(crate) fn non_empty(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// A parameter that is a whole number; one that is given but is none is refused.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, Status> {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let Some(text) = self.get(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|error: std::num::ParseIntError| {
            let why = match error.kind() {
                PosOverflow | NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            let quoted = roost_object::field::quote(text);
            Status::bad_request(format!("strconv.ParseInt: parsing {quoted}: {why}"))
        })
    }

    /// All values of a parameter.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A boolean the way stock reads one: absent, `false` and `0` are false, every other word is true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    /// The query as text again, for those whom a request is sent on to.
    pub(crate) fn to_text(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }

    /// Whether the request is a watch.
    pub(crate) fn is_watch(&self) -> bool {
        self.flag("watch")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(method: &str, path: &str, query: &str) -> RequestInfo {
        RequestInfo::parse(&method.parse().unwrap(), path, &Query::parse(Some(query)))
    }

    #[test]
    fn paths_become_coordinates() {
        let info = parse("GET", "/apis/apps/v1/namespaces/a/deployments/b/scale", "");
        assert_eq!(
            (&*info.group, &*info.version, &*info.namespace, &*info.resource, &*info.name, &*info.subresource),
            ("apps", "v1", "a", "deployments", "b", "scale")
        );
        assert_eq!(info.verb, "get");
        let info = parse("GET", "/api/v1/namespaces/a", "");
        assert_eq!((&*info.resource, &*info.name, &*info.namespace), ("namespaces", "a", "a"));
        let info = parse("PUT", "/api/v1/namespaces/a/finalize", "");
        assert_eq!((&*info.resource, &*info.name, &*info.subresource), ("namespaces", "a", "finalize"));
        assert!(!parse("GET", "/healthz", "").is_resource);
        assert!(!parse("GET", "/apis/apps/v1", "").is_resource);
    }

    #[test]
    fn collections_are_listed_watched_and_deleted() {
        assert_eq!(parse("GET", "/api/v1/pods", "").verb, "list");
        assert_eq!(parse("GET", "/api/v1/pods", "watch=yes").verb, "watch");
        assert_eq!(parse("GET", "/api/v1/pods", "watch=false").verb, "list");
        assert_eq!(parse("GET", "/api/v1/watch/pods", "").verb, "watch");
        assert_eq!(parse("DELETE", "/api/v1/namespaces/a/pods", "").verb, "deletecollection");
        assert_eq!(parse("GET", "/api/v1/pods", "fieldSelector=metadata.name%3Dx").name, "x");
    }
}
