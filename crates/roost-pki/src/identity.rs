//! The user behind a client certificate.

use std::fmt::Write as _;

use crate::Error;
use crate::certificate::Certificate;

/// Who a verified client certificate says the caller is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The user's name: the common name.
    pub name: String,
    /// The user's groups: the organizations.
    pub groups: Vec<String>,
    /// The user's uid; empty when the subject has none.
    pub uid: String,
    /// Names the certificate in audit logs: `X509SHA256=` and its hash.
    pub credential_id: String,
}

impl ClientIdentity {
    /// Reads the subject of a certificate that is verified already. None when it names nobody.
    pub fn of(certificate: &Certificate) -> Result<Option<Self>, Error> {
        let subject = certificate.subject();
        if subject.common_name.is_empty() {
            return Ok(None);
        }
        let uid = match subject.uids() {
            [] => String::new(),
            [uid] if uid.is_empty() => return Err(Error::Identity("UID cannot be an empty string".into())),
            [uid] => uid.clone(),
            several => {
                let words = format!("expected 1 UID, but found multiple: [{}]", several.join(" "));
                return Err(Error::Identity(words));
            }
        };
        let mut credential_id = String::from("X509SHA256=");
        for byte in certificate.fingerprint() {
            let _ = write!(credential_id, "{byte:02x}");
        }
        Ok(Some(Self {
            name: subject.common_name.clone(),
            groups: subject.organizations().to_vec(),
            uid,
            credential_id,
        }))
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::authority::CertificateAuthority;

    #[test]
    fn subjects_become_users() {
        let now: Timestamp = "2026-11-01T12:00:00Z".parse().unwrap();
        let authority = CertificateAuthority::new("ca", now, SignedDuration::from_hours(1)).unwrap();
        let issued = authority.issue_client("alice", &["b", "a"], now, SignedDuration::from_hours(1)).unwrap();
        let identity = ClientIdentity::of(&issued.certificate).unwrap().unwrap();
        assert_eq!((&*identity.name, &*identity.uid), ("alice", ""));
        assert_eq!(identity.credential_id.len(), "X509SHA256=".len() + 64);
        let nameless = authority.issue_client("", &["b"], now, SignedDuration::from_hours(1)).unwrap();
        assert_eq!(ClientIdentity::of(&nameless.certificate), Ok(None));
    }

    #[test]
    fn uids_come_from_their_own_attribute() {
        let uid_type = || rcgen::DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
        let make = |uid: &str| {
            let mut parameters = rcgen::CertificateParams::default();
            parameters.distinguished_name = rcgen::DistinguishedName::new();
            parameters.distinguished_name.push(rcgen::DnType::CommonName, "alice");
            parameters.distinguished_name.push(uid_type(), uid);
            let certificate = parameters.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
            ClientIdentity::of(&Certificate::from_der(certificate.der()).unwrap())
        };
        assert_eq!(make("u-1").unwrap().unwrap().uid, "u-1");
        assert_eq!(make("").unwrap_err().to_string(), "UID cannot be an empty string");
    }
}
