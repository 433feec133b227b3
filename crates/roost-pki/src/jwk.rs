//! Key sets and the discovery document with which others verify service account tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use crate::public_key::{Parts, PublicKey};

/// The members come in the order in which the stock server writes them.
#[derive(Serialize)]
struct Key<'a> {
    r#use: &'a str,
    kty: &'a str,
    kid: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    crv: Option<&'a str>,
    alg: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    y: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    n: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    e: Option<String>,
}

#[derive(Serialize)]
struct KeySet<'a> {
    keys: Vec<Key<'a>>,
}

#[derive(Serialize)]
struct Discovery<'a> {
    issuer: &'a str,
    jwks_uri: &'a str,
    response_types_supported: [&'a str; 1],
    subject_types_supported: [&'a str; 1],
    id_token_signing_alg_values_supported: Vec<&'a str>,
}

/// The JSON text of `/openid/v1/jwks`.
pub fn key_set(keys: &[PublicKey]) -> String {
    let encode = |bytes: &[u8]| Some(URL_SAFE_NO_PAD.encode(bytes));
    let describe = |key: &'_ PublicKey| -> (Option<&'static str>, [Option<String>; 4]) {
        match key.parts() {
            Parts::Curve { name, x, y } => (Some(name), [encode(x), encode(y), None, None]),
            Parts::Rsa { modulus, exponent } => (None, [None, None, encode(modulus), encode(exponent)]),
        }
    };
    let keys = keys
        .iter()
        .map(|key| {
            let (crv, [x, y, n, e]) = describe(key);
            let kty = if crv.is_some() { "EC" } else { "RSA" };
            Key { r#use: "sig", kty, kid: key.key_id(), crv, alg: key.algorithm().name(), x, y, n, e }
        })
        .collect();
    serde_json::to_string(&KeySet { keys }).expect("texts always serialize")
}

/// The JSON text of `/.well-known/openid-configuration`.
pub fn openid_configuration(issuer: &str, jwks_uri: &str, keys: &[PublicKey]) -> String {
    let mut algorithms: Vec<&str> = keys.iter().map(|key| key.algorithm().name()).collect();
    algorithms.sort_unstable();
    algorithms.dedup();
    let discovery = Discovery {
        issuer,
        jwks_uri,
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: algorithms,
    };
    serde_json::to_string(&discovery).expect("texts always serialize")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key and the set that the stock server showed for it.
    #[test]
    fn a_key_set_is_written_as_stock_writes_it() {
        let pem = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEIL1gNu6NBG0WGfB9yiBF2Guc1Qky\ntt8wbcq/8cuhYLHkrIlvt2+oXshp1SMaRueVMhgkmAqbb2DQNIW875ZMLg==\n-----END PUBLIC KEY-----\n";
        let keys = PublicKey::all_from_pem(pem).unwrap();
        assert_eq!(
            key_set(&keys),
            r#"{"keys":[{"use":"sig","kty":"EC","kid":"4J95DJQ1iQ-UDwzBWFZCPz_LPLCoUu2U3vUhqBvUeX4","crv":"P-256","alg":"ES256","x":"IL1gNu6NBG0WGfB9yiBF2Guc1Qkytt8wbcq_8cuhYLE","y":"5KyJb7dvqF7IadUjGkbnlTIYJJgKm29g0DSFvO-WTC4"}]}"#
        );
        assert_eq!(
            openid_configuration("https://kubernetes.default.svc", "https://192.0.2.2:6443/openid/v1/jwks", &keys),
            r#"{"issuer":"https://kubernetes.default.svc","jwks_uri":"https://192.0.2.2:6443/openid/v1/jwks","response_types_supported":["id_token"],"subject_types_supported":["public"],"id_token_signing_alg_values_supported":["ES256"]}"#
        );
    }
}
