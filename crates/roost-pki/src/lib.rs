//! Keys, certificates, signing requests and kubeconfigs.
//!
//! Certificates are encoded here and not by a library because their subjects carry several organizations, which become
//! the groups of a user; see [`subject`]. Nothing here reads a clock or a file.

mod authority;
mod bundle;
mod certificate;
mod der;
mod handshake;
mod identity;
mod jwk;
mod key;
mod kubeconfig;
mod pem;
pub mod plane;
mod public_key;
mod request;
mod secret;
mod signer;
pub mod subject;

pub use authority::{BACKDATE, CertificateAuthority, Issued, Validity};
pub use bundle::CertificateBundle;
pub use certificate::Certificate;
pub use handshake::{AnyClientCertificate, AnyServerCertificate};
pub use identity::ClientIdentity;
pub use jwk::{key_set, openid_configuration};
pub use key::{PrivateKey, SignatureAlgorithm};
pub use kubeconfig::{Credential, Kubeconfig};
pub use public_key::PublicKey;
pub use request::CertificateRequest;
pub use secret::Secret;
pub use signer::{KubernetesSigner, SigningProfile, Usage};
pub use subject::{AlternativeName, Subject};

/// Why something about keys or certificates failed. No variant carries secret material.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The random source or the signing itself failed; trying again may help.
    #[error("cryptographic operation failed: {0}")]
    Cryptography(&'static str),
    /// The text is no PEM, or has no block of the wanted kind.
    #[error("PEM block type must be {0}")]
    Pem(&'static str),
    /// The bytes are no such structure.
    #[error("unable to parse {what}: {why}")]
    Malformed {
        /// What was expected.
        what: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The input is larger than anything honest.
    #[error("{what} must be no more than {limit} bytes")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it may be.
        limit: usize,
    },
    /// A key is of a kind or size that is not supported.
    #[error("unsupported key: {0}")]
    UnsupportedKey(String),
    /// The private key does not belong to the certificate.
    #[error("the private key does not belong to the certificate")]
    KeyMismatch,
    /// The certificate may not sign others.
    #[error("the certificate is not an authority")]
    NotAnAuthority,
    /// A request's signature does not fit its key.
    #[error("unable to verify certificate request signature: {0}")]
    RequestSignature(&'static str),
    /// A usage that no certificate can have.
    #[error("unrecognized usage values: {0}")]
    UnrecognizedUsages(String),
    /// The authority cannot issue any more.
    #[error("the signer has expired: NotAfter={0}")]
    AuthorityExpired(String),
    /// A certificate does not lead to a trusted authority, or not now, or not for this use.
    #[error("certificate is not trusted: {0}")]
    Untrusted(String),
    /// A certificate's subject names no usable user.
    #[error("{0}")]
    Identity(String),
}
