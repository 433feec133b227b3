//! A key with the certificate that was issued for it.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use roost_pki::{Certificate, Error, PrivateKey, Secret};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::timing;

/// Who a node is to the API, or to those who call it.
#[derive(Clone)]
pub(crate) struct Identity {
    key: Secret<Vec<u8>>,
    certificate: Certificate,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({:?})", self.certificate.subject().common_name)
    }
}

impl Identity {
    pub(crate) fn new(key: &PrivateKey, certificate: Certificate) -> Result<Self, Error> {
        Ok(Self { key: key.to_pkcs8_der()?, certificate })
    }

    /// Reads certificate and key from one PEM text, as a kubelet keeps them.
    pub(crate) fn from_pem(text: &str) -> Result<Self, Error> {
        Self::new(&PrivateKey::from_pem(text)?, Certificate::from_pem(text)?)
    }

    /// Certificate and key in one PEM text.
    pub(crate) fn to_pem(&self) -> Result<Secret<String>, Error> {
        let key = PrivateKey::from_pkcs8_der(self.key.expose())?.to_sec1_pem()?;
        Ok(Secret::new(format!("{}{}", self.certificate.to_pem(), key.expose())))
    }

    pub(crate) fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    pub(crate) fn tls_key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.expose().clone()))
    }

    /// When to ask for the next certificate: at seven tenths of its life and a part of the spread, which `share`
    /// of 256 says.
    pub(crate) fn renewal(&self, share: u8) -> Timestamp {
        let life = self.certificate.not_after().duration_since(self.certificate.not_before());
        let life = Duration::try_from(life).unwrap_or_default();
        let hundredths = timing::RENEWAL_AFTER * 256 + timing::RENEWAL_SPREAD * u64::from(share);
        let after = life.as_secs().saturating_mul(hundredths) / 25_600;
        let after = SignedDuration::from_secs(i64::try_from(after).unwrap_or(i64::MAX));
        self.certificate.not_before().checked_add(after).unwrap_or(self.certificate.not_after())
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use roost_pki::CertificateAuthority;

    use super::Identity;

    #[test]
    fn renewal_lies_between_seven_and_nine_tenths() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let authority = CertificateAuthority::new("authority", now, SignedDuration::from_hours(1000)).unwrap();
        let lifetime = SignedDuration::from_hours(100);
        let issued = authority.issue_client("system:node:a", &["system:nodes"], now, lifetime).unwrap();
        let identity = Identity::new(&issued.key, issued.certificate.clone()).unwrap();
        let start = issued.certificate.not_before();
        let life = issued.certificate.not_after().duration_since(start).as_secs();
        assert_eq!(identity.renewal(0), start + SignedDuration::from_secs(life * 7 / 10));
        let latest = identity.renewal(255).duration_since(start).as_secs();
        assert!(latest > life * 89 / 100 && latest < life * 90 / 100, "{latest} of {life}");
    }

    #[test]
    fn it_is_kept_in_one_text() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let authority = CertificateAuthority::new("authority", now, SignedDuration::from_hours(1000)).unwrap();
        let issued = authority.issue_client("a", &["b"], now, SignedDuration::from_hours(1)).unwrap();
        let identity = Identity::new(&issued.key, issued.certificate).unwrap();
        let again = Identity::from_pem(identity.to_pem().unwrap().expose()).unwrap();
        assert_eq!(again.certificate().der(), identity.certificate().der());
        assert_eq!(again.key, identity.key);
        assert!(Identity::from_pem("").is_err());
    }
}
