//! A base image that is open for as long as anybody serves from it.

use std::fs::File;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;

use roost_image::Source;
use rustix::io::ReadWriteFlags;

/// An open file whose length is known and does not change.
#[derive(Debug)]
pub struct BaseFile {
    file: File,
    length: u64,
    /// Tells this content from any other that had the same name.
    identity: String,
}

impl BaseFile {
    /// Opens a file. `digest` is of its content, where somebody knows it; else the file's own data tell it from others.
    pub fn open(path: &Path, digest: Option<&str>) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
        }
        let identity = digest.map_or_else(
            || format!("{}-{}-{}.{}", metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()),
            str::to_owned,
        );
        Ok(Self { file, length: metadata.len(), identity })
    }

    /// Fills a buffer with what lies in memory, without waiting for a disk. False when not all of it does.
    pub(crate) fn read_cached(&self, offset: u64, buffer: &mut [u8]) -> bool {
        let length = buffer.len();
        let mut slices = [IoSliceMut::new(buffer)];
        rustix::io::preadv2(&self.file, &mut slices, offset, ReadWriteFlags::NOWAIT) == Ok(length)
    }

    /// What tells this content from others.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }
}

impl Source for BaseFile {
    fn length(&self) -> u64 {
        self.length
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }
}

impl AsFd for BaseFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
