//! What the API server knows about a tenant beside its objects: indexes that follow the log.
//!
//! A derived index costs nothing while nobody asks. When somebody does, it first takes in what the log has gained
//! since the last time, so it is never stale and needs no task. Rules, definitions, webhooks and policies all live in
//! such indexes.

use parking_lot::Mutex;
use roost_store::{Collection, Cursor, ListQuery, Revision, Store};

use crate::stored::Stored;

/// An index over one collection.
pub(crate) trait Index: Default + Send {
    /// Takes in an object that is new or changed.
    fn insert(&mut self, name: &str, object: &Stored, revision: Revision);
    /// Forgets an object.
    fn remove(&mut self, name: &str);
}

/// An index and its place in the log.
pub(crate) struct Derived<I> {
    collection: Collection,
    state: Mutex<State<I>>,
}

struct State<I> {
    index: I,
    cursor: Option<Cursor>,
}

impl<I: Index> Derived<I> {
    /// An index that is built at the first question.
    pub(crate) fn new(collection: Collection) -> Self {
        Self { collection, state: Mutex::new(State { index: I::default(), cursor: None }) }
    }

    /// Answers a question from the index as of now.
    pub(crate) fn read<R>(&self, store: &Store, question: impl FnOnce(&mut I) -> R) -> R {
        let mut state = self.state.lock();
        state.catch_up(store, &self.collection);
        question(&mut state.index)
    }

    /// Forgets everything until the next question, when nobody is expected to ask for long.
    pub(crate) fn forget(&self) {
        *self.state.lock() = State { index: I::default(), cursor: None };
    }
}

impl<I: Index> State<I> {
    fn catch_up(&mut self, store: &Store, collection: &Collection) {
        while let Some(cursor) = &mut self.cursor {
            match cursor.try_next() {
                Ok(events) if events.is_empty() => return,
                Ok(events) => {
                    for event in events {
                        match &event.value {
                            Some(value) => self.index.take(&event.name, value, event.revision),
                            None => self.index.remove(&event.name),
                        }
                    }
                }
                Err(_) => self.cursor = None,
            }
        }
        self.rebuild(store, collection);
    }

    fn rebuild(&mut self, store: &Store, collection: &Collection) {
        self.index = I::default();
        let Ok(page) = store.list(collection, ListQuery::default()) else { return };
        for entry in &page.entries {
            self.index.take(&entry.name, &entry.value, entry.modified);
        }
        self.cursor = store.watch(collection, page.revision).ok();
    }
}

trait Take {
    fn take(&mut self, name: &str, value: &bytes::Bytes, revision: Revision);
}

impl<I: Index> Take for I {
    fn take(&mut self, name: &str, value: &bytes::Bytes, revision: Revision) {
        match Stored::new(value.clone()) {
            Ok(stored) => self.insert(name, &stored, revision),
            Err(error) => tracing::error!(name, %error, "a stored object cannot be read"),
        }
    }
}
