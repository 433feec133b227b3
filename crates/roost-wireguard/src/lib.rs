//! The `WireGuard` protocol between two hosts as a state machine, without sockets and clocks: datagrams, packets and times in,
//! datagrams and packets out.
//!
//! The handshake is the Noise framework's, by `snow`, over the primitives of `aws-lc-rs`. Messages and timers are those of the
//! protocol's paper, so that the kernel's implementation can be at the other end. Cookies are not spoken: whoever has more
//! handshakes than it can bear drops them.

mod handshake;
mod key;
mod primitives;
mod session;
mod tunnel;
mod window;

pub use handshake::{Datagram, Identity, Initiation};
pub use key::{PrivateKey, PublicKey};
pub use tunnel::{KEEPALIVE, Now, Output, SILENCE, Tunnel};

/// Why something that arrived was not taken, or something could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireguardError {
    /// No message of the protocol, or not one for us.
    #[error("this is no message for this host")]
    NotForUs,
    /// Whoever made it does not have the key that it should have.
    #[error("this message is not authentic")]
    NotAuthentic,
    /// It was seen before, or is too old to know.
    #[error("this message was seen before")]
    Replayed,
    /// A key makes no sense.
    #[error("this is no key: 32 bytes in base64 are one")]
    Key,
    /// The system has no randomness.
    #[error("no key can be made")]
    Randomness,
}
