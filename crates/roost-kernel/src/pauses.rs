//! Pauses that a thread makes whatever it is at.

use std::cell::Cell;
use std::io;
use std::num::NonZeroU64;
use std::ptr;
use std::sync::LazyLock;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How long a thread works until its next pause.
const WORK: Duration = Duration::from_micros(500);
/// What it has done by then at least. On a machine that is so busy that a sleep takes longer than this clock's turn, it would
/// do nothing but pause.
const LEAST_WORK: Duration = Duration::from_micros(250);
/// How long it sleeps then: whoever waits for the processor gets it at once, and keeps it.
const SLEEP: Duration = Duration::from_micros(10);
/// How much longer the kernel may make the sleep. The default is five times the sleep itself.
const SLACK: NonZeroU64 = NonZeroU64::new(1_000).expect("more than nothing");
/// What wakes the thread up to pause. Whoever does not know this signal ignores it, and nothing else here asks for it.
const SIGNAL: libc::c_int = libc::SIGURG;

/// A clock by which one thread pauses while it works. A kernel that is built for throughput lets a thread keep its processor
/// for milliseconds while others wait, its own workers among them.
///
/// It belongs to the thread that made it and stays there; all timers of that thread become exact.
#[derive(Debug)]
pub struct Pauses {
    timer: libc::timer_t,
}

impl Pauses {
    /// A clock for the calling thread.
    #[allow(unsafe_code)]
    pub fn new() -> io::Result<Self> {
        if let Err(code) = *HANDLER {
            return Err(io::Error::from_raw_os_error(code));
        }
        rustix::thread::set_current_timer_slack(Some(SLACK))?;
        // SAFETY: all fields of the structure are numbers or pointers that may be null.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = SIGNAL;
        event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
        let mut timer = ptr::null_mut();
        // SAFETY: the kernel reads the first structure and writes the second before the call returns.
        let outcome = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) };
        if outcome == 0 { Ok(Self { timer }) } else { Err(io::Error::last_os_error()) }
    }

    /// Works with pauses.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        let _running = Running::start(self);
        work()
    }

    /// Pauses each time that `period` has passed, or no more when it is zero.
    #[allow(unsafe_code)]
    fn set(&self, period: Duration) {
        let period = timespec(period);
        let times = libc::itimerspec { it_interval: period, it_value: period };
        // SAFETY: the timer lives as long as `self`, and the kernel only reads the structure. The call cannot fail with these.
        unsafe { libc::timer_settime(self.timer, 0, &raw const times, ptr::null_mut()) };
    }
}

impl Drop for Pauses {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: the timer was made by this value and is not used after it.
        unsafe { libc::timer_delete(self.timer) };
    }
}

/// Stops the clock when the work ends, also by a panic.
struct Running<'a>(&'a Pauses);

impl<'a> Running<'a> {
    fn start(pauses: &'a Pauses) -> Self {
        pauses.set(WORK);
        Self(pauses)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set(Duration::ZERO);
    }
}

/// The pause, installed once in a process; the number of the error where that failed.
static HANDLER: LazyLock<Result<(), i32>> = LazyLock::new(install);

#[allow(unsafe_code)]
fn install() -> Result<(), i32> {
    // SAFETY: all fields of the structure are numbers, or pointers that may be null.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = pause as extern "C" fn(libc::c_int) as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the kernel only reads the structure. The handler calls nothing that a handler may not call.
    let outcome = unsafe { libc::sigaction(SIGNAL, &raw const action, ptr::null_mut()) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error().raw_os_error().unwrap_or_default()) }
}

thread_local! {
    /// How long this thread had run when it ended its last pause.
    static PAUSED_AT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// How long the kernel has let this thread run.
#[must_use]
pub fn time_of_thread() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap_or_default()
}

#[allow(unsafe_code)]
extern "C" fn pause(_signal: libc::c_int) {
    if time_of_thread().saturating_sub(PAUSED_AT.get()) < LEAST_WORK {
        return;
    }
    // SAFETY: the place of the error number is that of this thread; what was interrupted finds its own there again. Sleeping,
    // like reading a clock, is one of the calls that a handler may make.
    unsafe {
        let error = *libc::__errno_location();
        let time = timespec(SLEEP);
        libc::nanosleep(&raw const time, ptr::null_mut());
        *libc::__errno_location() = error;
    }
    PAUSED_AT.set(time_of_thread());
}

fn timespec(time: Duration) -> libc::timespec {
    let tv_sec = libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX);
    libc::timespec { tv_sec, tv_nsec: time.subsec_nanos().into() }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// How often this thread has given its processor away.
    fn given_away() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        line.trim().parse().unwrap()
    }

    fn work() {
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(50) {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_thread_pauses_while_it_works_and_not_afterwards() {
        let pauses = Pauses::new().unwrap();
        let before = given_away();
        pauses.during(work);
        let times = given_away() - before;
        assert!(times > 5, "{times} pauses in 50 ms");
        let before = given_away();
        work();
        assert_eq!(given_away(), before);
    }

    #[test]
    fn a_thread_works_between_two_pauses_however_often_it_is_woken_up() {
        let pauses = Pauses::new().unwrap();
        let (before, begin) = (given_away(), time_of_thread());
        pauses.set(SLEEP);
        work();
        pauses.set(Duration::ZERO);
        let (times, worked) = (given_away() - before, time_of_thread().saturating_sub(begin));
        assert!(u128::from(times) <= worked.as_nanos() / LEAST_WORK.as_nanos() + 1, "{times} pauses in {worked:?}");
    }

    #[test]
    fn what_panics_stops_the_clock() {
        let pauses = Pauses::new().unwrap();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pauses.during(|| panic!("on purpose"))));
        assert!(outcome.is_err());
        let before = given_away();
        work();
        assert_eq!(given_away(), before);
    }
}
