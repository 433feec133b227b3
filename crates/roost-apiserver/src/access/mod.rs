//! Who asks, and whether they may.

mod authenticate;
mod authorize;

pub(crate) use authenticate::{Found, authenticate, ignored_token};
pub use authenticate::{InProcess, PeerCertificates};
pub(crate) use authorize::Authorizer;
