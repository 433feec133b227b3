//! Who asks for instructions at this moment, and who waits for them: what is true only while the process runs.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use parking_lot::Mutex;
use roost_host::identity::is_same_machine;
use roost_host::state::{CONNECTED_WITHIN, connected_within};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Machines under one identity that are told apart.
const MAX_MACHINES: usize = 4;
/// Hosts that are remembered; a restart of all of them fits.
const MAX_HOSTS: usize = 200_000;
/// A host that hung up while it waited for an answer is back within this, or was turned off.
const COMES_BACK: Duration = Duration::from_secs(15);

/// An Agent's namespace and name.
pub(crate) type Place = (String, String);

/// What is known of all hosts' connections.
pub(crate) struct Presence {
    started: Instant,
    hosts: Mutex<HashMap<Place, Seen>>,
}

struct Seen {
    at: Instant,
    /// For how long after its last word it counts as connected.
    within: Duration,
    /// When it hung up instead of waiting for its answer.
    hung_up: Option<Instant>,
    clock_ahead: Option<SignedDuration>,
    /// What the host was told last, so that it is not told again at once.
    told: Option<String>,
    wake: Arc<Notify>,
    machines: Vec<Machine>,
}

impl Seen {
    /// For how long the host still counts as connected.
    fn left(&self) -> Duration {
        let by_word = self.within.saturating_sub(self.at.elapsed());
        self.hung_up.map_or(by_word, |since| by_word.min(COMES_BACK.saturating_sub(since.elapsed())))
    }
}

/// A call of a host.
pub(crate) struct Call {
    /// What the host was told last.
    pub(crate) told: Option<String>,
    /// Who wakes it when there is something new.
    pub(crate) wake: Arc<Notify>,
    at: Instant,
}

/// A machine that reported under an identity.
struct Machine {
    addresses: Vec<String>,
    peer: IpAddr,
    at: Instant,
}

impl Default for Presence {
    fn default() -> Self {
        Self { started: Instant::now(), hosts: Mutex::default() }
    }
}

impl Presence {
    /// A host called.
    pub(crate) fn touch(&self, place: &Place, clock_ahead: Option<SignedDuration>) -> Call {
        let now = Instant::now();
        let mut hosts = self.hosts.lock();
        if hosts.len() >= MAX_HOSTS && !hosts.contains_key(place) {
            hosts.retain(|_, seen| !seen.left().is_zero());
        }
        let seen = hosts.entry(place.clone()).or_insert_with(|| Seen {
            at: now,
            within: CONNECTED_WITHIN,
            hung_up: None,
            clock_ahead: None,
            told: None,
            wake: Arc::default(),
            machines: Vec::new(),
        });
        (seen.at, seen.hung_up) = (now, None);
        seen.clock_ahead = clock_ahead.or(seen.clock_ahead);
        Call { told: seen.told.clone(), wake: Arc::clone(&seen.wake), at: now }
    }

    /// From its last word on a host says something at least this often.
    pub(crate) fn expect(&self, place: &Place, interval: Duration) {
        if let Some(seen) = self.hosts.lock().get_mut(place) {
            seen.within = connected_within(interval);
        }
    }

    /// A host did not wait for the answer to a call, and did not call again since.
    pub(crate) fn hang_up(&self, place: &Place, call: &Call) {
        if let Some(seen) = self.hosts.lock().get_mut(place).filter(|seen| seen.at == call.at) {
            seen.hung_up = Some(Instant::now());
        }
    }

    /// A host was told something.
    pub(crate) fn tell(&self, place: &Place, told: Option<String>) {
        if let Some(seen) = self.hosts.lock().get_mut(place) {
            seen.told = told;
        }
    }

    /// There may be something new for a host.
    pub(crate) fn wake(&self, place: &Place) {
        if let Some(seen) = self.hosts.lock().get(place) {
            seen.wake.notify_waiters();
        }
    }

    /// For how long a host still counts as connected; none when it does not. One that was not heard of since the
    /// process began may be on its way.
    pub(crate) fn connected_for(&self, place: &Place) -> Option<Duration> {
        let never_heard = || CONNECTED_WITHIN.saturating_sub(self.started.elapsed());
        let left = self.hosts.lock().get(place).map_or_else(never_heard, Seen::left);
        Some(left).filter(|left| !left.is_zero())
    }

    /// How far a host's clock is ahead of ours.
    pub(crate) fn clock_ahead(&self, place: &Place) -> Option<SignedDuration> {
        self.hosts.lock().get(place)?.clock_ahead
    }

    /// A machine reported under an identity. True when it is not the one that reported first and still does.
    pub(crate) fn report(&self, place: &Place, addresses: &[String], peer: IpAddr) -> bool {
        let now = Instant::now();
        let mut hosts = self.hosts.lock();
        let Some(seen) = hosts.get_mut(place) else { return false };
        let machines = &mut seen.machines;
        machines.retain(|machine| now.duration_since(machine.at) < CONNECTED_WITHIN);
        let known = machines.iter().position(|machine| is_same_machine(&machine.addresses, addresses));
        if let Some(known) = known {
            let machine = &mut machines[known];
            (machine.peer, machine.at) = (peer, now);
            machine.addresses = addresses.to_vec();
            return known > 0;
        }
        if machines.len() < MAX_MACHINES {
            machines.push(Machine { addresses: addresses.to_vec(), peer, at: now });
        }
        machines.len() > 1
    }

    /// The machines that use one identity at the same time, in words; none when there is one.
    pub(crate) fn twin(&self, place: &Place) -> Option<String> {
        let now = Instant::now();
        let hosts = self.hosts.lock();
        let live =
            hosts.get(place)?.machines.iter().filter(|machine| now.duration_since(machine.at) < CONNECTED_WITHIN);
        let live: Vec<String> =
            live.map(|machine| format!("{} at {}", machine.addresses.join(" "), machine.peer.to_canonical())).collect();
        (live.len() > 1).then(|| live.join(", and "))
    }

    /// An Agent is gone.
    pub(crate) fn forget(&self, place: &Place) {
        if let Some(seen) = self.hosts.lock().remove(place) {
            seen.wake.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        ("pool".to_owned(), "host".to_owned())
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_is_quiet_is_away() {
        let presence = Presence::default();
        assert!(presence.connected_for(&place()).is_some(), "it may be on its way");
        tokio::time::advance(CONNECTED_WITHIN).await;
        assert_eq!(presence.connected_for(&place()), None);
        presence.touch(&place(), None);
        assert_eq!(presence.connected_for(&place()), Some(CONNECTED_WITHIN));
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_asks_often_is_missed_soon() {
        let presence = Presence::default();
        let call = presence.touch(&place(), None);
        presence.expect(&place(), Duration::from_secs(30));
        presence.tell(&place(), Some("known".to_owned()));
        assert_eq!(presence.connected_for(&place()), Some(Duration::from_secs(90)));
        tokio::time::advance(Duration::from_secs(89)).await;
        presence.tell(&place(), None);
        assert!(presence.connected_for(&place()).is_some(), "what it is told is no word of its own");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(presence.connected_for(&place()), None);
        let again = presence.touch(&place(), None);
        presence.hang_up(&place(), &call);
        assert_eq!(presence.connected_for(&place()), Some(Duration::from_secs(90)), "that call is long over");
        presence.hang_up(&place(), &again);
        assert_eq!(presence.connected_for(&place()), Some(COMES_BACK));
        presence.touch(&place(), None);
        assert_eq!(presence.connected_for(&place()), Some(Duration::from_secs(90)));
    }

    #[tokio::test(start_paused = true)]
    async fn two_machines_on_one_identity_are_named_while_both_report() {
        let presence = Presence::default();
        let (one, other) = (vec!["52:54:00:00:00:01".to_owned()], vec!["52:54:00:00:00:02".to_owned()]);
        let peer = |last| IpAddr::from([192, 0, 2, last]);
        presence.touch(&place(), None);
        assert!(!presence.report(&place(), &one, peer(1)));
        assert_eq!(presence.twin(&place()), None);
        assert!(presence.report(&place(), &other, peer(2)), "the second one is the stranger");
        assert!(!presence.report(&place(), &one, peer(1)), "the first one stays what it is");
        let twin = presence.twin(&place()).expect("a twin");
        assert!(twin.contains("52:54:00:00:00:01 at 192.0.2.1") && twin.contains("52:54:00:00:00:02 at 192.0.2.2"));
        tokio::time::advance(CONNECTED_WITHIN).await;
        assert!(!presence.report(&place(), &other, peer(2)), "the first one is gone");
        assert_eq!(presence.twin(&place()), None);
    }
}
