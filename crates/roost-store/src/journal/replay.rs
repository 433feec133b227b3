//! Owns rebuilding the state from what a journal kept.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use crate::state::State;
use crate::{Collection, Entry, Event, Options, Revision};

/// One change as a journal keeps it. What it replaced follows from the changes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// An object was created or replaced.
    Put {
        /// The collection's joined form.
        collection: &'a str,
        /// The object's name.
        name: &'a str,
        /// The new bytes.
        value: &'a [u8],
    },
    /// An object was deleted.
    Delete {
        /// The collection's joined form.
        collection: &'a str,
        /// The object's name.
        name: &'a str,
    },
    /// A whole tenant was dropped.
    DropTenant {
        /// The tenant.
        tenant: &'a str,
    },
}

impl<'a> From<&'a Event> for Record<'a> {
    fn from(event: &'a Event) -> Self {
        let (collection, name) = (event.collection.as_str(), &*event.name);
        match &event.value {
            _ if event.drops_tenant() => Self::DropTenant { tenant: event.collection.tenant() },
            Some(value) => Self::Put { collection, name, value },
            None => Self::Delete { collection, name },
        }
    }
}

/// What a journal kept contradicts itself; the journal says where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReplayError(String);

/// The state while it is being rebuilt: first a snapshot, if there is one, then the records after it.
pub struct Replay<'a> {
    state: State,
    options: &'a Options,
    /// What the store's clock shows as zero, in milliseconds since 1970.
    clock_start: u64,
}

impl<'a> Replay<'a> {
    pub(crate) fn new(options: &'a Options) -> Self {
        Self { state: State::new(), options, clock_start: unix_milliseconds() }
    }

    pub(crate) fn into_state(self) -> State {
        self.state
    }

    /// Begins with a snapshot at a revision.
    pub fn begin_snapshot(&mut self, revision: Revision) {
        self.state = State::at(revision);
    }

    /// The snapshot has a collection, last changed at a revision; its objects follow.
    pub fn collection(&mut self, collection: &str, modified: Revision) -> Result<Collection, ReplayError> {
        let collection = parse(collection)?;
        self.state.load_collection(collection.clone(), modified);
        Ok(collection)
    }

    /// The snapshot has an object.
    pub fn object(&mut self, collection: &Collection, entry: Entry) -> Result<(), ReplayError> {
        let name = Arc::clone(&entry.name);
        if self.state.load_object(collection, entry) {
            Ok(())
        } else {
            Err(ReplayError(format!("object {name:?} of {collection} comes twice")))
        }
    }

    /// The newest revision so far.
    pub fn revision(&self) -> Revision {
        self.state.revision
    }

    /// The change of the next revision, and when it was made.
    pub fn record(&mut self, revision: Revision, record: Record<'_>, time: u64) -> Result<(), ReplayError> {
        if revision != self.state.revision + 1 {
            return Err(ReplayError(format!("revision {revision} follows revision {}", self.state.revision)));
        }
        let event = match record {
            Record::Put { collection, name, value } => {
                self.change(revision, collection, name, Some(Bytes::copy_from_slice(value)))?
            }
            Record::Delete { collection, name } => {
                let event = self.change(revision, collection, name, None)?;
                if event.previous.is_none() {
                    return Err(ReplayError(format!(
                        "revision {revision} deletes {name:?} of {collection}, which does not exist"
                    )));
                }
                event
            }
            Record::DropTenant { tenant } => {
                if tenant.contains('/') {
                    return Err(ReplayError(format!("{tenant:?} is not the name of a tenant")));
                }
                Event::tenant_dropped(revision, tenant)
            }
        };
        let time = i64::try_from(time).unwrap_or(i64::MAX) - i64::try_from(self.clock_start).unwrap_or(i64::MAX);
        // A clock that was set back must not make old history look as if it came from the future.
        self.state.publish(&[Arc::new(event)], time.min(0));
        Ok(())
    }

    /// Lets go of history that is too old already. Called now and then, so that opening needs no more memory than running.
    pub fn trim(&mut self) {
        drop(self.state.trim(self.options, 0, usize::MAX));
    }

    fn change(
        &self,
        revision: Revision,
        collection: &str,
        name: &str,
        value: Option<Bytes>,
    ) -> Result<Event, ReplayError> {
        let known = self.state.known(collection);
        let current = known.and_then(|(_, contents)| contents.index.get(name));
        Ok(Event {
            revision,
            collection: known.map_or_else(|| parse(collection), |(collection, _)| Ok(collection.clone()))?,
            name: current.map_or_else(|| name.into(), |current| Arc::clone(&current.name)),
            value,
            previous: current.map(|current| current.value.clone()),
            previous_revision: current.map_or(0, |current| current.modified),
            created: current.map_or(revision, |current| current.created),
        })
    }
}

fn parse(collection: &str) -> Result<Collection, ReplayError> {
    Collection::parse(collection).ok_or_else(|| ReplayError(format!("{collection:?} is not a collection")))
}

/// The wall clock, which is the only one that goes on over a restart.
pub(crate) fn unix_milliseconds() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
