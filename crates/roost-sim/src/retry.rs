//! Waits between attempts, each twice as long as the one before.

use std::time::Duration;

/// The wait before the next attempt.
#[derive(Debug)]
pub(crate) struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, next: first }
    }

    /// The wait that is due now.
    pub(crate) fn advance(&mut self) -> Duration {
        let due = self.next;
        self.next = (due * 2).min(self.longest);
        due
    }

    pub(crate) async fn wait(&mut self) {
        tokio::time::sleep(self.advance()).await;
    }

    /// Begins anew after a success.
    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Backoff;

    #[test]
    fn waits_double_up_to_the_longest() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        let waits: Vec<u64> = (0..5).map(|_| backoff.advance().as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 5, 5]);
        backoff.reset();
        assert_eq!(backoff.advance().as_secs(), 1);
    }
}
