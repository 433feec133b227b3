//! The certificates of a stock plane, made afresh for each one.

use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// Why the certificates could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// The key or certificate could not be generated.
    #[error("cannot generate a certificate")]
    Generate(#[from] rcgen::Error),
    /// The file could not be written.
    #[error("cannot write {path}")]
    Write {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A certificate and its key, as PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

/// A certificate authority of a stock plane.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    identity: Identity,
}

impl Authority {
    /// Makes a new authority.
    pub fn generate(name: &str) -> Result<Self, PkiError> {
        let key = KeyPair::generate()?;
        let mut parameters = CertificateParams::new(Vec::new())?;
        parameters.distinguished_name = distinguished_name(name, &[]);
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        let certificate = parameters.self_signed(&key)?;
        let identity = Identity { certificate: certificate.pem(), key: key.serialize_pem() };
        Ok(Self { issuer: Issuer::new(parameters, key), identity })
    }

    /// The authority's own certificate and key.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Issues a client certificate for a user of some groups.
    pub fn client(&self, user: &str, groups: &[&str]) -> Result<Identity, PkiError> {
        let mut parameters = CertificateParams::new(Vec::new())?;
        parameters.distinguished_name = distinguished_name(user, groups);
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(parameters)
    }

    /// Issues a serving certificate for some names and addresses.
    pub fn server(&self, name: &str, alternatives: &[&str]) -> Result<Identity, PkiError> {
        let alternatives: Vec<String> = alternatives.iter().map(ToString::to_string).collect();
        let mut parameters = CertificateParams::new(alternatives)?;
        parameters.distinguished_name = distinguished_name(name, &[]);
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(parameters)
    }

    fn issue(&self, mut parameters: CertificateParams) -> Result<Identity, PkiError> {
        let key = KeyPair::generate()?;
        parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        let certificate = parameters.signed_by(&key, &self.issuer)?;
        Ok(Identity { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// A new private key and its public key, both as PEM, for signing tokens.
pub fn signing_key() -> Result<(String, String), PkiError> {
    let key = KeyPair::generate()?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}

/// A certificate signing request as PEM and its private key.
pub fn signing_request(user: &str, groups: &[&str], alternatives: &[&str]) -> Result<(String, String), PkiError> {
    let key = KeyPair::generate()?;
    let alternatives: Vec<String> = alternatives.iter().map(ToString::to_string).collect();
    let mut parameters = CertificateParams::new(alternatives)?;
    parameters.distinguished_name = distinguished_name(user, groups);
    let request = parameters.serialize_request(&key)?.pem()?;
    Ok((request, key.serialize_pem()))
}

fn distinguished_name(common: &str, organizations: &[&str]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    for organization in organizations {
        name.push(DnType::OrganizationName, *organization);
    }
    name.push(DnType::CommonName, common);
    name
}

/// Writes one file of a PKI directory.
pub fn write(path: &Path, content: &str) -> Result<(), PkiError> {
    std::fs::write(path, content).map_err(|source| PkiError::Write { path: path.display().to_string(), source })
}
