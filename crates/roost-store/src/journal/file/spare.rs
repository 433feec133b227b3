//! Owns the segment that is prepared before it is needed: its space is written and durable, so that a busy log neither grows
//! its file nor makes one while commits wait.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::directory::spare_path;
use super::disk::{Disk, DiskFile};

/// So much is filled at a time.
const STEP_BYTES: usize = 256 << 10;

/// Between two steps the disk is left to those who wait for it.
const PAUSE: Duration = Duration::from_millis(4);

/// A file full of zeros.
pub(super) struct Spare {
    pub(super) file: Box<dyn DiskFile>,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

/// A spare segment that is being made, or was.
pub(super) struct Preparation {
    thread: JoinHandle<io::Result<Spare>>,
}

impl Preparation {
    /// Begins aside. It ends early when cancelled.
    pub(super) fn start(
        disk: Arc<dyn Disk>,
        directory: &Path,
        bytes: u64,
        cancelled: Arc<AtomicBool>,
    ) -> io::Result<Self> {
        let path = spare_path(directory);
        let work = move || {
            let filled = fill(&*disk, path.clone(), bytes, &cancelled);
            filled.inspect_err(|_| {
                // What is left of it is only in the way, most of all on a disk that is full; the next opening tries again.
                let _ = std::fs::remove_file(&path);
            })
        };
        let thread = std::thread::Builder::new().name("store-spare".into()).spawn(work)?;
        Ok(Self { thread })
    }

    pub(super) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// What came of it; waits if it is not finished.
    pub(super) fn finish(self) -> io::Result<Spare> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the preparation of a segment panicked")))
    }
}

fn fill(disk: &dyn Disk, path: PathBuf, bytes: u64, cancelled: &AtomicBool) -> io::Result<Spare> {
    let mut file = disk.create(&path)?;
    let zeros = vec![0; STEP_BYTES];
    let mut filled = 0;
    while filled < bytes {
        if cancelled.load(Ordering::Relaxed) {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "the store ends"));
        }
        file.write_all_at(&zeros, filled)?;
        file.sync()?;
        filled += STEP_BYTES as u64;
        std::thread::sleep(PAUSE);
    }
    Ok(Spare { file, path, bytes: filled })
}
