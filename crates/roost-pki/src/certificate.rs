//! Certificates: reading and encoding them.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use jiff::Timestamp;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::SectionKind;
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::{FromDer as _, SubjectPublicKeyInfo, X509Certificate};

use crate::key::PrivateKey;
use crate::public_key::verify_signature;
use crate::signer::Usage;
use crate::subject::{AlternativeName, Subject};
use crate::{Error, der, pem};

/// Largest certificate that is read; honest ones have a few kilobytes.
const MAX_LENGTH: usize = 256 << 10;

/// A certificate, with the facts that are often asked for.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    der: Vec<u8>,
    subject: Subject,
    subject_der: Vec<u8>,
    public_key: Vec<u8>,
    subject_key_id: Option<Vec<u8>>,
    issuer_der: Vec<u8>,
    authority_key_id: Option<Vec<u8>>,
    alternative_names: Vec<AlternativeName>,
    serial: Vec<u8>,
    not_before: Timestamp,
    not_after: Timestamp,
    is_authority: bool,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({:?} until {})", self.subject.common_name, self.not_after)
    }
}

impl Certificate {
    /// Reads a certificate.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > MAX_LENGTH {
            return Err(Error::TooLarge { what: "certificate", limit: MAX_LENGTH });
        }
        let malformed = |why: String| Error::Malformed { what: "certificate", why };
        let (rest, parsed) = X509Certificate::from_der(bytes).map_err(|error| malformed(error.to_string()))?;
        if !rest.is_empty() {
            return Err(malformed("trailing data".into()));
        }
        let time = |seconds: i64| Timestamp::from_second(seconds).map_err(|error| malformed(error.to_string()));
        let mut alternative_names = Vec::new();
        let mut subject_key_id = None;
        let mut authority_key_id = None;
        for extension in parsed.extensions() {
            match extension.parsed_extension() {
                ParsedExtension::SubjectAlternativeName(names) => {
                    alternative_names = AlternativeName::read_all(&names.general_names)?;
                }
                ParsedExtension::SubjectKeyIdentifier(identifier) => subject_key_id = Some(identifier.0.to_vec()),
                ParsedExtension::AuthorityKeyIdentifier(identifier) => {
                    authority_key_id = identifier.key_identifier.as_ref().map(|own| own.0.to_vec());
                }
                _ => {}
            }
        }
        Ok(Self {
            subject: Subject::read(parsed.subject())?,
            subject_der: parsed.subject().as_raw().to_vec(),
            public_key: parsed.public_key().raw.to_vec(),
            subject_key_id,
            issuer_der: parsed.issuer().as_raw().to_vec(),
            authority_key_id,
            alternative_names,
            serial: parsed.raw_serial().to_vec(),
            not_before: time(parsed.validity().not_before.timestamp())?,
            not_after: time(parsed.validity().not_after.timestamp())?,
            is_authority: parsed.is_ca(),
            der: bytes.to_vec(),
        })
    }

    /// Reads the first block of a PEM text, which must be a certificate.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_der(&pem::first(text, SectionKind::Certificate, "CERTIFICATE")?)
    }

    /// The certificate as PEM `CERTIFICATE`.
    pub fn to_pem(&self) -> String {
        pem::encode("CERTIFICATE", &self.der)
    }

    /// The encoded certificate.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// The encoded certificate as TLS libraries take it.
    pub fn to_tls(&self) -> CertificateDer<'static> {
        CertificateDer::from(self.der.clone())
    }

    /// Whom it is for.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The other names of its subject.
    pub fn alternative_names(&self) -> &[AlternativeName] {
        &self.alternative_names
    }

    /// The serial number, big-endian.
    pub fn serial(&self) -> &[u8] {
        &self.serial
    }

    /// When it becomes good.
    pub fn not_before(&self) -> Timestamp {
        self.not_before
    }

    /// When it stops being good.
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Whether it is good at a moment, going by time alone.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.not_before <= now && now <= self.not_after
    }

    /// Whether it may sign others.
    pub fn is_authority(&self) -> bool {
        self.is_authority
    }

    /// Whether an authority issued it. Where both name the signing key that decides; otherwise the signature does.
    pub fn is_issued_by(&self, authority: &Certificate) -> bool {
        if self.issuer_der != authority.subject_der {
            return false;
        }
        match (&self.authority_key_id, &authority.subject_key_id) {
            (Some(named), Some(own)) => named == own,
            _ => self.is_signed_with(&authority.public_key),
        }
    }

    fn is_signed_with(&self, public_key: &[u8]) -> bool {
        let (Ok((_, own)), Ok((_, signer))) =
            (X509Certificate::from_der(&self.der), SubjectPublicKeyInfo::from_der(public_key))
        else {
            return false;
        };
        let message = own.tbs_certificate.as_ref();
        verify_signature(&signer, &own.signature_algorithm, &own.signature_value.data, message).is_ok()
    }

    /// The SHA-256 hash of the whole certificate.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, &self.der).as_ref());
        hash
    }

    pub(crate) fn public_key_der(&self) -> &[u8] {
        &self.public_key
    }

    pub(crate) fn subject_der(&self) -> &[u8] {
        &self.subject_der
    }

    pub(crate) fn subject_key_id(&self) -> Option<&[u8]> {
        self.subject_key_id.as_deref()
    }
}

/// What a new certificate says.
pub(crate) struct Template<'a> {
    pub(crate) serial: [u8; 16],
    pub(crate) issuer: &'a [u8],
    pub(crate) subject: &'a [u8],
    pub(crate) not_before: Timestamp,
    pub(crate) not_after: Timestamp,
    pub(crate) public_key: &'a [u8],
    pub(crate) usages: &'a [Usage],
    pub(crate) is_authority: bool,
    pub(crate) subject_key_id: Option<&'a [u8]>,
    pub(crate) authority_key_id: Option<&'a [u8]>,
    pub(crate) alternative_names: &'a [AlternativeName],
}

const SUBJECT_KEY_ID: u64 = 14;
const KEY_USAGE: u64 = 15;
const ALTERNATIVE_NAMES: u64 = 17;
const BASIC_CONSTRAINTS: u64 = 19;
const AUTHORITY_KEY_ID: u64 = 35;
const EXTENDED_KEY_USAGE: u64 = 37;

pub(crate) fn extension(number: u64, critical: bool, content: &[u8]) -> Vec<u8> {
    let mut parts = vec![der::object_identifier(&[2, 5, 29, number])];
    if critical {
        parts.push(der::yes());
    }
    parts.push(der::octets(content));
    der::sequence(&parts)
}

pub(crate) fn alternative_names_extension(names: &[AlternativeName], critical: bool) -> Vec<u8> {
    extension(ALTERNATIVE_NAMES, critical, &AlternativeName::encode_all(names))
}

impl Template<'_> {
    pub(crate) fn sign(&self, key: &PrivateKey) -> Result<Certificate, Error> {
        if let Some(name) = self.alternative_names.iter().find(|name| !name.is_encodable()) {
            return Err(Error::Malformed { what: "subject alternative names", why: format!("{name:?} is no ASCII") });
        }
        let algorithm = key.algorithm().identifier();
        let body = der::sequence(&[
            der::explicit(0, &der::integer(&[2])),
            der::integer(&self.serial),
            algorithm.clone(),
            self.issuer.to_vec(),
            der::sequence(&[der::time(self.not_before), der::time(self.not_after)]),
            self.subject.to_vec(),
            self.public_key.to_vec(),
            der::explicit(3, &der::sequence(&self.extensions())),
        ]);
        let signature = der::bit_string(&key.sign_certificate(&body)?);
        Certificate::from_der(&der::sequence(&[body, algorithm, signature]))
    }

    fn extensions(&self) -> Vec<Vec<u8>> {
        let mut extensions = Vec::new();
        let flags = self.usages.iter().filter_map(|usage| usage.flag()).fold(0, |all, flag| all | flag);
        if flags != 0 {
            extensions.push(extension(KEY_USAGE, true, &der::flags(flags)));
        }
        let mut purposes: Vec<_> = self.usages.iter().filter_map(|usage| usage.purpose()).collect();
        purposes.sort_unstable();
        purposes.dedup();
        if !purposes.is_empty() {
            let purposes: Vec<_> = purposes.iter().map(|(_, numbers)| der::object_identifier(numbers)).collect();
            extensions.push(extension(EXTENDED_KEY_USAGE, false, &der::sequence(&purposes)));
        }
        let constraints = if self.is_authority { der::sequence(&[der::yes()]) } else { der::sequence(&[]) };
        extensions.push(extension(BASIC_CONSTRAINTS, true, &constraints));
        if let Some(identifier) = self.subject_key_id {
            extensions.push(extension(SUBJECT_KEY_ID, false, &der::octets(identifier)));
        }
        if let Some(identifier) = self.authority_key_id {
            extensions.push(extension(AUTHORITY_KEY_ID, false, &der::sequence(&[der::implicit(0, identifier)])));
        }
        if !self.alternative_names.is_empty() {
            let nameless = self.subject == der::sequence(&[]);
            extensions.push(alternative_names_extension(self.alternative_names, nameless));
        }
        extensions
    }
}
