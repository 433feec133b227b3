//! Encryption at rest: AES-256-GCM, bound to the object's name so that values cannot be swapped.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::rand;
use bytes::Bytes;

/// Says that a value is sealed, and how; a later scheme gets another mark.
const MARK: &[u8] = b"roost:aes256gcm:v1:";

/// Seals and opens values with one key.
pub(crate) struct Sealer {
    key: LessSafeKey,
}

/// Why a value cannot be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SealError {
    /// The system gave no random bytes.
    #[error("no random bytes could be had to seal the value")]
    Random,
    /// The value does not fit the key.
    #[error(
        "the sealed value cannot be opened: it was damaged, or the encryption key is not the one it was written with"
    )]
    Open,
}

impl Sealer {
    /// A sealer with a 256-bit key.
    pub(crate) fn new(key: &[u8; 32]) -> Sealer {
        let key = UnboundKey::new(&AES_256_GCM, key).expect("the key has the cipher's length");
        Sealer { key: LessSafeKey::new(key) }
    }

    /// Seals a value.
    pub(crate) fn seal(&self, name: &str, plain: &[u8]) -> Result<Bytes, SealError> {
        let mut nonce = [0; NONCE_LEN];
        rand::fill(&mut nonce).map_err(|_| SealError::Random)?;
        let mut sealed = plain.to_vec();
        self.key
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(name.as_bytes()), &mut sealed)
            .map_err(|_| SealError::Random)?;
        Ok([MARK, &nonce, &sealed].concat().into())
    }

    /// Opens a value; one that was written before encryption was turned on is returned as it is.
    pub(crate) fn open(&self, name: &str, value: &Bytes) -> Result<Bytes, SealError> {
        let Some(rest) = value.strip_prefix(MARK) else { return Ok(value.clone()) };
        let (nonce, sealed) = rest.split_at_checked(NONCE_LEN).ok_or(SealError::Open)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError::Open)?;
        let mut buffer = sealed.to_vec();
        let length =
            self.key.open_in_place(nonce, Aad::from(name.as_bytes()), &mut buffer).map_err(|_| SealError::Open)?.len();
        buffer.truncate(length);
        Ok(buffer.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_values_open_under_their_own_name_only() {
        let sealer = Sealer::new(&[7; 32]);
        let sealed = sealer.seal("a/b", b"secret").unwrap();
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        assert_eq!(sealer.open("a/b", &sealed).unwrap(), "secret");
        assert!(sealer.open("a/c", &sealed).is_err());
        assert!(Sealer::new(&[8; 32]).open("a/b", &sealed).is_err());
        assert_eq!(sealer.open("a/b", &Bytes::from_static(b"plain")).unwrap(), "plain");
    }
}
