//! Which thread the kernel lets run.

use std::io;
use std::time::Duration;

/// Lets the kernel prefer other threads to the calling one. Its share of a processor that others want is that of
/// `niceness`. Whoever wakes up and asks for shorter slices than `slice`, as others do by default, need not wait for the end
/// of one (kernels from 6.12; older ones ignore it).
pub fn prefer_others(niceness: i32, slice: Duration) -> io::Result<()> {
    set(niceness, slice)
}

/// Lets the calling thread come soon after it wakes up, for `slice` at a time: others have it more often interrupted, and its
/// share stays the same (kernels from 6.12; older ones ignore it).
pub fn come_soon(slice: Duration) -> io::Result<()> {
    set(rustix::process::getpriority_process(None)?, slice)
}

#[allow(unsafe_code)]
fn set(niceness: i32, slice: Duration) -> io::Result<()> {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: niceness,
        sched_priority: 0,
        sched_runtime: u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX),
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the kernel only reads the structure, as many bytes of it as its field `size` says, before the call returns.
    let outcome = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn niceness() -> i32 {
        rustix::process::getpriority_process(None).unwrap()
    }

    #[test]
    fn a_thread_that_comes_soon_keeps_its_share() {
        let of_others = niceness();
        std::thread::spawn(move || {
            prefer_others(of_others + 3, Duration::from_millis(3)).unwrap();
            assert_eq!(niceness(), of_others + 3);
            come_soon(Duration::from_micros(200)).unwrap();
            assert_eq!(niceness(), of_others + 3);
        })
        .join()
        .unwrap();
        assert_eq!(niceness(), of_others);
    }
}
