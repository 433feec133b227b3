//! What two hosts agreed on: keys for both directions, for three minutes at most.

use std::time::{Duration, Instant};

use snow::StatelessTransportState;

use crate::WireguardError;
use crate::handshake::{DATA, DATA_OVERHEAD};
use crate::window::Window;

/// Nothing is sealed or opened with older keys.
const LONGEST: Duration = Duration::from_mins(3);
/// Nor after so many messages.
const MOST: u64 = 1 << 60;
/// Where a datagram's number and its sealed part begin.
const NUMBER: usize = 8;
const SEALED: usize = 16;
/// Lengths of packets are rounded up, so that they say less.
const PADDING: usize = 16;
/// The largest packet, so that its datagram is one.
const LARGEST: usize = 65_000;

/// A session.
pub(crate) struct Session {
    state: StatelessTransportState,
    own: u32,
    remote: u32,
    is_ours: bool,
    born: Instant,
    next: u64,
    seen: Window,
}

impl Session {
    pub(crate) fn new(state: StatelessTransportState, own: u32, remote: u32, is_ours: bool, now: Instant) -> Self {
        Self { state, own, remote, is_ours, born: now, next: 0, seen: Window::default() }
    }

    /// How datagrams for it name it.
    pub(crate) fn index(&self) -> u32 {
        self.own
    }

    /// Whether its handshake was begun here.
    pub(crate) fn is_ours(&self) -> bool {
        self.is_ours
    }

    pub(crate) fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.born)
    }

    /// Whether it may be used.
    pub(crate) fn is_usable(&self, now: Instant) -> bool {
        self.age(now) < LONGEST && self.next < MOST
    }

    /// Seals a packet; an empty one only says that this host is there. The datagram is in `room` then.
    pub(crate) fn seal<'a>(&mut self, packet: &[u8], room: &'a mut Vec<u8>) -> Result<&'a [u8], WireguardError> {
        if packet.len() > LARGEST {
            return Err(WireguardError::NotForUs);
        }
        let padded = packet.len().next_multiple_of(PADDING);
        // The plain text stands behind the room of the sealed one.
        room.clear();
        room.resize(padded + DATA_OVERHEAD + padded, 0);
        let (datagram, plain) = room.split_at_mut(padded + DATA_OVERHEAD);
        plain[..packet.len()].copy_from_slice(packet);
        datagram[..4].copy_from_slice(&DATA);
        datagram[4..NUMBER].copy_from_slice(&self.remote.to_le_bytes());
        datagram[NUMBER..SEALED].copy_from_slice(&self.next.to_le_bytes());
        let sealed = self.state.write_message(self.next, plain, &mut datagram[SEALED..]);
        self.next += 1;
        sealed.map_err(|_| WireguardError::NotForUs)?;
        Ok(datagram)
    }

    /// Opens a datagram. What it carried is in `room` then, with what it was padded with.
    pub(crate) fn open<'a>(&mut self, datagram: &[u8], room: &'a mut Vec<u8>) -> Result<&'a [u8], WireguardError> {
        let number = datagram.get(NUMBER..).and_then(|rest| rest.first_chunk()).ok_or(WireguardError::NotForUs)?;
        let number = u64::from_le_bytes(*number);
        let sealed = datagram.get(SEALED..).ok_or(WireguardError::NotForUs)?;
        if number >= MOST || !self.seen.is_new(number) {
            return Err(WireguardError::Replayed);
        }
        room.clear();
        room.resize(sealed.len(), 0);
        let length = self.state.read_message(number, sealed, room).map_err(|_| WireguardError::NotAuthentic)?;
        self.seen.take(number);
        Ok(&room[..length])
    }
}
