//! Writes the image of a disk: unpacked as it comes, its beginning last, so that a disk that was not finished starts nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};
use flate2::write::GzDecoder;
use roost_host::wire::DiskImage;

use super::disk_number::Renumber;
use super::record;
use crate::https::HttpsError;

/// What is kept back until all else is written: the boot sector and the partition table are in it.
const BEGINNING: usize = 1 << 20;
/// How much may be on its way to the disk before it is waited for, so that progress is what it says.
const UNSYNCED: u64 = 64 << 20;

/// Why a disk was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The disk does not take it.
    #[error("cannot write to {}", path.display())]
    Disk {
        /// The disk.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The image did not come.
    #[error("the image did not come")]
    Fetch(#[from] HttpsError),
    /// It came from a server that did not want to give it.
    #[error("the server of images answered {0}")]
    Status(u16),
    /// It is another image.
    #[error("the image is not the one that was promised: its digest is {0}")]
    Digest(String),
    /// There is no place in it for what the host has to know.
    #[error("the image has no place for this host's settings")]
    Record(#[from] record::RecordError),
}

/// A disk that is being written.
pub(super) struct DiskWriter<'a> {
    digest: Context,
    received: u64,
    length: u64,
    unpacked: GzDecoder<Blocks>,
    percent: u64,
    report: &'a mut dyn FnMut(u64),
}

/// The unpacked bytes on their way to the disk.
struct Blocks {
    file: File,
    beginning: Vec<u8>,
    offset: u64,
    unsynced: u64,
    renumber: Renumber,
}

impl Blocks {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let kept = bytes.len().min(BEGINNING - self.beginning.len());
        self.beginning.extend_from_slice(&bytes[..kept]);
        let rest = &bytes[kept..];
        self.file.write_all_at(rest, self.offset + kept as u64)?;
        self.offset += bytes.len() as u64;
        self.unsynced += rest.len() as u64;
        if self.unsynced >= UNSYNCED {
            self.file.sync_data()?;
            self.unsynced = 0;
        }
        Ok(())
    }
}

impl Write for Blocks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let passed = self.renumber.pass(bytes);
        self.put(&passed)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> DiskWriter<'a> {
    /// Opens a disk, and takes its beginning and its end away: whatever it was, from now on it is nothing.
    pub(super) fn open(path: &Path, image: &DiskImage, report: &'a mut dyn FnMut(u64)) -> Result<Self, WriteError> {
        let failed = |source| WriteError::Disk { path: path.to_owned(), source };
        let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        let size = file.seek(SeekFrom::End(0)).map_err(failed)?;
        let nothing = vec![0; BEGINNING];
        for offset in [0, size.saturating_sub(BEGINNING as u64)] {
            let length = usize::try_from(size - offset).unwrap_or(BEGINNING).min(BEGINNING);
            file.write_all_at(&nothing[..length], offset).map_err(failed)?;
        }
        file.sync_all().map_err(failed)?;
        let mut number = [0; 4];
        aws_lc_rs::rand::fill(&mut number).map_err(|_| failed(io::Error::other("no number can be drawn for it")))?;
        let renumber = Renumber::new(u32::from_le_bytes(number));
        let blocks = Blocks { file, beginning: Vec::new(), offset: 0, unsynced: 0, renumber };
        Ok(Self {
            digest: Context::new(&SHA256),
            received: 0,
            length: image.length,
            unpacked: GzDecoder::new(blocks),
            percent: 0,
            report,
        })
    }

    /// Checks what came, leaves the host its settings, and makes the disk one that starts.
    pub(super) fn finish(self, path: &Path, image: &DiskImage, settings: &[u8]) -> Result<(), WriteError> {
        let failed = |source| WriteError::Disk { path: path.to_owned(), source };
        let digest = crate::digest::hexadecimal(self.digest.finish().as_ref());
        if self.received != image.length || !digest.eq_ignore_ascii_case(&image.sha256) {
            return Err(WriteError::Digest(digest));
        }
        let mut blocks = self.unpacked.finish().map_err(failed)?;
        let rest = blocks.renumber.finish();
        blocks.put(&rest).map_err(failed)?;
        let Blocks { file, beginning, .. } = blocks;
        let (offset, record) = record::place(&beginning, settings)?;
        file.write_all_at(&record, offset).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        file.write_all_at(&beginning, 0).map_err(failed)?;
        // The record's place may be within what was kept back.
        file.write_all_at(&record, offset).map_err(failed)?;
        file.sync_all().map_err(failed)
    }
}

impl Write for DiskWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.digest.update(bytes);
        self.received += bytes.len() as u64;
        self.unpacked.write_all(bytes)?;
        let percent = self.received.saturating_mul(100) / self.length.max(1);
        if percent >= self.percent + 5 || percent >= 100 && self.percent < 100 {
            self.percent = percent.min(100);
            (self.report)(self.percent);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// The image of a disk of four mebibytes with a place for settings, and what it is known by.
    fn image() -> (Vec<u8>, Vec<u8>, DiskImage) {
        let mut disk: Vec<u8> = (0..4_u32 << 20).map(|place| (place % 251) as u8).collect();
        disk[..record::tests::TABLE.len()].copy_from_slice(&record::tests::table());
        disk[1 << 20..2 << 20].fill(0);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&disk).unwrap();
        let sent = encoder.finish().unwrap();
        let sha256 = crate::digest::of(&mut sent.as_slice()).unwrap();
        let length = sent.len() as u64;
        (disk, sent, DiskImage { url: String::new(), sha256, length })
    }

    fn target(directory: &Path) -> PathBuf {
        let path = directory.join("sda");
        std::fs::write(&path, vec![0xff; 6 << 20]).unwrap();
        path
    }

    #[test]
    fn a_disk_is_the_image_with_the_settings_in_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = target(directory.path());
        let (disk, sent, image) = image();
        let mut percents = Vec::new();
        let mut report = |percent| percents.push(percent);
        let mut writer = DiskWriter::open(&path, &image, &mut report).unwrap();
        for piece in sent.chunks(4096) {
            writer.write_all(piece).unwrap();
        }
        writer.finish(&path, &image, b"{}").unwrap();
        assert!(percents.is_sorted() && percents.last() == Some(&100), "{percents:?}");
        let written = std::fs::read(&path).unwrap();
        assert!(written[..1 << 20] == disk[..1 << 20] && written[2 << 20..4 << 20] == disk[2 << 20..]);
        assert_eq!(record::read(&written[1 << 20..2 << 20]).as_deref(), Some(b"{}".as_slice()));
        assert!(written[5 << 20..].iter().all(|byte| *byte == 0), "an old table at the end is gone");
    }

    #[test]
    fn what_was_cut_off_or_changed_starts_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let (_, sent, image) = image();
        let mut changed = sent.clone();
        let middle = changed.len() / 2;
        changed[middle] ^= 1;
        for sent in [&sent[..sent.len() / 2], &sent[..sent.len() - 1], &changed, b""] {
            let path = target(directory.path());
            let mut report = |_| {};
            let mut writer = DiskWriter::open(&path, &image, &mut report).unwrap();
            let outcome = writer.write_all(sent).map_err(|_| ()).and_then(|()| {
                let error = writer.finish(&path, &image, b"{}").unwrap_err();
                assert!(matches!(error, WriteError::Digest(_)), "{error}");
                Err::<(), ()>(())
            });
            assert!(outcome.is_err());
            assert!(std::fs::read(&path).unwrap()[..BEGINNING].iter().all(|byte| *byte == 0));
        }
    }
}
