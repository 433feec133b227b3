//! Fair use of the processor: whoever takes much of it stands back for those who take little.
//!
//! What a party takes is measured from decrypting to answering, by the time that the polls of its connections take. Work for
//! one that has lately taken much goes on at the back, on threads to which the kernel prefers all others, for as long as
//! somebody else is there who has not.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, Runtime};

use crate::party::{Party, now};
use crate::threads;

/// How long a thread at the back is awake at a time. Where the kernel takes turns between groups of threads, only other
/// threads of this process come in while one is: neither the kernel's own workers do, nor other programs.
const AWAKE: Duration = Duration::from_micros(500);
/// How long it sleeps then; the kernel makes a little more of it.
const SLEEP: Duration = Duration::from_micros(10);

/// The threads at the back, as many as there are processors; started when they are needed first.
static BACK: LazyLock<Option<Runtime>> = LazyLock::new(|| threads::that_stand_back("back", 1));

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
        let stands_back = self.party.stands_back(now());
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
        let begin = now();
        let stands_back = self.turns.party.stands_back(begin);
        if stands_back != self.stands_back
            && let Some(work) = self.work.take()
        {
            self.turns.spawn_boxed(work, stands_back);
        }
        let Some(work) = &mut self.work else { return Poll::Ready(()) };
        let outcome = work.as_mut().poll(context);
        let end = now();
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

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;
    use crate::party::{MUCH, PRESENCE};

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
