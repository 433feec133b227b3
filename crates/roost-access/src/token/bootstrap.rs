//! Bootstrap tokens: a short id and a secret, kept in a Secret of `kube-system`.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;

use crate::user::User;

const ID_LENGTH: usize = 6;
const SECRET_LENGTH: usize = 16;
const DEFAULT_GROUP: &str = "system:bootstrappers";
const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";

/// A token of the form `abcdef.0123456789abcdef`. Its secret half is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct BootstrapToken {
    id: String,
    secret: String,
}

impl fmt::Debug for BootstrapToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BootstrapToken({}.[redacted])", self.id)
    }
}

impl BootstrapToken {
    /// Reads a token; none for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.split_once('.')?;
        let is_fine = |part: &str, length: usize| {
            part.len() == length && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        (is_fine(id, ID_LENGTH) && is_fine(secret, SECRET_LENGTH))
            .then(|| Self { id: id.to_owned(), secret: secret.to_owned() })
    }

    /// The public half.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the Secret in `kube-system` that must hold this token.
    pub fn secret_name(&self) -> String {
        format!("bootstrap-token-{}", self.id)
    }
}

/// The user that a bootstrap token speaks for, given the Secret of its name. None when the Secret does not vouch for it,
/// whatever the reason.
pub fn authenticate_bootstrap(token: &BootstrapToken, secret: &Value, now: Timestamp) -> Option<User> {
    let is_deleted = secret["metadata"].get("deletionTimestamp").is_some_and(|at| !at.is_null());
    if is_deleted || secret["type"] != SECRET_TYPE {
        return None;
    }
    let stored = data(secret, "token-secret");
    verify_slices_are_equal(stored.as_bytes(), token.secret.as_bytes()).ok()?;
    if data(secret, "token-id") != token.id
        || is_expired_bootstrap_secret(secret, now)
        || data(secret, "usage-bootstrap-authentication") != "true"
    {
        return None;
    }
    let mut groups = vec![DEFAULT_GROUP.to_owned()];
    let extra = data(secret, "auth-extra-groups");
    if !extra.is_empty() {
        for group in extra.split(',') {
            if !is_bootstrap_group(group) {
                return None;
            }
            groups.push(group.to_owned());
        }
    }
    groups.sort();
    groups.dedup();
    Some(User::new(format!("system:bootstrap:{}", token.id), groups))
}

/// When a bootstrap token's Secret ends; none when it never does. A time that cannot be read has passed already.
pub fn bootstrap_expiration(secret: &Value) -> Option<Timestamp> {
    let text = data(secret, "expiration");
    (!text.is_empty()).then(|| text.parse().unwrap_or(Timestamp::MIN))
}

/// Whether a bootstrap token's Secret has come to its end.
pub fn is_expired_bootstrap_secret(secret: &Value, now: Timestamp) -> bool {
    bootstrap_expiration(secret).is_some_and(|end| end <= now)
}

fn data(secret: &Value, key: &str) -> String {
    let bytes = secret["data"][key].as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

fn is_bootstrap_group(group: &str) -> bool {
    let is_end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    group.strip_prefix("system:bootstrappers:").is_some_and(|rest| {
        rest.len() <= 256
            && rest.bytes().last().is_some_and(is_end)
            && rest.bytes().all(|byte| is_end(byte) || byte == b':' || byte == b'-')
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn tokens_have_one_form() {
        assert!(BootstrapToken::parse("abcdef.0123456789abcdef").is_some());
        for text in ["", "abcdef", "abcde.0123456789abcdef", "ABCDEF.0123456789abcdef", "abcdef.0123456789abcdef.x"] {
            assert_eq!(BootstrapToken::parse(text), None, "{text}");
        }
        let token = BootstrapToken::parse("abcdef.0123456789abcdef").unwrap();
        assert_eq!(
            format!("{token:?} {}", token.secret_name()),
            "BootstrapToken(abcdef.[redacted]) bootstrap-token-abcdef"
        );
    }

    #[test]
    fn the_secret_decides_who_and_whether() {
        let now: Timestamp = "2026-11-01T12:00:00Z".parse().unwrap();
        let token = BootstrapToken::parse("abcdef.0123456789abcdef").unwrap();
        let secret = |change: &[(&str, &str)]| {
            let mut secret = json!({"type": SECRET_TYPE, "data": {}});
            let usual = [
                ("token-id", "abcdef"),
                ("token-secret", "0123456789abcdef"),
                ("usage-bootstrap-authentication", "true"),
                ("auth-extra-groups", "system:bootstrappers:b,system:bootstrappers:a"),
                ("expiration", "2026-11-01T12:00:01Z"),
            ];
            for (key, value) in usual.iter().chain(change) {
                secret["data"][key] = json!(STANDARD.encode(value));
            }
            secret
        };
        let user = authenticate_bootstrap(&token, &secret(&[]), now).unwrap();
        assert_eq!(user.name, "system:bootstrap:abcdef");
        assert_eq!(user.groups, ["system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:b"]);
        for change in [
            ("token-id", "abcdeg"),
            ("token-secret", "0123456789abcdeg"),
            ("usage-bootstrap-authentication", "TRUE"),
            ("auth-extra-groups", "system:masters"),
            ("expiration", "2026-11-01T12:00:00Z"),
            ("expiration", "soon"),
        ] {
            assert_eq!(authenticate_bootstrap(&token, &secret(&[change]), now), None, "{change:?}");
        }
        assert!(authenticate_bootstrap(&token, &secret(&[("expiration", "")]), now).is_some());
        let mut deleted = secret(&[]);
        deleted["metadata"] = json!({"deletionTimestamp": "2026-11-01T12:00:00Z"});
        assert_eq!(authenticate_bootstrap(&token, &deleted, now), None);
        assert_eq!(authenticate_bootstrap(&token, &json!({}), now), None);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "\\PC*") {
            let _ = BootstrapToken::parse(&text);
        }
    }
}
