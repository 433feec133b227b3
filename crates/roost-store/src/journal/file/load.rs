//! Owns reading a store's directory: which files count, in what order, and what is wrong with them.

use std::fs;
use std::path::{Path, PathBuf};

use super::directory::{Listing, segment_path};
use super::disk::Disk;
use super::header::{FileHeader, LOG_MAGIC};
use super::reader::{Frame, FrameReader, Tail};
use super::segment::Segment;
use super::{ClosedSegment, StoreIdentity, snapshot};
use crate::Revision;
use crate::journal::frame::{self, FrameHeader, FrameKind};
use crate::journal::{OpenError, Replay};
use crate::state::FIRST_REVISION;

/// What a directory holds.
pub(super) struct Loaded {
    pub(super) store: StoreIdentity,
    pub(super) snapshot: Option<(PathBuf, u64)>,
    /// Every segment but the last, in order.
    pub(super) closed: Vec<ClosedSegment>,
    pub(super) current: Segment,
}

/// Reads everything into `replay`. None for a directory without a store.
pub(super) fn load(disk: &dyn Disk, directory: &Path, replay: &mut Replay<'_>) -> Result<Option<Loaded>, OpenError> {
    let listing = Listing::read(directory)?;
    let mut identity = None;
    let mut snapshot = None;
    if let Some((revision, path)) = listing.snapshots.last() {
        let (header, bytes) = snapshot::read(path, *revision, replay)?;
        identity = Some(header.store);
        snapshot = Some((path.clone(), bytes));
    }
    let Some(((last_first, last_path), earlier)) = listing.segments.split_last() else {
        if snapshot.is_some() {
            let missing = segment_path(directory, replay.revision() + 1);
            return Err(OpenError::damaged(missing, 0, "the log after the snapshot is missing"));
        }
        clean(&listing, FIRST_REVISION);
        return Ok(None);
    };
    let mark = replay.revision();
    let mut closed = Vec::new();
    for (position, (first, path)) in earlier.iter().enumerate() {
        let next = listing.segments[position + 1].0;
        // What the snapshot covers completely was about to be deleted when the process ended.
        if next <= mark + 1 {
            continue;
        }
        let bytes = load_closed(path, *first, next, &mut identity, replay)?;
        closed.push(ClosedSegment { path: path.clone(), next, bytes });
    }
    let current = load_last(disk, last_path, *last_first, &mut identity, replay)?;
    clean(&listing, mark);
    let store = identity.unwrap_or_default();
    Ok(Some(Loaded { store, snapshot, closed, current }))
}

/// Removes what an interrupted compaction or rotation left. Failing is fine: the next start tries again.
fn clean(listing: &Listing, mark: Revision) {
    let older_snapshots = listing.snapshots.iter().rev().skip(1).map(|(_, path)| path);
    let covered = listing.segments.windows(2).filter(|pair| pair[1].0 <= mark + 1).map(|pair| &pair[0].1);
    for path in listing.unfinished.iter().chain(older_snapshots).chain(covered) {
        if let Err(error) = fs::remove_file(path) {
            tracing::warn!(file = %path.display(), %error, "cannot remove a file that is no longer needed");
        }
    }
}

/// Opens a segment and checks that it continues what was read so far.
fn open_segment(
    path: &Path,
    first: Revision,
    identity: &mut Option<StoreIdentity>,
    replay: &Replay<'_>,
) -> Result<FrameReader, OpenError> {
    let reader = FrameReader::open(path, LOG_MAGIC, first)?;
    if *identity.get_or_insert(reader.header.store) != reader.header.store {
        return Err(OpenError::damaged(path, 12, "the file belongs to another store"));
    }
    let expected = replay.revision() + 1;
    if first > expected {
        let problem =
            format!("it begins with revision {first}, but revision {expected} was not found in any file before it");
        return Err(OpenError::damaged(path, 28, problem));
    }
    Ok(reader)
}

/// Reads a segment that another one follows: it must reach that one, and what is behind that point was superseded.
fn load_closed(
    path: &Path,
    first: Revision,
    next: Revision,
    identity: &mut Option<StoreIdentity>,
    replay: &mut Replay<'_>,
) -> Result<u64, OpenError> {
    let mut reader = open_segment(path, first, identity, replay)?;
    let mut expected = first;
    while expected < next {
        let offset = reader.offset();
        match reader.next()? {
            Some(Frame { header, payload, offset }) if header.kind == FrameKind::Batch => {
                expected = replay_batch(path, offset, &header, payload, expected, replay)?;
            }
            Some(Frame { header, .. }) if header.kind == FrameKind::Closed => {}
            _ => {
                let problem = format!("revisions {expected} to {} are missing here", next - 1);
                return Err(OpenError::damaged(path, offset, problem));
            }
        }
    }
    if expected > next {
        let problem = format!("its last batch reaches into the next file, which begins with revision {next}");
        return Err(OpenError::damaged(path, reader.offset(), problem));
    }
    Ok(reader.offset())
}

/// Reads the segment that the log ends in.
fn load_last(
    disk: &dyn Disk,
    path: &Path,
    first: Revision,
    identity: &mut Option<StoreIdentity>,
    replay: &mut Replay<'_>,
) -> Result<Segment, OpenError> {
    let mut reader = open_segment(path, first, identity, replay)?;
    let header: FileHeader = reader.header;
    let mut expected = first;
    while let Some(Frame { header, payload, offset }) = reader.next()? {
        match header.kind {
            FrameKind::Batch => expected = replay_batch(path, offset, &header, payload, expected, replay)?,
            FrameKind::Closed => {}
            FrameKind::Sealed => {
                let problem = format!("the log goes on in the file for revision {expected}, which is missing");
                return Err(OpenError::damaged(path, offset, problem));
            }
            kind => return Err(OpenError::damaged(path, offset, format!("the log has no frame of kind {kind:?}"))),
        }
    }
    let length = reader.offset();
    match reader.tail(expected)? {
        Tail::Clean => {}
        Tail::Torn => tracing::warn!(
            file = %path.display(),
            offset = length,
            revision = expected,
            "the last write was cut short before anybody was told that it is durable; it is dropped"
        ),
        Tail::Damaged { later_frame } => {
            let problem = format!("the checksum does not fit, and valid data follows at byte {later_frame}");
            return Err(OpenError::damaged(path, length, problem));
        }
    }
    if expected <= replay.revision() {
        let problem = format!("the log ends before revision {}, which the snapshot contains", replay.revision());
        return Err(OpenError::damaged(path, length, problem));
    }
    Segment::resume(disk, path, header, expected - 1, length).map_err(OpenError::io("write", path))
}

fn replay_batch(
    path: &Path,
    offset: u64,
    header: &FrameHeader,
    payload: &[u8],
    expected: Revision,
    replay: &mut Replay<'_>,
) -> Result<Revision, OpenError> {
    let replayed = frame::replay_batch(header, payload, expected, replay);
    replayed.map_err(|problem| OpenError::damaged(path, offset, problem))
}
