//! The two messages of a handshake, and what datagrams say about themselves.

use blake2::digest::Mac as _;
use blake2::digest::consts::U16;
use blake2::{Blake2s256, Blake2sMac, Digest as _};
use snow::{Builder, HandshakeState};

use crate::WireguardError;
use crate::key::{PrivateKey, PublicKey};
use crate::primitives::Primitives;
use crate::session::Session;
use crate::tunnel::Now;

const PATTERN: &str = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
const PROLOGUE: &[u8] = b"WireGuard v1 zx2c4 Jason@zx2c4.com";
/// No key is shared beforehand.
const NO_SHARED_KEY: [u8; 32] = [0; 32];
/// The first bytes of messages, with those that are reserved.
const INITIATION: [u8; 4] = [1, 0, 0, 0];
const RESPONSE: [u8; 4] = [2, 0, 0, 0];
pub(crate) const DATA: [u8; 4] = [4, 0, 0, 0];
const INITIATION_LENGTH: usize = 148;
const RESPONSE_LENGTH: usize = 92;
/// Type, index and number before, and the seal after what a datagram carries.
pub(crate) const DATA_OVERHEAD: usize = 32;
/// Both marks at the end of a handshake's message; the second is for those who got a cookie, which nobody gets here.
const MARKS: usize = 32;
const MARK: usize = 16;
/// The seconds since 1970 in a timestamp begin here.
const EPOCH: u64 = 0x4000_0000_0000_000a;

/// A moment as handshakes have it; later ones are greater.
pub(crate) type Stamp = [u8; 12];

/// What a datagram is, before anything of it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Datagram {
    /// Somebody begins a handshake.
    Initiation,
    /// It goes on with something that has this index here.
    To(u32),
}

impl Datagram {
    /// Reads the beginning of a datagram; none where it is nothing that is understood.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let index = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        match (*bytes.first_chunk::<4>()?, bytes.len()) {
            (INITIATION, INITIATION_LENGTH) => Some(Self::Initiation),
            (RESPONSE, RESPONSE_LENGTH) => index(8).map(Self::To),
            (DATA, DATA_OVERHEAD..) => index(4).map(Self::To),
            _ => None,
        }
    }
}

/// Whether a datagram answers the beginning of a handshake.
pub(crate) fn is_response(datagram: &[u8]) -> bool {
    datagram.len() == RESPONSE_LENGTH && datagram.starts_with(&RESPONSE)
}

/// Who this host is.
#[derive(Debug)]
pub struct Identity {
    private: PrivateKey,
    public: PublicKey,
}

impl Identity {
    /// Of a private key.
    pub fn new(private: PrivateKey) -> Result<Self, WireguardError> {
        let public = private.public()?;
        Ok(Self { private, public })
    }

    /// What others know this host by.
    pub fn public(&self) -> PublicKey {
        self.public
    }

    fn builder(&self) -> Result<Builder<'_>, snow::Error> {
        let pattern = PATTERN.parse()?;
        Builder::with_resolver(pattern, Box::new(Primitives))
            .prologue(PROLOGUE)?
            .psk(2, &NO_SHARED_KEY)?
            .local_private_key(self.private.as_bytes())
    }
}

/// A handshake that was begun here.
pub(crate) struct Begun {
    state: HandshakeState,
    index: u32,
}

/// Begins a handshake. `index` is how the answer names it.
pub(crate) fn begin(
    own: &Identity,
    peer: &PublicKey,
    index: u32,
    now: Now,
) -> Result<([u8; INITIATION_LENGTH], Begun), WireguardError> {
    let failed = |_| WireguardError::Randomness;
    let builder = own.builder().and_then(|builder| builder.remote_public_key(peer.as_bytes()));
    let mut state = builder.and_then(Builder::build_initiator).map_err(failed)?;
    let mut message = [0; INITIATION_LENGTH];
    message[..4].copy_from_slice(&INITIATION);
    message[4..8].copy_from_slice(&index.to_le_bytes());
    let end = INITIATION_LENGTH - MARKS;
    // A key that leads nowhere is nobody's.
    state.write_message(&stamp(now), &mut message[8..end]).map_err(|_| WireguardError::Key)?;
    set_mark(&mut message, peer);
    Ok((message, Begun { state, index }))
}

impl Begun {
    /// Takes the answer. What is not authentic changes nothing.
    pub(crate) fn take(&mut self, message: &[u8], own: &Identity) -> Result<u32, WireguardError> {
        check_mark(message, own.public)?;
        let index = |at: usize| u32::from_le_bytes([message[at], message[at + 1], message[at + 2], message[at + 3]]);
        if !is_response(message) || index(8) != self.index {
            return Err(WireguardError::NotForUs);
        }
        let end = RESPONSE_LENGTH - MARKS;
        self.state.read_message(&message[12..end], &mut []).map_err(|_| WireguardError::NotAuthentic)?;
        Ok(index(4))
    }

    /// What was agreed on, after the answer was taken. `remote` is the index there.
    pub(crate) fn session(self, remote: u32, now: Now) -> Result<Session, WireguardError> {
        let state = self.state.into_stateless_transport_mode().map_err(|_| WireguardError::NotAuthentic)?;
        Ok(Session::new(state, self.index, remote, true, now.at))
    }
}

/// A handshake that somebody else began, whose key is proved.
pub struct Initiation {
    state: HandshakeState,
    peer: PublicKey,
    remote: u32,
    stamp: Stamp,
}

impl Initiation {
    /// Reads it. This takes two agreements on keys, so what comes too often is better not read.
    pub fn read(own: &Identity, message: &[u8]) -> Result<Self, WireguardError> {
        check_mark(message, own.public)?;
        if Datagram::read(message) != Some(Datagram::Initiation) {
            return Err(WireguardError::NotForUs);
        }
        let failed = |_| WireguardError::NotAuthentic;
        let mut state = own.builder().and_then(Builder::build_responder).map_err(failed)?;
        let mut stamp = Stamp::default();
        let end = INITIATION_LENGTH - MARKS;
        state.read_message(&message[8..end], &mut stamp).map_err(failed)?;
        let peer = state.get_remote_static().and_then(|key| <[u8; 32]>::try_from(key).ok());
        let peer = PublicKey::from(peer.ok_or(WireguardError::NotAuthentic)?);
        let remote = u32::from_le_bytes([message[4], message[5], message[6], message[7]]);
        Ok(Self { state, peer, remote, stamp })
    }

    /// Whose it is.
    pub fn peer(&self) -> PublicKey {
        self.peer
    }

    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Answers it.
    pub(crate) fn answer(mut self, index: u32, now: Now) -> Result<([u8; RESPONSE_LENGTH], Session), WireguardError> {
        let failed = |_| WireguardError::NotAuthentic;
        let mut message = [0; RESPONSE_LENGTH];
        message[..4].copy_from_slice(&RESPONSE);
        message[4..8].copy_from_slice(&index.to_le_bytes());
        message[8..12].copy_from_slice(&self.remote.to_le_bytes());
        let end = RESPONSE_LENGTH - MARKS;
        self.state.write_message(&[], &mut message[12..end]).map_err(failed)?;
        set_mark(&mut message, &self.peer);
        let state = self.state.into_stateless_transport_mode().map_err(failed)?;
        Ok((message, Session::new(state, index, self.remote, false, now.at)))
    }
}

impl std::fmt::Debug for Initiation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Initiation").field("peer", &self.peer).finish_non_exhaustive()
    }
}

fn stamp(now: Now) -> Stamp {
    let mut stamp = Stamp::default();
    stamp[..8].copy_from_slice(&(EPOCH + now.since_1970.as_secs()).to_be_bytes());
    stamp[8..].copy_from_slice(&now.since_1970.subsec_nanos().to_be_bytes());
    stamp
}

/// Shows that the sender knows whom it writes to, before anything costly is done.
fn mark(message: &[u8], receiver: &PublicKey) -> Blake2sMac<U16> {
    let key = Blake2s256::new().chain_update(b"mac1----").chain_update(receiver.as_bytes()).finalize();
    let mark = Blake2sMac::<U16>::new_from_slice(&key).expect("a hash is as long as a key may be");
    mark.chain_update(message)
}

pub(crate) fn set_mark(message: &mut [u8], receiver: &PublicKey) {
    let end = message.len() - MARKS;
    let made = mark(&message[..end], receiver).finalize().into_bytes();
    message[end..end + MARK].copy_from_slice(&made);
}

fn check_mark(message: &[u8], own: PublicKey) -> Result<(), WireguardError> {
    let end = message.len().checked_sub(MARKS).ok_or(WireguardError::NotForUs)?;
    mark(&message[..end], &own).verify_slice(&message[end..end + MARK]).map_err(|_| WireguardError::NotForUs)
}
