//! Owns what a caller asks the writer to do, and how the writer refuses.

use std::sync::Arc;

use bytes::Bytes;

use crate::{Collection, Entry, Revision};

/// What must hold for a write to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The object does not exist.
    Absent,
    /// The object was last changed at exactly this revision.
    Revision(Revision),
    /// Anything goes, except that an object must exist to be deleted.
    Anything,
}

/// What to do with an object.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Create or replace it.
    Put(Bytes),
    /// Delete it. Deleting what does not exist is a conflict whose `current` is none.
    Delete,
}

/// One change of one object, on a condition.
#[derive(Clone, Debug)]
pub struct Write {
    /// Where the object lives.
    pub collection: Collection,
    /// `namespace/name`, or `name` for objects outside of namespaces.
    pub name: Arc<str>,
    /// The condition.
    pub expect: Expect,
    /// The change.
    pub operation: Operation,
}

/// The longest name or collection that a journal's record can carry. Names of objects are below 512 bytes.
const NAME_MAX_BYTES: usize = u16::MAX as usize;

/// The largest commit. A journal's frame takes one commit whole, and a frame must fit in memory when it is read.
const COMMIT_MAX_BYTES: usize = 128 << 20;

impl Write {
    /// What the write takes in a journal, with room for what a journal adds.
    pub(crate) fn size(&self) -> usize {
        let value = match &self.operation {
            Operation::Put(value) => value.len(),
            Operation::Delete => 0,
        };
        value + self.name.len() + self.collection.as_str().len() + 32
    }

    /// Refuses what no journal could keep.
    pub(crate) fn check(writes: &[Self]) -> Result<(), StorageError> {
        let mut bytes = 0;
        let tenant = writes.first().map(|write| write.collection.tenant());
        for write in writes {
            if write.name.len().max(write.collection.as_str().len()) > NAME_MAX_BYTES {
                return Err(StorageError::new(format!("a name is longer than {NAME_MAX_BYTES} bytes")));
            }
            if Some(write.collection.tenant()) != tenant {
                return Err(StorageError::new("a commit is of one tenant"));
            }
            bytes += write.size();
        }
        if bytes > COMMIT_MAX_BYTES {
            return Err(StorageError::new(format!(
                "a commit of {bytes} bytes is larger than {COMMIT_MAX_BYTES} bytes"
            )));
        }
        Ok(())
    }
}

/// Why a commit did not happen.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// A condition did not hold; nothing of the commit was applied. Read the current object, decide again, retry.
    #[error("write {index} of the commit expected another state of the object")]
    Conflict {
        /// Which write of the commit.
        index: usize,
        /// The object as it stands, if it exists.
        current: Option<Entry>,
    },
    /// The journal could not make the commit durable; nothing of it was applied, and later commits are tried again. If the
    /// process ends before one succeeds, this one may still turn up, as a whole: nobody knows what a failing disk holds.
    #[error("the store could not be written")]
    Storage(#[source] StorageError),
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

/// The journal's own words about why it could not write.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct StorageError {
    message: Arc<str>,
}

impl StorageError {
    /// Carries the words: what failed, on which file, and what to do.
    pub fn new(message: impl AsRef<str>) -> Self {
        Self { message: message.as_ref().into() }
    }
}
