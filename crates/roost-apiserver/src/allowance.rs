//! How much heavy work one party has done beside others: a burst, and after that a part of the processors.
//!
//! Heavy work is a large body from its first byte to the answer, a change of a large object, a long list. What comes to nothing
//! counts several times: whoever sends megabytes that are refused is held up, and those who mean what they send are not.
//! Nobody knows which of them a party is before something has come of its work, so its first burst is a small one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::party::nanoseconds;

/// One party has this part of the processors in the long run, so that most of the time others do not meet its work at all.
const PART: u64 = 8;
/// How often work counts that ended in a refusal.
const REFUSED: u32 = 8;
/// How many bytes of a body are taken to be read in a second: decrypted, copied, counted. Rather too few than too many; what
/// decides is how often refused ones count.
const BYTES_PER_SECOND: u64 = 500_000_000;
/// What a piece of a body costs at least, as bytes: a byte that comes alone is decrypted, unpacked and handed on like
/// many together.
const PIECE_BYTES: usize = 1024;
/// How far ahead of its part it may be. Whoever starts, and reads all there is, is through with it by then.
const AHEAD: Duration = Duration::from_secs(1);
/// How far ahead it may be when nothing has come of its work yet, or the last was refused: enough for a list of ten
/// thousand objects.
const FIRST: Duration = Duration::from_millis(250);
/// How far ahead it can get where nobody is there who would have to be waited for. Less than any request waits: whoever
/// was alone for a day does not pay for that day.
const FURTHEST: Duration = Duration::from_secs(10);
/// How much further it may be ahead for work that came to something: more than that work takes, so that whoever means
/// what he sends does not notice.
const EARNED: u64 = 2;

/// What a party has had. Times are nanoseconds since any start.
#[derive(Debug, Default)]
pub(crate) struct Allowance {
    /// When its part will amount to what it has had.
    even_at: AtomicU64,
    /// How much further than at first it may be ahead.
    earned: AtomicU64,
}

impl Allowance {
    /// Counts work on one of so many processors.
    pub(crate) fn take(&self, work: Duration, processors: usize, now: u64) {
        let share = share(work, processors);
        let furthest = now.saturating_add(nanoseconds(FURTHEST));
        let even = |even_at: u64| Some(even_at.max(now).saturating_add(share).min(furthest).max(even_at));
        // A function that always has an answer never fails.
        let _ = self.even_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, even);
    }

    /// Notes that something came of work.
    pub(crate) fn accept(&self, work: Duration, processors: usize) {
        let earned = |earned: u64| {
            let more = share(work, processors).saturating_mul(EARNED);
            Some(earned.saturating_add(more).min(nanoseconds(AHEAD)))
        };
        let _ = self.earned.fetch_update(Ordering::Relaxed, Ordering::Relaxed, earned);
    }

    /// Counts work again that ended in a refusal.
    pub(crate) fn refuse(&self, work: Duration, processors: usize, now: u64) {
        self.earned.store(0, Ordering::Relaxed);
        self.take(work * (REFUSED - 1), processors, now);
    }

    /// How long it has to wait before it may have more.
    pub(crate) fn wait(&self, now: u64) -> Duration {
        let ahead = FIRST.saturating_add(Duration::from_nanos(self.earned.load(Ordering::Relaxed))).min(AHEAD);
        Duration::from_nanos(self.even_at.load(Ordering::Relaxed).saturating_sub(now)).saturating_sub(ahead)
    }

    /// Whether nothing has come of its work yet, or the last was refused.
    pub(crate) fn is_new(&self) -> bool {
        self.earned.load(Ordering::Relaxed) == 0
    }

    /// Whether it has had no more than its part.
    pub(crate) fn is_even(&self, now: u64) -> bool {
        self.even_at.load(Ordering::Relaxed) <= now
    }
}

/// For how long a party's part is spent by work on one of so many processors, in nanoseconds.
fn share(work: Duration, processors: usize) -> u64 {
    nanoseconds(work).saturating_mul(PART) / u64::try_from(processors).unwrap_or(u64::MAX).max(1)
}

/// What a piece of a body counts as, in bytes.
pub(crate) fn bytes_of_piece(length: usize) -> usize {
    length.max(PIECE_BYTES)
}

/// The work that it is to read so much of a body.
pub(crate) fn work_of_reading(bytes: usize) -> Duration {
    Duration::from_nanos(u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(1_000_000_000 / BYTES_PER_SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_burst_is_free_and_then_a_part_of_the_processors() {
        let allowance = Allowance::default();
        allowance.accept(Duration::from_secs(1), 2);
        assert_eq!(allowance.wait(0), Duration::ZERO);
        allowance.take(Duration::from_millis(250), 2, 10 * SECOND);
        assert_eq!(allowance.wait(10 * SECOND), Duration::ZERO);
        allowance.take(Duration::from_millis(100), 2, 10 * SECOND);
        assert_eq!(allowance.wait(10 * SECOND), Duration::from_millis(400));
        assert_eq!(allowance.wait(10 * SECOND + SECOND / 10), Duration::from_millis(300));
        allowance.take(Duration::from_millis(100), 8, 10 * SECOND);
        assert_eq!(allowance.wait(10 * SECOND), Duration::from_millis(500), "there are eight processors");
    }

    #[test]
    fn nobody_pays_for_longer_than_a_request_waits() {
        let allowance = Allowance::default();
        for _ in 0..3600 {
            allowance.take(Duration::from_secs(1), 2, SECOND);
        }
        assert_eq!(allowance.wait(SECOND), FURTHEST.saturating_sub(FIRST));
        allowance.take(Duration::from_secs(1), 2, 0);
        assert_eq!(
            allowance.wait(SECOND),
            FURTHEST.saturating_sub(FIRST),
            "a clock that was read earlier takes nothing back"
        );
    }

    #[test]
    fn what_is_refused_counts_several_times() {
        let (meant, refused) = (Allowance::default(), Allowance::default());
        refused.accept(Duration::from_secs(1), 2);
        let work = work_of_reading(3_000_000);
        assert_eq!(work, Duration::from_millis(6));
        for _ in 0..10 {
            meant.take(work, 2, 0);
            meant.accept(work, 2);
            refused.take(work, 2, 0);
            refused.refuse(work, 2, 0);
        }
        assert_eq!(meant.wait(0), Duration::ZERO);
        assert_eq!(refused.wait(0), Duration::from_millis(10 * 6 * 4 * 8 - 250), "what came before does not help");
    }

    #[test]
    fn what_was_not_taken_is_not_saved() {
        let allowance = Allowance::default();
        allowance.take(Duration::from_millis(1), 2, 0);
        assert!(!allowance.is_even(1));
        assert!(allowance.is_even(100 * SECOND));
        allowance.take(Duration::from_secs(1), 2, 100 * SECOND);
        assert_eq!(allowance.wait(100 * SECOND), Duration::from_millis(3750));
    }

    #[test]
    fn a_first_burst_is_small_unless_something_comes_of_it() {
        let list = Duration::from_millis(30);
        let (lists, bombs) = (Allowance::default(), Allowance::default());
        assert!(lists.is_new() && bombs.is_new());
        for _ in 0..8 {
            assert_eq!(lists.wait(0), Duration::ZERO);
            lists.take(list, 2, 0);
            lists.accept(list, 2);
        }
        assert!(!lists.is_new());
        assert_eq!(lists.wait(0), Duration::ZERO, "eight lists of ten thousand objects at once");
        bombs.take(list, 2, 0);
        bombs.refuse(list, 2, 0);
        assert_eq!(bombs.wait(0), Duration::from_millis(30 * 4 * 8 - 250), "a single bomb");
        lists.refuse(list, 2, 0);
        assert!(lists.is_new());
    }

    #[test]
    fn an_object_of_a_megabyte_is_read_without_a_pause() {
        let allowance = Allowance::default();
        for _ in 0..16 {
            allowance.take(work_of_reading(64 * 1024), 1, 0);
            assert_eq!(allowance.wait(0), Duration::ZERO);
        }
    }

    #[test]
    fn single_bytes_cost_more_than_many_together() {
        assert_eq!(bytes_of_piece(16_384), 16_384);
        assert_eq!(bytes_of_piece(1), 1024);
    }
}
