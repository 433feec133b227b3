//! Reading what a plan has written, for the servers that use it.

use rustls_pki_types::pem::SectionKind;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::observed::Data;
use super::trust::BUNDLE_KEY;
use super::{SIGNING_KEY_PRIVATE, SIGNING_KEY_PUBLIC};
use crate::authority::CertificateAuthority;
use crate::bundle::CertificateBundle;
use crate::certificate::Certificate;
use crate::key::PrivateKey;
use crate::public_key::PublicKey;
use crate::{Error, Secret, pem};

/// Why a Secret or ConfigMap is no use to a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A key is not there, or no text; the plan that writes it has not been carried out yet.
    #[error("there is no {0}")]
    Missing(&'static str),
    /// A key holds something else; the next plan replaces it.
    #[error("cannot read {key}")]
    Unreadable {
        /// Which key.
        key: &'static str,
        /// What is wrong with it.
        source: Error,
    },
}

fn text<'a>(data: &'a Data, key: &'static str) -> Result<&'a str, ReadError> {
    let bytes = data.get(key).ok_or(ReadError::Missing(key))?;
    std::str::from_utf8(bytes).ok().filter(|text| !text.is_empty()).ok_or(ReadError::Missing(key))
}

fn unreadable(key: &'static str) -> impl Fn(Error) -> ReadError {
    move |source| ReadError::Unreadable { key, source }
}

/// What a server or client shows in TLS, from `tls.crt` and `tls.key`.
#[derive(Debug)]
pub struct ServingPair {
    certificate: Certificate,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKey,
}

impl ServingPair {
    /// Reads the Secret of a leaf.
    pub fn read(data: &Data) -> Result<Self, ReadError> {
        const CERTIFICATE: &str = "tls.crt";
        const KEY: &str = "tls.key";
        let certificates = text(data, CERTIFICATE)?;
        let sections = pem::sections(certificates).map_err(unreadable(CERTIFICATE))?;
        let certificate = Certificate::from_pem(certificates).map_err(unreadable(CERTIFICATE))?;
        let only_certificates = sections.into_iter().filter(|(kind, _)| *kind == SectionKind::Certificate);
        let chain = only_certificates.map(|(_, der)| CertificateDer::from(der)).collect();
        let key = PrivateKey::from_pem(text(data, KEY)?).map_err(unreadable(KEY))?;
        if key.public_key().to_der() != certificate.public_key_der() {
            return Err(ReadError::Unreadable { key: KEY, source: Error::KeyMismatch });
        }
        Ok(Self { certificate, chain, key })
    }

    /// The certificate itself.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The certificates as TLS libraries take them, its own first.
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.chain
    }

    /// The key as TLS libraries take it.
    pub fn tls_key(&self) -> Result<PrivateKeyDer<'static>, Error> {
        Ok(PrivateKeyDer::Pkcs8(self.key.to_pkcs8_der()?.into_exposed().into()))
    }
}

/// Trusted authorities, from `ca.crt` of a ConfigMap or Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustBundle(pub CertificateBundle);

impl TrustBundle {
    /// Reads a bundle.
    pub fn read(data: &Data) -> Result<Self, ReadError> {
        CertificateBundle::from_pem(text(data, BUNDLE_KEY)?).map(Self).map_err(unreadable(BUNDLE_KEY))
    }
}

/// What service account tokens are signed and checked with, from `sa-signing-key`.
#[derive(Debug)]
pub struct SigningKey {
    /// Signs.
    pub key: PrivateKey,
    /// Checks; the public half of `key` is among them.
    pub trusted: Vec<PublicKey>,
}

impl SigningKey {
    /// Reads the Secret.
    pub fn read(data: &Data) -> Result<Self, ReadError> {
        let private = text(data, SIGNING_KEY_PRIVATE)?;
        let key = PrivateKey::from_pem(private).map_err(unreadable(SIGNING_KEY_PRIVATE))?;
        let mut trusted = vec![key.public_key().clone()];
        if let Ok(public) = text(data, SIGNING_KEY_PUBLIC) {
            let others = PublicKey::all_from_pem(public).map_err(unreadable(SIGNING_KEY_PUBLIC))?;
            trusted.extend(others.into_iter().filter(|other| other != key.public_key()));
        }
        Ok(Self { key, trusted })
    }
}

/// What certificate signing requests are signed with, from `cluster-signer-ca`.
#[derive(Debug)]
pub struct CsrSigner {
    /// Signs.
    pub authority: CertificateAuthority,
}

impl CsrSigner {
    /// Reads the Secret of an authority.
    pub fn read(data: &Data) -> Result<Self, ReadError> {
        const KEY: &str = "ca.key";
        let key = Secret::new(text(data, KEY)?.to_owned());
        let authority = CertificateAuthority::from_pem(text(data, BUNDLE_KEY)?, &key).map_err(unreadable(KEY))?;
        Ok(Self { authority })
    }
}
