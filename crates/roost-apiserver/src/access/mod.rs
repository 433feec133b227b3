//! Who asks, and whether they may.

mod authenticate;
mod authorize;
mod permission;

pub(crate) use authenticate::{Found, authenticate, ignored_token};
pub use authenticate::{InProcess, PeerCertificates};
pub(crate) use authorize::Authorizer;
pub(crate) use permission::{authorize, impersonate};
