//! Owns the durable log in a directory: segments that are appended to and synced, and snapshots that replace them.

mod directory;
mod disk;
#[cfg(test)]
mod flights;
mod header;
mod load;
mod lock;
mod reader;
mod segment;
mod snapshot;
mod spare;
#[cfg(test)]
mod tests;

use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;

use self::directory::sync_directory;
use self::disk::{Disk, RealDisk};
use self::lock::DirectoryLock;
use self::segment::{AppendError, Segment};
use self::spare::{Preparation, Spare};
use super::frame::{FRAME_MAX_BYTES, FrameBuilder, FrameKind};
use super::{Batch, Completion, Journal, OpenError, Replay, Snapshot, SyncWork};
use crate::{Revision, StorageError};

/// A buffer that a huge batch has grown is given back above this.
const BUFFER_KEPT_BYTES: usize = 4 << 20;

/// Random, so that files of two stores are told apart.
type StoreIdentity = [u8; 16];

/// When the files of a store are split and replaced.
#[derive(Clone, Copy, Debug)]
pub struct FileOptions {
    /// A segment that is larger than this is followed by a new one. Space is freed by whole segments, so small ones free it
    /// sooner; each costs a few syncs.
    pub segment_bytes: u64,
    /// A snapshot is written when segments of this size together are no longer needed for history, and at least as much as
    /// the last snapshot's size: then no byte is copied more than about once for every byte that is written.
    pub compact_bytes: u64,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self { segment_bytes: 32 << 20, compact_bytes: 64 << 20 }
    }
}

/// A segment that takes no more frames.
struct ClosedSegment {
    path: PathBuf,
    /// The first revision of the segment after it.
    next: Revision,
    bytes: u64,
}

/// What the directory holds besides the current segment. Compactions run aside and change it.
#[derive(Default)]
struct Inventory {
    closed: Vec<ClosedSegment>,
    snapshot: Option<(PathBuf, u64)>,
}

impl Inventory {
    /// Segments that end at or before a mark.
    fn covered(&self, mark: Revision) -> usize {
        self.closed.partition_point(|segment| segment.next <= mark + 1)
    }
}

/// A journal in a directory.
pub struct FileJournal {
    directory: PathBuf,
    disk: Arc<dyn Disk>,
    options: FileOptions,
    _lock: DirectoryLock,
    store: StoreIdentity,
    current: Option<Segment>,
    inventory: Arc<Mutex<Inventory>>,
    buffer: Vec<u8>,
    spare: Option<Preparation>,
    /// The seal of the last segment, on its way.
    sealing: Option<JoinHandle<()>>,
    compaction: Option<JoinHandle<()>>,
    cancelled: Arc<AtomicBool>,
}

impl FileJournal {
    /// Takes the directory, which is made if it does not exist, for this process alone.
    pub fn open(directory: &Path, options: FileOptions) -> Result<Self, OpenError> {
        Self::open_on(Arc::new(RealDisk), directory, options)
    }

    fn open_on(disk: Arc<dyn Disk>, directory: &Path, options: FileOptions) -> Result<Self, OpenError> {
        directory::make(directory).map_err(OpenError::io("make the directory", directory))?;
        Ok(Self {
            directory: directory.into(),
            disk,
            options,
            _lock: DirectoryLock::acquire(directory)?,
            store: StoreIdentity::default(),
            current: None,
            inventory: Arc::default(),
            buffer: Vec::new(),
            spare: None,
            sealing: None,
            compaction: None,
            cancelled: Arc::default(),
        })
    }

    /// The segment that the next batch, which begins with `first`, goes to.
    fn segment_for(&mut self, first: Revision) -> io::Result<&mut Segment> {
        if self.must_settle() {
            self.rotate(first)?;
        }
        self.current.as_mut().ok_or_else(|| io::Error::other("the log has no segment"))
    }

    /// Begins a new segment, then ends the old one: a sealed segment always has a successor.
    fn rotate(&mut self, first: Revision) -> io::Result<()> {
        let new = match self.take_spare().map(|spare| Segment::adopt(spare, &self.directory, self.store, first)) {
            Some(Ok(adopted)) => adopted,
            refused => {
                if let Some(Err(error)) = refused {
                    tracing::warn!(%error, "cannot use a segment that was prepared");
                }
                Segment::create(&*self.disk, &self.directory, self.store, first)?
            }
        };
        let is_prepared = new.is_prepared;
        let Some(old) = self.current.replace(new) else { return Ok(()) };
        if old.first == first {
            // It had no good frame, and the new one has taken its name.
            return Ok(());
        }
        self.inventory.lock().closed.push(ClosedSegment { path: old.path.clone(), next: first, bytes: old.length });
        if old.abandoned {
            return Ok(());
        }
        if is_prepared {
            // The log is busy, and a segment without its seal is read as well.
            self.finish_sealing();
            self.sealing = std::thread::Builder::new().name("store-seal".into()).spawn(move || seal(old)).ok();
        } else {
            seal(old);
        }
        Ok(())
    }

    fn finish_sealing(&mut self) {
        if let Some(thread) = self.sealing.take()
            && thread.join().is_err()
        {
            tracing::error!("the sealing of a segment panicked");
        }
    }

    /// The segment that was prepared, if it is there.
    fn take_spare(&mut self) -> Option<Spare> {
        let spare = self.spare.take_if(|spare| spare.is_finished())?;
        spare.finish().inspect_err(|error| tracing::warn!(%error, "cannot prepare a segment of the log")).ok()
    }

    /// Has the next segment prepared when the log is so busy that it will soon be needed.
    fn prepare_if_worth(&mut self) {
        let Some(segment) = self.current.as_ref().filter(|_| self.spare.is_none()) else { return };
        let half = segment.is_prepared && segment.length >= self.options.segment_bytes / 2;
        if half || (!segment.is_prepared && segment.is_busy) {
            let (disk, cancelled) = (Arc::clone(&self.disk), Arc::clone(&self.cancelled));
            let started = Preparation::start(disk, &self.directory, self.options.segment_bytes, cancelled);
            self.spare =
                started.inspect_err(|error| tracing::warn!(%error, "cannot prepare a segment of the log")).ok();
        }
    }

    fn encode(&mut self, batch: Batch<'_>, salt: u32) -> Result<Vec<u8>, StorageError> {
        let mut frame = FrameBuilder::new(std::mem::take(&mut self.buffer));
        for event in batch.events {
            frame.change(event);
        }
        let first = batch.events.first().map_or(0, |event| event.revision);
        if frame.payload_bytes() > FRAME_MAX_BYTES {
            return Err(StorageError::new(format!(
                "a batch of {} bytes is larger than the {FRAME_MAX_BYTES} bytes that the log takes at once",
                frame.payload_bytes()
            )));
        }
        let unsettled = first - 1 - batch.durable;
        Ok(frame.finish_unsettled(FrameKind::Batch, first, batch.time, salt, unsettled))
    }

    fn finish_compaction(&mut self) {
        if let Some(thread) = self.compaction.take()
            && thread.join().is_err()
        {
            tracing::error!("the compaction of the store panicked");
        }
    }
}

impl Journal for FileJournal {
    fn load(&mut self, replay: &mut Replay<'_>) -> Result<(), OpenError> {
        if let Some(loaded) = load::load(&*self.disk, &self.directory, replay)? {
            self.store = loaded.store;
            self.current = Some(loaded.current);
            *self.inventory.lock() = Inventory { closed: loaded.closed, snapshot: loaded.snapshot };
        } else {
            self.store = random_identity();
            let first = Segment::create(&*self.disk, &self.directory, self.store, replay.revision() + 1);
            self.current = Some(first.map_err(OpenError::io("make the first segment in", &self.directory))?);
        }
        Ok(())
    }

    fn append(&mut self, batch: Batch<'_>) -> Result<Option<SyncWork>, StorageError> {
        let (Some(first), Some(last)) = (batch.events.first(), batch.events.last()) else { return Ok(None) };
        let directory = self.directory.clone();
        let segment = self.segment_for(first.revision).map_err(|error| {
            StorageError::new(format!(
                "cannot begin a new segment of the log in {}: {error}; free space or check the disk, writing is tried again \
                 with every commit",
                directory.display()
            ))
        })?;
        let salt = segment.salt;
        let frame = self.encode(batch, salt)?;
        let segment = self.current.as_mut().ok_or_else(|| StorageError::new("the log has no segment"))?;
        let revisions = (first.revision, last.revision);
        let appended = segment.append(&*self.disk, &frame, revisions, batch.durable).map_err(|error| match error {
            AppendError::Refused(error) => StorageError::new(format!(
                "cannot write to {}: {error}; free space or check the disk, writing is tried again with every commit",
                segment.path.display()
            )),
            AppendError::Abandoned(error) => StorageError::new(format!(
                "{} could not be written: {error}; check the disk, the next commit is tried in a new file",
                segment.path.display()
            )),
        });
        let (path, openings) = (segment.path.clone(), segment.openings());
        let unnamed = (appended.is_ok() && std::mem::take(&mut segment.is_new)).then(|| self.directory.clone());
        if frame.capacity() <= BUFFER_KEPT_BYTES {
            self.buffer = frame;
            self.buffer.clear();
        }
        let mut opening = appended?;
        self.prepare_if_worth();
        Ok(Some(Box::new(move || {
            let named = unnamed.map_or(Ok(()), |directory| sync_directory(&directory));
            named.and_then(|()| opening.sync()).map_err(|error| {
                StorageError::new(format!(
                    "{} could not be made durable: {error}; check the disk, the next commit is tried in a new file",
                    path.display()
                ))
            })?;
            openings.lock().push(opening);
            Ok(())
        })))
    }

    fn can_borrow_threads(&self) -> bool {
        true
    }

    /// A segment that was prepared is waited for, but not for ever; one that was not is left as soon as one is there.
    fn must_settle(&self) -> bool {
        let limit = self.options.segment_bytes;
        let full = |segment: &Segment| match &self.spare {
            _ if segment.abandoned => true,
            None => segment.length >= limit,
            Some(spare) if spare.is_finished() => segment.length >= limit || !segment.is_prepared,
            Some(_) => segment.length >= limit * 2,
        };
        self.current.as_ref().is_none_or(full)
    }

    fn take_back(&mut self, first: Revision) {
        if let Some(segment) = &mut self.current {
            segment.abandon(first);
        }
    }

    fn worth_compacting(&self, mark: Revision) -> bool {
        let inventory = self.inventory.lock();
        let covered: u64 = inventory.closed[..inventory.covered(mark)].iter().map(|segment| segment.bytes).sum();
        let snapshot = inventory.snapshot.as_ref().map_or(0, |(_, bytes)| *bytes);
        covered >= self.options.compact_bytes.max(snapshot)
    }

    fn compact(&mut self, snapshot: Snapshot, done: Completion) {
        self.finish_compaction();
        let mark = snapshot.revision();
        // So that nothing before the mark stays when it is the newest revision.
        if self.current.as_ref().is_some_and(|segment| !segment.is_empty() && segment.last <= mark)
            && let Err(error) = self.rotate(mark + 1)
        {
            return done(Err(StorageError::new(format!("cannot begin a new segment of the log: {error}"))));
        }
        let (directory, store) = (self.directory.clone(), self.store);
        let (inventory, cancelled) = (Arc::clone(&self.inventory), Arc::clone(&self.cancelled));
        let work = move || {
            let written = snapshot::write(&directory, store, snapshot, &cancelled);
            let result = written.and_then(|written| replace_by_snapshot(&directory, &inventory, mark, written));
            done(result.map_err(|error| {
                StorageError::new(format!("cannot write a snapshot in {}: {error}", directory.display()))
            }));
        };
        match std::thread::Builder::new().name("store-snapshot".into()).spawn(work) {
            Ok(thread) => self.compaction = Some(thread),
            // The completion went away with the work, which the writer takes for a failure.
            Err(error) => tracing::warn!(%error, "cannot start the compaction of the store"),
        }
    }

    fn stored_bytes(&self) -> u64 {
        let inventory = self.inventory.lock();
        let closed: u64 = inventory.closed.iter().map(|segment| segment.bytes).sum();
        let snapshot = inventory.snapshot.as_ref().map_or(0, |(_, bytes)| *bytes);
        closed + snapshot + self.current.as_ref().map_or(0, |segment| segment.length)
    }

    fn close(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        self.finish_compaction();
        self.finish_sealing();
        if let Some(Ok(spare)) = self.spare.take().map(Preparation::finish) {
            // The next opening removes what is left of it.
            let _ = fs::remove_file(spare.path);
        }
        if let Some(segment) = self.current.as_mut().filter(|segment| !segment.abandoned)
            && let Err(error) = segment.end(FrameKind::Closed)
        {
            tracing::warn!(file = %segment.path.display(), %error, "cannot note in the log that the store was closed");
        }
        self.current = None;
    }
}

fn seal(mut segment: Segment) {
    if let Err(error) = segment.end(FrameKind::Sealed) {
        tracing::warn!(file = %segment.path.display(), %error, "cannot seal a segment of the log");
    }
}

/// Deletes what a durable snapshot has replaced. Files that cannot be deleted are left for the next start.
fn replace_by_snapshot(
    directory: &Path,
    inventory: &Mutex<Inventory>,
    mark: Revision,
    (path, bytes): (PathBuf, u64),
) -> io::Result<()> {
    let mut removed: Vec<PathBuf> = Vec::new();
    {
        let mut inventory = inventory.lock();
        let covered = inventory.covered(mark);
        removed.extend(inventory.closed.drain(..covered).map(|segment| segment.path));
        let older = inventory.snapshot.take().map(|(path, _)| path);
        // A second compaction at the same mark has replaced its own file.
        removed.extend(older.filter(|older| *older != path));
        inventory.snapshot = Some((path, bytes));
    }
    for path in removed {
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!(file = %path.display(), %error, "cannot remove a file that is no longer needed");
        }
    }
    sync_directory(directory)
}

fn random_identity() -> StoreIdentity {
    let mut identity = StoreIdentity::default();
    identity[..8].copy_from_slice(&random_number().to_le_bytes());
    identity[8..].copy_from_slice(&random_number().to_le_bytes());
    identity
}

/// Good enough to tell files apart and to be unknown to those who store bytes: the standard library seeds its hash maps
/// with it for the same reason.
fn random_number() -> u64 {
    RandomState::new().build_hasher().finish()
}
