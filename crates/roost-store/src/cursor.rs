//! Owns following the log: a cursor is a position, not a queue, so it is complete or it is told that it is not.

use std::sync::Arc;

use crate::engine::Engine;
use crate::wakeups::Signal;
use crate::{Collection, Compacted, Event, Revision};

/// At most so many events come at once, so that one reader holds neither the lock nor memory for long.
const BATCH_EVENTS: usize = 256;

/// A position in the log of one collection, or of all of them. While nothing happens it costs no task and no timer.
pub struct Cursor {
    engine: Arc<Engine>,
    scope: Option<Collection>,
    after: Revision,
    signal: Arc<Signal>,
}

impl Cursor {
    pub(crate) fn new(engine: Arc<Engine>, scope: Option<&Collection>, after: Revision) -> Result<Self, Compacted> {
        let state = engine.state.read();
        match scope {
            Some(collection) => state.check_retained(collection, after)?,
            None if after < state.compacted => return Err(Compacted { oldest: state.compacted }),
            None => {}
        }
        // Still under the lock: a tenant cannot be dropped between the check and the registration.
        let signal = engine.wakeups.register(scope);
        drop(state);
        Ok(Self { engine, scope: scope.cloned(), after, signal })
    }

    /// Waits for events after the cursor and returns what is there, at least one. It can be dropped while it waits, and
    /// nothing is lost. On a store that was closed it waits forever.
    pub async fn next(&mut self) -> Result<Vec<Arc<Event>>, Compacted> {
        loop {
            let signal = Arc::clone(&self.signal);
            // Taken before looking, so that what comes in between wakes it.
            let changed = signal.changed.notified();
            let events = self.try_next()?;
            if !events.is_empty() {
                return Ok(events);
            }
            changed.await;
        }
    }

    /// Returns the events after the cursor that are there now, possibly none.
    pub fn try_next(&mut self) -> Result<Vec<Arc<Event>>, Compacted> {
        let state = self.engine.state.read();
        let dropped = self.signal.dropped();
        if self.after < dropped {
            return Err(Compacted { oldest: dropped });
        }
        let events: Vec<_> = match &self.scope {
            Some(collection) => match state.contents(collection) {
                Some(contents) if self.after < contents.trimmed => {
                    return Err(Compacted { oldest: contents.trimmed });
                }
                Some(contents) => contents.events_after(self.after).take(BATCH_EVENTS).cloned().collect(),
                None => Vec::new(),
            },
            None if self.after < state.compacted => return Err(Compacted { oldest: state.compacted }),
            None => state.events_after(self.after).take(BATCH_EVENTS).cloned().collect(),
        };
        self.after = match events.last() {
            Some(last) if events.len() == BATCH_EVENTS => last.revision,
            _ => self.after.max(state.revision),
        };
        Ok(events)
    }

    /// Everything that happened in the cursor's scope up to this revision has been delivered. It never goes back, and moves
    /// on with the store while the cursor has nothing to deliver.
    pub fn position(&self) -> Revision {
        let state = self.engine.state.read();
        let (missed, undelivered) = match &self.scope {
            Some(collection) => match state.contents(collection) {
                Some(contents) => {
                    (contents.trimmed.max(self.signal.dropped()), contents.events_after(self.after).next())
                }
                None => (self.signal.dropped(), None),
            },
            None => (state.compacted, state.events_after(self.after).next()),
        };
        match undelivered {
            _ if self.after < missed => self.after,
            Some(event) => event.revision - 1,
            None => self.after.max(state.revision),
        }
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.engine.wakeups.release(self.scope.as_ref(), &self.signal);
    }
}
