//! Owns reading a collection at one revision, the newest or an older one.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::index::{Index, Slice};
use crate::state::State;
use crate::{Collection, Compacted, Entry, Revision};

/// So many events are looked at under one hold of the lock when an older revision is read.
const EVENTS_PER_LOCK: usize = 1024;

/// Which part of a collection to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListQuery<'a> {
    /// Only names that begin with this, such as `namespace/`.
    pub prefix: Option<&'a str>,
    /// Only this name and those that sort after it.
    pub from: Option<&'a str>,
    /// At most so many entries; zero means all.
    pub limit: usize,
    /// The state at this revision instead of the newest.
    pub at: Option<Revision>,
}

impl ListQuery<'_> {
    fn precedes(&self, name: &str) -> bool {
        self.prefix.is_some_and(|prefix| name < prefix) || self.from.is_some_and(|from| name < from)
    }

    fn contains(&self, name: &str) -> bool {
        !self.precedes(name) && self.prefix.is_none_or(|prefix| name.starts_with(prefix))
    }

    /// The entries asked for, at most `limit`, and how many there are without the limit.
    fn select(&self, index: &Index, limit: usize) -> (Slice, usize) {
        let start = index.position(|name| self.precedes(name));
        let end = index.position(|name| self.precedes(name) || self.contains(name));
        let count = index.count_between(start, end);
        (index.slice(start, count.min(limit)), count)
    }
}

/// A part of a collection, all of it from one snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Sorted by name.
    pub entries: Vec<Entry>,
    /// The revision that the entries are from.
    pub revision: Revision,
    /// Whether more entries follow the last one.
    pub more: bool,
    /// How many entries follow the last one.
    pub remaining: u64,
}

impl Page {
    fn new(entries: Vec<Entry>, revision: Revision, count: usize) -> Self {
        let remaining = (count - entries.len()) as u64;
        Self { entries, revision, more: remaining > 0, remaining }
    }
}

/// Why a list cannot be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// The revision is older than the retained history.
    #[error(transparent)]
    Compacted(#[from] Compacted),
    /// The revision has not happened yet.
    #[error("revision {asked} is in the future, the newest is {newest}")]
    Future {
        /// The revision that was asked for.
        asked: Revision,
        /// The newest revision.
        newest: Revision,
    },
}

pub(crate) fn list(lock: &RwLock<State>, collection: &Collection, query: ListQuery<'_>) -> Result<Page, ListError> {
    let limit = if query.limit == 0 { usize::MAX } else { query.limit };
    let state = lock.read();
    let head = state.revision;
    let revision = query.at.unwrap_or(head);
    if revision > head {
        return Err(ListError::Future { asked: revision, newest: head });
    }
    if revision < head {
        state.check_retained(collection, revision)?;
    }
    let Some(contents) = state.contents(collection) else {
        return Ok(Page { revision, ..Page::default() });
    };
    let changed_since = contents.modified > revision;
    let (slice, count) = query.select(&contents.index, if changed_since { usize::MAX } else { limit });
    drop(state);
    if changed_since {
        let older = older_states(lock, collection, query, revision, head)?;
        let (entries, count) = roll_back(&slice, count, &older, limit);
        Ok(Page::new(entries, revision, count))
    } else {
        Ok(Page::new(slice.iter().cloned().collect(), revision, count))
    }
}

/// The objects as they were at `revision`, of those that changed between there and `head`.
fn older_states(
    lock: &RwLock<State>,
    collection: &Collection,
    query: ListQuery<'_>,
    revision: Revision,
    head: Revision,
) -> Result<BTreeMap<Arc<str>, Option<Entry>>, Compacted> {
    let mut older = BTreeMap::new();
    let mut seen = revision;
    while seen < head {
        let state = lock.read();
        state.check_retained(collection, seen)?;
        let Some(contents) = state.contents(collection) else { break };
        let mut events = contents.events_after(seen).take_while(|event| event.revision <= head);
        seen = head;
        for event in events.by_ref().take(EVENTS_PER_LOCK) {
            if query.contains(&event.name) {
                older.entry(Arc::clone(&event.name)).or_insert_with(|| event.before());
            }
            seen = event.revision;
        }
        if events.next().is_none() {
            break;
        }
    }
    Ok(older)
}

/// Merges the newest entries with what some of them were before; also counts the result without the limit.
pub(crate) fn roll_back(
    newest: &Slice,
    newest_count: usize,
    older: &BTreeMap<Arc<str>, Option<Entry>>,
    limit: usize,
) -> (Vec<Entry>, usize) {
    let mut entries = Vec::new();
    let mut count = newest_count;
    let mut older = older.iter().peekable();
    let mut newest = newest.iter().peekable();
    loop {
        let order = match (newest.peek(), older.peek()) {
            (None, None) => break,
            // Past the limit only the differences still count.
            (_, None) if entries.len() >= limit => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(entry), Some((name, _))) => entry.name.cmp(name),
        };
        let entry = if order == Ordering::Less {
            newest.next().cloned()
        } else {
            let was = older.next().and_then(|(_, entry)| entry.clone());
            let is = order == Ordering::Equal && newest.next().is_some();
            count = count + usize::from(was.is_some()) - usize::from(is);
            was
        };
        if entries.len() < limit {
            entries.extend(entry);
        }
    }
    (entries, count)
}
