//! Fair use of the processor: whoever takes much of it leaves a thread to those who take little.
//!
//! A party is whoever is at the other end: a tenant's client certificate, or an address where no certificate is shown. All
//! its connections are measured together, from decrypting to answering, by the time that their polls take. Parties that
//! have lately taken much share all threads but one for as long as somebody else is there who has not.

use std::cell::Cell;
use std::collections::HashMap;
use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustls_pki_types::CertificateDer;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;

/// What a party takes is judged over this time.
const WINDOW: Duration = Duration::from_millis(100);
/// A party that took more than this of one processor in a window takes much.
const MUCH: Duration = Duration::from_millis(25);
/// How long somebody who takes little is expected to come back.
const PRESENCE: Duration = Duration::from_secs(1);
/// How long a thread that parties share is awake at a time. Where the kernel takes turns between groups of threads, only
/// other threads of this process come in while one is: neither the kernel's own workers do, nor other programs.
const AWAKE: Duration = Duration::from_micros(500);
/// How long it sleeps then; the kernel makes a little more of it.
const SLEEP: Duration = Duration::from_micros(10);
/// Parties that are remembered; beyond it, those without a connection are forgotten.
const MAX_IDLE_PARTIES: usize = 1024;

/// The parties and threads of this process.
static TURNS: LazyLock<Turns> = LazyLock::new(|| {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Turns {
        start: Instant::now(),
        parties: Mutex::default(),
        threads: Arc::new(Semaphore::new((threads - 1).max(1))),
        modest: Mutex::default(),
    }
});

struct Turns {
    start: Instant,
    parties: Mutex<HashMap<u64, Weak<Party>>>,
    /// The threads that parties that take much share.
    threads: Arc<Semaphore>,
    modest: Mutex<Modest>,
}

impl Turns {
    fn now(&self) -> u64 {
        nanoseconds(self.start.elapsed())
    }
}

/// Who was seen last that takes little. Nobody has to share with himself: a party that has begun to take much was seen
/// here a moment ago.
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

/// Somebody at the other end of connections.
#[derive(Debug, Default)]
pub(crate) struct Party {
    /// When the window began that is being counted, in nanoseconds since the start.
    window: AtomicU64,
    /// What was taken in it so far, in nanoseconds.
    taken: AtomicU64,
    /// What was taken in the window before.
    taken_before: AtomicU64,
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
        let mut parties = TURNS.parties.lock();
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

    /// Whether it took much lately. Counts of threads that look at the same time may miss each other by one poll.
    fn takes_much(&self, now: u64) -> bool {
        let window = nanoseconds(WINDOW);
        let begun = self.window.load(Ordering::Relaxed);
        let is_over = now >= begun + window;
        // One of the threads that see a window's end begins the next; two would forget what was taken.
        if is_over && self.window.compare_exchange(begun, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            let is_next = now < begun + 2 * window;
            let taken = self.taken.load(Ordering::Relaxed);
            self.taken_before.store(if is_next { taken } else { 0 }, Ordering::Relaxed);
            self.taken.fetch_sub(taken, Ordering::Relaxed);
        }
        self.taken.load(Ordering::Relaxed).max(self.taken_before.load(Ordering::Relaxed)) > nanoseconds(MUCH)
    }

    fn take(&self, time: Duration) {
        self.taken.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }
}

/// Work for a party, which waits for its turn when the party takes much.
pub(crate) struct Measured<Work> {
    work: Pin<Box<Work>>,
    party: Arc<Party>,
    threads: Arc<Semaphore>,
    /// A place in the line for a thread; none while the work is not in it.
    waiting: Option<PollSemaphore>,
}

impl<Work> Measured<Work> {
    pub(crate) fn new(work: Work, party: Arc<Party>) -> Self {
        Self::on(Arc::clone(&TURNS.threads), work, party)
    }

    fn on(threads: Arc<Semaphore>, work: Work, party: Arc<Party>) -> Self {
        Self { work: Box::pin(work), party, threads, waiting: None }
    }

    /// The work itself.
    pub(crate) fn get_mut(&mut self) -> Pin<&mut Work> {
        self.work.as_mut()
    }

    /// A thread, when one has to be shared; pending while others have it.
    fn thread(&mut self, context: &mut Context<'_>) -> Poll<Option<OwnedSemaphorePermit>> {
        if !self.has_to_share() {
            // Whoever leaves the line must not keep what it was given there: a quiet connection would hold it for ever.
            self.waiting = None;
            return Poll::Ready(None);
        }
        let threads = &self.threads;
        let line = self.waiting.get_or_insert_with(|| PollSemaphore::new(Arc::clone(threads)));
        let thread = line.poll_acquire(context);
        if thread.is_ready() {
            self.waiting = None;
        }
        thread
    }

    fn has_to_share(&self) -> bool {
        let (now, party) = (TURNS.now(), Arc::as_ptr(&self.party).addr());
        if self.party.takes_much(now) {
            return TURNS.modest.lock().is_expected_beside(party, now);
        }
        TURNS.modest.lock().seen(party, now + nanoseconds(PRESENCE));
        false
    }
}

impl<Work: Future> Future for Measured<Work> {
    type Output = Work::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Work::Output> {
        let Poll::Ready(thread) = self.thread(context) else { return Poll::Pending };
        let begin = Instant::now();
        let outcome = self.work.as_mut().poll(context);
        self.party.take(begin.elapsed());
        if thread.is_some() {
            give_way();
        }
        outcome
    }
}

/// Lets others have this processor; they would otherwise wait for the rest of the turn that the kernel gave.
fn give_way() {
    thread_local! {
        static SLEPT: Cell<Instant> = Cell::new(Instant::now());
    }
    if SLEPT.get().elapsed() < AWAKE {
        return std::thread::yield_now();
    }
    std::thread::sleep(SLEEP);
    SLEPT.set(Instant::now());
}

/// Spawns what a connection starts beside itself, for its party.
#[derive(Clone)]
pub(crate) struct Executor(pub(crate) Arc<Party>);

impl<Work> hyper::rt::Executor<Work> for Executor
where
    Work: Future + Send + 'static,
    Work::Output: Send,
{
    fn execute(&self, work: Work) {
        tokio::spawn(Measured::new(work, Arc::clone(&self.0)));
    }
}

fn nanoseconds(duration: Duration) -> u64 {
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
    }

    #[test]
    fn what_was_taken_is_forgotten_after_two_windows() {
        let party = Party::default();
        let window = nanoseconds(WINDOW);
        assert!(!party.takes_much(window));
        party.take(MUCH * 2);
        assert!(party.takes_much(window + 1));
        assert!(party.takes_much(2 * window + 1));
        assert!(!party.takes_much(4 * window));
    }

    #[test]
    fn nobody_shares_with_himself() {
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

    #[test]
    fn threads_that_see_the_end_of_a_window_agree() {
        let party = Party::default();
        let window = nanoseconds(WINDOW);
        for round in 1..200 {
            party.take(MUCH * 2);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| assert!(party.takes_much(round * window)));
                }
            });
        }
    }

    #[test]
    fn whoever_leaves_the_line_gives_back_its_thread() {
        let threads = Arc::new(Semaphore::new(1));
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut modest = Measured::new(std::future::pending::<()>(), Arc::new(Party::default()));
        assert!(Pin::new(&mut modest).poll(&mut context).is_pending());

        let party = Arc::new(Party::default());
        let mut greedy = Measured::on(Arc::clone(&threads), std::future::pending::<()>(), Arc::clone(&party));
        assert!(!party.takes_much(TURNS.now()));
        party.take(MUCH * 2);
        let other = Arc::clone(&threads).try_acquire_owned().unwrap();
        assert!(Pin::new(&mut greedy).poll(&mut context).is_pending());
        drop(other);
        assert_eq!(threads.available_permits(), 0, "it is the next in the line");
        party.taken.store(0, Ordering::Relaxed);
        party.taken_before.store(0, Ordering::Relaxed);
        assert!(Pin::new(&mut greedy).poll(&mut context).is_pending());
        assert_eq!(threads.available_permits(), 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn whoever_takes_much_still_comes_to_an_end() {
        let greedy = Party::of("greedy", None, None);
        let modest = Party::of("modest", None, None);
        let spin = || async {
            for _ in 0..20 {
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_millis(2) {}
                tokio::task::yield_now().await;
            }
        };
        let mut tasks: Vec<_> = (0..4).map(|_| tokio::spawn(Measured::new(spin(), Arc::clone(&greedy)))).collect();
        tasks.push(tokio::spawn(Measured::new(tokio::time::sleep(Duration::from_millis(20)), modest)));
        for task in tasks {
            tokio::time::timeout(Duration::from_secs(30), task).await.unwrap().unwrap();
        }
    }
}
