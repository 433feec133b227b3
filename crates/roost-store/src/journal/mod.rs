//! Owns the contract between the writer and what makes its batches durable.

#[cfg(feature = "etcd")]
pub mod etcd;
pub mod file;
pub(crate) mod frame;
mod open;
mod replay;
mod snapshot;

use std::sync::Arc;

use crate::{Event, Revision, StorageError};

pub use open::OpenError;
pub(crate) use replay::unix_milliseconds;
pub use replay::{Record, Replay, ReplayError};
pub(crate) use snapshot::Part;
pub use snapshot::{CollectionSnapshot, Snapshot};

/// The changes that become durable together.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    /// In the order of their revisions, which continue those of the batch before without a gap.
    pub events: &'a [Arc<Event>],
    /// When the writer took them, in milliseconds since 1970, so that history keeps its age over a restart.
    pub time: u64,
    /// The newest revision that is known to be durable. The batches between it and this one are on their way.
    pub durable: Revision,
}

/// What a finished compaction calls, once, on any thread.
pub type Completion = Box<dyn FnOnce(Result<(), StorageError>) + Send>;

/// Makes a batch durable, on any thread and beside others.
pub type SyncWork = Box<dyn FnOnce() -> Result<(), StorageError> + Send>;

/// Something that keeps batches. Calls never overlap and may block.
pub trait Journal: Send + 'static {
    /// Hands over everything that was ever appended and not compacted away. Called once, before anything else.
    fn load(&mut self, replay: &mut Replay<'_>) -> Result<(), OpenError>;

    /// Takes a batch. It is durable when what is returned has succeeded, or at once if that is nothing. After an error the
    /// batch must not be found by a later `load` together with later batches: the next call carries the same revisions
    /// again, with other changes.
    fn append(&mut self, batch: Batch<'_>) -> Result<Option<SyncWork>, StorageError>;

    /// Whether a caller's own thread may append and sync, which must not wait for another part of its runtime.
    fn can_borrow_threads(&self) -> bool {
        false
    }

    /// Whether the next batch can only be taken when all those before it are durable.
    fn must_settle(&self) -> bool {
        false
    }

    /// A batch that begins with this revision could not be made durable. It and what was appended after it must not be found
    /// by a later `load` together with later batches. Nothing is on its way any more.
    fn take_back(&mut self, _first: Revision) {}

    /// A batch is not made larger than this, unless it is a single commit. It bounds how long one sync takes.
    fn batch_bytes(&self) -> usize {
        8 << 20
    }

    /// Whether a compaction at this mark would free enough to be worth the work of writing a snapshot.
    fn worth_compacting(&self, mark: Revision) -> bool;

    /// Replaces what was appended up to the snapshot's revision by the snapshot. It returns soon, the work goes on aside,
    /// and later batches can be appended meanwhile. Only one compaction runs at a time. Nothing is on its way.
    fn compact(&mut self, snapshot: Snapshot, done: Completion);

    /// How many bytes are stored.
    fn stored_bytes(&self) -> u64;

    /// Ends orderly. A journal that is dropped without it loses nothing that was appended.
    fn close(&mut self);
}
