//! How long a write to a disk takes to be safe. What is on the disk stays as it is: each block is read and written back,
//! and even that is done only to a disk that begins empty, or to a file of this program's own.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use roost_host::disk::{DiskProblem, ineligibility, is_named};
use roost_host::measurement::{DiskReply, KEPT_SYSTEM};

use super::super::hardware;
use crate::root::Root;

/// The size of one write: a page, about that of an entry in a log.
const BLOCK: usize = 4096;
/// Where on a disk it is written: behind what says whether the disk is empty.
const FIRST: u64 = 1 << 20;
/// So many writes are enough for the slowest of a hundred.
const MOST_WRITES: usize = 256;
/// A slow disk is known to be slow after that long.
const MOST_TIME: Duration = Duration::from_secs(2);
/// The file in a system that stays.
const OWN_FILE: &str = "/var/lib/.hcp-agent-disk-speed";

/// Why a disk was not measured.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum DiskError {
    /// Nothing may be written to it.
    #[error(transparent)]
    Disk(#[from] DiskProblem),
    /// It does not take what is written.
    #[error("it cannot be read and written")]
    Write(#[from] io::Error),
}

/// Measures a disk by its id or path, or the one that this system is kept on.
pub(in super::super) fn disk(root: &Root, path: &str) -> Result<DiskReply, DiskError> {
    let taken = if path == KEPT_SYSTEM { own_file(root)? } else { empty_disk(root, path)? };
    let milliseconds = taken.as_micros().div_ceil(1000);
    Ok(DiskReply { io_sync_duration: i64::try_from(milliseconds).unwrap_or(i64::MAX), path: path.to_owned() })
}

fn empty_disk(root: &Root, path: &str) -> Result<Duration, DiskError> {
    let inventory = hardware::inventory(root).to_status();
    let found = inventory.disks.iter().find(|disk| is_named(disk, path));
    let found = found.ok_or_else(|| DiskProblem::Unknown(path.to_owned()))?;
    let reasons = ineligibility(found, 0, false);
    if !reasons.is_empty() {
        return Err(DiskProblem::Ineligible { disk: path.to_owned(), reasons }.into());
    }
    let device = root.at(found.path.as_deref().unwrap_or(path));
    let file = OpenOptions::new().read(true).write(true).open(device)?;
    Ok(slowest(&file, FIRST)?)
}

fn own_file(root: &Root) -> io::Result<Duration> {
    let path = root.at(OWN_FILE);
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
    let measured = file.write_all_at(&vec![0; BLOCK * MOST_WRITES], 0).and_then(|()| slowest(&file, 0));
    std::fs::remove_file(&path)?;
    measured
}

/// The time that one of a hundred writes takes longer than.
fn slowest(file: &File, first: u64) -> io::Result<Duration> {
    let mut times = Vec::with_capacity(MOST_WRITES);
    let (begun, mut block) = (Instant::now(), [0; BLOCK]);
    let mut offset = first;
    while times.len() < MOST_WRITES && begun.elapsed() < MOST_TIME {
        file.read_exact_at(&mut block, offset)?;
        let started = Instant::now();
        file.write_all_at(&block, offset)?;
        file.sync_data()?;
        times.push(started.elapsed());
        offset += BLOCK as u64;
    }
    times.sort_unstable();
    let place = (times.len() * 99).div_ceil(100).saturating_sub(1);
    Ok(times.get(place).copied().unwrap_or(MOST_TIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(disk: &[u8]) -> (tempfile::TempDir, Root) {
        let directory = tempfile::tempdir().unwrap();
        for (path, bytes) in [("dev/sda", disk), ("sys/block/sda/size", b"250000000"), ("var/lib/kept", b"")] {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let root = Root::new(directory.path());
        (directory, root)
    }

    #[test]
    fn what_is_on_a_disk_stays_as_it_is() {
        let mut content = vec![0; 4 << 20];
        content[2 << 20..].fill(7);
        content[(1 << 20) + 5] = 9;
        let (_directory, root) = host(&content);
        let measured = disk(&root, "/dev/sda").unwrap();
        assert!(measured.io_sync_duration >= 1 && measured.path == "/dev/sda");
        assert!(std::fs::read(root.at("/dev/sda")).unwrap() == content);
    }

    #[test]
    fn a_disk_with_data_is_not_touched() {
        let mut content = vec![0; 4 << 20];
        content[510] = 0x55;
        let (_directory, root) = host(&content);
        let error = disk(&root, "/dev/sda").unwrap_err();
        assert!(matches!(error, DiskError::Disk(DiskProblem::Ineligible { .. })), "{error}");
        assert!(matches!(disk(&root, "/dev/sdb"), Err(DiskError::Disk(DiskProblem::Unknown(_)))));
    }

    #[test]
    fn a_system_that_stays_is_measured_in_a_file_that_goes() {
        let (_directory, root) = host(&[]);
        assert!(disk(&root, KEPT_SYSTEM).is_ok());
        assert!(!root.exists(OWN_FILE) && root.exists("/var/lib/kept"));
    }
}
