//! What the API server knows about a tenant beside its objects: indexes that follow the log.
//!
//! A derived index costs nothing while nobody asks. When somebody does, it first takes in what the log has gained
//! since the last time, so it is never stale and needs no task. Rules, definitions, webhooks and policies all live in
//! such indexes.

use parking_lot::Mutex;
use roost_store::{Collection, Cursor, ListQuery, Revision, Store};

use crate::stored::Stored;

/// An index over some collections. `source` is the place of a collection in the list that the index was made with.
pub(crate) trait Index: Default + Send {
    /// Takes in an object that is new or changed.
    fn insert(&mut self, source: usize, name: &str, object: &Stored, revision: Revision);
    /// Forgets an object.
    fn remove(&mut self, source: usize, name: &str);
}

/// An index and its places in the log.
pub(crate) struct Derived<I> {
    state: Mutex<State<I>>,
}

struct State<I> {
    index: I,
    sources: Vec<Source>,
}

struct Source {
    collection: Collection,
    cursor: Option<Cursor>,
}

impl<I: Index> Derived<I> {
    /// An index that is built at the first question.
    pub(crate) fn new(collections: impl IntoIterator<Item = Collection>) -> Self {
        let sources = collections.into_iter().map(|collection| Source { collection, cursor: None }).collect();
        Self { state: Mutex::new(State { index: I::default(), sources }) }
    }

    /// Answers a question from the index as of now. Questions must be short, and must not ask the same index again.
    pub(crate) fn read<R>(&self, store: &Store, question: impl FnOnce(&mut I) -> R) -> R {
        let mut state = self.state.lock();
        state.catch_up(store);
        question(&mut state.index)
    }
}

impl<I: Index> State<I> {
    fn catch_up(&mut self, store: &Store) {
        for number in 0..self.sources.len() {
            if !self.follow(number) {
                self.rebuild(store);
                return;
            }
        }
    }

    /// Takes in what one collection has gained; false when that cannot be told.
    fn follow(&mut self, number: usize) -> bool {
        loop {
            let Some(cursor) = &mut self.sources[number].cursor else { return false };
            let Ok(events) = cursor.try_next() else { return false };
            if events.is_empty() {
                return true;
            }
            for event in events {
                match &event.value {
                    Some(value) => self.take(number, &event.name, value, event.revision),
                    None => self.index.remove(number, &event.name),
                }
            }
        }
    }

    /// Reads everything anew: at first, and when the log has run ahead of its history.
    fn rebuild(&mut self, store: &Store) {
        self.index = I::default();
        for number in 0..self.sources.len() {
            let source = &mut self.sources[number];
            let Ok(page) = store.list(&source.collection, ListQuery::default()) else { continue };
            source.cursor = store.watch(&source.collection, page.revision).ok();
            for entry in &page.entries {
                self.take(number, &entry.name, &entry.value, entry.modified);
            }
        }
    }

    fn take(&mut self, number: usize, name: &str, value: &bytes::Bytes, revision: Revision) {
        match Stored::new(value.clone()) {
            Ok(stored) => self.index.insert(number, name, &stored, revision),
            Err(error) => tracing::error!(name, %error, "a stored object cannot be read"),
        }
    }
}
