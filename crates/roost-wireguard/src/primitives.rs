//! The primitives under the handshake: those of `aws-lc-rs`, and BLAKE2s, which that does not have.

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{self, UnparsedPublicKey, X25519};
use aws_lc_rs::rand;
use blake2::{Blake2s256, Digest as _};
use snow::Error;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::CryptoResolver;
use snow::types::{Cipher, Dh, Hash, Random};

use crate::key::public_of;

const KEY: usize = 32;
const TAG: usize = 16;

/// Finds the primitives of `WireGuard`, and no others.
pub(crate) struct Primitives;

impl CryptoResolver for Primitives {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(SystemRandomness))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        matches!(choice, DHChoice::Curve25519).then(|| Box::<Agreement>::default() as Box<dyn Dh>)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        matches!(choice, HashChoice::Blake2s).then(|| Box::<Digest>::default() as Box<dyn Hash>)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        matches!(choice, CipherChoice::ChaChaPoly).then(|| Box::new(Sealing(sealing_key(&[0; KEY]))) as Box<dyn Cipher>)
    }
}

struct SystemRandomness;

impl Random for SystemRandomness {
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        rand::fill(bytes).map_err(|_| Error::Rng)
    }
}

#[derive(Default)]
struct Agreement {
    private: [u8; KEY],
    public: [u8; KEY],
}

impl Dh for Agreement {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        KEY
    }

    fn priv_len(&self) -> usize {
        KEY
    }

    fn set(&mut self, private: &[u8]) {
        self.private.copy_from_slice(private);
        self.public = public_of(private).expect("any 32 bytes are a private key");
    }

    fn generate(&mut self, randomness: &mut dyn Random) -> Result<(), Error> {
        let mut bytes = [0; KEY];
        randomness.try_fill_bytes(&mut bytes)?;
        self.set(&bytes);
        Ok(())
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &self.private
    }

    fn dh(&self, public: &[u8], secret: &mut [u8]) -> Result<(), Error> {
        let public = public.get(..KEY).ok_or(Error::Dh)?;
        let private = agreement::PrivateKey::from_private_key(&X25519, &self.private).map_err(|_| Error::Dh)?;
        agreement::agree(&private, UnparsedPublicKey::new(&X25519, public), Error::Dh, |shared| {
            secret.get_mut(..shared.len()).ok_or(Error::Dh)?.copy_from_slice(shared);
            Ok(())
        })
    }
}

struct Sealing(LessSafeKey);

fn sealing_key(key: &[u8; KEY]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("the key has the length of the cipher"))
}

fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

impl Cipher for Sealing {
    fn name(&self) -> &'static str {
        "ChaChaPoly"
    }

    fn set(&mut self, key: &[u8; KEY]) {
        self.0 = sealing_key(key);
    }

    fn encrypt(&self, number: u64, beside: &[u8], plain: &[u8], out: &mut [u8]) -> usize {
        let (text, tag) = out.split_at_mut(plain.len());
        text.copy_from_slice(plain);
        let made = self.0.seal_in_place_separate_tag(nonce(number), Aad::from(beside), text);
        tag[..TAG].copy_from_slice(made.expect("a packet is far from the longest text").as_ref());
        plain.len() + TAG
    }

    fn decrypt(&self, number: u64, beside: &[u8], sealed: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        let length = sealed.len().checked_sub(TAG).ok_or(Error::Decrypt)?;
        let (text, tag) = sealed.split_at(length);
        let out = out.get_mut(..length).ok_or(Error::Decrypt)?;
        self.0.open_separate_gather(nonce(number), Aad::from(beside), text, tag, out).map_err(|_| Error::Decrypt)?;
        Ok(length)
    }
}

#[derive(Default)]
struct Digest(Blake2s256);

impl Hash for Digest {
    fn name(&self) -> &'static str {
        "BLAKE2s"
    }

    fn block_len(&self) -> usize {
        64
    }

    fn hash_len(&self) -> usize {
        32
    }

    fn reset(&mut self) {
        self.0 = Blake2s256::default();
    }

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(&mut self, out: &mut [u8]) {
        out[..32].copy_from_slice(&self.0.finalize_reset());
    }
}
