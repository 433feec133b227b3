//! Which thread the kernel lets run.

use std::io;
use std::time::Duration;

/// Lets the kernel prefer other threads to the calling one. Its share of a processor that others want is that of
/// `niceness`. Whoever wakes up and asks for shorter slices than `slice`, as others do by default, need not wait for the end
/// of one (kernels from 6.12; older ones ignore it).
#[allow(unsafe_code)]
pub fn prefer_others(niceness: i32, slice: Duration) -> io::Result<()> {
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
