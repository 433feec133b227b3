//! Owns the state at one revision as something to write out, while the store goes on.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::index::Slice;
use crate::list::roll_back;
use crate::{Collection, Entry, Event, Revision};

/// The newest state of a collection, and what to take back to come to an older one.
pub(crate) struct Part {
    pub(crate) collection: Collection,
    pub(crate) modified: Revision,
    pub(crate) newest: Slice,
    pub(crate) newer: Vec<Arc<Event>>,
}

/// Everything as it was at one revision.
pub struct Snapshot {
    revision: Revision,
    parts: Vec<Part>,
}

/// One collection as it was at the snapshot's revision.
pub struct CollectionSnapshot {
    /// The collection.
    pub collection: Collection,
    /// The last revision up to the snapshot's that touched it.
    pub modified: Revision,
    /// Its objects, sorted by name, possibly none.
    pub entries: Vec<Entry>,
}

impl Snapshot {
    pub(crate) fn new(revision: Revision, mut parts: Vec<Part>) -> Self {
        parts.sort_unstable_by(|one, other| one.collection.cmp(&other.collection));
        Self { revision, parts }
    }

    /// The revision that everything is from.
    pub fn revision(&self) -> Revision {
        self.revision
    }
}

impl Iterator for Snapshot {
    type Item = CollectionSnapshot;

    fn next(&mut self) -> Option<CollectionSnapshot> {
        let Part { collection, modified, newest, newer } = self.parts.pop()?;
        let mut older = BTreeMap::new();
        for event in &newer {
            older.entry(Arc::clone(&event.name)).or_insert_with(|| event.before());
        }
        let (entries, _) = roll_back(&newest, newest.iter().count(), &older, usize::MAX);
        Some(CollectionSnapshot { collection, modified, entries })
    }
}
