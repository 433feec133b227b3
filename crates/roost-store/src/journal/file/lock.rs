//! Owns the right to use a directory. The kernel takes the lock back when the process ends, however it ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::directory::FILE_MODE;
use crate::journal::OpenError;

/// A held lock; dropping it lets the next one in.
pub(super) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    pub(super) fn acquire(directory: &Path) -> Result<Self, OpenError> {
        let path = directory.join("lock");
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(FILE_MODE).open(&path);
        let mut file = open.map_err(OpenError::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::Locked { directory: directory.into(), holder: holder(&path) });
            }
            Err(TryLockError::Error(source)) => return Err(OpenError::io("lock", &path)(source)),
        }
        let words = format!("process {} since {:.0}\n", std::process::id(), jiff::Timestamp::now());
        let written = file.set_len(0).and_then(|()| file.write_all(words.as_bytes()));
        written.map_err(OpenError::io("write", &path))?;
        Ok(Self { _file: file })
    }
}

/// The holder's own words. They are written after the lock is taken, so they can be missing for a moment.
fn holder(path: &Path) -> String {
    match fs::read_to_string(path) {
        Ok(words) if !words.trim().is_empty() => words.trim().into(),
        _ => "a process that has just opened it".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_one_learns_who_was_first() {
        let directory = tempfile::tempdir().unwrap();
        let first = DirectoryLock::acquire(directory.path()).unwrap();
        let Err(refused) = DirectoryLock::acquire(directory.path()) else { panic!("locked twice") };
        let words = refused.to_string();
        assert!(words.contains(&format!("process {} since 20", std::process::id())), "{words}");
        drop(first);
        DirectoryLock::acquire(directory.path()).unwrap();
    }
}
