//! Owns snapshot files: the whole state at one revision, complete or not there at all.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::directory::{FILE_MODE, finish, snapshot_path, unfinished_path};
use super::header::{FORMAT_VERSION, FileHeader, SNAPSHOT_MAGIC};
use super::reader::{Frame, FrameReader};
use super::{StoreIdentity, random_number};
use crate::journal::frame::{FrameBuilder, FrameKind, replay_objects};
use crate::journal::{OpenError, Replay, Snapshot, unix_milliseconds};

/// Objects are written in frames of about this size: large enough that checksums and calls cost little, small enough to be
/// read into one buffer.
const FRAME_BYTES: usize = 1 << 20;

/// Writes a snapshot and returns its path and size. It has its name only after all of it is durable.
pub(super) fn write(
    directory: &Path,
    store: StoreIdentity,
    snapshot: Snapshot,
    cancelled: &AtomicBool,
) -> io::Result<(PathBuf, u64)> {
    let path = snapshot_path(directory, snapshot.revision());
    let unfinished = unfinished_path(&path);
    let written = write_content(&unfinished, store, snapshot, cancelled).and_then(|bytes| {
        finish(&unfinished, &path)?;
        Ok(bytes)
    });
    match written {
        Ok(bytes) => Ok((path, bytes)),
        Err(error) => {
            let _ = fs::remove_file(&unfinished);
            Err(error)
        }
    }
}

fn write_content(path: &Path, store: StoreIdentity, snapshot: Snapshot, cancelled: &AtomicBool) -> io::Result<u64> {
    let revision = snapshot.revision();
    let salt = random_number() as u32;
    let header = FileHeader { magic: SNAPSHOT_MAGIC, version: FORMAT_VERSION, store, revision, salt };
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(path)?;
    let header = header.encode();
    file.write_all(&header)?;
    let mut written = header.len() as u64;
    let mut flush = |frame: FrameBuilder, kind| {
        if cancelled.load(Ordering::Relaxed) {
            return Err(io::Error::other("the store is being closed"));
        }
        let mut bytes = frame.finish(kind, revision, unix_milliseconds(), salt);
        file.write_all(&bytes)?;
        written += bytes.len() as u64;
        bytes.clear();
        Ok(FrameBuilder::new(bytes))
    };
    let mut frame = FrameBuilder::new(Vec::with_capacity(2 * FRAME_BYTES));
    for part in snapshot {
        frame.collection(part.collection.as_str(), part.modified);
        for entry in &part.entries {
            frame.object(&entry.name, entry.created, entry.modified, &entry.value);
            if frame.payload_bytes() >= FRAME_BYTES {
                frame = flush(frame, FrameKind::Objects)?;
            }
        }
    }
    frame = flush(frame, FrameKind::Objects)?;
    flush(frame, FrameKind::End)?;
    file.sync_all()?;
    Ok(written)
}

/// Reads a snapshot and returns its header and size.
pub(super) fn read(path: &Path, revision: u64, replay: &mut Replay<'_>) -> Result<(FileHeader, u64), OpenError> {
    let mut reader = FrameReader::open(path, SNAPSHOT_MAGIC, revision)?;
    let header = reader.header;
    replay.begin_snapshot(revision);
    let mut collection = None;
    loop {
        let Some(Frame { header: frame, payload, offset }) = reader.next()? else {
            let problem = "the snapshot is not complete, or a checksum does not fit";
            return Err(OpenError::damaged(path, reader.offset(), problem));
        };
        match frame.kind {
            FrameKind::Objects => replay_objects(payload, &mut collection, replay)
                .map_err(|problem| OpenError::damaged(path, offset, problem))?,
            FrameKind::End => return Ok((header, reader.offset())),
            kind => return Err(OpenError::damaged(path, offset, format!("a snapshot has no frame of kind {kind:?}"))),
        }
    }
}
