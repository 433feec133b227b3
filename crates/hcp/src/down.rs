//! `hcp down`: asks a running instance to end, and waits until it has.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::arguments::Down;
use crate::instance::{self, InstanceError};

/// How long an instance may take to finish its requests and sync its data.
const PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

#[derive(Debug, thiserror::Error)]
pub(crate) enum DownError {
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error("process {pid} could not be asked to stop; it belongs to someone else, or is gone")]
    Signal { pid: i32, source: rustix::io::Errno },
    #[error(
        "process {0} did not stop in 20 seconds; look at its log, or end it with: kill -9 {0} (no acknowledged write is lost)"
    )]
    StillRunning(i32),
}

pub(crate) fn run(arguments: &Down) -> Result<(), DownError> {
    let instance = instance::find(arguments.data_dir.as_deref())?;
    let pid = Pid::from_raw(instance.pid).ok_or(DownError::StillRunning(instance.pid))?;
    kill_process(pid, Signal::TERM).map_err(|source| DownError::Signal { pid: instance.pid, source })?;
    let started = Instant::now();
    while test_kill_process(pid).is_ok() {
        if started.elapsed() > PATIENCE {
            return Err(DownError::StillRunning(instance.pid));
        }
        std::thread::sleep(POLL);
    }
    eprintln!("stopped {} on {}", instance.server, instance.data_dir.display());
    Ok(())
}
