//! The tokens of hosts: signed with ES256, good for one environment, and not for ever.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use roost_pki::{PrivateKey, Secret};
use serde_json::{Value, json};

/// Longer texts are nobody's token.
const MAX_TOKEN: usize = 2048;

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The environment that it is good for.
    pub infra_env_id: String,
    /// When it was made.
    pub issued: Timestamp,
    /// Until when it is good.
    pub expires: Timestamp,
    /// What the environment's image was like then.
    pub revision: String,
}

/// Why a token is not good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenProblem {
    /// There is none.
    #[error("the request shows no token")]
    Missing,
    /// It is no token of ours.
    #[error("the token was not made by this service")]
    Foreign,
    /// Its time is over.
    #[error("the token has expired; boot the host from an image that was downloaded today")]
    Expired,
}

/// Makes and checks tokens. The first key signs; the others are of earlier days.
#[derive(Debug)]
pub struct Signer {
    keys: Vec<PrivateKey>,
}

impl Signer {
    /// A signer with its keys, the newest first.
    pub fn new(keys: Vec<PrivateKey>) -> Self {
        Self { keys }
    }

    /// Makes a token; none without a key.
    pub fn issue(&self, claims: &Claims) -> Option<Secret<String>> {
        let key = self.keys.first()?;
        let header = json!({"alg": "ES256", "typ": "JWT", "kid": key.public_key().key_id()});
        let body = json!({
            "infra_env_id": claims.infra_env_id, "iat": claims.issued.as_second(), "exp": claims.expires.as_second(),
            "rev": claims.revision,
        });
        let signed = format!("{}.{}", encode(&header), encode(&body));
        let signature = key.sign_token(signed.as_bytes()).ok()?;
        Some(Secret::new(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))))
    }

    /// What a token says, if it is one of ours and still good.
    pub fn verify(&self, text: &str, now: Timestamp) -> Result<Claims, TokenProblem> {
        let claims = self.read(text).ok_or(TokenProblem::Foreign)?;
        if claims.expires <= now { Err(TokenProblem::Expired) } else { Ok(claims) }
    }

    fn read(&self, text: &str) -> Option<Claims> {
        if text.len() > MAX_TOKEN {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, body) = signed.split_once('.')?;
        let header = decode(header)?;
        if header["alg"] != "ES256" {
            return None;
        }
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let is_ours = |key: &PrivateKey| {
            header["kid"] == key.public_key().key_id() && key.public_key().verify_token(signed.as_bytes(), &signature)
        };
        if !self.keys.iter().any(is_ours) {
            return None;
        }
        let body = decode(body)?;
        let time = |name: &str| Timestamp::from_second(body[name].as_i64()?).ok();
        Some(Claims {
            infra_env_id: body["infra_env_id"].as_str()?.to_owned(),
            issued: time("iat")?,
            expires: time("exp")?,
            revision: body["rev"].as_str().unwrap_or_default().to_owned(),
        })
    }
}

fn encode(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn decode(text: &str) -> Option<Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claims() -> Claims {
        Claims {
            infra_env_id: "770980f8-07d0-4824-899c-0da82a7555a5".to_owned(),
            issued: "2026-01-01T00:00:00Z".parse().unwrap(),
            expires: "2026-02-01T00:00:00Z".parse().unwrap(),
            revision: "0a1b".to_owned(),
        }
    }

    #[test]
    fn a_token_is_good_until_it_expires_and_while_its_key_is_known() {
        let (old, new) = (PrivateKey::generate().unwrap(), PrivateKey::generate().unwrap());
        let pem = |key: &PrivateKey| PrivateKey::from_pem(key.to_pkcs8_pem().unwrap().expose()).unwrap();
        let token = Signer::new(vec![pem(&old)]).issue(&claims()).unwrap();
        let now: Timestamp = "2026-01-15T00:00:00Z".parse().unwrap();
        let rotated = Signer::new(vec![pem(&new), pem(&old)]);
        assert_eq!(rotated.verify(token.expose(), now), Ok(claims()));
        assert_eq!(rotated.verify(token.expose(), claims().expires), Err(TokenProblem::Expired));
        assert_eq!(Signer::new(vec![new]).verify(token.expose(), now), Err(TokenProblem::Foreign));
    }

    #[test]
    fn what_was_changed_or_made_up_is_foreign() {
        let signer = Signer::new(vec![PrivateKey::generate().unwrap()]);
        let token = signer.issue(&claims()).unwrap().into_exposed();
        let now: Timestamp = "2026-01-15T00:00:00Z".parse().unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let other = encode(&json!({"infra_env_id": "other", "iat": 0, "exp": 9_999_999_999i64}));
        let none = encode(&json!({"alg": "none"}));
        for text in [
            String::new(),
            "a.b.c".to_owned(),
            format!("{}.{other}.{}", parts[0], parts[2]),
            format!("{none}.{}.", parts[1]),
            format!("{token}a"),
            ".".repeat(1 << 20),
        ] {
            assert_eq!(signer.verify(&text, now), Err(TokenProblem::Foreign), "{}", text.len());
        }
    }
}
