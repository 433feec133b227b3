//! Private keys.

use std::fmt;
use std::sync::OnceLock;

use aws_lc_rs::encoding::{AsDer, EcPrivateKeyRfc5915Der, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING,
    ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_ASN1_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, KeyPair as _, RSA_PKCS1_SHA256,
};
use rustls_pki_types::pem::SectionKind;

use crate::public_key::PublicKey;
use crate::{Error, Secret, der, pem};

/// How a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SignatureAlgorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// ECDSA on P-521 with SHA-512.
    Es512,
    /// RSA PKCS#1 v1.5 with SHA-256.
    Rs256,
}

impl SignatureAlgorithm {
    /// The name in JSON web tokens and key sets.
    pub fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::Es512 => "ES512",
            Self::Rs256 => "RS256",
        }
    }

    pub(crate) fn identifier(self) -> Vec<u8> {
        let ecdsa = |last| der::sequence(&[der::object_identifier(&[1, 2, 840, 10045, 4, 3, last])]);
        match self {
            Self::Es256 => ecdsa(2),
            Self::Es384 => ecdsa(3),
            Self::Es512 => ecdsa(4),
            Self::Rs256 => der::sequence(&[der::object_identifier(&[1, 2, 840, 113_549, 1, 1, 11]), der::null()]),
        }
    }
}

enum Pair {
    /// The same key twice: for certificates, which hold DER signatures, and for tokens, which hold bare numbers. Few
    /// keys ever sign a token, so that half is made when one does.
    Ecdsa {
        certificates: Box<EcdsaKeyPair>,
        tokens: OnceLock<Option<Box<EcdsaKeyPair>>>,
    },
    Rsa(Box<RsaKeyPair>),
}

/// A private key with its public half. It prints as nothing but its kind.
pub struct PrivateKey {
    pair: Pair,
    public: PublicKey,
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({} [redacted])", self.algorithm().name())
    }
}

const CURVES: [(&EcdsaSigningAlgorithm, &EcdsaSigningAlgorithm); 3] = [
    (&ECDSA_P256_SHA256_ASN1_SIGNING, &ECDSA_P256_SHA256_FIXED_SIGNING),
    (&ECDSA_P384_SHA384_ASN1_SIGNING, &ECDSA_P384_SHA384_FIXED_SIGNING),
    (&ECDSA_P521_SHA512_ASN1_SIGNING, &ECDSA_P521_SHA512_FIXED_SIGNING),
];

impl PrivateKey {
    /// Makes a new ECDSA key on P-256.
    pub fn generate() -> Result<Self, Error> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING)
            .map_err(|_| Error::Cryptography("generate a key"))?;
        Self::from_pair(pair)
    }

    /// Reads the first private key of a PEM text: PKCS#8, SEC1 or PKCS#1.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        for (kind, der) in pem::sections(text)? {
            match kind {
                SectionKind::PrivateKey => return Self::from_pkcs8_der(&der),
                SectionKind::EcPrivateKey => {
                    return Self::from_ecdsa(|algorithm| EcdsaKeyPair::from_private_key_der(algorithm, &der).ok())
                        .ok_or_else(|| Error::UnsupportedKey("EC PRIVATE KEY on an unknown curve".into()))?;
                }
                SectionKind::RsaPrivateKey => {
                    let pair = RsaKeyPair::from_der(&der).map_err(|error| Error::UnsupportedKey(error.to_string()))?;
                    return Self::from_rsa(pair);
                }
                _ => {}
            }
        }
        Err(Error::Pem("PRIVATE KEY"))
    }

    /// Reads a PKCS#8 key.
    pub fn from_pkcs8_der(pkcs8: &[u8]) -> Result<Self, Error> {
        if let Some(key) = Self::from_ecdsa(|algorithm| EcdsaKeyPair::from_pkcs8(algorithm, pkcs8).ok()) {
            return key;
        }
        RsaKeyPair::from_pkcs8(pkcs8).map_err(|error| Error::UnsupportedKey(error.to_string())).and_then(Self::from_rsa)
    }

    fn from_ecdsa(
        read: impl Fn(&'static EcdsaSigningAlgorithm) -> Option<EcdsaKeyPair>,
    ) -> Option<Result<Self, Error>> {
        CURVES.into_iter().find_map(|(for_certificates, _)| read(for_certificates).map(Self::from_pair))
    }

    fn from_pair(certificates: EcdsaKeyPair) -> Result<Self, Error> {
        let spki: PublicKeyX509Der<'_> =
            certificates.public_key().as_der().map_err(|_| Error::Cryptography("encode a public key"))?;
        let public = PublicKey::from_der(spki.as_ref())?;
        Ok(Self { pair: Pair::Ecdsa { certificates: Box::new(certificates), tokens: OnceLock::new() }, public })
    }

    fn from_rsa(pair: RsaKeyPair) -> Result<Self, Error> {
        let spki: PublicKeyX509Der<'_> =
            pair.public_key().as_der().map_err(|_| Error::Cryptography("encode a public key"))?;
        let public = PublicKey::from_der(spki.as_ref())?;
        Ok(Self { pair: Pair::Rsa(Box::new(pair)), public })
    }

    /// The public half.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// How this key signs.
    pub fn algorithm(&self) -> SignatureAlgorithm {
        self.public.algorithm()
    }

    /// The key as PKCS#8 DER.
    pub fn to_pkcs8_der(&self) -> Result<Secret<Vec<u8>>, Error> {
        let failed = |_| Error::Cryptography("encode a key");
        Ok(Secret::new(match &self.pair {
            Pair::Ecdsa { certificates, .. } => certificates.to_pkcs8v1().map_err(failed)?.as_ref().to_vec(),
            Pair::Rsa(pair) => AsDer::<Pkcs8V1Der<'_>>::as_der(&**pair).map_err(failed)?.as_ref().to_vec(),
        }))
    }

    /// The key as PEM `PRIVATE KEY`.
    pub fn to_pkcs8_pem(&self) -> Result<Secret<String>, Error> {
        Ok(Secret::new(pem::encode("PRIVATE KEY", self.to_pkcs8_der()?.expose())))
    }

    /// The key as PEM `EC PRIVATE KEY`, the form that kubelets and kubeadm write. RSA keys have none.
    pub fn to_sec1_pem(&self) -> Result<Secret<String>, Error> {
        let Pair::Ecdsa { certificates, .. } = &self.pair else {
            return Err(Error::UnsupportedKey("only elliptic curve keys have a SEC1 form".into()));
        };
        let sec1: EcPrivateKeyRfc5915Der<'_> =
            certificates.private_key().as_der().map_err(|_| Error::Cryptography("encode a key"))?;
        Ok(Secret::new(pem::encode("EC PRIVATE KEY", sec1.as_ref())))
    }

    /// Signs as certificates hold signatures.
    pub(crate) fn sign_certificate(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        match &self.pair {
            Pair::Ecdsa { certificates, .. } => sign_ecdsa(certificates, message),
            Pair::Rsa(pair) => sign_rsa(pair, message),
        }
    }

    /// Signs as JSON web tokens hold signatures.
    pub fn sign_token(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        match &self.pair {
            Pair::Ecdsa { certificates, tokens } => {
                let pair = tokens.get_or_init(|| for_tokens(certificates, self.algorithm()).map(Box::new));
                sign_ecdsa(pair.as_ref().ok_or(Error::Cryptography("encode a key"))?, message)
            }
            Pair::Rsa(pair) => sign_rsa(pair, message),
        }
    }
}

/// The same key for signatures of bare numbers.
fn for_tokens(pair: &EcdsaKeyPair, algorithm: SignatureAlgorithm) -> Option<EcdsaKeyPair> {
    let place = match algorithm {
        SignatureAlgorithm::Es256 => 0,
        SignatureAlgorithm::Es384 => 1,
        SignatureAlgorithm::Es512 => 2,
        SignatureAlgorithm::Rs256 => return None,
    };
    EcdsaKeyPair::from_pkcs8(CURVES[place].1, pair.to_pkcs8v1().ok()?.as_ref()).ok()
}

fn sign_ecdsa(pair: &EcdsaKeyPair, message: &[u8]) -> Result<Vec<u8>, Error> {
    let signature = pair.sign(&SystemRandom::new(), message).map_err(|_| Error::Cryptography("sign"))?;
    Ok(signature.as_ref().to_vec())
}

fn sign_rsa(pair: &RsaKeyPair, message: &[u8]) -> Result<Vec<u8>, Error> {
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)
        .map_err(|_| Error::Cryptography("sign"))?;
    Ok(signature)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_every_form_and_stay_secret() {
        let key = PrivateKey::generate().unwrap();
        for text in [key.to_pkcs8_pem().unwrap(), key.to_sec1_pem().unwrap()] {
            let again = PrivateKey::from_pem(text.expose()).unwrap();
            assert_eq!(again.public_key(), key.public_key());
            assert_eq!(format!("{again:?}"), "PrivateKey(ES256 [redacted])");
        }
        assert!(PrivateKey::from_pem("nothing").is_err());
        assert!(PrivateKey::from_pkcs8_der(&[0x30, 0]).is_err());
    }

    #[test]
    fn rsa_keys_sign_and_verify_too() {
        let pair = RsaKeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
        let pkcs8 = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).unwrap();
        let key = PrivateKey::from_pem(&pem::encode("PRIVATE KEY", pkcs8.as_ref())).unwrap();
        assert_eq!(key.algorithm(), SignatureAlgorithm::Rs256);
        let signature = key.sign_token(b"words").unwrap();
        assert!(key.public_key().verify_token(b"words", &signature));
        let public = PublicKey::all_from_pem(&key.public_key().to_pem()).unwrap();
        assert_eq!(public, [key.public_key().clone()]);
        assert!(key.to_sec1_pem().is_err());
        let set = crate::key_set(&public);
        assert!(set.starts_with(r#"{"keys":[{"use":"sig","kty":"RSA","kid":""#), "{set}");
        assert!(set.contains(r#""alg":"RS256","n":""#) && set.ends_with(r#"","e":"AQAB"}]}"#), "{set}");
    }

    #[test]
    fn token_signatures_are_bare_numbers() {
        let key = PrivateKey::generate().unwrap();
        let signature = key.sign_token(b"words").unwrap();
        assert_eq!(signature.len(), 64);
        assert!(key.public_key().verify_token(b"words", &signature));
        assert!(!key.public_key().verify_token(b"word", &signature));
    }
}
