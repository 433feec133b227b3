//! Owns the segment that is being written: appending, syncing several frames at a time, reserving space, and what to do when
//! the disk refuses.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::directory::{finish, segment_path, unfinished_path};
use super::disk::{Disk, DiskFile};
use super::header::{FILE_HEADER_BYTES, FORMAT_VERSION, FileHeader, LOG_MAGIC};
use super::spare::Spare;
use super::{StoreIdentity, random_number};
use crate::Revision;
use crate::journal::frame::{FrameBuilder, FrameKind};
use crate::journal::unix_milliseconds;

/// Small frames go into space that was filled with zeros before, so much at a time: a sync of blocks that were written
/// already need not write the file system's metadata too, which takes about a third off the time of a commit.
const ZERO_BYTES: u64 = 1 << 20;

/// Larger frames would have to be written twice for that; for them space is only reserved, which is nearly as good.
const ZERO_FRAME_MAX_BYTES: u64 = 64 << 10;

/// So much is reserved at a time.
const RESERVE_BYTES: u64 = 4 << 20;

/// A log that fills its space sooner than this grows often enough to have it prepared.
const BUSY: Duration = Duration::from_secs(5);

/// Why a segment took no frame.
#[derive(Debug)]
pub(super) enum AppendError {
    /// The segment is as it was before; the next append may succeed.
    Refused(io::Error),
    /// Half a frame lies behind the last one. The segment takes no more.
    Abandoned(io::Error),
}

/// Where a frame begins that is not yet known to be durable.
struct Unsettled {
    first: Revision,
    offset: u64,
}

/// The last segment of the log.
pub(super) struct Segment {
    file: Box<dyn DiskFile>,
    /// The same file, opened anew for every sync that runs beside others: the kernel tells each opening of a file once
    /// that writing failed, so two syncs of one opening could hide it from each other.
    openings: Arc<Mutex<Vec<Box<dyn DiskFile>>>>,
    unsettled: VecDeque<Unsettled>,
    pub(super) path: PathBuf,
    pub(super) first: Revision,
    /// The newest revision in it, or the one before its first while it is empty.
    pub(super) last: Revision,
    /// Where the next frame goes.
    pub(super) length: u64,
    reserved: u64,
    reserving: bool,
    /// When space was last reserved, and whether that was soon after the time before.
    reserved_at: Option<Instant>,
    pub(super) is_busy: bool,
    /// All its space was written before its first frame came.
    pub(super) is_prepared: bool,
    /// Its name is not yet known to be durable; whoever makes a frame of it durable must see to that first.
    pub(super) is_new: bool,
    pub(super) salt: u32,
    pub(super) abandoned: bool,
}

/// The header of a new segment.
fn new_header(store: StoreIdentity, first: Revision) -> FileHeader {
    FileHeader { magic: LOG_MAGIC, version: FORMAT_VERSION, store, revision: first, salt: random_number() as u32 }
}

impl Segment {
    /// A file that has a header and nothing else, with its space not reserved yet.
    fn empty(file: Box<dyn DiskFile>, path: PathBuf, header: FileHeader) -> Self {
        Self {
            file,
            openings: Arc::default(),
            unsettled: VecDeque::new(),
            path,
            first: header.revision,
            last: header.revision - 1,
            length: FILE_HEADER_BYTES as u64,
            reserved: FILE_HEADER_BYTES as u64,
            reserving: true,
            reserved_at: None,
            is_busy: false,
            is_prepared: false,
            is_new: false,
            salt: header.salt,
            abandoned: false,
        }
    }

    /// Makes an empty segment, durable before it has its name. It replaces an abandoned one that has no good frame.
    pub(super) fn create(disk: &dyn Disk, directory: &Path, store: StoreIdentity, first: Revision) -> io::Result<Self> {
        let header = new_header(store, first);
        let path = segment_path(directory, first);
        let unfinished = unfinished_path(&path);
        let mut file = disk.create(&unfinished)?;
        file.write_all_at(&header.encode(), 0)?;
        file.sync()?;
        finish(&unfinished, &path)?;
        Ok(Self::empty(file, path, header))
    }

    /// Makes a segment of a spare one. Its name is durable when the directory was synced.
    pub(super) fn adopt(spare: Spare, directory: &Path, store: StoreIdentity, first: Revision) -> io::Result<Self> {
        let Spare { mut file, path: unfinished, bytes } = spare;
        let header = new_header(store, first);
        file.write_all_at(&header.encode(), 0)?;
        // A file with a segment's name always has its header.
        file.sync()?;
        let path = segment_path(directory, first);
        std::fs::rename(&unfinished, &path)?;
        Ok(Self { reserved: bytes, is_prepared: true, is_new: true, ..Self::empty(file, path, header) })
    }

    /// Goes on with a segment that was loaded. What is behind `length` goes, and what is before it is made durable: its
    /// writer may have ended before it was told so.
    pub(super) fn resume(
        disk: &dyn Disk,
        path: &Path,
        header: FileHeader,
        last: Revision,
        length: u64,
    ) -> io::Result<Self> {
        let mut file = disk.open(path)?;
        file.set_length(length)?;
        file.sync()?;
        Ok(Self { last, length, reserved: length, ..Self::empty(file, path.into(), header) })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.last < self.first
    }

    /// Writes a frame; it is durable when the opening that is returned was synced. It goes back to [`Self::openings`] then.
    pub(super) fn append(
        &mut self,
        disk: &dyn Disk,
        frame: &[u8],
        (first, last): (Revision, Revision),
        durable: Revision,
    ) -> Result<Box<dyn DiskFile>, AppendError> {
        while self.unsettled.front().is_some_and(|frame| frame.first <= durable) {
            self.unsettled.pop_front();
        }
        let idle = self.openings.lock().pop();
        let opening = idle.map_or_else(|| disk.open(&self.path), Ok).map_err(AppendError::Refused)?;
        self.reserve(frame.len() as u64);
        if let Err(error) = self.file.write_all_at(frame, self.length) {
            // Half a frame at the end would be taken for a torn one later, but taking it away is cleaner.
            if self.file.set_length(self.length).is_err() {
                self.abandoned = true;
                return Err(AppendError::Abandoned(error));
            }
            self.reserved = self.length;
            self.openings.lock().push(opening);
            return Err(AppendError::Refused(error));
        }
        self.unsettled.push_back(Unsettled { first, offset: self.length });
        self.length += frame.len() as u64;
        self.last = last;
        Ok(opening)
    }

    /// Where openings go back to after a sync that succeeded.
    pub(super) fn openings(&self) -> Arc<Mutex<Vec<Box<dyn DiskFile>>>> {
        Arc::clone(&self.openings)
    }

    /// Nobody knows what the disk holds from this revision on, and trying to sync again would not tell: the kernel may have
    /// dropped the pages that it could not write. The segment takes no more frames.
    pub(super) fn abandon(&mut self, first: Revision) {
        self.abandoned = true;
        if let Some(frame) = self.unsettled.iter().find(|frame| frame.first == first) {
            self.length = frame.offset;
            self.last = first - 1;
            // These frames are not acknowledged. If they cannot be taken away, the next segment's name supersedes them.
            let _ = self.file.set_length(self.length);
        }
    }

    /// Ends the segment with a frame that says why, and gives the reserved space back.
    pub(super) fn end(&mut self, kind: FrameKind) -> io::Result<()> {
        let frame = FrameBuilder::new(Vec::new()).finish(kind, self.last + 1, unix_milliseconds(), self.salt);
        self.file.set_length(self.length)?;
        self.file.write_all_at(&frame, self.length)?;
        self.file.sync()?;
        self.length += frame.len() as u64;
        self.reserved = self.length;
        Ok(())
    }

    /// Makes sure that space is there for a frame. Failing is fine: the write itself will say whether there is space.
    fn reserve(&mut self, frame: u64) {
        let end = self.length + frame;
        if !self.reserving || end <= self.reserved {
            return;
        }
        self.is_busy = self.reserved_at.is_some_and(|before| before.elapsed() < BUSY);
        self.reserved_at = Some(Instant::now());
        // Where a reservation failed, frames have been written behind the reserved space since; those must stay.
        let start = self.reserved.max(self.length);
        let (target, result) = if frame <= ZERO_FRAME_MAX_BYTES {
            let target = (end / ZERO_BYTES + 1) * ZERO_BYTES;
            (target, self.file.write_all_at(&vec![0; (target - start) as usize], start))
        } else {
            let target = (end / RESERVE_BYTES + 1) * RESERVE_BYTES;
            (target, self.file.reserve(start, target))
        };
        match result {
            Ok(()) => self.reserved = target,
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {}
            // The file system cannot do it; appending works without.
            Err(_) => self.reserving = false,
        }
    }
}
