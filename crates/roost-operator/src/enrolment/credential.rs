//! The bootstrap token of one host: its own, expiring, and good for one node name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use roost_pki::Secret;
use serde_json::{Value, json};

use crate::approver::{JOIN_WINDOW, MACHINE_GROUP_PREFIX};
use crate::condition;
use crate::machine::token_secret;

const ID_LENGTH: usize = 6;
const SECRET_LENGTH: usize = 16;
const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// A bootstrap token.
pub(crate) struct Credential {
    pub(crate) id: String,
    secret: Secret<String>,
}

impl Credential {
    /// A token that nobody else has.
    pub(crate) fn generate() -> Option<Self> {
        Some(Self { id: letters(ID_LENGTH)?, secret: Secret::new(letters(SECRET_LENGTH)?) })
    }

    /// As a client shows it.
    pub(crate) fn text(&self) -> Secret<String> {
        Secret::new(format!("{}.{}", self.id, self.secret.expose()))
    }

    /// The Secret by which the hosted API knows it.
    pub(crate) fn document(&self, machine: &str, now: Timestamp) -> Value {
        let expiration = now.saturating_add(JOIN_WINDOW).unwrap_or(now);
        let data = [
            ("token-id", self.id.clone()),
            ("token-secret", self.secret.expose().clone()),
            ("usage-bootstrap-authentication", "true".to_owned()),
            ("expiration", condition::time(expiration)),
            ("auth-extra-groups", format!("{MACHINE_GROUP_PREFIX}{machine}")),
            ("description", format!("for the host of the Machine {machine}")),
        ];
        let data: serde_json::Map<String, Value> =
            data.into_iter().map(|(key, text)| (key.to_owned(), STANDARD.encode(text).into())).collect();
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": token_secret(&self.id), "namespace": "kube-system"},
            "type": "bootstrap.kubernetes.io/token",
            "data": data,
        })
    }
}

/// Letters and digits, each as likely as any other.
fn letters(count: usize) -> Option<String> {
    /// The largest multiple of 36 that a byte holds: what is above it would make some letters likelier.
    const FAIR: u8 = 252;
    let mut text = String::with_capacity(count);
    let mut bytes = [0u8; 64];
    while text.len() < count {
        aws_lc_rs::rand::fill(&mut bytes).ok()?;
        let fair = bytes.iter().filter(|byte| **byte < FAIR).take(count - text.len());
        text.extend(fair.map(|byte| char::from(LETTERS[usize::from(byte % 36)])));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_the_shape_that_the_api_takes() {
        let one = Credential::generate().expect("a token");
        let other = Credential::generate().expect("a token");
        assert_ne!(one.text().expose(), other.text().expose());
        assert_eq!(one.text().expose().len(), 23);
        let document = one.document("workers-0a1b2c3d", "2026-01-01T00:00:00Z".parse().unwrap());
        let text =
            |key: &str| String::from_utf8(STANDARD.decode(document["data"][key].as_str().unwrap()).unwrap()).unwrap();
        assert_eq!(text("expiration"), "2026-01-01T02:00:00Z");
        assert_eq!(text("auth-extra-groups"), "system:bootstrappers:roost:workers-0a1b2c3d");
        assert_eq!(document["metadata"]["name"], format!("bootstrap-token-{}", one.id));
    }
}
