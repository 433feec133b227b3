//! Owns the handle that everybody holds.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::RwLock;

use crate::plan::Plan;
use crate::state::State;
use crate::wakeups::Wakeups;
use crate::{
    Collection, CollectionState, CommitError, Compacted, Cursor, Entry, Event, ListError, ListQuery, Options, Page,
    Revision, Size, Write,
};

/// History beyond the options is removed a little with every commit; more than is added, so that it catches up.
const TRIM_EVENTS: usize = 512;

/// What readers, cursors and the writer share.
pub(crate) struct Core {
    pub(crate) state: RwLock<State>,
    pub(crate) wakeups: Wakeups,
    options: Options,
    started: Instant,
}

impl Core {
    fn now(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_millis()).unwrap_or(i64::MAX)
    }
}

/// A store of revisioned objects. A cheap handle: clones are the same store.
#[derive(Clone)]
pub struct Store {
    core: Arc<Core>,
}

impl Store {
    /// A store that lives in memory only, for tests. Commits happen on the caller's thread.
    pub fn memory(options: Options) -> Self {
        let core =
            Core { state: RwLock::new(State::new()), wakeups: Wakeups::default(), options, started: Instant::now() };
        Self { core: Arc::new(core) }
    }

    /// The newest revision. It is durable, as everything that readers see.
    pub fn revision(&self) -> Revision {
        self.core.state.read().revision
    }

    /// One object as it stands.
    pub fn get(&self, collection: &Collection, name: &str) -> Option<Entry> {
        self.core.state.read().contents(collection)?.index.get(name).cloned()
    }

    /// A part of a collection at one revision.
    pub fn list(&self, collection: &Collection, query: ListQuery<'_>) -> Result<Page, ListError> {
        crate::list::list(&self.core.state, collection, query)
    }

    /// What a cache of the collection's content can be keyed by. Constant time.
    pub fn state(&self, collection: &Collection) -> CollectionState {
        self.core.state.read().collection_state(collection)
    }

    /// Applies all writes or none. They get consecutive revisions, of which the last is returned, after they are durable.
    ///
    /// A caller that stops waiting does not stop the commit.
    #[expect(clippy::unused_async, reason = "a durable store waits here for its writer")]
    pub async fn commit(&self, writes: Vec<Write>) -> Result<Revision, CommitError> {
        let mut state = self.core.state.write();
        let mut plan = Plan::new(&state);
        let revision = plan.add(writes)?;
        let events = plan.into_events();
        let now = self.core.now();
        state.publish(&events, now);
        let removed = state.trim(&self.core.options, now, TRIM_EVENTS + events.len());
        drop(state);
        drop(removed);
        self.core.wakeups.wake(&events);
        Ok(revision)
    }

    /// Follows one collection from the first event after a revision on.
    pub fn watch(&self, collection: &Collection, after: Revision) -> Result<Cursor, Compacted> {
        Cursor::new(Arc::clone(&self.core), Some(collection), after)
    }

    /// Follows every collection of every tenant, in the order of revisions.
    pub fn watch_all(&self, after: Revision) -> Result<Cursor, Compacted> {
        Cursor::new(Arc::clone(&self.core), None, after)
    }

    /// The collections of a tenant that hold objects, sorted.
    pub fn collections(&self, tenant: &str) -> Vec<Collection> {
        self.core.state.read().collections(tenant)
    }

    /// The tenants that hold objects, sorted.
    pub fn tenants(&self) -> Vec<String> {
        self.core.state.read().tenants()
    }

    /// Removes everything of a tenant at one revision. A tenant that holds nothing is fine.
    #[expect(clippy::unused_async, reason = "a durable store waits here for its writer")]
    pub async fn drop_tenant(&self, tenant: &str) -> Result<(), CommitError> {
        let mut state = self.core.state.write();
        if !state.holds_tenant(tenant) {
            return Ok(());
        }
        let revision = state.revision + 1;
        let events = [Arc::new(Event {
            revision,
            collection: Collection::of_tenant(tenant),
            name: "".into(),
            value: None,
            previous: None,
            previous_revision: 0,
            created: 0,
        })];
        state.publish(&events, self.core.now());
        self.core.wakeups.drop_tenant(tenant, revision);
        drop(state);
        self.core.wakeups.wake(&events);
        Ok(())
    }

    /// Drops history up to a revision: reading at that revision still works, reading before it does not.
    #[expect(clippy::unused_async, reason = "a durable store waits here for its writer")]
    pub async fn compact(&self, before: Revision) -> Result<(), CommitError> {
        let removed = self.core.state.write().trim_to(before);
        drop(removed);
        Ok(())
    }

    /// How much the store holds, for metrics.
    pub fn size(&self) -> Size {
        let watched_collections = self.core.wakeups.watched() as u64;
        Size { watched_collections, ..self.core.state.read().size() }
    }
}
