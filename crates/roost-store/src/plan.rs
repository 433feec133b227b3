//! Owns the decision which writes of a batch happen: conditions are checked against the newest state and the batch so far,
//! and revisions are given out. Nothing here is visible to readers yet.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::state::State;
use crate::{Collection, CommitError, Entry, Event, Expect, Operation, Revision, Write};

/// A batch in the making.
pub(crate) struct Plan<'a> {
    state: &'a State,
    /// The last revision that was given out before; what lies between the state's and this is in flight, and of other tenants.
    after: Revision,
    events: Vec<Arc<Event>>,
    /// Which event of the batch last touched an object.
    touched: HashMap<(Collection, Arc<str>), usize>,
    /// For every event of the batch, the one before it that touched the same object.
    touched_before: Vec<Option<usize>>,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(state: &'a State, after: Revision) -> Self {
        Self { state, after, events: Vec::new(), touched: HashMap::new(), touched_before: Vec::new() }
    }

    /// Adds one commit, all of it or nothing, and returns its last revision.
    pub(crate) fn add(&mut self, writes: Vec<Write>) -> Result<Revision, CommitError> {
        let start = self.events.len();
        for (index, write) in writes.into_iter().enumerate() {
            if let Err(current) = self.add_write(write) {
                self.undo(start);
                return Err(CommitError::Conflict { index, current });
            }
        }
        Ok(self.revision())
    }

    /// Adds the end of a tenant, if it holds anything. Nothing else in the batch is of that tenant.
    pub(crate) fn drop_tenant(&mut self, tenant: &str) {
        if self.state.holds_tenant(tenant) {
            self.events.push(Arc::new(Event::tenant_dropped(self.revision() + 1, tenant)));
            self.touched_before.push(None);
        }
    }

    /// The changes in the order of their revisions.
    pub(crate) fn into_events(self) -> Vec<Arc<Event>> {
        self.events
    }

    fn revision(&self) -> Revision {
        self.after + self.events.len() as u64
    }

    fn add_write(&mut self, write: Write) -> Result<(), Option<Entry>> {
        let known = self.state.known(write.collection.as_str());
        let collection = known.map_or(write.collection, |(collection, _)| collection.clone());
        let key = (collection, write.name);
        let current = match self.touched.get(&key) {
            Some(position) => self.events[*position].after(),
            None => known.and_then(|(_, contents)| contents.index.get(&key.1)).cloned(),
        };
        let holds = match write.expect {
            Expect::Absent => current.is_none(),
            Expect::Revision(revision) => current.as_ref().is_some_and(|current| current.modified == revision),
            Expect::Anything => true,
        };
        let value = match write.operation {
            // The caller's bytes may be a slice of a whole request body, which must not live as long as the object.
            Operation::Put(value) => Some(Bytes::copy_from_slice(&value)),
            Operation::Delete => None,
        };
        if !holds || (value.is_none() && current.is_none()) {
            return Err(current);
        }
        let revision = self.revision() + 1;
        let event = Event {
            revision,
            collection: key.0.clone(),
            name: current.as_ref().map_or_else(|| Arc::clone(&key.1), |current| Arc::clone(&current.name)),
            value,
            previous_revision: current.as_ref().map_or(0, |current| current.modified),
            created: current.as_ref().map_or(revision, |current| current.created),
            previous: current.map(|current| current.value),
        };
        self.touched_before.push(self.touched.insert(key, self.events.len()));
        self.events.push(Arc::new(event));
        Ok(())
    }

    /// Takes back the events from `start` on.
    fn undo(&mut self, start: usize) {
        while self.events.len() > start {
            let (Some(event), Some(before)) = (self.events.pop(), self.touched_before.pop()) else { break };
            let key = (event.collection.clone(), Arc::clone(&event.name));
            match before {
                Some(position) => self.touched.insert(key, position),
                None => self.touched.remove(&key),
            };
        }
    }
}
