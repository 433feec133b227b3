//! Certificate authorities and what they issue.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand;
use jiff::{SignedDuration, Timestamp};

use crate::certificate::{Certificate, Template};
use crate::key::PrivateKey;
use crate::request::CertificateRequest;
use crate::signer::{SigningProfile, Usage};
use crate::subject::{AlternativeName, Subject};
use crate::{Error, Secret};

/// How far a certificate begins in the past, so that a clock a little behind accepts it too.
pub const BACKDATE: SignedDuration = SignedDuration::from_mins(5);

/// Below this lifetime the end is not moved with the beginning: five minutes are about one percent of it.
const SHORT: SignedDuration = SignedDuration::from_hours(8);

/// From when to when a certificate is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first good moment.
    pub not_before: Timestamp,
    /// The last good moment.
    pub not_after: Timestamp,
}

impl Validity {
    /// Good from a little before `now`, for `lifetime` from then on.
    pub fn starting(now: Timestamp, lifetime: SignedDuration) -> Self {
        let whole = if lifetime < SHORT { lifetime } else { lifetime.saturating_sub(BACKDATE) };
        Self {
            not_before: now.checked_sub(BACKDATE).unwrap_or(Timestamp::MIN),
            not_after: now.checked_add(whole).unwrap_or(Timestamp::MAX),
        }
    }
}

/// A certificate with its private key.
#[derive(Debug)]
pub struct Issued {
    /// The certificate.
    pub certificate: Certificate,
    /// Its key.
    pub key: PrivateKey,
}

impl Issued {
    /// The key in PEM, as the stock parts write it.
    pub fn key_pem(&self) -> Result<Secret<String>, Error> {
        self.key.to_pkcs8_pem()
    }
}

/// A certificate that may sign others, with its key.
#[derive(Debug)]
pub struct CertificateAuthority {
    certificate: Certificate,
    key: PrivateKey,
}

impl CertificateAuthority {
    /// Makes a new self-signed authority.
    pub fn new(common_name: &str, now: Timestamp, lifetime: SignedDuration) -> Result<Self, Error> {
        Self::for_subject(&Subject::new(common_name, [""; 0]), now, lifetime)
    }

    /// Makes a new self-signed authority with a whole subject.
    pub fn for_subject(subject: &Subject, now: Timestamp, lifetime: SignedDuration) -> Result<Self, Error> {
        let key = PrivateKey::generate()?;
        let name = subject.to_der();
        let validity = Validity::starting(now, lifetime);
        let identifier = key_identifier(&key);
        let certificate = Template {
            serial: random_serial()?,
            issuer: &name,
            subject: &name,
            not_before: validity.not_before,
            not_after: validity.not_after,
            public_key: key.public_key().to_der(),
            usages: &[Usage::DigitalSignature, Usage::KeyEncipherment, Usage::CertSign],
            is_authority: true,
            subject_key_id: Some(&identifier),
            authority_key_id: None,
            alternative_names: &[],
        }
        .sign(&key)?;
        Ok(Self { certificate, key })
    }

    /// Takes an authority from its parts, which must fit together.
    pub fn from_parts(certificate: Certificate, key: PrivateKey) -> Result<Self, Error> {
        if certificate.public_key_der() != key.public_key().to_der() {
            return Err(Error::KeyMismatch);
        }
        if !certificate.is_authority() {
            return Err(Error::NotAnAuthority);
        }
        Ok(Self { certificate, key })
    }

    /// Reads an authority from two PEM texts.
    pub fn from_pem(certificate: &str, key: &Secret<String>) -> Result<Self, Error> {
        Self::from_parts(Certificate::from_pem(certificate)?, PrivateKey::from_pem(key.expose())?)
    }

    /// The authority's certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The authority's key.
    pub fn key(&self) -> &PrivateKey {
        &self.key
    }

    /// Issues a certificate for a server. Names that read as addresses become address names.
    pub fn issue_server<S: AsRef<str>>(
        &self,
        common_name: &str,
        names: &[S],
        now: Timestamp,
        lifetime: SignedDuration,
    ) -> Result<Issued, Error> {
        let names: Vec<_> = names.iter().map(|name| AlternativeName::host(name.as_ref())).collect();
        let usages = [Usage::DigitalSignature, Usage::KeyEncipherment, Usage::ServerAuth];
        self.issue(&Subject::new(common_name, [""; 0]), &names, &usages, now, lifetime)
    }

    /// Issues a certificate for a client: the common name is the user, the organizations are its groups.
    pub fn issue_client<S: AsRef<str>>(
        &self,
        common_name: &str,
        organizations: &[S],
        now: Timestamp,
        lifetime: SignedDuration,
    ) -> Result<Issued, Error> {
        let subject = Subject::new(common_name, organizations.iter().map(AsRef::as_ref));
        let usages = [Usage::DigitalSignature, Usage::KeyEncipherment, Usage::ClientAuth];
        self.issue(&subject, &[], &usages, now, lifetime)
    }

    /// Issues a certificate with a new key for any use.
    pub fn issue(
        &self,
        subject: &Subject,
        alternative_names: &[AlternativeName],
        usages: &[Usage],
        now: Timestamp,
        lifetime: SignedDuration,
    ) -> Result<Issued, Error> {
        let key = PrivateKey::generate()?;
        let public_key = key.public_key().to_der();
        let certificate = self.certify(subject, alternative_names, usages, public_key, now, lifetime)?;
        Ok(Issued { certificate, key })
    }

    /// Answers a signing request as the stock signers do: its subject and names, the profile's usages, none of its
    /// other extensions.
    pub fn sign_request(
        &self,
        request: &CertificateRequest,
        profile: &SigningProfile,
        now: Timestamp,
    ) -> Result<Certificate, Error> {
        self.certify(
            request.subject(),
            request.alternative_names(),
            &profile.usages,
            request.public_key_der(),
            now,
            profile.lifetime,
        )
    }

    fn certify(
        &self,
        subject: &Subject,
        alternative_names: &[AlternativeName],
        usages: &[Usage],
        public_key: &[u8],
        now: Timestamp,
        lifetime: SignedDuration,
    ) -> Result<Certificate, Error> {
        let end = self.certificate.not_after();
        if now >= end {
            return Err(Error::AuthorityExpired(end.to_string()));
        }
        let validity = Validity::starting(now, lifetime);
        Template {
            serial: random_serial()?,
            issuer: self.certificate.subject_der(),
            subject: &subject.to_der(),
            not_before: validity.not_before,
            not_after: validity.not_after.min(end),
            public_key,
            usages,
            is_authority: false,
            subject_key_id: None,
            authority_key_id: self.certificate.subject_key_id(),
            alternative_names,
        }
        .sign(&self.key)
    }
}

fn random_serial() -> Result<[u8; 16], Error> {
    let mut serial = [0; 16];
    rand::fill(&mut serial).map_err(|_| Error::Cryptography("draw a serial number"))?;
    // The first bit stays clear so that the number is positive in 16 bytes, the second is set so that it has them all.
    serial[0] = serial[0] & 0x7f | 0x40;
    Ok(serial)
}

fn key_identifier(key: &PrivateKey) -> [u8; 20] {
    let mut identifier = [0; 20];
    identifier.copy_from_slice(&digest(&SHA256, key.public_key().to_der()).as_ref()[..20]);
    identifier
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::CertificateBundle;

    fn now() -> Timestamp {
        "2026-11-01T12:00:00Z".parse().unwrap()
    }

    fn authority() -> CertificateAuthority {
        CertificateAuthority::new("test-ca", now(), SignedDuration::from_hours(24 * 365)).unwrap()
    }

    #[test]
    fn authorities_survive_storage() {
        let authority = authority();
        let again =
            CertificateAuthority::from_pem(&authority.certificate().to_pem(), &authority.key().to_pkcs8_pem().unwrap());
        assert_eq!(again.unwrap().certificate(), authority.certificate());
        let other = PrivateKey::generate().unwrap();
        let mixed = CertificateAuthority::from_parts(authority.certificate().clone(), other);
        assert_eq!(mixed.unwrap_err(), Error::KeyMismatch);
        let leaf = authority.issue_client("a", &["b"], now(), BACKDATE).unwrap();
        let not = CertificateAuthority::from_parts(leaf.certificate, leaf.key);
        assert_eq!(not.unwrap_err(), Error::NotAnAuthority);
    }

    #[test]
    fn leaves_carry_names_groups_and_times() {
        let authority = authority();
        let day = SignedDuration::from_hours(24);
        let client = authority.issue_client("alice", &["dev", "system:masters"], now(), day).unwrap().certificate;
        assert_eq!(client.subject().common_name, "alice");
        assert_eq!(client.subject().organizations(), ["dev", "system:masters"]);
        assert_eq!(client.not_before(), now() - BACKDATE);
        assert_eq!(client.not_after(), now() + day - BACKDATE);
        let short = authority.issue_client("a", &[""; 0], now(), SignedDuration::from_hours(1)).unwrap().certificate;
        assert_eq!(short.not_after(), now() + SignedDuration::from_hours(1));
        let server = authority.issue_server("api", &["localhost", "10.0.0.1", "::1"], now(), day).unwrap().certificate;
        let names: Vec<String> = server.alternative_names().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["localhost", "10.0.0.1", "::1"]);
        assert_ne!(server.serial(), client.serial());
    }

    #[test]
    fn nothing_outlives_its_authority() {
        let authority = authority();
        let long = authority.issue_client("a", &["b"], now(), SignedDuration::from_hours(24 * 9999)).unwrap();
        assert_eq!(long.certificate.not_after(), authority.certificate().not_after());
        let later = authority.certificate().not_after();
        let refused = authority.issue_client("a", &["b"], later, BACKDATE).unwrap_err();
        assert!(matches!(refused, Error::AuthorityExpired(_)));
    }

    #[test]
    fn chains_verify_for_their_use_and_time_only() {
        let (authority, other) = (authority(), authority());
        let hour = SignedDuration::from_hours(1);
        let client = authority.issue_client("alice", &["dev"], now(), hour).unwrap().certificate;
        let server = authority.issue_server("api", &["localhost"], now(), hour).unwrap().certificate;
        let both: CertificateBundle =
            [other.certificate().clone(), authority.certificate().clone()].into_iter().collect();
        let wrong: CertificateBundle = [other.certificate().clone()].into_iter().collect();
        assert_eq!(both.verify_client(&client, &[], now()), Ok(()));
        assert!(both.verify_client(&server, &[], now()).is_err());
        assert!(both.verify_client(&client, &[], now() + hour + hour).is_err());
        assert!(wrong.verify_client(&client, &[], now()).is_err());
        assert!(CertificateBundle::default().verify_client(&client, &[], now()).is_err());
    }
}
