//! Owns what readers, cursors and the writer share, and the one way in which changes become visible.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Mutex, RwLock};

use crate::state::{Garbage, State};
use crate::wakeups::Wakeups;
use crate::{Event, Options, Revision, Size, StorageError};

/// History beyond the options is removed a little with every commit; more than is added, so that it catches up.
const TRIM_EVENTS: usize = 512;

/// A store without its handles.
pub(crate) struct Engine {
    pub(crate) state: RwLock<State>,
    pub(crate) wakeups: Wakeups,
    options: Options,
    started: Instant,
    /// What the journal keeps.
    stored_bytes: AtomicU64,
    /// Why the last append failed, until one succeeds.
    failure: Mutex<Option<StorageError>>,
}

impl Engine {
    pub(crate) fn new(state: State, options: Options) -> Self {
        Self {
            state: RwLock::new(state),
            wakeups: Wakeups::default(),
            options,
            started: Instant::now(),
            stored_bytes: AtomicU64::new(0),
            failure: Mutex::new(None),
        }
    }

    /// Makes changes visible that were decided from the state as it is, and wakes nobody yet.
    pub(crate) fn publish(&self, state: &mut State, events: &[Arc<Event>]) -> Garbage {
        let now = self.now();
        state.publish(events, now);
        for event in events.iter().filter(|event| event.drops_tenant()) {
            self.wakeups.drop_tenant(event.collection.tenant(), event.revision);
        }
        state.trim(&self.options, now, TRIM_EVENTS + events.len())
    }

    /// Removes history that has become too old while nothing was written. Says whether there may be more to remove later.
    pub(crate) fn trim(&self) -> bool {
        let mut state = self.state.write();
        let removed = state.trim(&self.options, self.now(), TRIM_EVENTS);
        let more = state.log.len() > self.options.history_min_events;
        drop(state);
        drop(removed);
        more
    }

    /// Removes history up to a revision.
    pub(crate) fn trim_to(&self, mark: Revision) {
        let removed = self.state.write().trim_to(mark);
        drop(removed);
    }

    pub(crate) fn size(&self) -> Size {
        let watched_collections = self.wakeups.watched() as u64;
        let disk_bytes = self.stored_bytes.load(Ordering::Relaxed);
        Size { disk_bytes, watched_collections, ..self.state.read().size() }
    }

    pub(crate) fn set_stored_bytes(&self, bytes: u64) {
        self.stored_bytes.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn failure(&self) -> Option<StorageError> {
        self.failure.lock().clone()
    }

    pub(crate) fn set_failure(&self, failure: Option<StorageError>) {
        *self.failure.lock() = failure;
    }

    fn now(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}
