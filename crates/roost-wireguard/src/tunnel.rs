//! The way to one peer: its sessions, what waits for one, and when something has to be said although nobody sends anything.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::WireguardError;
use crate::handshake::{self, Begun, Identity, Initiation, Stamp};
use crate::key::PublicKey;
use crate::session::Session;

/// How often this host is heard at least. Routers forget who asked after thirty seconds and more.
pub const KEEPALIVE: Duration = Duration::from_secs(25);
/// After so long without a word a way is not believed in: the other end says something more often.
pub const SILENCE: Duration = Duration::from_mins(1);
/// A handshake that is not answered is begun again.
const TRY_AGAIN: Duration = Duration::from_secs(5);
/// Keys are replaced by who began their handshake, and by the other one where that did not do so.
const RENEW: Duration = Duration::from_mins(2);
const RENEW_INSTEAD: Duration = Duration::from_secs(150);
/// Whoever got something and has nothing to say says so after this.
const ANSWER: Duration = Duration::from_secs(10);
/// And whoever hears nothing after that begins anew.
const NO_ANSWER: Duration = Duration::from_secs(15);
/// Packets that wait for a session.
const MOST_WAITING: usize = 64;

/// A moment, by both clocks: one that only goes forward, and one that hosts agree on.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// For timers.
    pub at: Instant,
    /// For handshakes, where later ones are greater.
    pub since_1970: Duration,
}

/// What comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    /// A datagram that goes to where the peer was last heard from.
    Datagram(&'a [u8]),
    /// One that begins a handshake, and goes to where the peer may be.
    Initiation(&'a [u8]),
    /// A packet from the peer. Whether it may have this packet's addresses is not known here.
    Packet(&'a [u8]),
}

/// The way to one peer.
pub struct Tunnel {
    own: Arc<Identity>,
    peer: PublicKey,
    /// The upper part of all indexes.
    slot: u32,
    serial: u8,
    begun: Option<Begun>,
    tried: Option<Instant>,
    current: Option<Session>,
    /// Datagrams of the one before may be on their way.
    previous: Option<Session>,
    /// One that the peer began, until it shows that it has it.
    next: Option<Session>,
    newest: Stamp,
    waiting: VecDeque<Vec<u8>>,
    said: Option<Instant>,
    heard: Option<Instant>,
    /// Since when something was sent and nothing came back.
    unanswered: Option<Instant>,
    /// Since when something came and nothing was sent back.
    owed: Option<Instant>,
    room: Vec<u8>,
}

impl Tunnel {
    /// To a peer. Datagrams for it have indexes whose upper 24 bits are `slot`.
    pub fn new(own: Arc<Identity>, peer: PublicKey, slot: u32) -> Self {
        Self {
            own,
            peer,
            slot,
            serial: 0,
            begun: None,
            tried: None,
            current: None,
            previous: None,
            next: None,
            newest: Stamp::default(),
            waiting: VecDeque::new(),
            said: None,
            heard: None,
            unanswered: None,
            owed: None,
            room: Vec::new(),
        }
    }

    /// The slot of an index.
    pub fn slot(index: u32) -> u32 {
        index >> 8
    }

    /// When the peer was last heard.
    pub fn heard(&self) -> Option<Instant> {
        self.heard
    }

    /// Sends a packet, or keeps it until there is a session.
    pub fn send(&mut self, packet: &[u8], now: Now, out: &mut dyn FnMut(Output<'_>)) {
        if !self.seal(packet, now, out) {
            if self.waiting.len() == MOST_WAITING {
                self.waiting.pop_front();
            }
            self.waiting.push_back(packet.to_vec());
            self.begin(now, out);
        }
    }

    /// Takes the beginning of a handshake by this peer.
    pub fn answer(
        &mut self,
        initiation: Initiation,
        now: Now,
        out: &mut dyn FnMut(Output<'_>),
    ) -> Result<(), WireguardError> {
        if initiation.peer() != self.peer {
            return Err(WireguardError::NotForUs);
        }
        if initiation.stamp() <= self.newest {
            return Err(WireguardError::Replayed);
        }
        let stamp = initiation.stamp();
        let (response, session) = initiation.answer(self.index(), now)?;
        self.newest = stamp;
        self.next = Some(session);
        self.heard = Some(now.at);
        out(Output::Datagram(&response));
        Ok(())
    }

    /// Takes any other datagram for this slot.
    pub fn receive(
        &mut self,
        datagram: &[u8],
        now: Now,
        out: &mut dyn FnMut(Output<'_>),
    ) -> Result<(), WireguardError> {
        if handshake::is_response(datagram) {
            return self.finish(datagram, now, out);
        }
        let Some(handshake::Datagram::To(index)) = handshake::Datagram::read(datagram) else {
            return Err(WireguardError::NotForUs);
        };
        let sessions = [&mut self.current, &mut self.next, &mut self.previous];
        let session = sessions.into_iter().flatten().find(|session| session.index() == index);
        let session = session.filter(|session| session.is_usable(now.at)).ok_or(WireguardError::NotForUs)?;
        let mut room = std::mem::take(&mut self.room);
        let carried = session.open(datagram, &mut room).map(<[u8]>::len);
        let outcome = carried.map(|length| {
            self.heard = Some(now.at);
            self.unanswered = None;
            if let Some(packet) = packet(&room[..length]) {
                self.owed.get_or_insert(now.at);
                out(Output::Packet(packet));
            }
        });
        self.room = room;
        outcome?;
        if self.next.as_ref().is_some_and(|next| next.index() == index) {
            self.previous = std::mem::replace(&mut self.current, self.next.take());
            self.flush(now, out);
        }
        Ok(())
    }

    /// Does what the time asks for. To be called about twice a second.
    pub fn tick(&mut self, now: Now, out: &mut dyn FnMut(Output<'_>)) {
        for session in [&mut self.current, &mut self.previous, &mut self.next] {
            session.take_if(|session| !session.is_usable(now.at));
        }
        let is_past =
            |since: Option<Instant>, limit| since.is_some_and(|since| now.at.saturating_duration_since(since) >= limit);
        let is_old = self
            .current
            .as_ref()
            .is_none_or(|session| session.age(now.at) >= if session.is_ours() { RENEW } else { RENEW_INSTEAD });
        if is_old || is_past(self.unanswered, NO_ANSWER) || is_past(self.heard, SILENCE) {
            self.begin(now, out);
        }
        if self.said.is_none() || is_past(self.said, KEEPALIVE) || is_past(self.owed, ANSWER) {
            self.seal(&[], now, out);
        }
    }

    /// Begins a handshake, unless one was begun a moment ago.
    fn begin(&mut self, now: Now, out: &mut dyn FnMut(Output<'_>)) {
        if self.tried.is_some_and(|tried| now.at.saturating_duration_since(tried) < TRY_AGAIN) {
            return;
        }
        self.tried = Some(now.at);
        let index = self.index();
        if let Ok((message, begun)) = handshake::begin(&self.own, &self.peer, index, now) {
            self.begun = Some(begun);
            out(Output::Initiation(&message));
        }
    }

    /// Takes the answer to the handshake that was begun here.
    fn finish(&mut self, datagram: &[u8], now: Now, out: &mut dyn FnMut(Output<'_>)) -> Result<(), WireguardError> {
        let begun = self.begun.as_mut().ok_or(WireguardError::NotForUs)?;
        let remote = begun.take(datagram, &self.own)?;
        let begun = self.begun.take().ok_or(WireguardError::NotForUs)?;
        self.previous = self.current.replace(begun.session(remote, now)?);
        self.heard = Some(now.at);
        self.unanswered = None;
        // The peer uses the session only when something came over it.
        if self.waiting.is_empty() {
            self.seal(&[], now, out);
        }
        self.flush(now, out);
        Ok(())
    }

    fn flush(&mut self, now: Now, out: &mut dyn FnMut(Output<'_>)) {
        for packet in std::mem::take(&mut self.waiting) {
            self.seal(&packet, now, out);
        }
    }

    /// Sends a packet where there is a session.
    fn seal(&mut self, packet: &[u8], now: Now, out: &mut dyn FnMut(Output<'_>)) -> bool {
        let Some(session) = self.current.as_mut().filter(|session| session.is_usable(now.at)) else { return false };
        if let Ok(datagram) = session.seal(packet, &mut self.room) {
            out(Output::Datagram(datagram));
            self.said = Some(now.at);
            self.owed = None;
            if !packet.is_empty() {
                self.unanswered.get_or_insert(now.at);
            }
        }
        true
    }

    fn index(&mut self) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.slot << 8 | u32::from(self.serial)
    }
}

impl std::fmt::Debug for Tunnel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tunnel").field("peer", &self.peer).field("slot", &self.slot).finish_non_exhaustive()
    }
}

/// The packet in what was carried, without what it was padded with; none where it is empty or no packet.
fn packet(carried: &[u8]) -> Option<&[u8]> {
    let length = |at: usize| Some(usize::from(u16::from_be_bytes(*carried.get(at..)?.first_chunk()?)));
    let (length, least) = match carried.first()? >> 4 {
        4 => (length(2)?, 20),
        6 => (length(4)? + 40, 40),
        _ => return None,
    };
    carried.get(..length).filter(|packet| packet.len() >= least)
}

#[cfg(test)]
#[path = "tunnel_tests.rs"]
mod tests;
