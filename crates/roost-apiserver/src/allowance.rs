//! How much of the threads for heavy requests one party takes beside others: a burst, and after that a part of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::turns::nanoseconds;

/// One party has this part of the threads in the long run, so that most of the time others do not meet its work at all.
const PART: u64 = 4;
/// How far ahead of its part it may be. Whoever starts, and reads all there is, is through with it by then.
const AHEAD: Duration = Duration::from_secs(1);

/// What a party has had. Times are nanoseconds since any start.
#[derive(Debug, Default)]
pub(crate) struct Allowance {
    /// When its part will amount to what it has had.
    even_at: AtomicU64,
}

impl Allowance {
    /// Counts work on one of `threads`.
    pub(crate) fn take(&self, work: Duration, threads: usize, now: u64) {
        let share = nanoseconds(work).saturating_mul(PART) / u64::try_from(threads).unwrap_or(u64::MAX).max(1);
        let even = |even_at: u64| Some(even_at.max(now).saturating_add(share));
        // A function that always has an answer never fails.
        let _ = self.even_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, even);
    }

    /// How long it has to wait before it may have more.
    pub(crate) fn wait(&self, now: u64) -> Duration {
        Duration::from_nanos(self.even_at.load(Ordering::Relaxed).saturating_sub(now)).saturating_sub(AHEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_burst_is_free_and_then_a_part_of_the_threads() {
        let allowance = Allowance::default();
        assert_eq!(allowance.wait(0), Duration::ZERO);
        allowance.take(Duration::from_millis(250), 1, 10 * SECOND);
        assert_eq!(allowance.wait(10 * SECOND), Duration::ZERO);
        allowance.take(Duration::from_millis(100), 1, 10 * SECOND);
        assert_eq!(allowance.wait(10 * SECOND), Duration::from_millis(400));
        assert_eq!(allowance.wait(10 * SECOND + SECOND / 10), Duration::from_millis(300));
        allowance.take(Duration::from_millis(100), 4, 10 * SECOND);
        assert_eq!(allowance.wait(10 * SECOND), Duration::from_millis(500), "there are four threads");
    }

    #[test]
    fn what_was_not_taken_is_not_saved() {
        let allowance = Allowance::default();
        allowance.take(Duration::from_millis(1), 1, 0);
        allowance.take(Duration::from_secs(1), 1, 100 * SECOND);
        assert_eq!(allowance.wait(100 * SECOND), Duration::from_secs(3));
    }
}
