//! Which thread the kernel lets run.

use std::cell::Cell;
use std::time::Duration;
use std::{fs, io};

use rustix::process::Pid;

/// How nice a thread is that stands back: a quarter of a processor is left to it when one other wants it all. With less, and as
/// one that never interrupts others, it would not get on where a machine has more to do than it can.
const NICENESS: i32 = 5;
/// The time for which it asks at once. The kernel gives others at most 2.8 ms, and whoever asks for less comes first; but
/// while it is alone on a processor, the kernel's own workers may have to wait for the end.
const SLICE: Duration = Duration::from_millis(3);

/// Lets the kernel prefer other threads to the calling one: others need not wait for the end of its slice (kernels from 6.12;
/// older ones ignore it).
pub fn stand_back() -> io::Result<()> {
    STANDS_BACK.set(true);
    set_back(None)
}

/// Whether the calling thread was asked to stand back.
#[must_use]
pub fn stands_back() -> bool {
    STANDS_BACK.get()
}

thread_local! {
    static STANDS_BACK: Cell<bool> = const { Cell::new(false) };
}

/// The same for all threads of this process that have a name, which it may not have started itself. Says how many there are.
pub fn let_stand_back(name: &str) -> io::Result<usize> {
    let mut count = 0;
    for thread in fs::read_dir("/proc/self/task")? {
        let thread = thread?;
        // A thread may have ended since.
        let found = fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        let number = thread.file_name().to_str().and_then(|number| number.parse().ok()).and_then(Pid::from_raw);
        if found.trim_end() == name && number.is_some() {
            set_back(number)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Lets the calling thread come soon after it wakes up, for `slice` at a time: others have it more often interrupted, and its
/// share stays the same (kernels from 6.12; older ones ignore it).
pub fn come_soon(slice: Duration) -> io::Result<()> {
    set(None, rustix::process::getpriority_process(None)?, slice)
}

fn set_back(thread: Option<Pid>) -> io::Result<()> {
    // Nobody may become less nice again, and need not.
    let niceness = NICENESS.max(rustix::process::getpriority_process(None)?);
    set(thread, niceness, SLICE)
}

/// For a thread, or for the calling one.
#[allow(unsafe_code)]
fn set(thread: Option<Pid>, niceness: i32, slice: Duration) -> io::Result<()> {
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
    let outcome = unsafe { libc::syscall(libc::SYS_sched_setattr, Pid::as_raw(thread), &raw const attributes, 0) };
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
            assert!(!stands_back());
            stand_back().unwrap();
            assert!(stands_back());
            assert_eq!(niceness(), NICENESS.max(of_others));
            come_soon(Duration::from_micros(200)).unwrap();
            assert_eq!(niceness(), NICENESS.max(of_others));
        })
        .join()
        .unwrap();
        assert_eq!(niceness(), of_others);
    }

    #[test]
    fn threads_are_found_by_name() {
        let of_others = niceness();
        let (told, tell) = std::sync::mpsc::channel();
        let named = std::thread::Builder::new().name("stands-back".into()).spawn(move || {
            tell.recv().unwrap();
            niceness()
        });
        // A thread takes its name when it runs first.
        while let_stand_back("stands-back").unwrap() == 0 {
            std::thread::yield_now();
        }
        told.send(()).unwrap();
        assert_eq!(named.unwrap().join().unwrap(), NICENESS.max(of_others));
        assert_eq!(niceness(), of_others);
        assert_eq!(let_stand_back("nobody").unwrap(), 0);
    }
}
