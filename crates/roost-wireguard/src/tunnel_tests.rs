//! Two tunnels that face each other, with a clock of their own and a network that can lose, keep and repeat.

use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{Now, Output, Tunnel, packet};
use crate::{Datagram, Identity, Initiation, PrivateKey, WireguardError};

/// One end, with what it got.
struct End {
    identity: Arc<Identity>,
    tunnel: Tunnel,
    packets: Vec<Vec<u8>>,
}

struct Line {
    ends: [End; 2],
    start: Instant,
    elapsed: Duration,
    is_dark: bool,
    /// All that was ever sent to each end.
    sent: [Vec<Vec<u8>>; 2],
}

fn line() -> Line {
    let identities = [(); 2].map(|()| Arc::new(Identity::new(PrivateKey::generate().unwrap()).unwrap()));
    let end = |own: usize| End {
        identity: Arc::clone(&identities[own]),
        tunnel: Tunnel::new(Arc::clone(&identities[own]), identities[1 - own].public(), 7),
        packets: Vec::new(),
    };
    let ends = [end(0), end(1)];
    Line { ends, start: Instant::now(), elapsed: Duration::ZERO, is_dark: false, sent: [Vec::new(), Vec::new()] }
}

/// An IPv4 packet that carries a text.
fn letter(text: &str) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend(u16::try_from(20 + text.len()).unwrap().to_be_bytes());
    packet.resize(20, 0);
    packet.extend(text.bytes());
    packet
}

impl Line {
    fn now(&self) -> Now {
        Now { at: self.start + self.elapsed, since_1970: Duration::from_hours(500_000) + self.elapsed }
    }

    /// Has one end do something, and brings what comes of it to its end.
    fn at(&mut self, end: usize, what: impl FnOnce(&mut Tunnel, Now, &mut dyn FnMut(Output<'_>))) {
        let now = self.now();
        let mut under_way = Vec::new();
        let own = &mut self.ends[end];
        what(&mut own.tunnel, now, &mut |output| match output {
            Output::Datagram(bytes) | Output::Initiation(bytes) => under_way.push(bytes.to_vec()),
            Output::Packet(packet) => own.packets.push(packet.to_vec()),
        });
        for datagram in under_way {
            self.sent[1 - end].push(datagram.clone());
            if !self.is_dark {
                self.deliver(1 - end, &datagram).unwrap();
            }
        }
    }

    fn deliver(&mut self, end: usize, datagram: &[u8]) -> Result<(), WireguardError> {
        let mut outcome = Ok(());
        let initiation = match Datagram::read(datagram) {
            Some(Datagram::Initiation) => Some(Initiation::read(&self.ends[end].identity, datagram)?),
            _ => None,
        };
        self.at(end, |tunnel, now, out| {
            outcome = match initiation {
                Some(initiation) => tunnel.answer(initiation, now, out),
                None => tunnel.receive(datagram, now, out),
            };
        });
        outcome
    }

    fn send(&mut self, end: usize, text: &str) {
        self.at(end, |tunnel, now, out| tunnel.send(&letter(text), now, out));
    }

    /// Lets time go by.
    fn wait(&mut self, seconds: u64) {
        for _ in 0..seconds * 2 {
            self.elapsed += Duration::from_millis(500);
            for end in 0..2 {
                self.at(end, Tunnel::tick);
            }
        }
    }

    fn got(&self, end: usize) -> Vec<String> {
        self.ends[end].packets.iter().map(|packet| String::from_utf8_lossy(&packet[20..]).into_owned()).collect()
    }

    fn initiations(&self) -> usize {
        let is_initiation = |datagram: &&Vec<u8>| Datagram::read(datagram) == Some(Datagram::Initiation);
        self.sent.iter().flatten().filter(is_initiation).count()
    }
}

#[test]
fn packets_wait_for_a_handshake_and_arrive_in_order() {
    let mut line = line();
    for text in ["a", "b", "sixteen letters.", ""] {
        line.send(0, text);
    }
    line.send(1, "back");
    assert_eq!(line.got(1), ["a", "b", "sixteen letters.", ""]);
    assert_eq!(line.got(0), ["back"]);
    assert_eq!(line.initiations(), 1);
    assert!(line.sent.iter().flatten().all(|datagram| !datagram.windows(4).any(|part| part == b"back")));
}

#[test]
fn keys_are_replaced_and_nothing_is_lost() {
    let mut line = line();
    for second in 0..600 {
        line.send(usize::from(second % 2 == 0), &second.to_string());
        line.wait(1);
    }
    assert_eq!(line.got(0).len() + line.got(1).len(), 600);
    assert!((5..=6).contains(&line.initiations()), "{} handshakes", line.initiations());
}

#[test]
fn an_idle_way_is_kept_open_and_a_dark_one_heals() {
    let mut line = line();
    line.wait(300);
    let quietest = line.ends.each_ref().map(|end| end.tunnel.heard().unwrap());
    assert!(quietest.iter().all(|heard| line.now().at - *heard <= super::KEEPALIVE));
    line.is_dark = true;
    line.wait(400);
    line.send(0, "lost or late");
    line.is_dark = false;
    line.wait(6);
    line.send(0, "a");
    line.send(1, "b");
    assert!(line.got(1).ends_with(&["a".to_owned()]), "{:?}", line.got(1));
    assert_eq!(line.got(0), ["b"]);
}

#[test]
fn one_that_starts_anew_is_heard_at_once() {
    let mut line = line();
    line.send(0, "a");
    let peer = line.ends[1].identity.public();
    line.elapsed += Duration::from_secs(3);
    line.ends[0].tunnel = Tunnel::new(Arc::clone(&line.ends[0].identity), peer, 9);
    line.wait(1);
    line.send(1, "b");
    line.send(0, "c");
    assert_eq!(line.got(0), ["b"]);
    assert_eq!(line.got(1), ["a", "c"]);
}

#[test]
fn both_may_begin_at_once() {
    let mut line = line();
    line.is_dark = true;
    line.send(0, "a");
    line.send(1, "b");
    let begun = line.sent.clone();
    line.is_dark = false;
    line.deliver(0, &begun[0][0]).unwrap();
    line.deliver(1, &begun[1][0]).unwrap();
    for text in ["c", "d", "e"] {
        line.send(0, text);
        line.send(1, text);
    }
    assert_eq!(line.got(0), ["b", "c", "d", "e"]);
    assert_eq!(line.got(1), ["a", "c", "d", "e"]);
}

#[test]
fn nothing_is_taken_twice() {
    let mut line = line();
    line.send(0, "a");
    line.send(0, "b");
    for end in 0..2 {
        for datagram in line.sent[end].clone() {
            assert!(line.deliver(end, &datagram).is_err());
        }
    }
    assert_eq!(line.got(1), ["a", "b"]);
}

#[test]
fn strangers_are_not_heard() {
    let mut line = line();
    let mut stranger = self::line();
    stranger.is_dark = true;
    stranger.send(0, "x");
    // One that writes to somebody else, and one that knows us and is nobody we know.
    assert_eq!(line.deliver(1, &stranger.sent[1][0]), Err(WireguardError::NotForUs));
    let us = line.ends[1].identity.public();
    stranger.ends[0].tunnel = Tunnel::new(Arc::clone(&stranger.ends[0].identity), us, 1);
    stranger.send(0, "x");
    assert_eq!(line.deliver(1, &stranger.sent[1][1]), Err(WireguardError::NotForUs));
    line.send(0, "a");
    let mut changed = line.sent[1].last().unwrap().clone();
    *changed.last_mut().unwrap() ^= 1;
    changed[8] += 1;
    assert_eq!(line.deliver(1, &changed), Err(WireguardError::NotAuthentic));
    assert_eq!(line.got(1), ["a"]);
}

#[test]
fn a_forged_answer_does_not_end_a_handshake() {
    let mut line = line();
    line.is_dark = true;
    line.send(0, "a");
    line.is_dark = false;
    let first = line.sent[1][0].clone();
    let initiation = Initiation::read(&line.ends[1].identity, &first).unwrap();
    let mut answers = Vec::new();
    let now = line.now();
    let take = &mut |output: Output<'_>| {
        if let Output::Datagram(bytes) = output {
            answers.push(bytes.to_vec());
        }
    };
    line.ends[1].tunnel.answer(initiation, now, take).unwrap();
    let mut forged = answers[0].clone();
    forged[50] ^= 1;
    let own = line.ends[0].identity.public();
    crate::handshake::set_mark(&mut forged, &own);
    assert_eq!(line.deliver(0, &forged), Err(WireguardError::NotAuthentic));
    line.deliver(0, &answers[0]).unwrap();
    assert_eq!(line.got(1), ["a"]);
}

proptest! {
    #[test]
    fn any_bytes_do_no_harm(mut bytes in proptest::collection::vec(any::<u8>(), 0..256), kind in 0u8..6, length in 0usize..3) {
        let mut line = line();
        line.send(0, "a");
        bytes.resize([bytes.len(), 148, 92][length], 0);
        if let Some(first) = bytes.first_chunk_mut::<4>() {
            *first = [kind, 0, 0, 0];
        }
        prop_assert!(line.deliver(1, &bytes).is_err());
        let _ = packet(&bytes);
        line.send(0, "b");
        prop_assert_eq!(line.got(1), ["a", "b"]);
    }
}
