//! Making tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use roost_pki::{PrivateKey, Secret};
use serde_json::{Map, Value, json};

use super::bound::BoundClaims;
use super::legacy::LegacyClaims;

/// Signs service account tokens.
#[derive(Debug)]
pub struct TokenIssuer {
    issuer: String,
    key: PrivateKey,
    header: String,
}

impl TokenIssuer {
    /// An issuer by its URL and key.
    pub fn new(issuer: impl Into<String>, key: PrivateKey) -> Self {
        let header = json!({"alg": key.algorithm().name(), "kid": key.public_key().key_id()});
        Self { issuer: issuer.into(), header: URL_SAFE_NO_PAD.encode(header.to_string()), key }
    }

    /// The issuer's URL.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The key that signs.
    pub fn key(&self) -> &PrivateKey {
        &self.key
    }

    /// Makes a token; its issuer becomes this one.
    pub fn mint(&self, claims: &BoundClaims) -> Result<Secret<String>, roost_pki::Error> {
        let mut claims = claims.write();
        claims.insert("iss".into(), self.issuer.clone().into());
        self.sign(claims)
    }

    /// Makes an old token for a secret.
    pub fn mint_legacy(&self, claims: &LegacyClaims) -> Result<Secret<String>, roost_pki::Error> {
        self.sign(claims.write())
    }

    fn sign(&self, claims: Map<String, Value>) -> Result<Secret<String>, roost_pki::Error> {
        let mut token = format!("{}.{}", self.header, URL_SAFE_NO_PAD.encode(Value::Object(claims).to_string()));
        let signature = self.key.sign_token(token.as_bytes())?;
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        Ok(Secret::new(token))
    }
}
