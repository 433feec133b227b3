//! Owns who sleeps on what: one signal per watched collection, which exists only while somebody watches.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::{Collection, Event, Revision};

/// What a cursor waits for.
#[derive(Default)]
pub(crate) struct Signal {
    pub(crate) changed: Notify,
    /// The revision that dropped the tenant while this signal existed, or zero.
    dropped: AtomicU64,
}

impl Signal {
    pub(crate) fn dropped(&self) -> Revision {
        self.dropped.load(Ordering::Acquire)
    }
}

#[derive(Default)]
struct Signals {
    collections: HashMap<Collection, Arc<Signal>>,
    everything: Option<Arc<Signal>>,
}

/// The signals that somebody holds.
#[derive(Default)]
pub(crate) struct Wakeups {
    signals: Mutex<Signals>,
}

impl Wakeups {
    /// The signal of one collection, or of everything.
    pub(crate) fn register(&self, scope: Option<&Collection>) -> Arc<Signal> {
        let mut signals = self.signals.lock();
        let signal = match scope {
            Some(collection) => signals.collections.entry(collection.clone()).or_default(),
            None => signals.everything.get_or_insert_default(),
        };
        Arc::clone(signal)
    }

    /// Gives a signal back; the last one to do so removes it.
    pub(crate) fn release(&self, scope: Option<&Collection>, signal: &Arc<Signal>) {
        let mut signals = self.signals.lock();
        // One count is the map's, one the caller's. New ones are only made under this lock.
        if Arc::strong_count(signal) == 2 {
            match scope {
                Some(collection) => drop(signals.collections.remove(collection)),
                None => signals.everything = None,
            }
        }
    }

    /// Wakes the cursors on the collections of these events, and nobody else.
    pub(crate) fn wake(&self, events: &[Arc<Event>]) {
        let signals = self.signals.lock();
        if let Some(signal) = &signals.everything {
            signal.changed.notify_waiters();
        }
        if signals.collections.is_empty() {
            return;
        }
        let mut last: Option<&Collection> = None;
        for event in events {
            if last.is_some_and(|last| last.same_text(&event.collection)) {
                continue;
            }
            last = Some(&event.collection);
            if let Some(signal) = signals.collections.get(&event.collection) {
                signal.changed.notify_waiters();
            }
        }
    }

    /// Marks and wakes the cursors of a tenant. Called while the state is locked for writing, so that no cursor can see the
    /// tenant gone without seeing this mark.
    pub(crate) fn drop_tenant(&self, tenant: &str, revision: Revision) {
        for (collection, signal) in &self.signals.lock().collections {
            if collection.tenant() == tenant {
                signal.dropped.store(revision, Ordering::Release);
                signal.changed.notify_waiters();
            }
        }
    }

    /// How many collections are being watched.
    pub(crate) fn watched(&self) -> usize {
        self.signals.lock().collections.len()
    }
}
