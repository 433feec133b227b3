//! From the head of a request to what it asks for. Pure: nothing here reads a socket.

use std::net::{IpAddr, SocketAddr};

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::header::{ACCEPT, AUTHORIZATION, HOST, HeaderMap, USER_AGENT};
use http::{Method, Version, request};
use percent_encoding::percent_decode_str;
use roost_ignition::SpecVersion;
use roost_object::names;

use crate::artifacts::Artifacts;
use crate::authority::{HostIdentity, Purpose, RejectionReason, Token};

/// What a machine calls itself.
const HOST_ID: &str = "roost-host-id";
const HOST_NAME: &str = "roost-host-name";
const HOST_ADDRESSES: &str = "roost-host-addresses";

/// The pool and configuration that a machine was booted for.
const NODE_POOL: &str = "nodepool";
const CONFIG_HASH: &str = "targetconfigversionhash";

/// Longer identities are nobody's.
const MAX_IDENTITY: usize = 253;

/// A host with more addresses is not told apart by them.
const MAX_ADDRESSES: usize = 32;

/// Tokens are UUIDs; longer ones are nobody's.
const MAX_TOKEN: usize = 1024;

/// Standard base64 with padding. Stray bits behind the last byte are not looked at, as Go does not look at them.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// What a request asks for.
#[derive(Debug)]
pub(crate) enum Asked {
    /// Whether the server lives.
    Health,
    /// A large file, by its digest.
    Artifact(String),
    /// A payload.
    Payload(Box<Wanted>),
    /// A payload, for a machine that shows a certificate instead of a token.
    Refresh(Named, Option<SpecVersion>),
    /// Something that is not here.
    NotFound,
    /// Nothing that HTTP allows.
    Malformed(&'static str),
    /// A payload, in a way that is turned away at once.
    Rejected(RejectionReason, Named, &'static str),
    /// A payload with a token that cannot be anybody's.
    Unknown(Named),
}

/// What a request says it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) pool: Option<String>,
    pub(crate) hash: Option<String>,
}

/// A well-formed request for a payload.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) token: Token,
    pub(crate) named: Named,
    pub(crate) host: HostIdentity,
    pub(crate) version: Option<SpecVersion>,
    pub(crate) purpose: Purpose,
}

/// Reads the head of a request.
pub(crate) fn read(head: &request::Parts, peer: SocketAddr, shows_certificate: bool) -> Asked {
    let hosts = head.headers.get_all(HOST).iter().count();
    if hosts > 1 {
        return Asked::Malformed("too many Host headers");
    }
    if hosts == 0 && head.version >= Version::HTTP_11 {
        return Asked::Malformed("missing required Host header");
    }
    let path = head.uri.path();
    if !is_percent_encoded(path) {
        return Asked::Malformed("malformed path");
    }
    let path: Vec<u8> = percent_decode_str(path).collect();
    if path == b"/healthz" {
        return Asked::Health;
    }
    if let Some(digest) = Artifacts::asked(&path) {
        return Asked::Artifact(digest);
    }
    if !is_payload_path(&path) {
        return Asked::NotFound;
    }
    payload(head, peer, shows_certificate)
}

/// Upstream's rule: `^/ignition[^/ ]*$`, on the decoded path.
fn is_payload_path(path: &[u8]) -> bool {
    path.strip_prefix(b"/ignition").is_some_and(|rest| !rest.iter().any(|byte| b"/ ".contains(byte)))
}

fn is_percent_encoded(path: &str) -> bool {
    path.split('%').skip(1).all(|part| part.len() >= 2 && part.as_bytes()[..2].iter().all(u8::is_ascii_hexdigit))
}

fn payload(head: &request::Parts, peer: SocketAddr, shows_certificate: bool) -> Asked {
    let named = Named { pool: pool_name(&head.headers), hash: hash(&head.headers) };
    if shows_certificate && !head.headers.contains_key(AUTHORIZATION) {
        return Asked::Refresh(named, version(&head.headers));
    }
    let authorization = head.headers.get(AUTHORIZATION).map(http::HeaderValue::as_bytes).unwrap_or_default();
    let Some(encoded) = authorization.strip_prefix(b"Bearer ") else {
        return Asked::Rejected(RejectionReason::BadHeader, named, "");
    };
    let Ok(decoded) = BASE64.decode(encoded) else {
        return Asked::Rejected(RejectionReason::InvalidToken, named, "");
    };
    let Some(token) = String::from_utf8(decoded).ok().filter(|token| !token.is_empty() && token.len() <= MAX_TOKEN)
    else {
        return Asked::Unknown(named);
    };
    let host = match identity(&head.headers, peer) {
        Ok(host) => host,
        Err(problem) => return Asked::Rejected(RejectionReason::BadIdentity, named, problem),
    };
    let purpose = if head.method == Method::HEAD { Purpose::Inspect } else { Purpose::Deliver };
    let version = version(&head.headers);
    Asked::Payload(Box::new(Wanted { token: Token::new(token), named, host, version, purpose }))
}

/// A machine that reads no version of ours gets what there is: its own refusal says more than ours could.
fn version(headers: &HeaderMap) -> Option<SpecVersion> {
    let accepted = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    SpecVersion::from_accept(accepted).unwrap_or_default()
}

/// Whether the caller is Ignition itself.
pub(crate) fn is_ignition(headers: &HeaderMap) -> bool {
    headers.get(USER_AGENT).is_some_and(|agent| agent.as_bytes().starts_with(b"Ignition/"))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// `<namespace>/<name>`, if it can be one; anything else names nothing.
fn pool_name(headers: &HeaderMap) -> Option<String> {
    let pool = text(headers, NODE_POOL)?;
    let (namespace, name) = pool.split_once('/')?;
    let is_name = names::is_dns1123_label(namespace).is_empty() && names::is_dns1123_subdomain(name).is_empty();
    is_name.then(|| pool.to_owned())
}

fn hash(headers: &HeaderMap) -> Option<String> {
    let hash = text(headers, CONFIG_HASH)?;
    let is_hash = (1..=64).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_hash.then(|| hash.to_owned())
}

/// What the machine says about itself; each header at most once, so that no two readers see different machines.
fn identity(headers: &HeaderMap, peer: SocketAddr) -> Result<HostIdentity, &'static str> {
    let one = |name: &str| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
            _ => Err(()),
        }
    };
    let id = one(HOST_ID).map_err(|()| "Roost-Host-Id must be one plain text")?;
    if id.is_some_and(|id| {
        id.is_empty() || id.len() > MAX_IDENTITY || !id.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
    }) {
        return Err("Roost-Host-Id must be 1 to 253 printable characters");
    }
    let name = one(HOST_NAME).map_err(|()| "Roost-Host-Name must be one plain text")?;
    if name.is_some_and(|name| !names::is_dns1123_subdomain(name).is_empty()) {
        return Err("Roost-Host-Name must be a DNS-1123 subdomain");
    }
    let addresses = one(HOST_ADDRESSES).map_err(|()| "Roost-Host-Addresses must be one plain text")?;
    let mut parsed: Vec<IpAddr> = Vec::new();
    for address in addresses.unwrap_or_default().split(',').map(str::trim).filter(|address| !address.is_empty()) {
        let address = address.parse().map_err(|_| "Roost-Host-Addresses must be addresses with commas between them")?;
        if !parsed.contains(&address) {
            parsed.push(address);
        }
        if parsed.len() > MAX_ADDRESSES {
            return Err("Roost-Host-Addresses must be no more than 32");
        }
    }
    Ok(HostIdentity {
        id: id.map_or_else(|| peer.ip().to_canonical().to_string(), str::to_owned),
        is_sent: id.is_some(),
        name: name.map(str::to_owned),
        addresses: parsed,
    })
}
