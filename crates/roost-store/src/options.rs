//! Owns the limits of a store, each with its reason.

use std::time::Duration;

/// How much history a store keeps, and when it tidies its files.
#[derive(Clone, Debug)]
pub struct Options {
    /// So many newest events stay whatever their age and size, so that a watcher that was just woken never finds that the
    /// event it was woken for is gone already.
    pub history_min_events: usize,
    /// Older events go when all retained events, and what they keep of earlier states, are together larger than this.
    pub history_max_bytes: u64,
    /// Older events go when they are older than this. Stock compacts every five minutes what is older than five minutes,
    /// so a client there can rely on five and sees at most ten.
    pub history_age: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { history_min_events: 256, history_max_bytes: 32 << 20, history_age: Duration::from_mins(10) }
    }
}
