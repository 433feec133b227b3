//! From a path to what is asked for, as upstream spells it.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::images::{Artifact, Kind, SCRIPT};
use crate::request::Request;

const USUAL_ARCHITECTURE: &str = "x86_64";

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Whether the process lives.
    Live,
    /// Whether all base images are there.
    Health,
    /// The counters.
    Metrics,
    /// An image, for those who show a token.
    Image {
        /// The environment that the path names; a token in the path says it itself.
        infra_env: Option<String>,
        token: Option<String>,
        version: Option<String>,
        architecture: String,
        form: Form,
    },
    /// The script that boots a host, for those who show a token.
    Script { infra_env: String, token: Option<String>, card: String, is_controlled: bool },
    /// The image of a disk, by its digest; it is no secret.
    Disk { sha256: String },
    /// A part of a base image, which is no secret.
    Part { artifact: Artifact, version: String, architecture: String },
    /// Something is missing or means nothing.
    Malformed(&'static str),
    /// Nothing of that name.
    NotFound,
}

/// In which form the image of an environment is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As an ISO.
    Iso(Kind),
    /// As an initrd for booting over the network.
    Initrd,
}

/// Reads path, query and the headers that carry tokens.
pub(crate) fn asked(request: &Request) -> Asked {
    let Some(parts) = decoded(&request.path) else { return Asked::NotFound };
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    match parts.as_slice() {
        ["live"] => Asked::Live,
        ["health"] => Asked::Health,
        ["metrics"] => Asked::Metrics,
        [by @ ("byapikey" | "bytoken" | "byid"), name, version, architecture, file] => {
            let Some(kind) = kind_of_file(file) else { return Asked::NotFound };
            let in_path = *by != "byid";
            Asked::Image {
                infra_env: (!in_path).then(|| (*name).to_owned()),
                token: if in_path { Some((*name).to_owned()) } else { token(request) },
                version: Some((*version).to_owned()),
                architecture: (*architecture).to_owned(),
                form: Form::Iso(kind),
            }
        }
        ["images", id] => {
            let kind = match parameter(request, "type").as_deref() {
                None | Some("full-iso") => Kind::Full,
                Some("minimal-iso") => Kind::Minimal,
                Some(_) => return Asked::Malformed("invalid value for parameter 'type'"),
            };
            of_environment(request, id, Form::Iso(kind))
        }
        ["images", id, "pxe-initrd"] => of_environment(request, id, Form::Initrd),
        ["api", "assisted-install", "v2", "infra-envs", id, "downloads", "files"]
            if parameter(request, "file_name").as_deref() == Some(SCRIPT) =>
        {
            Asked::Script {
                infra_env: (*id).to_owned(),
                token: token(request),
                card: parameter(request, "mac").unwrap_or_default(),
                is_controlled: parameter(request, "ipxe_script_type").as_deref() == Some("boot-order-control"),
            }
        }
        ["disks", name] => match name.strip_prefix("sha256-") {
            Some(sha256) => Asked::Disk { sha256: sha256.to_owned() },
            None => Asked::NotFound,
        },
        ["boot-artifacts", name] => {
            let artifact = match *name {
                "kernel" => Artifact::Kernel,
                "rootfs" => Artifact::Rootfs,
                _ => return Asked::NotFound,
            };
            match parameter(request, "version") {
                Some(version) => Asked::Part { artifact, version, architecture: architecture(request) },
                None => Asked::Malformed("'version' parameter required"),
            }
        }
        _ => Asked::NotFound,
    }
}

fn of_environment(request: &Request, id: &str, form: Form) -> Asked {
    Asked::Image {
        infra_env: Some(id.to_owned()),
        token: token(request),
        version: parameter(request, "version"),
        architecture: architecture(request),
        form,
    }
}

/// The parts of a path. Nothing here becomes a path of a file, and what looks as if it wanted to is not found.
fn decoded(path: &str) -> Option<Vec<Cow<'_, str>>> {
    let parts = path.strip_prefix('/')?.split('/');
    parts
        .map(|part| {
            let part = percent_decode_str(part).decode_utf8().ok()?;
            let is_plain = !part.is_empty() && part != "." && part != ".." && !part.contains(['/', '\\', '\0']);
            is_plain.then_some(part)
        })
        .collect()
}

fn kind_of_file(name: &str) -> Option<Kind> {
    match name {
        "full.iso" => Some(Kind::Full),
        "minimal.iso" => Some(Kind::Minimal),
        _ => None,
    }
}

fn parameter(request: &Request, name: &str) -> Option<String> {
    form_urlencoded::parse(request.query.as_bytes())
        .find(|(known, value)| known == name && !value.is_empty())
        .map(|(_, value)| value.into_owned())
}

fn architecture(request: &Request) -> String {
    parameter(request, "arch").unwrap_or_else(|| USUAL_ARCHITECTURE.to_owned())
}

/// Tokens come as parameters, as upstream's header, or as everybody else sends them.
fn token(request: &Request) -> Option<String> {
    parameter(request, "api_key")
        .or_else(|| parameter(request, "image_token"))
        .or_else(|| request.header("image-token").map(str::to_owned))
        .or_else(|| {
            let (scheme, token) = request.header("authorization")?.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
        })
}

#[cfg(test)]
mod tests {
    use super::{Asked, Form, asked};
    use crate::images::{Artifact, Kind};
    use crate::request::Request;

    fn request(target: &str) -> Request {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Request { path: path.to_owned(), query: query.to_owned(), ..Request::default() }
    }

    fn image(infra_env: Option<&str>, token: Option<&str>, version: Option<&str>, form: Form) -> Asked {
        let text = |text: Option<&str>| text.map(str::to_owned);
        Asked::Image {
            infra_env: text(infra_env),
            token: text(token),
            version: text(version),
            architecture: "x86_64".to_owned(),
            form,
        }
    }

    #[test]
    fn upstreams_paths_are_known() {
        let (full, minimal) = (Form::Iso(Kind::Full), Form::Iso(Kind::Minimal));
        for (target, expected) in [
            ("/byapikey/a.b.c/4.18/x86_64/full.iso", image(None, Some("a.b.c"), Some("4.18"), full)),
            ("/bytoken/t/4.18/x86_64/minimal.iso", image(None, Some("t"), Some("4.18"), minimal)),
            ("/byid/7/4.18/x86_64/minimal.iso?api_key=k", image(Some("7"), Some("k"), Some("4.18"), minimal)),
            ("/images/7?version=4.18&api_key=k&type=minimal-iso", image(Some("7"), Some("k"), Some("4.18"), minimal)),
            ("/images/7?image_token=k", image(Some("7"), Some("k"), None, full)),
            ("/images/7/pxe-initrd?version=4.18&arch=x86_64", image(Some("7"), None, Some("4.18"), Form::Initrd)),
        ] {
            assert_eq!(asked(&request(target)), expected, "{target}");
        }
        let rootfs =
            Asked::Part { artifact: Artifact::Rootfs, version: "4.18".to_owned(), architecture: "aarch64".to_owned() };
        assert_eq!(asked(&request("/boot-artifacts/rootfs?version=4.18&arch=aarch64")), rootfs);
    }

    #[test]
    fn tokens_come_in_headers_too() {
        for (name, value) in [("Image-Token", "k"), ("Authorization", "Bearer k"), ("authorization", "bearer  k")] {
            let mut request = request("/images/7");
            request.headers.push((name.to_owned(), value.to_owned()));
            assert_eq!(asked(&request), image(Some("7"), Some("k"), None, Form::Iso(Kind::Full)), "{name}");
        }
    }

    #[test]
    fn nothing_else_is_there() {
        for target in [
            "",
            "/",
            "//",
            "images/7",
            "/images",
            "/images/",
            "/images/../x",
            "/images/%2e%2e",
            "/images/a%2fb",
            "/images/a%00b",
            "/images/7/",
            "/images/7/pxe-initrd/x",
            "/byapikey/k/4.18/x86_64/disk.iso",
            "/byapikey/k/4.18/x86_64",
            "/byid//4.18/x86_64/full.iso",
            "/boot-artifacts/initrd",
            "/boot-artifacts/..%5c",
            "/images/%ff",
            "*",
        ] {
            assert_eq!(asked(&request(target)), Asked::NotFound, "{target}");
        }
        assert_eq!(asked(&request("/images/7?type=disk")), Asked::Malformed("invalid value for parameter 'type'"));
        assert_eq!(asked(&request("/boot-artifacts/kernel")), Asked::Malformed("'version' parameter required"));
    }
}
