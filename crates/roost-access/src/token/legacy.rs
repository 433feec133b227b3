//! Old service account tokens, which live in a secret and never end.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::Error;
use super::claims::{StandardClaims, insert_text, text};
use super::verify::TokenObjects;
use crate::user::{User, service_account_groups, service_account_name, split_service_account};

/// The issuer of old tokens.
pub const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";

const NAMESPACE: &str = "kubernetes.io/serviceaccount/namespace";
const SECRET_NAME: &str = "kubernetes.io/serviceaccount/secret.name";
const ACCOUNT_NAME: &str = "kubernetes.io/serviceaccount/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/serviceaccount/service-account.uid";
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

/// The claims of an old token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LegacyClaims {
    /// Issuer and subject; the rest is empty.
    pub standard: StandardClaims,
    /// The account's namespace.
    pub namespace: String,
    /// The secret that holds the token.
    pub secret: String,
    /// The account's name.
    pub service_account: String,
    /// The account's uid.
    pub service_account_uid: String,
}

impl LegacyClaims {
    /// The claims of the token that belongs into a secret of an account.
    pub fn of(account: &Value, secret: &Value) -> Self {
        let field = |object: &Value, name: &str| object["metadata"][name].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (field(account, "namespace"), field(account, "name"));
        Self {
            standard: StandardClaims {
                issuer: LEGACY_ISSUER.into(),
                subject: service_account_name(&namespace, &name),
                ..StandardClaims::default()
            },
            namespace,
            secret: field(secret, "name"),
            service_account: name,
            service_account_uid: field(account, "uid"),
        }
    }

    pub(super) fn read(claims: &Map<String, Value>) -> Result<Self, Error> {
        Ok(Self {
            standard: StandardClaims::read(claims)?,
            namespace: text(claims, NAMESPACE)?,
            secret: text(claims, SECRET_NAME)?,
            service_account: text(claims, ACCOUNT_NAME)?,
            service_account_uid: text(claims, ACCOUNT_UID)?,
        })
    }

    pub(super) fn write(&self) -> Map<String, Value> {
        let mut claims = Map::new();
        self.standard.write(&mut claims);
        insert_text(&mut claims, NAMESPACE, &self.namespace);
        insert_text(&mut claims, SECRET_NAME, &self.secret);
        insert_text(&mut claims, ACCOUNT_NAME, &self.service_account);
        insert_text(&mut claims, ACCOUNT_UID, &self.service_account_uid);
        claims
    }

    /// Checks that the secret still holds this very token, and that its account is still there.
    pub(super) fn validate(&self, token: &str, objects: &dyn TokenObjects) -> Result<User, Error> {
        let (namespace, name) = (&*self.namespace, &*self.service_account);
        for (claim, what) in [
            (&self.standard.subject, "sub"),
            (&self.namespace, "namespace"),
            (&self.secret, "secretName"),
            (&self.service_account, "serviceAccountName"),
            (&self.service_account_uid, "serviceAccountUID"),
        ] {
            if claim.is_empty() {
                return Err(Error::new(format!("{what} claim is missing")));
            }
        }
        if split_service_account(&self.standard.subject) != Some((namespace, name)) {
            return Err(Error::new("sub claim is invalid"));
        }
        let is_deleted = |object: &Value| object["metadata"].get("deletionTimestamp").is_some_and(|at| !at.is_null());
        let secret = objects.secret(namespace, &self.secret).filter(|secret| !is_deleted(secret));
        let secret = secret.ok_or_else(|| Error::new("Token has been invalidated"))?;
        let stored = secret["data"]["token"].as_str().and_then(|data| STANDARD.decode(data).ok()).unwrap_or_default();
        if verify_slices_are_equal(&stored, token.as_bytes()).is_err() {
            return Err(Error::new("Token does not match server's copy"));
        }
        let account = objects
            .service_account(namespace, name)
            .ok_or_else(|| Error::new(format!("serviceaccounts {name:?} not found")))?;
        if is_deleted(&account) {
            return Err(Error::new(format!("ServiceAccount {namespace}/{name} has been deleted")));
        }
        let uid = account["metadata"]["uid"].as_str().unwrap_or_default();
        if uid != self.service_account_uid {
            let claim = &self.service_account_uid;
            return Err(Error::new(format!("ServiceAccount UID ({uid}) does not match claim ({claim})")));
        }
        if secret["metadata"]["labels"][INVALID_SINCE].as_str().is_some_and(|since| !since.is_empty()) {
            return Err(Error::new(format!(
                "the token in secret {namespace}/{} for service account {namespace}/{name} has been marked invalid. Use \
                 tokens from the TokenRequest API or manually created secret-based tokens, or remove the \
                 '{INVALID_SINCE}' label from the secret to temporarily allow use of this token",
                self.secret
            )));
        }
        let mut user = User::new(service_account_name(namespace, name), service_account_groups(namespace));
        user.uid.clone_from(&self.service_account_uid);
        Ok(user)
    }
}

/// Whether a secret is meant to hold a token of an account.
pub fn is_token_of(secret: &Value, account: &Value) -> bool {
    let annotation = |name: &str| secret["metadata"]["annotations"][name].as_str().unwrap_or_default();
    let uid = annotation("kubernetes.io/service-account.uid");
    secret["type"] == "kubernetes.io/service-account-token"
        && Some(annotation("kubernetes.io/service-account.name")) == account["metadata"]["name"].as_str()
        && (uid.is_empty() || Some(uid) == account["metadata"]["uid"].as_str())
}
