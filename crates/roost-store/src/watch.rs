//! Owns the watch over callers who write on their own thread.
//!
//! Whoever writes again and again, and is the only one, need not hand each commit to a clerk and wait to be woken up: that
//! takes as long as the disk does. But his thread answers others, too, and while the disk stalls nobody would read what they
//! send. So a clerk looks on, and calls another thread of the caller's runtime when it takes long.

use std::time::{Duration, Instant};

use tokio::runtime::{Handle, RuntimeFlavor};

/// How soon a commit has to follow another that was alone. Whoever comes now and then is not worth a watch.
const STREAK: Duration = Duration::from_millis(1);

/// How often the clerk looks, and how long a commit may take before another thread is called.
pub(crate) const LOOK: Duration = Duration::from_millis(1);

/// Who writes alone, and whether a clerk looks on.
#[derive(Default)]
pub(crate) struct Watch {
    is_kept: bool,
    streak_until: Option<Instant>,
    writing: Option<Writing>,
}

struct Writing {
    since: Instant,
    /// None when it was called for help already.
    runtime: Option<Handle>,
}

impl Watch {
    /// Whether somebody who is alone may write on his own thread.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Takes over the watch, where there is something to see and nobody has it.
    pub(crate) fn keep(&mut self) -> bool {
        let is_taken = !self.is_kept && self.is_worth_it();
        self.is_kept |= is_taken;
        is_taken
    }

    pub(crate) fn leave(&mut self) {
        self.is_kept = false;
    }

    /// Whether somebody writes alone, or did so a moment ago.
    pub(crate) fn is_worth_it(&self) -> bool {
        self.writing.is_some() || self.streak_until.is_some_and(|until| Instant::now() < until)
    }

    /// Somebody begins to write on a thread of this runtime.
    pub(crate) fn begin(&mut self, runtime: Handle) {
        self.writing = Some(Writing { since: Instant::now(), runtime: Some(runtime) });
    }

    /// So many commits came to their end together.
    pub(crate) fn end(&mut self, commits: usize) {
        self.writing = None;
        self.streak_until = (commits == 1).then(|| Instant::now() + STREAK);
    }

    /// The runtime that is to be called, once, because its thread has been writing for long.
    pub(crate) fn stalled(&mut self) -> Option<Handle> {
        let writing = self.writing.as_mut().filter(|writing| writing.since.elapsed() >= LOOK)?;
        writing.runtime.take()
    }
}

/// The runtime of the caller, if its thread may write: one of several, and not one that stands back for others, because
/// then they would wait for it.
pub(crate) fn runtime_of_caller() -> Option<Handle> {
    if roost_kernel::stands_back() {
        return None;
    }
    let runtime = Handle::try_current().ok()?;
    let has_others = runtime.runtime_flavor() == RuntimeFlavor::MultiThread && runtime.metrics().num_workers() > 1;
    has_others.then_some(runtime)
}

/// Wakes up a thread of a runtime, which then looks for what there is to do, and waits for what comes.
pub(crate) fn call(runtime: &Handle) {
    runtime.spawn(std::future::ready(()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_watch_is_kept_while_somebody_writes_alone() {
        let mut watch = Watch::default();
        assert!(!watch.keep(), "nobody wrote");
        watch.end(2);
        assert!(!watch.keep(), "two wrote together");
        watch.end(1);
        assert!(watch.keep());
        assert!(!watch.keep(), "one is enough");
        watch.begin(Handle::current());
        std::thread::sleep(2 * STREAK);
        assert!(watch.is_worth_it());
        assert!(watch.stalled().is_some());
        assert!(watch.stalled().is_none(), "called once");
        watch.end(1);
        assert!(watch.stalled().is_none());
        std::thread::sleep(2 * STREAK);
        assert!(!watch.is_worth_it());
    }

    #[tokio::test]
    async fn a_thread_without_others_does_not_write() {
        assert!(runtime_of_caller().is_none());
    }
}
