//! Keys of hosts: X25519, written in base64 as `WireGuard`'s own tools do.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::agreement::{self, X25519};
use aws_lc_rs::rand;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::WireguardError;

/// What says who a host is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// The bytes of it.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for PublicKey {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl FromStr for PublicKey {
    type Err = WireguardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        decoded(text).map(Self)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PublicKey({self})")
    }
}

/// What a host proves that with. It is not printed by accident.
#[derive(Clone)]
pub struct PrivateKey([u8; 32]);

impl PrivateKey {
    /// A new one.
    pub fn generate() -> Result<Self, WireguardError> {
        let mut bytes = [0; 32];
        rand::fill(&mut bytes).map_err(|_| WireguardError::Randomness)?;
        Ok(Self(bytes))
    }

    /// The public key that belongs to it.
    pub fn public(&self) -> Result<PublicKey, WireguardError> {
        public_of(&self.0).map(PublicKey)
    }

    /// Its text, which is a secret.
    pub fn to_secret_text(&self) -> String {
        STANDARD.encode(self.0)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl FromStr for PrivateKey {
    type Err = WireguardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        decoded(text).map(Self)
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("PrivateKey(…)")
    }
}

/// The public half of a private key.
pub(crate) fn public_of(private: &[u8]) -> Result<[u8; 32], WireguardError> {
    let key = agreement::PrivateKey::from_private_key(&X25519, private).map_err(|_| WireguardError::Key)?;
    let public = key.compute_public_key().map_err(|_| WireguardError::Key)?;
    public.as_ref().try_into().map_err(|_| WireguardError::Key)
}

fn decoded(text: &str) -> Result<[u8; 32], WireguardError> {
    let bytes = STANDARD.decode(text.trim()).map_err(|_| WireguardError::Key)?;
    bytes.try_into().map_err(|_| WireguardError::Key)
}

#[cfg(test)]
mod tests {
    use super::{PrivateKey, PublicKey};

    #[test]
    fn keys_are_those_of_wireguards_tools() {
        // RFC 7748, section 6.1.
        let private: PrivateKey = "XasIfmJKikt54X+Lg4AO5m87sSkmGLb9HC+LJ/+I4Os=".parse().unwrap();
        let public = private.public().unwrap();
        assert_eq!(public.to_string(), "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=");
        assert_eq!(public.to_string().parse::<PublicKey>(), Ok(public));
        assert_eq!(format!("{private:?}"), "PrivateKey(…)");
        assert_eq!(private.to_secret_text().parse::<PrivateKey>().unwrap().public(), Ok(public));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "AAAA", "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08", "not base64 at all, is it?"] {
            assert!(text.parse::<PublicKey>().is_err(), "{text}");
        }
        assert_ne!(PrivateKey::generate().unwrap().public(), PrivateKey::generate().unwrap().public());
    }
}
