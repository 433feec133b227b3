//! Bearer tokens: service account tokens, old and new, and bootstrap tokens.

mod bootstrap;
mod bound;
mod claims;
mod issue;
mod legacy;
mod request;
mod verify;

pub use bootstrap::{BootstrapToken, authenticate_bootstrap, bootstrap_expiration, is_expired_bootstrap_secret};
pub use bound::BoundClaims;
pub use claims::{ObjectReference, StandardClaims};
pub use issue::TokenIssuer;
pub use legacy::{LEGACY_ISSUER, LegacyClaims, is_token_of};
pub use request::{BoundReference, IssuedToken, TokenRequest, TokenRequestSettings};
pub use verify::{Authenticated, TokenObjects, TokenVerifier, Verified, VerifiedClaims};

/// Longest token that is looked at. The stock server takes what fits into its request headers; tokens have about one
/// kilobyte.
pub const MAX_LENGTH: usize = 128 << 10;

/// How far clocks may differ, in seconds: tokens are good that much before and after their time.
pub const LEEWAY: i64 = 60;

/// Why a token that looked like ours was refused, in the words of the stock server. Callers over HTTP learn nothing of
/// it; token reviews show it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub(crate) String);

impl Error {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}
