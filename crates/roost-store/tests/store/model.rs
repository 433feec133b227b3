//! Any sequence of operations, against a model that keeps every state there ever was.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use roost_store::{
    Collection, CommitError, Compacted, Cursor, Entry, Event, Expect, ListError, ListQuery, Operation, Options,
    Revision, Store, Write,
};

use crate::scene::open_tiny;

type Objects = BTreeMap<(Collection, String), Entry>;

/// What happened at a revision: the event, and everything as it was after it.
struct Moment {
    event: Option<ModelEvent>,
    objects: Objects,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ModelEvent {
    revision: Revision,
    collection: Collection,
    name: String,
    before: Option<Entry>,
    after: Option<Entry>,
}

impl From<&Event> for ModelEvent {
    fn from(event: &Event) -> Self {
        let entry = |value: &Bytes, modified| Entry {
            name: Arc::clone(&event.name),
            value: value.clone(),
            created: event.created,
            modified,
        };
        Self {
            revision: event.revision,
            collection: event.collection.clone(),
            name: event.name.to_string(),
            before: event.previous.as_ref().map(|value| entry(value, event.previous_revision)),
            after: event.value.as_ref().map(|value| entry(value, event.revision)),
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<Change>),
    DropTenant(u8),
    Compact(u8),
    Watch(u8),
    Poll,
    Reopen,
}

#[derive(Clone, Debug)]
struct Change {
    collection: u8,
    name: u8,
    expect: u8,
    value: Option<u8>,
}

fn change() -> impl Strategy<Value = Change> {
    (0..4_u8, 0..6_u8, 0..8_u8, prop::option::weighted(0.75, any::<u8>()))
        .prop_map(|(collection, name, expect, value)| Change { collection, name, expect, value })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => prop::collection::vec(change(), 1..4).prop_map(Step::Commit),
        1 => (0..2_u8).prop_map(Step::DropTenant),
        1 => any::<u8>().prop_map(Step::Compact),
        2 => (0..5_u8).prop_map(Step::Watch),
        4 => Just(Step::Poll),
        1 => Just(Step::Reopen),
    ]
}

fn collection(number: u8) -> Collection {
    [
        Collection::new("one", "", "pods"),
        Collection::new("one", "apps", "deployments"),
        Collection::new("two", "", "pods"),
        Collection::new("two", "", "nodes"),
    ][usize::from(number) % 4]
        .clone()
}

fn name(number: u8) -> &'static str {
    ["a/one", "a/two", "aa/one", "b/one", "b/two", "c"][usize::from(number) % 6]
}

/// A cursor, and what it must deliver next.
struct Watcher {
    cursor: Cursor,
    scope: Option<Collection>,
    seen: Revision,
}

struct Model {
    moments: Vec<Moment>,
    drops: Vec<(Revision, String)>,
    watchers: Vec<Watcher>,
}

impl Model {
    fn new() -> Self {
        let empty = || Moment { event: None, objects: Objects::new() };
        Self { moments: vec![empty(), empty()], drops: Vec::new(), watchers: Vec::new() }
    }

    fn revision(&self) -> Revision {
        self.moments.len() as u64 - 1
    }

    fn newest(&self) -> &Objects {
        &self.moments[self.moments.len() - 1].objects
    }

    fn happen(&mut self, event: ModelEvent) {
        let mut objects = self.newest().clone();
        let key = (event.collection.clone(), event.name.clone());
        match &event.after {
            Some(entry) => objects.insert(key, entry.clone()),
            None => objects.remove(&key),
        };
        self.moments.push(Moment { event: Some(event), objects });
    }

    fn commit(&mut self, writes: &[Write]) -> Result<Revision, (usize, Option<Entry>)> {
        let start = self.moments.len();
        for (index, write) in writes.iter().enumerate() {
            let before = self.newest().get(&(write.collection.clone(), write.name.to_string())).cloned();
            let holds = match write.expect {
                Expect::Absent => before.is_none(),
                Expect::Revision(revision) => before.as_ref().map(|entry| entry.modified) == Some(revision),
                Expect::Anything => true,
            };
            let revision = self.moments.len() as u64;
            let after = match &write.operation {
                Operation::Put(value) => Some(Entry {
                    name: Arc::clone(&write.name),
                    value: value.clone(),
                    created: before.as_ref().map_or(revision, |entry| entry.created),
                    modified: revision,
                }),
                Operation::Delete => None,
            };
            if !holds || (before.is_none() && after.is_none()) {
                self.moments.truncate(start);
                return Err((index, before));
            }
            let (collection, name) = (write.collection.clone(), write.name.to_string());
            self.happen(ModelEvent { revision, collection, name, before, after });
        }
        Ok(self.revision())
    }

    fn drop_tenant(&mut self, tenant: &str, happened: bool) {
        if !happened {
            assert!(self.newest().keys().all(|(collection, _)| collection.tenant() != tenant));
            return;
        }
        let mut objects = self.newest().clone();
        objects.retain(|(collection, _), _| collection.tenant() != tenant);
        self.moments.push(Moment { event: None, objects });
        self.drops.push((self.revision(), tenant.into()));
    }

    fn events_after(&self, scope: Option<&Collection>, after: Revision) -> Vec<ModelEvent> {
        let events = self.moments.iter().skip(after as usize + 1).filter_map(|moment| moment.event.clone());
        events.filter(|event| scope.is_none_or(|scope| *scope == event.collection)).collect()
    }

    fn dropped_after(&self, scope: Option<&Collection>, after: Revision) -> bool {
        self.drops.iter().any(|(revision, tenant)| {
            *revision > after && scope.is_some_and(|collection| collection.tenant() == tenant)
        })
    }
}

/// The changes of one commit; all are of the first one's tenant.
fn writes(changes: &[Change], model: &Model) -> Vec<Write> {
    let tenant = changes.first().map_or(0, |change| change.collection / 2 * 2);
    let write = |change: &Change| {
        let (collection, name) = (collection(tenant + change.collection % 2), name(change.name));
        let current = model.newest().get(&(collection.clone(), name.into()));
        Write {
            collection,
            name: name.into(),
            expect: match change.expect {
                0 => Expect::Absent,
                1 => Expect::Revision(model.revision()),
                2 | 3 => current.map_or(Expect::Absent, |entry| Expect::Revision(entry.modified)),
                _ => Expect::Anything,
            },
            operation: change
                .value
                .map_or(Operation::Delete, |value| Operation::Put(Bytes::from(vec![b'v'; usize::from(value) / 8 + 1]))),
        }
    };
    changes.iter().map(write).collect()
}

/// Everything a cursor has at the moment; tenant drops are left out.
fn drain(cursor: &mut Cursor) -> Result<Vec<ModelEvent>, Compacted> {
    let mut all = Vec::new();
    loop {
        let events = cursor.try_next()?;
        if events.is_empty() {
            return Ok(all);
        }
        all.extend(events.iter().filter(|event| !event.drops_tenant()).map(|event| ModelEvent::from(&**event)));
    }
}

fn check_watchers(store: &Store, model: &mut Model) {
    let mut watchers = std::mem::take(&mut model.watchers);
    watchers.retain_mut(|watcher| match drain(&mut watcher.cursor) {
        Ok(events) => {
            assert_eq!(events, model.events_after(watcher.scope.as_ref(), watcher.seen));
            assert!(!model.dropped_after(watcher.scope.as_ref(), watcher.seen), "a dropped tenant went unnoticed");
            watcher.seen = model.revision();
            assert_eq!(watcher.cursor.position(), store.revision());
            true
        }
        Err(Compacted { oldest }) => {
            assert!(oldest > watcher.seen);
            // Told so only when something was missed.
            let missed = model
                .events_after(watcher.scope.as_ref(), watcher.seen)
                .first()
                .is_some_and(|event| event.revision <= store.size().oldest);
            assert!(missed || watcher.scope.is_none() || model.dropped_after(watcher.scope.as_ref(), watcher.seen));
            false
        }
    });
    model.watchers = watchers;
}

fn check_everything(store: &Store, model: &Model) {
    assert_eq!(store.revision(), model.revision());
    let oldest = store.size().oldest;
    assert_eq!(store.size().objects, model.newest().len() as u64);
    for number in 0..4 {
        let collection = collection(number);
        for revision in 0..=model.revision() {
            check_lists(store, model, &collection, revision, oldest);
            match store.watch(&collection, revision) {
                Ok(mut cursor) => {
                    assert_eq!(drain(&mut cursor), Ok(model.events_after(Some(&collection), revision)));
                    assert!(!model.dropped_after(Some(&collection), revision));
                }
                Err(_) => assert!(revision < oldest || model.dropped_after(Some(&collection), revision)),
            }
        }
        let state = store.state(&collection);
        let entries = model.newest().iter().filter(|((other, _), _)| *other == collection);
        assert_eq!(state.count, entries.count() as u64);
    }
    for revision in 0..=model.revision() {
        match store.watch_all(revision) {
            Ok(mut cursor) => assert_eq!(drain(&mut cursor), Ok(model.events_after(None, revision))),
            Err(_) => assert!(revision < oldest),
        }
    }
}

fn check_lists(store: &Store, model: &Model, collection: &Collection, revision: Revision, oldest: Revision) {
    let objects = &model.moments[revision as usize].objects;
    for prefix in [None, Some("a/"), Some("b/"), Some("zz")] {
        let expected: Vec<_> = objects
            .iter()
            .filter(|((other, name), _)| other == collection && prefix.is_none_or(|prefix| name.starts_with(prefix)))
            .map(|(_, entry)| entry.clone())
            .collect();
        for limit in [0, 1, 2] {
            let mut from: Option<String> = None;
            let mut entries = Vec::new();
            loop {
                let query = ListQuery { prefix, from: from.as_deref(), limit, at: Some(revision) };
                match store.list(collection, query) {
                    Ok(page) => {
                        assert_eq!(page.revision, revision);
                        entries.extend(page.entries);
                        assert_eq!(page.remaining, (expected.len() - entries.len()) as u64, "{query:?}");
                        assert_eq!(page.more, page.remaining > 0);
                        if !page.more {
                            assert_eq!(entries, expected, "{query:?}");
                            break;
                        }
                        from = entries.last().map(|entry| format!("{}\0", entry.name));
                    }
                    Err(ListError::Compacted(_)) => {
                        assert!(revision < oldest || model.dropped_after(Some(collection), revision));
                        break;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}

/// Runs the steps; `reopen` makes the store again from its directory.
fn run(steps: Vec<Step>, mut store: Store, reopen: impl Fn() -> Option<Store>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut model = Model::new();
    for step in steps {
        match step {
            Step::Commit(changes) => {
                let writes = writes(&changes, &model);
                let expected = model.commit(&writes);
                match (runtime.block_on(store.commit(writes)), expected) {
                    (Ok(revision), Ok(expected)) => assert_eq!(revision, expected),
                    (Err(CommitError::Conflict { index, current }), Err(expected)) => {
                        assert_eq!((index, current), expected);
                    }
                    (result, expected) => panic!("{result:?} instead of {expected:?}"),
                }
            }
            Step::DropTenant(number) => {
                let tenant = ["one", "two"][usize::from(number)];
                runtime.block_on(store.drop_tenant(tenant)).unwrap();
                model.drop_tenant(tenant, store.revision() > model.revision());
            }
            Step::Compact(fraction) => {
                let mark = model.revision() * u64::from(fraction) / 255;
                runtime.block_on(store.compact(mark)).unwrap();
            }
            Step::Watch(scope) => {
                let scope = (scope < 4).then(|| collection(scope));
                let seen = model.revision();
                let cursor = match &scope {
                    Some(scope) => store.watch(scope, seen).unwrap(),
                    None => store.watch_all(seen).unwrap(),
                };
                model.watchers.push(Watcher { cursor, scope, seen });
            }
            Step::Poll => check_watchers(&store, &mut model),
            Step::Reopen => {
                check_watchers(&store, &mut model);
                runtime.block_on(store.close());
                if let Some(reopened) = reopen() {
                    model.watchers.clear();
                    store = reopened;
                }
            }
        }
    }
    check_watchers(&store, &mut model);
    check_everything(&store, &model);
}

/// So little history that it is trimmed while the steps run.
fn short_history() -> Options {
    Options { history_min_events: 8, history_max_bytes: 1500, ..Options::default() }
}

fn open_short(directory: &Path) -> Store {
    open_tiny(directory, short_history())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn memory_with_long_history(steps in prop::collection::vec(step(), 0..60)) {
        run(steps, Store::memory(Options::default()), || None);
    }

    #[test]
    fn memory_with_short_history(steps in prop::collection::vec(step(), 0..60)) {
        run(steps, Store::memory(short_history()), || None);
    }

    #[test]
    fn files_with_short_history(steps in prop::collection::vec(step(), 0..60)) {
        let directory = tempfile::tempdir().unwrap();
        run(steps, open_short(directory.path()), || Some(open_short(directory.path())));
    }
}
