//! Owns what readers see: the newest state, the retained history, and the marks before which history is gone. Every change
//! here is durable already.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use crate::index::Index;
use crate::journal::{Part, Snapshot};
use crate::{Collection, Compacted, Entry, Event, Options, Revision};

/// An empty store is at this revision, so that zero never is a real one.
pub(crate) const FIRST_REVISION: Revision = 1;

/// What an object costs in memory besides its name and value: the entry and the two allocations' headers.
const ENTRY_COST: usize = 128;

/// How finely the age of history is known. Coarse, because an event that stays a second longer harms nobody.
const AGE_STEP_MILLISECONDS: i64 = 1000;

/// What a cache of a collection's content can be keyed by: it changes whenever the content does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CollectionState {
    /// The last revision that touched the collection, zero if none is known.
    pub modified: Revision,
    /// How many objects it holds.
    pub count: u64,
}

/// How much a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Objects of every tenant.
    pub objects: u64,
    /// Objects and history in memory, estimated from names and values.
    pub memory_bytes: u64,
    /// The journal's files.
    pub disk_bytes: u64,
    /// Retained events.
    pub events: u64,
    /// The oldest revision that every collection can still be read at.
    pub oldest: Revision,
    /// Collections that somebody watches.
    pub watched_collections: u64,
}

/// One collection: its objects, and its part of the log.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) index: Index,
    pub(crate) log: VecDeque<Arc<Event>>,
    pub(crate) modified: Revision,
    /// The newest event of this collection that is no longer in `log`. Exact, for cursors that were there before.
    pub(crate) trimmed: Revision,
    /// Whoever comes anew must know the collection at this revision or later. At least `trimmed`, and higher when the
    /// collection appeared after a time of which nothing is known any more.
    floor: Revision,
}

impl Contents {
    /// The events after a revision, in order.
    pub(crate) fn events_after(&self, after: Revision) -> impl Iterator<Item = &Arc<Event>> {
        let start = self.log.partition_point(|event| event.revision <= after);
        self.log.range(start..)
    }

    /// Returns what the object costs now and what it cost before.
    fn apply(&mut self, event: &Arc<Event>) -> (usize, usize) {
        let entry = event.after();
        let added = entry.as_ref().map_or(0, entry_cost);
        let was = match entry {
            Some(entry) => self.index.put(entry),
            None => self.index.remove(&event.name),
        };
        self.modified = event.revision;
        self.log.push_back(Arc::clone(event));
        (added, was.as_ref().map_or(0, entry_cost))
    }
}

fn entry_cost(entry: &Entry) -> usize {
    entry.value.len() + entry.name.len() + ENTRY_COST
}

/// Events up to `revision` were there at `latest`.
struct Age {
    started: i64,
    latest: i64,
    revision: Revision,
}

/// What a tenant held when it was dropped. It is kept until the history before it goes, because a snapshot at the compaction
/// mark still contains it.
struct DroppedTenant {
    tenant: Box<str>,
    revision: Revision,
    collections: BTreeMap<Collection, Contents>,
    /// What its objects cost, which counts as history from then on.
    bytes: u64,
}

/// What is no longer needed, to be dropped after the lock is released: freeing it takes longer than removing it.
#[must_use = "it is dropped after the lock is released"]
#[derive(Default)]
pub(crate) struct Garbage {
    events: Vec<Arc<Event>>,
    tenants: Vec<DroppedTenant>,
}

/// Everything readers see, under one lock.
pub(crate) struct State {
    pub(crate) revision: Revision,
    tenants: HashMap<Box<str>, BTreeMap<Collection, Contents>>,
    pub(crate) log: VecDeque<Arc<Event>>,
    /// The newest revision whose event is no longer in `log`, or the revision the store began at.
    pub(crate) compacted: Revision,
    /// Tenants that were dropped after the compaction mark, in order.
    dropped: VecDeque<DroppedTenant>,
    ages: VecDeque<Age>,
    history_bytes: u64,
    object_bytes: u64,
    objects: u64,
}

impl State {
    pub(crate) fn new() -> Self {
        Self::at(FIRST_REVISION)
    }

    /// An empty state whose history begins at a revision.
    pub(crate) fn at(revision: Revision) -> Self {
        Self {
            revision,
            tenants: HashMap::new(),
            log: VecDeque::new(),
            compacted: revision,
            dropped: VecDeque::new(),
            ages: VecDeque::new(),
            history_bytes: 0,
            object_bytes: 0,
            objects: 0,
        }
    }

    pub(crate) fn contents(&self, collection: &Collection) -> Option<&Contents> {
        self.tenants.get(collection.tenant())?.get(collection)
    }

    /// The collection with the text that the store already holds, so that events share it.
    pub(crate) fn known(&self, collection: &str) -> Option<(&Collection, &Contents)> {
        let (tenant, _) = collection.split_once('/')?;
        self.tenants.get(tenant)?.get_key_value(collection)
    }

    pub(crate) fn collection_state(&self, collection: &Collection) -> CollectionState {
        match self.contents(collection) {
            Some(contents) => CollectionState { modified: contents.modified, count: contents.index.count() as u64 },
            None => CollectionState { modified: self.dropped_at(collection.tenant()).unwrap_or_default(), count: 0 },
        }
    }

    /// Whether a newcomer who knows the collection as of `after` can be told everything since.
    pub(crate) fn check_retained(&self, collection: &Collection, after: Revision) -> Result<(), Compacted> {
        let oldest = match self.contents(collection) {
            Some(contents) => contents.floor,
            None => self.dropped_at(collection.tenant()).unwrap_or(self.compacted),
        };
        if after < oldest { Err(Compacted { oldest }) } else { Ok(()) }
    }

    /// The collections of a tenant that hold objects.
    pub(crate) fn collections(&self, tenant: &str) -> Vec<Collection> {
        let Some(collections) = self.tenants.get(tenant) else { return Vec::new() };
        collections
            .iter()
            .filter(|(_, contents)| contents.index.count() > 0)
            .map(|(collection, _)| collection.clone())
            .collect()
    }

    /// The tenants that hold objects, sorted.
    pub(crate) fn tenants(&self) -> Vec<String> {
        let mut tenants: Vec<_> = self
            .tenants
            .iter()
            .filter(|(_, collections)| collections.values().any(|contents| contents.index.count() > 0))
            .map(|(tenant, _)| tenant.to_string())
            .collect();
        tenants.sort_unstable();
        tenants
    }

    pub(crate) fn holds_tenant(&self, tenant: &str) -> bool {
        self.tenants.contains_key(tenant)
    }

    /// Makes changes visible. They continue the log without a gap.
    pub(crate) fn publish(&mut self, events: &[Arc<Event>], now: i64) {
        for event in events {
            debug_assert_eq!(event.revision, self.revision + 1, "revisions are dense");
            if event.drops_tenant() {
                self.forget_tenant(event.collection.tenant(), event.revision);
            } else {
                let (added, freed) = self.contents_for_change(&event.collection).apply(event);
                self.object_bytes = self.object_bytes + added as u64 - freed as u64;
                self.objects = self.objects + u64::from(added > 0) - u64::from(freed > 0);
            }
            self.history_bytes += event.cost();
            self.log.push_back(Arc::clone(event));
            self.revision = event.revision;
        }
        if !events.is_empty() {
            self.note_age(now);
        }
    }

    /// Removes the oldest events that the options no longer ask for, at most `budget` of them.
    pub(crate) fn trim(&mut self, options: &Options, now: i64, budget: usize) -> Garbage {
        let horizon = now.saturating_sub(i64::try_from(options.history_age.as_millis()).unwrap_or(i64::MAX));
        let mut aged = self.compacted;
        while let Some(age) = self.ages.front().filter(|age| age.latest <= horizon) {
            aged = age.revision;
            // A mark whose events do not all fit in the budget stays for the next time.
            if aged.saturating_sub(self.compacted) > budget as u64 {
                break;
            }
            self.ages.pop_front();
        }
        let mut removed = Garbage::default();
        while removed.events.len() < budget && self.log.len() > options.history_min_events {
            let Some(event) = self.log.front() else { break };
            if event.revision > aged && self.history_bytes <= options.history_bytes(self.object_bytes) {
                break;
            }
            self.remove_oldest(&mut removed);
        }
        removed
    }

    /// Removes history up to and including a revision, whatever the options say.
    pub(crate) fn trim_to(&mut self, mark: Revision) -> Garbage {
        let mut removed = Garbage::default();
        while self.log.front().is_some_and(|event| event.revision <= mark) {
            self.remove_oldest(&mut removed);
        }
        removed
    }

    /// The state at the compaction mark, to be written out while this state goes on.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let dropped = self.dropped.iter().map(|dropped| &dropped.collections);
        let parts = self.tenants.values().chain(dropped).flatten().filter_map(|(collection, contents)| {
            let newer = contents.log.partition_point(|event| event.revision <= self.compacted);
            let modified = newer.checked_sub(1).map_or(contents.trimmed, |last| contents.log[last].revision);
            // A collection that nothing had touched by then did not exist then.
            (modified > 0).then(|| Part {
                collection: collection.clone(),
                modified,
                newest: contents.index.all(),
                newer: contents.log.range(newer..).cloned().collect(),
            })
        });
        Snapshot::new(self.compacted, parts.collect())
    }

    /// Takes in a collection of a snapshot.
    pub(crate) fn load_collection(&mut self, collection: Collection, modified: Revision) {
        let contents = Contents { modified, trimmed: modified, floor: modified, ..Contents::default() };
        self.tenants.entry(collection.tenant().into()).or_default().insert(collection, contents);
    }

    /// Takes in an object of a snapshot, after its collection.
    pub(crate) fn load_object(&mut self, collection: &Collection, entry: Entry) -> bool {
        let contents = self.tenants.get_mut(collection.tenant()).and_then(|all| all.get_mut(collection));
        let Some(contents) = contents else { return false };
        self.objects += 1;
        self.object_bytes += entry_cost(&entry) as u64;
        contents.index.put(entry).is_none()
    }

    pub(crate) fn size(&self) -> Size {
        Size {
            objects: self.objects,
            memory_bytes: self.object_bytes + self.history_bytes,
            disk_bytes: 0,
            events: self.log.len() as u64,
            oldest: self.compacted,
            watched_collections: 0,
        }
    }

    /// The events of every collection after a revision, in order.
    pub(crate) fn events_after(&self, after: Revision) -> impl Iterator<Item = &Arc<Event>> {
        // Revisions are dense, so a position is a subtraction.
        let start = after.saturating_sub(self.compacted).min(self.log.len() as u64);
        self.log.range(start as usize..)
    }

    fn contents_for_change(&mut self, collection: &Collection) -> &mut Contents {
        if !self.tenants.contains_key(collection.tenant()) {
            self.tenants.insert(collection.tenant().into(), BTreeMap::new());
        }
        let (dropped, compacted) = (&self.dropped, self.compacted);
        self.tenants
            .get_mut(collection.tenant())
            .expect("the tenant was just made sure of")
            .entry(collection.clone())
            .or_insert_with(|| {
                let floor = dropped_at(dropped, collection.tenant()).unwrap_or(compacted);
                Contents { floor, ..Contents::default() }
            })
    }

    fn forget_tenant(&mut self, tenant: &str, revision: Revision) {
        let collections = self.tenants.remove(tenant).unwrap_or_default();
        let mut bytes = 0;
        for contents in collections.values() {
            self.objects -= contents.index.count() as u64;
            bytes += contents.index.all().iter().map(entry_cost).sum::<usize>() as u64;
        }
        self.object_bytes -= bytes;
        self.history_bytes += bytes;
        self.dropped.push_back(DroppedTenant { tenant: tenant.into(), revision, collections, bytes });
    }

    fn dropped_at(&self, tenant: &str) -> Option<Revision> {
        dropped_at(&self.dropped, tenant)
    }

    fn remove_oldest(&mut self, removed: &mut Garbage) {
        let Some(event) = self.log.pop_front() else { return };
        self.history_bytes -= event.cost();
        self.compacted = event.revision;
        let contents = self.tenants.get_mut(event.collection.tenant()).and_then(|all| all.get_mut(&event.collection));
        // A tenant that was dropped has taken its part of the log along.
        if let Some(contents) = contents
            && contents.log.front().is_some_and(|front| front.revision == event.revision)
        {
            contents.log.pop_front();
            contents.trimmed = event.revision;
            contents.floor = contents.floor.max(event.revision);
        }
        while let Some(dropped) = self.dropped.pop_front_if(|dropped| dropped.revision <= event.revision) {
            self.history_bytes -= dropped.bytes;
            removed.tenants.push(dropped);
        }
        removed.events.push(event);
    }

    fn note_age(&mut self, now: i64) {
        match self.ages.back_mut() {
            Some(age) if now - age.started < AGE_STEP_MILLISECONDS => {
                age.latest = now;
                age.revision = self.revision;
            }
            _ => self.ages.push_back(Age { started: now, latest: now, revision: self.revision }),
        }
    }
}

/// When a tenant was dropped last, as far as that is still known.
fn dropped_at(dropped: &VecDeque<DroppedTenant>, tenant: &str) -> Option<Revision> {
    dropped.iter().rev().find(|dropped| &*dropped.tenant == tenant).map(|dropped| dropped.revision)
}
