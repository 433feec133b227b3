//! Owns what a reader gets: entries of the newest or an older state, and the events between states.

use std::sync::Arc;

use bytes::Bytes;

use crate::Collection;

/// A position in the log. Dense: every change has its own, and none is skipped. Zero never is a real revision.
pub type Revision = u64;

/// An event, its counts of references, and its places in the log and in its collection's part of it.
const EVENT_COST: usize = size_of::<Event>() + 4 * size_of::<usize>();

/// One object as it stands at a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// `namespace/name`, or `name` for objects outside of namespaces.
    pub name: Arc<str>,
    /// The stored bytes.
    pub value: Bytes,
    /// The revision that created the object.
    pub created: Revision,
    /// The revision that last changed the object.
    pub modified: Revision,
}

/// One change of one object.
#[derive(Debug)]
pub struct Event {
    /// The revision of this change.
    pub revision: Revision,
    /// Where the object lives.
    pub collection: Collection,
    /// `namespace/name`, or `name` for objects outside of namespaces.
    pub name: Arc<str>,
    /// The new bytes; none when the object was deleted.
    pub value: Option<Bytes>,
    /// The bytes before this change; none when the object was created.
    pub previous: Option<Bytes>,
    /// The revision of the bytes before this change, or zero when there were none.
    pub previous_revision: Revision,
    /// The revision that created the object, also in the event that deletes it.
    pub created: Revision,
}

impl Event {
    /// Whether this is the one event that says a whole tenant is gone. Only cursors over every collection see it; cursors
    /// on a collection of that tenant are told [`Compacted`]. The name is empty and the collection carries the tenant only.
    pub fn drops_tenant(&self) -> bool {
        self.collection.resource().is_empty()
    }

    /// The event that says a tenant is gone.
    pub(crate) fn tenant_dropped(revision: Revision, tenant: &str) -> Self {
        Self {
            revision,
            collection: Collection::of_tenant(tenant),
            name: "".into(),
            value: None,
            previous: None,
            previous_revision: 0,
            created: 0,
        }
    }

    /// The object before this change.
    pub(crate) fn before(&self) -> Option<Entry> {
        self.previous.as_ref().map(|value| Entry {
            name: Arc::clone(&self.name),
            value: value.clone(),
            created: self.created,
            modified: self.previous_revision,
        })
    }

    /// The object after this change.
    pub(crate) fn after(&self) -> Option<Entry> {
        self.value.as_ref().map(|value| Entry {
            name: Arc::clone(&self.name),
            value: value.clone(),
            created: self.created,
            modified: self.revision,
        })
    }

    /// What keeping this event costs in memory: itself, and the bytes that nothing else needs any more. The new bytes are
    /// the object's, or those before the next change.
    pub(crate) fn cost(&self) -> u64 {
        (EVENT_COST + self.previous.as_ref().map_or(0, Bytes::len)) as u64
    }
}

/// The history that was asked for is gone: list again and go on from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("history is kept only from revision {oldest} on")]
pub struct Compacted {
    /// The oldest revision that can still be read and watched from.
    pub oldest: Revision,
}
