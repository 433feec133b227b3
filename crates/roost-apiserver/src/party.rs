//! Whoever is at the other end of connections, and what he takes of the processor.
//!
//! A party is a tenant's client certificate, or an address where none is shown that counts. All its connections are measured
//! together. Parties are remembered for as long as they have had more than their part.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::IpAddr;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustls_pki_types::CertificateDer;
use tokio::sync::OwnedMutexGuard;

use crate::allowance::{Allowance, work_of_reading};
use crate::threads;

/// What a party takes is judged over this time.
const WINDOW: Duration = Duration::from_millis(100);
/// A party that took more than this of one processor in a window takes much.
pub(crate) const MUCH: Duration = Duration::from_millis(10);
/// How often it is decided anew who stands back: threads that poll need not ask each other more often.
const DECISION: Duration = Duration::from_millis(10);
/// How long somebody who takes little is expected to come back, and somebody who took much to do so again.
pub(crate) const PRESENCE: Duration = Duration::from_secs(1);
/// Parties that are remembered; beyond it, those without a connection are forgotten that have had no more than their part.
const MAX_IDLE_PARTIES: usize = 1024;
/// How long a party's heavy request waits for the one before, when nobody knows yet what will come of that.
const FIRST_PATIENCE: Duration = Duration::from_millis(250);

/// The parties of this process.
static PARTIES: LazyLock<Parties> =
    LazyLock::new(|| Parties { start: Instant::now(), known: Mutex::default(), modest: Mutex::default() });

struct Parties {
    start: Instant,
    known: Mutex<Known>,
    modest: Mutex<Modest>,
}

impl Parties {
    fn now(&self) -> u64 {
        nanoseconds(self.start.elapsed())
    }
}

/// Nanoseconds since the start.
pub(crate) fn now() -> u64 {
    PARTIES.now()
}

/// The parties that are remembered: whoever closes his connections and comes again is no newcomer.
#[derive(Debug, Default)]
struct Known {
    parties: HashMap<u64, Arc<Party>>,
    /// How many there may be before it is looked again who can be forgotten.
    most: usize,
}

impl Known {
    fn party(&mut self, key: u64, now: u64) -> Arc<Party> {
        if self.parties.len() >= self.most.max(MAX_IDLE_PARTIES) {
            self.parties.retain(|_, party| Arc::strong_count(party) > 1 || !party.is_idle(now));
            self.most = 2 * self.parties.len();
        }
        Arc::clone(self.parties.entry(key).or_default())
    }
}

/// Who was seen last that takes little. Nobody stands back for himself: a party that has begun to take much was seen here a
/// moment ago.
#[derive(Debug, Default)]
struct Modest {
    /// Which party, by its address.
    last: usize,
    /// Until when it is expected again, in nanoseconds since the start.
    last_until: u64,
    /// Until when anybody else is.
    other_until: u64,
}

impl Modest {
    fn seen(&mut self, party: usize, until: u64) {
        if self.last != party {
            self.other_until = self.last_until;
            self.last = party;
        }
        self.last_until = until;
    }

    /// Whether somebody other than this party is expected.
    fn is_expected_beside(&self, party: usize, now: u64) -> bool {
        now <= if self.last == party { self.other_until } else { self.last_until }
    }
}

/// Somebody at the other end of connections. Times are nanoseconds since the start.
#[derive(Debug, Default)]
pub(crate) struct Party {
    /// When the window began that is being counted.
    window: AtomicU64,
    /// What was taken in it so far, in nanoseconds.
    taken: AtomicU64,
    /// Until when it is one that takes much.
    much_until: AtomicU64,
    /// Whether others go first, and until when that holds.
    stands_back: AtomicBool,
    decided_until: AtomicU64,
    /// What it has had of heavy work.
    heavy: Allowance,
    /// Held by a heavy request while nobody knows what this party sends.
    first: Arc<tokio::sync::Mutex<()>>,
}

impl Party {
    /// The party behind a connection. The certificate is one that the tenant's authority has issued: others anybody can
    /// make, as many as he likes.
    pub(crate) fn of(tenant: &str, certificate: Option<&CertificateDer<'_>>, address: Option<IpAddr>) -> Arc<Party> {
        let mut hasher = DefaultHasher::new();
        tenant.hash(&mut hasher);
        match certificate {
            Some(certificate) => certificate.hash(&mut hasher),
            None => address.map(network_of).hash(&mut hasher),
        }
        PARTIES.known.lock().party(hasher.finish(), PARTIES.now())
    }

    /// Whether there is nothing to remember of it.
    fn is_idle(&self, now: u64) -> bool {
        self.heavy.is_even(now) && !self.takes_much(now)
    }

    /// Counts what a poll took that ends now. Threads that begin a window at the same time may lose what the others count.
    pub(crate) fn take(&self, time: Duration, now: u64) {
        if now >= self.window.load(Ordering::Relaxed) + nanoseconds(WINDOW) {
            self.window.store(now, Ordering::Relaxed);
            self.taken.store(0, Ordering::Relaxed);
        }
        let time = nanoseconds(time);
        if self.taken.fetch_add(time, Ordering::Relaxed) + time > nanoseconds(MUCH) {
            self.much_until.store(now + nanoseconds(PRESENCE), Ordering::Relaxed);
        }
    }

    /// Counts what a heavy request took.
    pub(crate) fn take_heavy(&self, time: Duration) {
        let now = PARTIES.now();
        self.take(time, now);
        self.heavy.take(time, *threads::PROCESSORS, now);
    }

    /// Counts what was read of a large body. The time is in what polls took already.
    pub(crate) fn take_bytes(&self, bytes: usize) {
        self.heavy.take(work_of_reading(bytes), *threads::PROCESSORS, PARTIES.now());
    }

    /// Notes that something came of heavy work.
    pub(crate) fn accept_heavy(&self, time: Duration) {
        self.heavy.accept(time, *threads::PROCESSORS);
    }

    /// Notes that something came of a large body.
    pub(crate) fn accept_bytes(&self, bytes: usize) {
        self.accept_heavy(work_of_reading(bytes));
    }

    /// Counts heavy work again that ended in a refusal.
    pub(crate) fn refuse_heavy(&self, time: Duration) {
        self.heavy.refuse(time, *threads::PROCESSORS, PARTIES.now());
    }

    /// Counts what was read of a large body again, which was refused.
    pub(crate) fn refuse_bytes(&self, bytes: usize) {
        self.refuse_heavy(work_of_reading(bytes));
    }

    /// Waits a moment for the heavy request before, while nobody knows what this party sends. What it costs is only known
    /// when it is done, and others should not be in work by then.
    pub(crate) async fn wait_for_first(&self) -> Option<OwnedMutexGuard<()>> {
        if !self.heavy.is_new() {
            return None;
        }
        let first = tokio::time::timeout(FIRST_PATIENCE, Arc::clone(&self.first).lock_owned()).await.ok();
        first.filter(|_| self.heavy.is_new())
    }

    /// Waits until it may have heavy work done: while somebody else is there, and it has had its part.
    pub(crate) async fn wait_for_heavy(&self) {
        loop {
            let now = PARTIES.now();
            let wait = self.heavy.wait(now);
            if wait.is_zero() || !self.stands_back(now) {
                return;
            }
            tokio::time::sleep(wait.min(WINDOW)).await;
        }
    }

    /// Whether it took much lately, or more than its part of heavy work: whoever is held up takes little just now.
    fn takes_much(&self, now: u64) -> bool {
        now < self.much_until.load(Ordering::Relaxed) || !self.heavy.wait(now).is_zero()
    }

    /// Whether others go first.
    pub(crate) fn stands_back(&self, now: u64) -> bool {
        if now >= self.decided_until.load(Ordering::Relaxed) {
            self.stands_back.store(self.has_to_stand_back(now), Ordering::Relaxed);
            self.decided_until.store(now + nanoseconds(DECISION), Ordering::Relaxed);
        }
        self.stands_back.load(Ordering::Relaxed)
    }

    fn has_to_stand_back(&self, now: u64) -> bool {
        let address = ptr::from_ref(self).addr();
        let mut modest = PARTIES.modest.lock();
        if self.takes_much(now) {
            return modest.is_expected_beside(address, now);
        }
        modest.seen(address, now + nanoseconds(PRESENCE));
        false
    }
}

/// What one may take for a single client: of the newer addresses everybody has as many as he likes.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        IpAddr::V4(address) => IpAddr::V4(address),
    }
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_is_known_again() {
        let address = Some(IpAddr::from([192, 0, 2, 1]));
        let certificate = CertificateDer::from(vec![1, 2, 3]);
        let one = Party::of("one", Some(&certificate), address);
        assert!(Arc::ptr_eq(&one, &Party::of("one", Some(&certificate), None)));
        assert!(!Arc::ptr_eq(&one, &Party::of("two", Some(&certificate), address)));
        assert!(!Arc::ptr_eq(&one, &Party::of("one", None, address)));
        let of = |address: &str| Party::of("one", None, Some(address.parse().unwrap()));
        assert!(Arc::ptr_eq(&of("2001:db8:0:1::1"), &of("2001:db8:0:1:ffff::2")), "one network");
        assert!(!Arc::ptr_eq(&of("2001:db8:0:1::1"), &of("2001:db8:0:2::1")));
        assert!(Arc::ptr_eq(&of("192.0.2.1"), &of("::ffff:192.0.2.1")));
    }

    #[test]
    fn whoever_comes_again_is_no_newcomer() {
        let mut known = Known::default();
        let second = 1_000_000_000;
        known.party(0, 0).heavy.refuse(Duration::from_secs(1), 2, 0);
        for key in 1..10_000 {
            known.party(key, second);
        }
        assert!(known.parties.len() <= MAX_IDLE_PARTIES);
        assert!(!known.party(0, second).heavy.is_even(second), "there is more to pay for");
        for key in 1..10_000 {
            known.party(key, 100 * second);
        }
        assert!(known.party(0, 100 * second).heavy.is_even(0), "it was forgotten");
    }

    #[tokio::test]
    async fn the_first_heavy_requests_wait_for_each_other() {
        let party = Party::default();
        let first = party.wait_for_first().await;
        assert!(first.is_some());
        let begin = Instant::now();
        assert!(party.wait_for_first().await.is_none(), "no longer than a moment");
        assert!(begin.elapsed() >= FIRST_PATIENCE);
        let (second, ()) = tokio::join!(party.wait_for_first(), async {
            party.accept_heavy(Duration::from_millis(1));
            drop(first);
        });
        assert!(second.is_none(), "something came of the first");
        party.refuse_heavy(Duration::ZERO);
        assert!(party.wait_for_first().await.is_some());
    }

    #[test]
    fn what_was_taken_is_forgotten() {
        let party = Party::default();
        let (window, presence) = (nanoseconds(WINDOW), nanoseconds(PRESENCE));
        party.take(MUCH, window);
        party.take(MUCH, 2 * window);
        assert!(!party.takes_much(2 * window), "little in each of two windows");
        party.take(MUCH, 2 * window + 1);
        assert!(party.takes_much(2 * window + 2));
        assert!(party.takes_much(2 * window + presence));
        assert!(!party.takes_much(2 * window + presence + 1));
    }

    #[test]
    fn whoever_is_held_up_takes_much() {
        let party = Party::default();
        party.heavy.refuse(Duration::from_secs(1), 2, 0);
        let wait = nanoseconds(party.heavy.wait(0));
        assert!(wait > nanoseconds(PRESENCE));
        assert!(party.takes_much(wait - 1));
        assert!(!party.takes_much(wait));
    }

    #[test]
    fn nobody_stands_back_for_himself() {
        let mut modest = Modest::default();
        modest.seen(1, 100);
        assert!(!modest.is_expected_beside(1, 50));
        assert!(modest.is_expected_beside(2, 50));
        modest.seen(2, 120);
        modest.seen(2, 130);
        assert!(modest.is_expected_beside(2, 100), "the first is still expected");
        assert!(!modest.is_expected_beside(2, 101));
        assert!(modest.is_expected_beside(1, 130));
        assert!(!modest.is_expected_beside(1, 131));
    }

    #[tokio::test]
    async fn heavy_work_waits_for_its_part_beside_others() {
        let (greedy, modest) = (Party::of("greedy beside", None, None), Party::of("modest beside", None, None));
        let begin = Instant::now();
        greedy.wait_for_heavy().await;
        greedy.heavy.take(Duration::from_millis(350), 2, PARTIES.now());
        assert!(!modest.stands_back(PARTIES.now()));
        greedy.wait_for_heavy().await;
        assert!(begin.elapsed() >= Duration::from_millis(1150), "a quarter of a second ahead of 1.4 s");
    }
}
