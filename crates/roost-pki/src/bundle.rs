//! Bundles of trusted authorities.

use jiff::Timestamp;
use rustls_pki_types::pem::SectionKind;
use rustls_pki_types::{CertificateDer, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage, anchor_from_trusted_cert};

use crate::certificate::Certificate;
use crate::{Error, pem};

/// The authorities that are trusted, each once. While authorities rotate there are several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateBundle {
    certificates: Vec<Certificate>,
}

impl CertificateBundle {
    /// Reads all certificates of a PEM text.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        let mut bundle = Self::default();
        for (kind, der) in pem::sections(text)? {
            if kind == SectionKind::Certificate {
                bundle.add(Certificate::from_der(&der)?);
            }
        }
        Ok(bundle)
    }

    /// All certificates as one PEM text.
    pub fn to_pem(&self) -> String {
        self.certificates.iter().map(Certificate::to_pem).collect()
    }

    /// The certificates, in the order in which they were added.
    pub fn certificates(&self) -> &[Certificate] {
        &self.certificates
    }

    /// Adds a certificate unless it is there already.
    pub fn add(&mut self, certificate: Certificate) {
        if !self.certificates.contains(&certificate) {
            self.certificates.push(certificate);
        }
    }

    /// Takes a certificate out.
    pub fn remove(&mut self, certificate: &Certificate) {
        self.certificates.retain(|own| own != certificate);
    }

    /// Takes out what is no longer good at a moment.
    pub fn remove_expired(&mut self, now: Timestamp) {
        self.certificates.retain(|own| now <= own.not_after());
    }

    /// Whether nothing is trusted.
    pub fn is_empty(&self) -> bool {
        self.certificates.is_empty()
    }

    /// Checks that a client's certificate leads to a trusted authority at a moment. TLS has done so when the connection
    /// began; this is for connections that outlive an authority, and for certificates that come another way.
    pub fn verify_client(
        &self,
        leaf: &Certificate,
        intermediates: &[Certificate],
        now: Timestamp,
    ) -> Result<(), Error> {
        self.verify(leaf, intermediates, now, KeyUsage::client_auth())
    }

    /// Checks that a server's certificate leads to a trusted authority at a moment; its names are not looked at.
    pub fn verify_server(
        &self,
        leaf: &Certificate,
        intermediates: &[Certificate],
        now: Timestamp,
    ) -> Result<(), Error> {
        self.verify(leaf, intermediates, now, KeyUsage::server_auth())
    }

    fn verify(
        &self,
        leaf: &Certificate,
        intermediates: &[Certificate],
        now: Timestamp,
        usage: KeyUsage,
    ) -> Result<(), Error> {
        let untrusted = |error: webpki::Error| Error::Untrusted(error.to_string());
        let roots: Vec<CertificateDer<'_>> = self.certificates.iter().map(|root| root.der().into()).collect();
        let anchors: Vec<_> = roots.iter().filter_map(|root| anchor_from_trusted_cert(root).ok()).collect();
        let between: Vec<CertificateDer<'_>> = intermediates.iter().map(|one| one.der().into()).collect();
        let end: CertificateDer<'_> = leaf.der().into();
        let end = EndEntityCert::try_from(&end).map_err(untrusted)?;
        let seconds = u64::try_from(now.as_second()).unwrap_or_default();
        let time = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        end.verify_for_usage(ALL_VERIFICATION_ALGS, &anchors, &between, time, usage, None, None)
            .map(|_| ())
            .map_err(untrusted)
    }
}

impl FromIterator<Certificate> for CertificateBundle {
    fn from_iter<I: IntoIterator<Item = Certificate>>(certificates: I) -> Self {
        let mut bundle = Self::default();
        certificates.into_iter().for_each(|certificate| bundle.add(certificate));
        bundle
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;
    use crate::authority::CertificateAuthority;

    #[test]
    fn bundles_hold_each_authority_once() {
        let now: Timestamp = "2026-11-01T12:00:00Z".parse().unwrap();
        let make = |hours| {
            let authority = CertificateAuthority::new("ca", now, SignedDuration::from_hours(hours)).unwrap();
            authority.certificate().clone()
        };
        let (old, new) = (make(1), make(100));
        let mut bundle: CertificateBundle = [old.clone(), new.clone(), old.clone()].into_iter().collect();
        assert_eq!(CertificateBundle::from_pem(&bundle.to_pem()).unwrap(), bundle);
        assert_eq!(bundle.certificates().len(), 2);
        bundle.remove_expired(now + SignedDuration::from_hours(2));
        assert_eq!(bundle.certificates(), std::slice::from_ref(&new));
        bundle.remove(&new);
        assert!(bundle.is_empty());
        assert!(CertificateBundle::from_pem("no blocks").unwrap().is_empty());
    }
}
