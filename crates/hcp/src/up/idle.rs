//! What a process gives back while nobody wants anything of it.
//!
//! A start touches most of the program: keys, definitions, every controller's first look. None of that is needed by a
//! plane that waits, and half of its memory would be code that it ran once. The allocator gives back by itself.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::{MissedTickBehavior, interval};

/// How often the processor time is looked at.
const PERIOD: Duration = Duration::from_secs(2);
/// Whoever used less of a processor in a period waits: 0.2 %.
const QUIET: Duration = Duration::from_millis(4);
/// Whoever used less since the pages were given back has touched few of them.
const WORTH_IT: Duration = Duration::from_millis(40);

/// Gives the program's pages back whenever work has come to a rest. Does not end.
pub(super) async fn give_back() {
    let mut timer = interval(PERIOD);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut use_of_processor = Use::default();
    loop {
        timer.tick().await;
        if use_of_processor.has_come_to_rest(processor_time()) {
            match roost_kernel::give_back_program() {
                Ok(bytes) => tracing::debug!(bytes, "pages of the program were given back"),
                Err(error) => tracing::debug!(%error, "pages of the program cannot be given back"),
            }
        }
    }
}

/// Of all threads since the process began.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

/// Processor times at which something was seen.
#[derive(Debug, Default)]
struct Use {
    last_look: Duration,
    last_rest: Duration,
}

impl Use {
    /// Whether there was work, and is none any more.
    fn has_come_to_rest(&mut self, now: Duration) -> bool {
        let lately = now.saturating_sub(std::mem::replace(&mut self.last_look, now));
        let comes_to_rest = lately < QUIET && now.saturating_sub(self.last_rest) >= WORTH_IT;
        if comes_to_rest {
            self.last_rest = now;
        }
        comes_to_rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_given_back_once_when_work_ends() {
        let mut used = Use::default();
        let mut at = |milliseconds| used.has_come_to_rest(Duration::from_millis(milliseconds));
        assert!(!at(300), "the start");
        assert!(at(302), "and its end");
        assert!(!at(304), "nothing new");
        assert!(!at(310), "a request");
        assert!(!at(311), "too little to be worth it");
        assert!(!at(600), "work");
        assert!(!at(900), "more of it");
        assert!(at(901), "and its end");
    }
}
