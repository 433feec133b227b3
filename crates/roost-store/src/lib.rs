//! The revisioned log that every object lives in: one order of writing, dense revisions, an index of the newest state, and
//! cursors on retained history. It knows bytes and names; it does not know Kubernetes.

mod collection;
mod commit;
mod cursor;
mod desk;
mod engine;
mod event;
mod index;
pub mod journal;
mod list;
mod options;
mod plan;
mod state;
mod store;
mod wakeups;
mod watch;
mod writer;

pub use collection::Collection;
pub use commit::{CommitError, Expect, Operation, StorageError, Write};
pub use cursor::Cursor;
pub use event::{Compacted, Entry, Event, Revision};
pub use journal::OpenError;
pub use list::{ListError, ListQuery, Page};
pub use options::Options;
pub use state::{CollectionState, Size};
pub use store::Store;
