//! Public keys: reading them, naming them, and checking signatures.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA384_ASN1, ECDSA_P256_SHA512_ASN1,
    ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ECDSA_P384_SHA384_FIXED, ECDSA_P384_SHA512_ASN1,
    ECDSA_P521_SHA256_ASN1, ECDSA_P521_SHA384_ASN1, ECDSA_P521_SHA512_ASN1, ECDSA_P521_SHA512_FIXED, ED25519,
    ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    UnparsedPublicKey, VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls_pki_types::pem::SectionKind;
use x509_parser::asn1_rs::oid;
use x509_parser::prelude::{FromDer as _, SubjectPublicKeyInfo};
use x509_parser::public_key::PublicKey as Numbers;

use crate::certificate::Certificate;
use crate::key::{PrivateKey, SignatureAlgorithm};
use crate::{Error, pem};

/// The numbers that a key set shows.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Parts {
    Curve { name: &'static str, x: Vec<u8>, y: Vec<u8> },
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
}

/// A public key that can check tokens.
#[derive(Clone)]
pub struct PublicKey {
    spki: Vec<u8>,
    key_id: String,
    algorithm: SignatureAlgorithm,
    parts: Parts,
    verifier: ParsedPublicKey,
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.spki == other.spki
    }
}

impl Eq for PublicKey {}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({} {})", self.algorithm.name(), self.key_id)
    }
}

impl PublicKey {
    /// Reads a `SubjectPublicKeyInfo`: RSA, or ECDSA on P-256, P-384 or P-521.
    pub fn from_der(spki: &[u8]) -> Result<Self, Error> {
        let malformed = |why: String| Error::Malformed { what: "public key", why };
        let (rest, info) = SubjectPublicKeyInfo::from_der(spki).map_err(|error| malformed(error.to_string()))?;
        let spki = &spki[..spki.len() - rest.len()];
        let (algorithm, parts) = match info.parsed().map_err(|error| malformed(error.to_string()))? {
            Numbers::RSA(numbers) => {
                let trimmed = |number: &[u8]| number[number.iter().take_while(|byte| **byte == 0).count()..].to_vec();
                let parts = Parts::Rsa { modulus: trimmed(numbers.modulus), exponent: trimmed(numbers.exponent) };
                (SignatureAlgorithm::Rs256, parts)
            }
            Numbers::EC(point) => {
                let curve = info.algorithm.parameters.as_ref().and_then(|parameters| parameters.as_oid().ok());
                let (algorithm, name, size) = match curve {
                    Some(curve) if curve == oid!(1.2.840.10045.3.1.7) => (SignatureAlgorithm::Es256, "P-256", 32),
                    Some(curve) if curve == oid!(1.3.132.0.34) => (SignatureAlgorithm::Es384, "P-384", 48),
                    Some(curve) if curve == oid!(1.3.132.0.35) => (SignatureAlgorithm::Es512, "P-521", 66),
                    _ => return Err(Error::UnsupportedKey("unknown curve, must be 256, 384, or 521".into())),
                };
                let data = point.data();
                if data.len() != 1 + 2 * size || data[0] != 4 {
                    return Err(malformed("the point is not in uncompressed form".into()));
                }
                let (x, y) = data[1..].split_at(size);
                (algorithm, Parts::Curve { name, x: x.to_vec(), y: y.to_vec() })
            }
            _ => return Err(Error::UnsupportedKey("must be RSA or ECDSA".into())),
        };
        let verification: &'static dyn VerificationAlgorithm = match algorithm {
            SignatureAlgorithm::Es256 => &ECDSA_P256_SHA256_FIXED,
            SignatureAlgorithm::Es384 => &ECDSA_P384_SHA384_FIXED,
            SignatureAlgorithm::Es512 => &ECDSA_P521_SHA512_FIXED,
            SignatureAlgorithm::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
        };
        let verifier =
            ParsedPublicKey::new(verification, spki).map_err(|error| Error::UnsupportedKey(error.to_string()))?;
        let key_id = URL_SAFE_NO_PAD.encode(digest(&SHA256, spki));
        Ok(Self { spki: spki.to_vec(), key_id, algorithm, parts, verifier })
    }

    /// All keys of a PEM text, as `--service-account-key-file` takes them: public keys, certificates, private keys.
    pub fn all_from_pem(text: &str) -> Result<Vec<Self>, Error> {
        let mut keys = Vec::new();
        for (kind, der) in pem::sections(text)? {
            match kind {
                SectionKind::PublicKey => keys.push(Self::from_der(&der)?),
                SectionKind::Certificate => keys.push(Self::from_der(Certificate::from_der(&der)?.public_key_der())?),
                SectionKind::PrivateKey => keys.push(PrivateKey::from_pkcs8_der(&der)?.public_key().clone()),
                SectionKind::EcPrivateKey => {
                    keys.push(PrivateKey::from_pem(&pem::encode("EC PRIVATE KEY", &der))?.public_key().clone());
                }
                SectionKind::RsaPrivateKey => {
                    keys.push(PrivateKey::from_pem(&pem::encode("RSA PRIVATE KEY", &der))?.public_key().clone());
                }
                _ => {}
            }
        }
        if keys.is_empty() { Err(Error::Pem("PUBLIC KEY")) } else { Ok(keys) }
    }

    /// The `SubjectPublicKeyInfo`.
    pub fn to_der(&self) -> &[u8] {
        &self.spki
    }

    /// The key as PEM `PUBLIC KEY`.
    pub fn to_pem(&self) -> String {
        pem::encode("PUBLIC KEY", &self.spki)
    }

    /// How signatures of this key are made.
    pub fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm
    }

    /// The name that tokens and key sets give this key: a hash of its encoding.
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// Checks a signature as JSON web tokens hold it.
    pub fn verify_token(&self, message: &[u8], signature: &[u8]) -> bool {
        self.verifier.verify_sig(message, signature).is_ok()
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }
}

/// Checks a signature as requests and certificates hold it, for any common algorithm.
pub(crate) fn verify_signature(
    spki: &SubjectPublicKeyInfo<'_>,
    algorithm: &x509_parser::x509::AlgorithmIdentifier<'_>,
    signature: &[u8],
    message: &[u8],
) -> Result<(), Error> {
    let unsupported = Error::RequestSignature("unsupported algorithm");
    let parameters = spki.algorithm.parameters.as_ref();
    let curve = parameters.and_then(|parameters| parameters.as_oid().ok());
    let curve_size = match &curve {
        Some(curve) if *curve == oid!(1.2.840.10045.3.1.7) => 256,
        Some(curve) if *curve == oid!(1.3.132.0.34) => 384,
        Some(curve) if *curve == oid!(1.3.132.0.35) => 521,
        _ => 0,
    };
    let is = |numbers: &[u64]| algorithm.algorithm.iter().is_some_and(|own| own.eq(numbers.iter().copied()));
    let ecdsa = |last| is(&[1, 2, 840, 10045, 4, 3, last]);
    let rsa = |last| is(&[1, 2, 840, 113_549, 1, 1, last]);
    let verification: &dyn VerificationAlgorithm = match curve_size {
        256 if ecdsa(2) => &ECDSA_P256_SHA256_ASN1,
        256 if ecdsa(3) => &ECDSA_P256_SHA384_ASN1,
        256 if ecdsa(4) => &ECDSA_P256_SHA512_ASN1,
        384 if ecdsa(2) => &ECDSA_P384_SHA256_ASN1,
        384 if ecdsa(3) => &ECDSA_P384_SHA384_ASN1,
        384 if ecdsa(4) => &ECDSA_P384_SHA512_ASN1,
        521 if ecdsa(2) => &ECDSA_P521_SHA256_ASN1,
        521 if ecdsa(3) => &ECDSA_P521_SHA384_ASN1,
        521 if ecdsa(4) => &ECDSA_P521_SHA512_ASN1,
        0 if rsa(11) => &RSA_PKCS1_2048_8192_SHA256,
        0 if rsa(12) => &RSA_PKCS1_2048_8192_SHA384,
        0 if rsa(13) => &RSA_PKCS1_2048_8192_SHA512,
        0 if is(&[1, 3, 101, 112]) => &ED25519,
        _ => return Err(unsupported),
    };
    UnparsedPublicKey::new(verification, &*spki.subject_public_key.data)
        .verify(message, signature)
        .map_err(|_| Error::RequestSignature("verification failure"))
}
