//! Continue tokens: where a page ended and at which revision, opaque to the caller.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use roost_object::Status;
use roost_store::Revision;
use serde::{Deserialize, Serialize};

/// The only version of tokens that is understood.
const VERSION: &str = "meta.k8s.io/v1";

/// How refusals begin.
const INVALID: &str = "invalid continue token: continue key is not valid";

/// The longest token that is read.
const MAX_TOKEN_LENGTH: usize = 4096;

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Token {
    v: String,
    rv: i64,
    start: String,
}

/// Where a list goes on.
pub(crate) struct Continuation {
    /// The revision of the first page; none once it is compacted away and the caller accepts a mixed list.
    pub(crate) revision: Option<Revision>,
    /// The last key of the page before.
    pub(crate) after: String,
}

impl Continuation {
    /// Makes a token.
    pub(crate) fn encode(revision: Option<Revision>, after: &str) -> String {
        let rv = revision.map_or(-1, |revision| revision as i64);
        let token = Token { v: VERSION.into(), rv, start: format!("{after}\0") };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
    }

    /// Reads a token.
    pub(crate) fn decode(token: &str) -> Result<Continuation, Status> {
        let invalid = |why: &str| Status::bad_request(format!("{INVALID}: {why}"));
        if token.len() > MAX_TOKEN_LENGTH {
            return Err(invalid("it is too long"));
        }
        let decoded = URL_SAFE_NO_PAD.decode(token).map_err(|error| invalid(&go_base64_error(&error)))?;
        let document = roost_object::json::read(&decoded).map_err(|error| invalid(&error.to_string()))?;
        let token: Token = serde_json::from_value(document.value).map_err(|error| invalid(&error.to_string()))?;
        if token.v != VERSION {
            return Err(invalid(&format!("server does not recognize this encoded version {}", token.v)));
        }
        if token.rv == 0 {
            return Err(invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
        }
        if token.start.is_empty() {
            return Err(invalid("encoded start key empty (version meta.k8s.io/v1)"));
        }
        let steps = token.start.strip_prefix('/').unwrap_or(&token.start);
        if steps.split('/').any(|step| matches!(step, "" | "." | "..")) {
            return Err(invalid(&token.start));
        }
        let after = steps.strip_suffix('\0').unwrap_or(steps).to_owned();
        Ok(Continuation { revision: Revision::try_from(token.rv).ok(), after })
    }
}

fn go_base64_error(error: &base64::DecodeError) -> String {
    match error {
        base64::DecodeError::InvalidByte(offset, _) | base64::DecodeError::InvalidLastSymbol(offset, _) => {
            format!("illegal base64 data at input byte {offset}")
        }
        _ => "illegal base64 data".to_owned(),
    }
}
