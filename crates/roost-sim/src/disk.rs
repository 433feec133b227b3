//! What a simulated host keeps over a restart: a few files in a directory, or nothing.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// Files of one host.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    directory: Option<PathBuf>,
}

impl Disk {
    pub(crate) fn new(directory: Option<PathBuf>) -> Self {
        Self { directory }
    }

    /// A file's text; none when it was never written.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.directory.as_ref()?.join(name)).ok()
    }

    /// Removes a file; one that is not there is no error.
    pub(crate) fn remove(&self, name: &str) {
        if let Some(directory) = &self.directory {
            let _ = fs::remove_file(directory.join(name));
        }
    }

    /// Replaces a file as a whole: a host that dies meanwhile has the old one or the new one. Only its owner reads it.
    pub(crate) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        fs::create_dir_all(directory)?;
        let draft = directory.join(format!("{name}.new"));
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(draft, directory.join(name))
    }
}

#[cfg(test)]
mod tests {
    use super::Disk;

    #[test]
    fn files_are_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let disk = Disk::new(Some(directory.path().join("host")));
        assert_eq!(disk.read("a"), None);
        disk.write("a", "one").unwrap();
        disk.write("a", "two").unwrap();
        assert_eq!(disk.read("a").as_deref(), Some("two"));
        disk.remove("a");
        disk.remove("a");
        assert_eq!(disk.read("a"), None);
        let nothing = Disk::new(None);
        nothing.write("a", "one").unwrap();
        assert_eq!(nothing.read("a"), None);
    }
}
