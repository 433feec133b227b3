//! What a process gives back while nobody wants anything of it.
//!
//! A start touches most of the program: keys, definitions, every controller's first look. None of that is needed by a
//! plane that waits, and half of its memory would be code that it ran once. The allocator gives back by itself, and has to let
//! others go first: it takes a millisecond at a time where large requests come and go.

use std::time::Duration;

use rustix::param::page_size;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::{MissedTickBehavior, interval};

/// How often the process looks at itself.
const PERIOD: Duration = Duration::from_secs(5);
/// Whoever used less of a processor in a period waits: 0.1 %.
const QUIET: Duration = Duration::from_millis(5);
/// Pages of files that are not worth the trouble. A plane that waits needs a quarter of it.
const FEW_BYTES: usize = 8 << 20;
/// The name of the allocator's threads.
const ALLOCATOR: &str = "jemalloc_bg_thd";

/// Gives the program's pages back whenever work has come to a rest, and lets the allocator's threads stand back. Does not end.
pub(super) async fn give_back() {
    let mut timer = interval(PERIOD);
    timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut before = processor_time();
    loop {
        timer.tick().await;
        // It starts more of them as it needs them.
        if let Err(error) = roost_kernel::let_stand_back(ALLOCATOR) {
            tracing::debug!(%error, "the allocator's threads cannot stand back");
        }
        let now = processor_time();
        let is_quiet = now.saturating_sub(std::mem::replace(&mut before, now)) < QUIET;
        if is_quiet && resident_files().is_some_and(|bytes| bytes > FEW_BYTES) {
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

/// Bytes in memory that are pages of files: the program itself and its libraries.
fn resident_files() -> Option<usize> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(pages.split_ascii_whitespace().nth(2)?.parse::<usize>().ok()? * page_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_back_is_not_resident() {
        let before = resident_files().unwrap();
        assert!(before > 0);
        roost_kernel::give_back_program().unwrap();
        assert!(resident_files().unwrap() < before);
        assert!(processor_time() > Duration::ZERO);
    }
}
