//! The logs that hosts send, in files: one a host, and no more than a limit in all.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use roost_host::identity::is_host_id;

/// The longest log of one host.
pub(crate) const LARGEST_LOG: usize = 8 << 20;
/// What all logs together may take.
const LARGEST_DIRECTORY: u64 = 256 << 20;
/// Nobody asks for older ones: the links to them are good for as long.
const OLDEST: Duration = Duration::from_hours(30 * 24);
const ENDING: &str = "tar.gz";

/// A directory of logs.
#[derive(Clone, Debug)]
pub struct Logs {
    directory: PathBuf,
}

/// A log that is there.
struct Kept {
    path: PathBuf,
    length: u64,
    written: SystemTime,
}

impl Logs {
    /// The logs in a directory, which is made with the first.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Keeps a host's log instead of the one before, and lets the oldest of others go where there are too many.
    pub fn keep(&self, infra_env: &str, host: &str, content: &[u8], now: SystemTime) -> io::Result<()> {
        let path = self.path(infra_env, host)?;
        std::fs::create_dir_all(&self.directory)?;
        let partial = path.with_extension("part");
        std::fs::write(&partial, content)?;
        std::fs::rename(&partial, &path)?;
        self.clear(&path, LARGEST_DIRECTORY, now)
    }

    /// A host's log; none when it sent none, or that is gone.
    pub fn read(&self, infra_env: &str, host: &str) -> io::Result<Option<Vec<u8>>> {
        match std::fs::read(self.path(infra_env, host)?) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn path(&self, infra_env: &str, host: &str) -> io::Result<PathBuf> {
        if is_host_id(infra_env) && is_host_id(host) {
            Ok(self.directory.join(format!("{infra_env}_{host}.{ENDING}")))
        } else {
            Err(io::Error::other("a log belongs to a host and an infra-env"))
        }
    }

    fn clear(&self, newest: &Path, largest: u64, now: SystemTime) -> io::Result<()> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            all.push(Kept { path: entry.path(), length: metadata.len(), written: metadata.modified()? });
        }
        all.sort_by_key(|kept| std::cmp::Reverse((kept.path == newest, kept.written)));
        let mut taken = 0_u64;
        for kept in all {
            taken = taken.saturating_add(kept.length);
            let is_old = now.duration_since(kept.written).is_ok_and(|age| age > OLDEST);
            if kept.path != newest && (taken > largest || is_old) {
                std::fs::remove_file(&kept.path)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENVIRONMENT: &str = "770980f8-07d0-4824-899c-0da82a7555a5";

    fn host(number: u8) -> String {
        format!("234d87fe-73a2-85ec-e57a-3a0a3c8aaf{number:02x}")
    }

    #[test]
    fn a_host_has_one_log() {
        let directory = tempfile::tempdir().unwrap();
        let logs = Logs::new(directory.path().join("logs"));
        assert_eq!(logs.read(ENVIRONMENT, &host(1)).unwrap(), None);
        for content in ["first", "second"] {
            logs.keep(ENVIRONMENT, &host(1), content.as_bytes(), SystemTime::now()).unwrap();
        }
        assert_eq!(logs.read(ENVIRONMENT, &host(1)).unwrap().as_deref(), Some(b"second".as_slice()));
        assert_eq!(std::fs::read_dir(&logs.directory).unwrap().count(), 1);
        assert!(logs.keep(ENVIRONMENT, "../../etc/passwd", b"", SystemTime::now()).is_err());
        assert!(logs.read("..", &host(1)).is_err());
    }

    #[test]
    fn the_oldest_go_when_there_are_too_many() {
        let directory = tempfile::tempdir().unwrap();
        let logs = Logs::new(directory.path().to_owned());
        let now = SystemTime::now();
        for number in 1..=5 {
            logs.keep(ENVIRONMENT, &host(number), &[0; 100], now).unwrap();
            let file = std::fs::File::open(logs.path(ENVIRONMENT, &host(number)).unwrap()).unwrap();
            file.set_modified(now - Duration::from_secs(60 * u64::from(10 - number))).unwrap();
        }
        logs.clear(&logs.path(ENVIRONMENT, &host(1)).unwrap(), 300, now).unwrap();
        let is_kept = |number| logs.read(ENVIRONMENT, &host(number)).unwrap().is_some();
        assert_eq!([1, 2, 3, 4, 5].map(is_kept), [true, false, false, true, true], "the one that just came stays");
        logs.clear(&logs.path(ENVIRONMENT, &host(5)).unwrap(), 300, now + OLDEST).unwrap();
        assert_eq!([1, 4, 5].map(is_kept), [false, false, true]);
    }
}
