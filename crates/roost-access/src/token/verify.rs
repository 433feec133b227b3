//! Checking tokens: signature, issuer and audience first, then the objects that they are bound to.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use roost_pki::PublicKey;
use serde_json::{Map, Value};

use super::bound::BoundClaims;
use super::claims::StandardClaims;
use super::legacy::{LEGACY_ISSUER, LegacyClaims};
use super::{Error, MAX_LENGTH};
use crate::rbac::quote_list;
use crate::user::User;

/// The objects that tokens are bound to, as they are now.
pub trait TokenObjects {
    /// A service account.
    fn service_account(&self, namespace: &str, name: &str) -> Option<Arc<Value>>;
    /// A secret.
    fn secret(&self, namespace: &str, name: &str) -> Option<Arc<Value>>;
    /// A pod.
    fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Value>>;
    /// A node.
    fn node(&self, name: &str) -> Option<Arc<Value>>;
}

/// What a token says, once its signature is known to be good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerifiedClaims {
    /// A token with an end.
    Bound(BoundClaims),
    /// A token from a secret.
    Legacy(LegacyClaims),
}

/// A token with a good signature, a known issuer and a fitting audience. It may still be too old, or bound to what is
/// gone: see [`Verified::validate`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// What it says.
    pub claims: VerifiedClaims,
    /// The wanted audiences that it is for.
    pub audiences: Vec<String>,
    token: String,
}

/// Whom a good token speaks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authenticated {
    /// The user, without the group of everyone authenticated.
    pub user: User,
    /// The wanted audiences that the token is for.
    pub audiences: Vec<String>,
    /// The namespace and name of the secret that holds the token, for old ones.
    pub secret: Option<(String, String)>,
}

impl Verified {
    /// Checks the time and the objects that the token is bound to.
    pub fn validate(&self, objects: &dyn TokenObjects, now: Timestamp) -> Result<Authenticated, Error> {
        let (user, secret) = match &self.claims {
            VerifiedClaims::Bound(claims) => (claims.validate(objects, now)?, None),
            VerifiedClaims::Legacy(claims) => {
                let secret = (claims.namespace.clone(), claims.secret.clone());
                (claims.validate(&self.token, objects)?, Some(secret))
            }
        };
        Ok(Authenticated { user, audiences: self.audiences.clone(), secret })
    }
}

/// Knows the keys and issuers of service account tokens.
#[derive(Clone, Debug)]
pub struct TokenVerifier {
    issuers: Vec<String>,
    keys: Vec<PublicKey>,
    audiences: Vec<String>,
}

impl TokenVerifier {
    /// Accepts tokens of these issuers, signed with any of these keys. The audiences are those of the API server.
    pub fn new(issuers: Vec<String>, keys: Vec<PublicKey>, audiences: Vec<String>) -> Self {
        Self { issuers, keys, audiences }
    }

    /// The audiences of the API server.
    pub fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// Checks signature, issuer and audience. `wanted` are the audiences of a token review; without them the API
    /// server's own count. None when the token is not from here at all, so that others may look at it.
    pub fn verify(&self, token: &str, wanted: Option<&[String]>) -> Result<Option<Verified>, Error> {
        let Some((header, claims)) = read_unverified(token) else {
            return Ok(None);
        };
        let issuer = claims.get("iss").and_then(Value::as_str).unwrap_or_default();
        let is_legacy = issuer == LEGACY_ISSUER;
        if !is_legacy && !self.issuers.iter().any(|own| own == issuer) {
            return Ok(None);
        }
        self.check_signature(token, &header)?;
        let claims = if is_legacy {
            VerifiedClaims::Legacy(LegacyClaims::read(&claims)?)
        } else {
            VerifiedClaims::Bound(BoundClaims::read(&claims)?)
        };
        let standard: &StandardClaims = match &claims {
            VerifiedClaims::Bound(claims) => &claims.standard,
            VerifiedClaims::Legacy(claims) => &claims.standard,
        };
        let own = if standard.audiences.is_empty() { &self.audiences } else { &standard.audiences };
        let wanted = wanted.unwrap_or(&self.audiences);
        let audiences: Vec<String> = own.iter().filter(|audience| wanted.contains(audience)).cloned().collect();
        if audiences.is_empty() && !self.audiences.is_empty() {
            return Err(Error::new(format!(
                "token audiences {} is invalid for the target audiences {}",
                quote_list(own),
                quote_list(wanted)
            )));
        }
        Ok(Some(Verified { claims, audiences, token: token.to_owned() }))
    }

    fn check_signature(&self, token: &str, header: &Map<String, Value>) -> Result<(), Error> {
        let algorithm = header.get("alg").and_then(Value::as_str).unwrap_or_default();
        let key_id = header.get("kid").and_then(Value::as_str).unwrap_or_default();
        let mut keys = self.keys.iter().filter(|key| key_id.is_empty() || key.key_id() == key_id).peekable();
        if keys.peek().is_none() {
            return Err(Error::new("invalid signature, no keys found"));
        }
        let (message, signature) = token.rsplit_once('.').unwrap_or_default();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap_or_default();
        let fits =
            |key: &PublicKey| key.algorithm().name() == algorithm && key.verify_token(message.as_bytes(), &signature);
        // Critical header members are extensions that nobody here understands.
        if header.contains_key("crit") || !keys.any(fits) {
            return Err(Error::new("go-jose/go-jose: error in cryptographic primitive"));
        }
        Ok(())
    }
}

fn read_unverified(token: &str) -> Option<(Map<String, Value>, Map<String, Value>)> {
    if token.len() > MAX_LENGTH {
        return None;
    }
    let mut parts = token.split('.');
    let (header, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let read = |part: &str| match serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()? {
        Value::Object(object) => Some(object),
        _ => None,
    };
    Some((read(header)?, read(claims)?))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;
    use roost_pki::PrivateKey;
    use serde_json::json;

    use super::super::claims::ObjectReference;
    use super::super::issue::TokenIssuer;
    use super::*;

    const ISSUER: &str = "https://kubernetes.default.svc";

    #[derive(Default)]
    struct Objects(HashMap<String, Value>);

    impl Objects {
        fn get(&self, key: &str) -> Option<Arc<Value>> {
            self.0.get(key).cloned().map(Arc::new)
        }

        fn put(&mut self, key: &str, uid: &str) -> &mut Value {
            self.0.entry(key.to_owned()).insert_entry(json!({"metadata": {"uid": uid}})).into_mut()
        }
    }

    impl TokenObjects for Objects {
        fn service_account(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
            self.get(&format!("account {namespace}/{name}"))
        }
        fn secret(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
            self.get(&format!("secret {namespace}/{name}"))
        }
        fn pod(&self, namespace: &str, name: &str) -> Option<Arc<Value>> {
            self.get(&format!("pod {namespace}/{name}"))
        }
        fn node(&self, name: &str) -> Option<Arc<Value>> {
            self.get(&format!("node {name}"))
        }
    }

    fn now() -> Timestamp {
        "2026-11-01T12:00:00Z".parse().unwrap()
    }

    fn reference(name: &str, uid: &str) -> ObjectReference {
        ObjectReference { name: name.into(), uid: uid.into() }
    }

    fn claims() -> BoundClaims {
        let second = now().as_second();
        BoundClaims {
            standard: StandardClaims {
                subject: "system:serviceaccount:ns:bot".into(),
                audiences: vec![ISSUER.into(), "vault".into()],
                expires_at: Some(second + 3600),
                not_before: Some(second),
                issued_at: Some(second),
                id: "id-1".into(),
                ..StandardClaims::default()
            },
            namespace: "ns".into(),
            service_account: reference("bot", "u1"),
            pod: Some(reference("p", "u2")),
            node: Some(reference("n", "u3")),
            ..BoundClaims::default()
        }
    }

    fn setup() -> (TokenIssuer, TokenVerifier, Objects) {
        let issuer = TokenIssuer::new(ISSUER, PrivateKey::generate().unwrap());
        let keys = vec![PrivateKey::generate().unwrap().public_key().clone(), issuer.key().public_key().clone()];
        let verifier = TokenVerifier::new(vec![ISSUER.into()], keys, vec![ISSUER.into()]);
        let mut objects = Objects::default();
        objects.put("account ns/bot", "u1");
        objects.put("pod ns/p", "u2");
        (issuer, verifier, objects)
    }

    #[test]
    fn a_good_token_becomes_a_user_with_extras() {
        let (issuer, verifier, objects) = setup();
        let token = issuer.mint(&claims()).unwrap();
        let verified = verifier.verify(token.expose(), None).unwrap().unwrap();
        let authenticated = verified.validate(&objects, now()).unwrap();
        assert_eq!(authenticated.audiences, [ISSUER]);
        assert_eq!(
            authenticated.user.to_object(),
            json!({"username": "system:serviceaccount:ns:bot", "uid": "u1",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:ns"],
                "extra": {"authentication.kubernetes.io/credential-id": ["JTI=id-1"],
                    "authentication.kubernetes.io/pod-name": ["p"], "authentication.kubernetes.io/pod-uid": ["u2"],
                    "authentication.kubernetes.io/node-name": ["n"], "authentication.kubernetes.io/node-uid": ["u3"]}})
        );
        let vault = ["vault".to_owned(), "x".to_owned()];
        assert_eq!(verifier.verify(token.expose(), Some(&vault)).unwrap().unwrap().audiences, ["vault"]);
        assert_eq!(
            verifier.verify(token.expose(), Some(&vault[1..])).unwrap_err().to_string(),
            r#"token audiences ["https://kubernetes.default.svc" "vault"] is invalid for the target audiences ["x"]"#
        );
    }

    #[test]
    fn the_payload_has_the_members_of_stock_in_order() {
        let (issuer, ..) = setup();
        let mut claims = claims();
        claims.warn_after = Some(7);
        let token = issuer.mint(&claims).unwrap().into_exposed();
        let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
        let second = now().as_second();
        assert_eq!(
            String::from_utf8(payload).unwrap(),
            format!(
                r#"{{"aud":["{ISSUER}","vault"],"exp":{},"iat":{second},"iss":"{ISSUER}","jti":"id-1","kubernetes.io":{{"namespace":"ns","node":{{"name":"n","uid":"u3"}},"pod":{{"name":"p","uid":"u2"}},"serviceaccount":{{"name":"bot","uid":"u1"}},"warnafter":7}},"nbf":{second},"sub":"system:serviceaccount:ns:bot"}}"#,
                second + 3600
            )
        );
    }

    #[test]
    fn bad_tokens_are_refused_in_stock_words() {
        let (issuer, verifier, objects) = setup();
        let check = |change: &dyn Fn(&mut BoundClaims), objects: &Objects| {
            let mut claims = claims();
            change(&mut claims);
            let token = issuer.mint(&claims).unwrap();
            let verified = verifier.verify(token.expose(), None).unwrap().unwrap();
            verified.validate(objects, now()).map_err(|error| error.to_string()).err().unwrap_or_default()
        };
        let second = now().as_second();
        assert_eq!(check(&|claims| claims.standard.expires_at = Some(second - 60), &objects), "");
        assert_eq!(
            check(&|claims| claims.standard.expires_at = Some(second - 61), &objects),
            "service account token has expired"
        );
        assert_eq!(
            check(&|claims| claims.standard.not_before = Some(second + 61), &objects),
            "service account token is not valid yet"
        );
        assert_eq!(
            check(&|claims| claims.standard.issued_at = Some(second + 61), &objects),
            "service account token is issued in the future"
        );
        assert_eq!(
            check(&|claims| claims.service_account.uid = "old".into(), &objects),
            "service account UID (u1) does not match claim (old)"
        );
        assert_eq!(
            check(&|claims| claims.service_account.name = "gone".into(), &objects),
            r#"serviceaccounts "gone" not found"#
        );
        assert_eq!(
            check(&|claims| claims.pod = Some(reference("gone", "u2")), &objects),
            "service account token has been invalidated"
        );
        assert_eq!(
            check(&|claims| claims.pod = Some(reference("p", "old")), &objects),
            "pod UID (u2) does not match service account pod ref claim (old)"
        );
        assert_eq!(check(&|claims| claims.pod = None, &objects), "service account token has been invalidated");
        let mut deleting = Objects::default();
        deleting.put("pod ns/p", "u2");
        deleting.put("account ns/bot", "u1")["metadata"]["deletionTimestamp"] = json!("2026-11-01T11:59:30Z");
        assert_eq!(check(&|_| {}, &deleting), "");
        deleting.put("account ns/bot", "u1")["metadata"]["deletionTimestamp"] = json!("2026-11-01T11:58:30Z");
        assert_eq!(check(&|_| {}, &deleting), "service account ns/bot has been deleted");
    }

    #[test]
    fn signatures_keys_and_algorithms_must_fit() {
        let (issuer, verifier, _) = setup();
        let token = issuer.mint(&claims()).unwrap().into_exposed();
        let parts: Vec<&str> = token.split('.').collect();
        let with_header = |header: Value| {
            let header = URL_SAFE_NO_PAD.encode(header.to_string());
            verifier.verify(&format!("{header}.{}.{}", parts[1], parts[2]), None)
        };
        let stranger = TokenIssuer::new(ISSUER, PrivateKey::generate().unwrap()).mint(&claims()).unwrap();
        assert_eq!(
            verifier.verify(stranger.expose(), None).unwrap_err().to_string(),
            "invalid signature, no keys found"
        );
        assert!(with_header(json!({"alg": "none"})).is_err());
        assert!(with_header(json!({"alg": "HS256", "kid": issuer.key().public_key().key_id()})).is_err());
        assert!(with_header(json!({"alg": "ES256"})).is_err());
        let elsewhere = TokenIssuer::new("https://other", PrivateKey::generate().unwrap()).mint(&claims()).unwrap();
        assert_eq!(verifier.verify(elsewhere.expose(), None), Ok(None));
        for text in ["", "a.b", "a.b.c", "a.b.c.d", "{}.{}.{}", &".".repeat(MAX_LENGTH + 2)] {
            assert_eq!(verifier.verify(text, None), Ok(None));
        }
    }

    #[test]
    fn old_tokens_live_as_long_as_their_secret() {
        let (issuer, verifier, mut objects) = setup();
        let account = json!({"metadata": {"name": "bot", "namespace": "ns", "uid": "u1"}});
        let secret = json!({"metadata": {"name": "s", "namespace": "ns"}});
        let claims = LegacyClaims::of(&account, &secret);
        let token = issuer.mint_legacy(&claims).unwrap().into_exposed();
        let verified = verifier.verify(&token, None).unwrap().unwrap();
        assert_eq!(verified.claims, VerifiedClaims::Legacy(claims));
        let error = |objects: &Objects| verified.validate(objects, now()).unwrap_err().to_string();
        assert_eq!(error(&objects), "Token has been invalidated");
        objects.put("secret ns/s", "u")["data"] = json!({"token": STANDARD.encode("other")});
        assert_eq!(error(&objects), "Token does not match server's copy");
        objects.put("secret ns/s", "u")["data"] = json!({"token": STANDARD.encode(&token)});
        let user = verified.validate(&objects, now()).unwrap().user;
        assert_eq!(user.name, "system:serviceaccount:ns:bot");
        assert!(user.extra.is_empty());
        objects.put("account ns/bot", "new");
        assert_eq!(error(&objects), "ServiceAccount UID (new) does not match claim (u1)");
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "\\PC{0,80}", payload in "\\PC{0,80}") {
            let (_, verifier, _) = setup();
            let _ = verifier.verify(&text, None);
            let encode = |part: &str| URL_SAFE_NO_PAD.encode(part);
            let _ = verifier.verify(&format!("{}.{}.x", encode("{\"alg\":\"ES256\"}"), encode(&payload)), None);
        }
    }

    #[test]
    fn deep_claims_are_refused() {
        let (_, verifier, _) = setup();
        let deep = URL_SAFE_NO_PAD.encode("[".repeat(90_000));
        assert_eq!(verifier.verify(&format!("e30.{deep}.x"), None), Ok(None));
    }
}
