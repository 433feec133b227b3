//! Continue tokens: where a page ended and at which revision, opaque to the caller.

use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, URL_SAFE_NO_PAD};
use roost_object::json::Kind;
use roost_object::{Status, Value};
use roost_store::Revision;
use serde::{Deserialize, Serialize};

/// The only version of tokens that is understood.
const VERSION: &str = "meta.k8s.io/v1";

/// How refusals begin.
const INVALID: &str = "invalid continue token: continue key is not valid";

/// The longest token that is read.
const MAX_TOKEN_LENGTH: usize = 4096;

/// Go's decoder does not mind bits that are left over.
const TOLERANT: GeneralPurpose =
    GeneralPurpose::new(&base64::alphabet::URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

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
    /// The first key that may be on the page, below what is listed.
    pub(crate) from: String,
}

impl Continuation {
    /// Makes a token that goes on behind a key, which is said as it stands below what is listed.
    pub(crate) fn encode(revision: Option<Revision>, after: &str) -> String {
        let rv = revision.map_or(-1, |revision| revision as i64);
        let after = after.trim_start_matches('/');
        let token = Token { v: VERSION.into(), rv, start: format!("/{after}\0") };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
    }

    /// Reads a token.
    pub(crate) fn decode(token: &str) -> Result<Continuation, Status> {
        let invalid = |why: &str| Status::bad_request(format!("{INVALID}: {why}"));
        if token.len() > MAX_TOKEN_LENGTH {
            return Err(invalid("it is too long"));
        }
        let decoded = TOLERANT.decode(token).map_err(|error| {
            let offset = offset_of_error(token, &error);
            invalid(&format!("illegal base64 data at input byte {offset}"))
        })?;
        let document = roost_object::json::read(&decoded).map_err(|error| invalid(&error.to_string()))?;
        check_types(&document.value).map_err(|why| invalid(&why))?;
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
        if !steps.is_empty() && steps.split('/').any(|step| matches!(step, "" | "." | "..")) {
            return Err(invalid(&token.start));
        }
        Ok(Continuation { revision: Revision::try_from(token.rv).ok(), from: steps.to_owned() })
    }
}

/// Where Go's decoder stops: at a letter that it does not know, or at one that is alone at the end.
fn offset_of_error(token: &str, error: &base64::DecodeError) -> usize {
    match error {
        base64::DecodeError::InvalidByte(offset, _) | base64::DecodeError::InvalidLastSymbol(offset, _) => *offset,
        base64::DecodeError::InvalidPadding => token.find('=').unwrap_or_default(),
        base64::DecodeError::InvalidLength(_) => token.len().saturating_sub(1),
    }
}

/// Says in Go's words what is no token because of the type of a value.
fn check_types(document: &Value) -> Result<(), String> {
    let Some(fields) = document.as_object() else {
        let what = Kind::of(document).go();
        return Err(format!("json: cannot unmarshal {what} into Go value of type storage.continueToken"));
    };
    for (name, ty) in [("v", "string"), ("rv", "int64"), ("start", "string")] {
        let fits = |value: &Value| if ty == "string" { value.is_string() } else { value.is_i64() };
        if let Some(value) = fields.get(name).filter(|value| !fits(value) && !value.is_null()) {
            let what = Kind::of(value).go();
            return Err(format!(
                "json: cannot unmarshal {what} into Go struct field continueToken.{name} of type {ty}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Continuation;

    #[test]
    fn what_is_not_base64_is_refused_where_go_stops() {
        for (token, offset) in [("x", 0), ("e30a1", 4), ("e3$a", 2), ("e30=", 3)] {
            let refused = Continuation::decode(token).err().map(|status| status.message).unwrap_or_default();
            assert!(refused.ends_with(&format!("illegal base64 data at input byte {offset}")), "{token}: {refused}");
        }
    }
}
