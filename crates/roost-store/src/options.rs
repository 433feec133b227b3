//! Owns the limits of a store, each with its reason.

use std::time::Duration;

/// How much history a store keeps, and when it tidies its files.
#[derive(Clone, Debug)]
pub struct Options {
    /// So many newest events stay whatever their age and size, so that a watcher that was just woken never finds that the
    /// event it was woken for is gone already.
    pub history_min_events: usize,
    /// Older events go when all retained events, and what they keep of earlier states, are together larger than the objects
    /// themselves, so that a store whose objects were deleted becomes small again. So much is always theirs.
    pub history_least_bytes: u64,
    /// Older events go when they are together larger than this, however large the objects are.
    pub history_max_bytes: u64,
    /// Older events go when they are older than this. Stock compacts every five minutes what is older than five minutes,
    /// so a client there can rely on five and sees at most ten.
    pub history_age: Duration,
}

impl Options {
    /// How large the history may be beside objects of this size.
    pub(crate) fn history_bytes(&self, objects: u64) -> u64 {
        objects.max(self.history_least_bytes).min(self.history_max_bytes)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            history_min_events: 256,
            history_least_bytes: 8 << 20,
            history_max_bytes: 32 << 20,
            history_age: Duration::from_mins(10),
        }
    }
}
