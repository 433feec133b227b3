//! Owns the calls that a disk can refuse while the log is written, so that a test can refuse them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::FallocateFlags;

use super::directory::FILE_MODE;

/// Where segments live.
pub(super) trait Disk: Send + Sync {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
}

/// A segment being written.
pub(super) trait DiskFile: Send {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes everything written durable, and the file's length if it changed.
    fn sync(&mut self) -> io::Result<()>;

    fn set_length(&mut self, length: u64) -> io::Result<()>;

    /// Gives the file space and length up to an offset, filled with zeros.
    fn reserve(&mut self, from: u64, to: u64) -> io::Result<()>;
}

/// The file system.
pub(super) struct RealDisk;

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(OpenOptions::new().write(true).open(path)?))
    }
}

impl DiskFile for File {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn set_length(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn reserve(&mut self, from: u64, to: u64) -> io::Result<()> {
        Ok(rustix::fs::fallocate(&*self, FallocateFlags::empty(), from, to - from)?)
    }
}
