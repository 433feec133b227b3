//! Fair use of the processor: whoever takes much of it stands back for those who take little.
//!
//! A party is whoever is at the other end: a tenant's client certificate, or an address where no certificate is shown. All
//! its connections are measured together, from decrypting to answering, by the time that their polls take. Work for a party
//! that has lately taken much goes on at the back, on threads to which the kernel prefers all others, for as long as somebody
//! else is there who has not.

use std::cell::Cell;
use std::collections::HashMap;
use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::IpAddr;
use std::pin::Pin;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustls_pki_types::CertificateDer;
use tokio::runtime::{Handle, Runtime};

use crate::allowance::Allowance;
use crate::threads;

/// What a party takes is judged over this time.
const WINDOW: Duration = Duration::from_millis(100);
/// A party that took more than this of one processor in a window takes much.
const MUCH: Duration = Duration::from_millis(10);
/// How often it is decided anew who stands back: threads that poll need not ask each other more often.
const DECISION: Duration = Duration::from_millis(10);
/// How long somebody who takes little is expected to come back, and somebody who took much to do so again.
const PRESENCE: Duration = Duration::from_secs(1);
/// How long a thread at the back is awake at a time. Where the kernel takes turns between groups of threads, only other
/// threads of this process come in while one is: neither the kernel's own workers do, nor other programs.
const AWAKE: Duration = Duration::from_micros(500);
/// How long it sleeps then; the kernel makes a little more of it.
const SLEEP: Duration = Duration::from_micros(10);
/// Parties that are remembered; beyond it, those without a connection are forgotten.
const MAX_IDLE_PARTIES: usize = 1024;

/// The parties of this process.
static PARTIES: LazyLock<Parties> =
    LazyLock::new(|| Parties { start: Instant::now(), known: Mutex::default(), modest: Mutex::default() });

/// The threads at the back, as many as there are processors; started when they are needed first.
static BACK: LazyLock<Option<Runtime>> = LazyLock::new(|| threads::that_stand_back("back", 1));

struct Parties {
    start: Instant,
    known: Mutex<HashMap<u64, Weak<Party>>>,
    modest: Mutex<Modest>,
}

impl Parties {
    fn now(&self) -> u64 {
        nanoseconds(self.start.elapsed())
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
    /// What it may have of the threads for heavy requests.
    heavy: Allowance,
}

impl Party {
    /// The party behind a connection.
    pub(crate) fn of(tenant: &str, certificate: Option<&CertificateDer<'_>>, address: Option<IpAddr>) -> Arc<Party> {
        let mut hasher = DefaultHasher::new();
        tenant.hash(&mut hasher);
        match certificate {
            Some(certificate) => certificate.hash(&mut hasher),
            None => address.hash(&mut hasher),
        }
        let mut parties = PARTIES.known.lock();
        if parties.len() >= MAX_IDLE_PARTIES {
            parties.retain(|_, party| party.strong_count() > 0);
        }
        let known = parties.entry(hasher.finish()).or_default();
        known.upgrade().unwrap_or_else(|| {
            let party = Arc::new(Party::default());
            *known = Arc::downgrade(&party);
            party
        })
    }

    /// Counts what a poll took that ends now. Threads that begin a window at the same time may lose what the others count.
    fn take(&self, time: Duration, now: u64) {
        if now >= self.window.load(Ordering::Relaxed) + nanoseconds(WINDOW) {
            self.window.store(now, Ordering::Relaxed);
            self.taken.store(0, Ordering::Relaxed);
        }
        let time = nanoseconds(time);
        if self.taken.fetch_add(time, Ordering::Relaxed) + time > nanoseconds(MUCH) {
            self.much_until.store(now + nanoseconds(PRESENCE), Ordering::Relaxed);
        }
    }

    /// Counts what a heavy request took on one of `threads`.
    pub(crate) fn take_heavy(&self, time: Duration, threads: usize) {
        let now = PARTIES.now();
        self.take(time, now);
        self.heavy.take(time, threads, now);
    }

    /// Waits until it may have a heavy request worked on: while somebody else is there, and it has had its part.
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

    /// Whether it took much lately.
    fn takes_much(&self, now: u64) -> bool {
        now < self.much_until.load(Ordering::Relaxed)
    }

    /// Whether others go first.
    fn stands_back(&self, now: u64) -> bool {
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

/// Spawns work for a party.
#[derive(Clone)]
pub(crate) struct Turns {
    party: Arc<Party>,
    /// The threads for everybody who need not stand back.
    front: Handle,
}

impl Turns {
    /// For a party that comes in on the threads of the caller.
    pub(crate) fn of(party: Arc<Party>) -> Self {
        Self { party, front: Handle::current() }
    }

    pub(crate) fn spawn(&self, work: impl Future<Output: Send> + Send + 'static) {
        let stands_back = self.party.stands_back(PARTIES.now());
        self.spawn_boxed(Box::pin(work), stands_back);
    }

    fn spawn_boxed<Work>(&self, work: Pin<Box<Work>>, stands_back: bool)
    where
        Work: Future<Output: Send> + Send + 'static,
    {
        let threads = match &*BACK {
            Some(back) if stands_back => back.handle(),
            _ => &self.front,
        };
        threads.spawn(Turn { work: Some(work), turns: self.clone(), stands_back });
    }
}

impl<Work> hyper::rt::Executor<Work> for Turns
where
    Work: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, work: Work) {
        self.spawn(work);
    }
}

/// Work at the front or at the back.
struct Turn<Work> {
    /// None when it has moved to the other threads.
    work: Option<Pin<Box<Work>>>,
    turns: Turns,
    stands_back: bool,
}

impl<Work> Future for Turn<Work>
where
    Work: Future<Output: Send> + Send + 'static,
{
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let begin = PARTIES.now();
        let stands_back = self.turns.party.stands_back(begin);
        if stands_back != self.stands_back
            && let Some(work) = self.work.take()
        {
            self.turns.spawn_boxed(work, stands_back);
        }
        let Some(work) = &mut self.work else { return Poll::Ready(()) };
        let outcome = work.as_mut().poll(context);
        let end = PARTIES.now();
        self.turns.party.take(Duration::from_nanos(end - begin), end);
        if stands_back {
            sleep_now_and_then();
        }
        outcome.map(drop)
    }
}

fn sleep_now_and_then() {
    thread_local! {
        static SLEPT: Cell<Instant> = Cell::new(Instant::now());
    }
    if SLEPT.get().elapsed() >= AWAKE {
        std::thread::sleep(SLEEP);
        SLEPT.set(Instant::now());
    }
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn a_party_is_known_again() {
        let address = Some(IpAddr::from([192, 0, 2, 1]));
        let certificate = CertificateDer::from(vec![1, 2, 3]);
        let one = Party::of("one", Some(&certificate), address);
        assert!(Arc::ptr_eq(&one, &Party::of("one", Some(&certificate), None)));
        assert!(!Arc::ptr_eq(&one, &Party::of("two", Some(&certificate), address)));
        assert!(!Arc::ptr_eq(&one, &Party::of("one", None, address)));
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
        greedy.take_heavy(Duration::from_millis(350), 1);
        assert!(!modest.stands_back(PARTIES.now()));
        greedy.wait_for_heavy().await;
        assert!(begin.elapsed() >= Duration::from_millis(400), "a second ahead of 1.4 s");
    }

    /// Takes a quarter of [`MUCH`] with each poll and says on which thread that was.
    async fn work(threads: mpsc::UnboundedSender<Option<String>>) {
        loop {
            let begin = Instant::now();
            while begin.elapsed() < MUCH / 4 {}
            if threads.send(std::thread::current().name().map(str::to_owned)).is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn whoever_takes_much_moves_to_the_back_and_returns() {
        let is_at_the_back = |thread: &Option<String>| thread.as_deref() == Some("back");
        let greedy = Turns::of(Party::of("greedy", None, None));
        let modest = Turns::of(Party::of("modest", None, None));
        let (sender, mut threads) = mpsc::unbounded_channel();
        greedy.spawn(work(sender));
        assert!(!is_at_the_back(&threads.recv().await.unwrap()));

        // Others in this process may be modest too; this one certainly is.
        let presence = tokio::spawn(async move {
            loop {
                modest.spawn(async {});
                tokio::time::sleep(PRESENCE / 4).await;
            }
        });
        let deadline = Instant::now() + Duration::from_secs(30);
        while !is_at_the_back(&threads.recv().await.unwrap()) {
            assert!(Instant::now() < deadline);
        }
        presence.abort();
        while is_at_the_back(&threads.recv().await.unwrap()) {
            assert!(Instant::now() < deadline);
        }
    }
}
