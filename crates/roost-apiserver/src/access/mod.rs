//! Who asks, and whether they may.

mod authenticate;
mod authorize;

pub(crate) use authenticate::authenticate;
pub use authenticate::{InProcess, PeerCertificates};
pub(crate) use authorize::Authorizer;
