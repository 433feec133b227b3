//! Owns the newest state of one collection: a sorted map in shared chunks, so that a reader takes a consistent slice by
//! cloning a few pointers under the lock, and copies entries after releasing it.

use std::sync::Arc;

use crate::Entry;

/// A full chunk splits in two. Large enough that a slice of ten thousand objects is a hundred pointers; small enough that
/// writing to a chunk some reader still holds copies little.
const CHUNK_ENTRIES: usize = 128;

#[derive(Clone)]
struct Chunk {
    /// At most the name of the first entry, above every name of the chunk before.
    fence: Arc<str>,
    entries: Arc<Vec<Entry>>,
}

/// Entries sorted by name.
#[derive(Clone, Default)]
pub(crate) struct Index {
    chunks: Vec<Chunk>,
    count: usize,
}

/// The place of an entry: chunk, and offset in the chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Position {
    chunk: usize,
    offset: usize,
}

impl Index {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        let entries = &self.chunks.get(self.chunk_of(name))?.entries;
        let offset = entries.binary_search_by(|entry| (*entry.name).cmp(name)).ok()?;
        entries.get(offset)
    }

    /// Inserts or replaces; returns what was there.
    pub(crate) fn put(&mut self, entry: Entry) -> Option<Entry> {
        let position = self.chunk_of(&entry.name);
        let Some(chunk) = self.chunks.get_mut(position) else {
            self.chunks.push(Chunk { fence: Arc::clone(&entry.name), entries: Arc::new(vec![entry]) });
            self.count += 1;
            return None;
        };
        let entries = Arc::make_mut(&mut chunk.entries);
        match entries.binary_search_by(|other| other.name.cmp(&entry.name)) {
            Ok(offset) => Some(std::mem::replace(&mut entries[offset], entry)),
            Err(offset) => {
                self.count += 1;
                if entry.name < chunk.fence {
                    chunk.fence = Arc::clone(&entry.name);
                }
                if entries.len() == CHUNK_ENTRIES && offset == CHUNK_ENTRIES {
                    // Names that arrive in order, as when a snapshot is loaded, leave full chunks behind.
                    let fence = Arc::clone(&entry.name);
                    self.chunks.insert(position + 1, Chunk { fence, entries: Arc::new(vec![entry]) });
                    return None;
                }
                entries.insert(offset, entry);
                if entries.len() > CHUNK_ENTRIES {
                    let upper = entries.split_off(CHUNK_ENTRIES / 2);
                    let fence = Arc::clone(&upper[0].name);
                    self.chunks.insert(position + 1, Chunk { fence, entries: Arc::new(upper) });
                }
                None
            }
        }
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Entry> {
        let position = self.chunk_of(name);
        let chunk = self.chunks.get_mut(position)?;
        let offset = chunk.entries.binary_search_by(|entry| (*entry.name).cmp(name)).ok()?;
        let entries = Arc::make_mut(&mut chunk.entries);
        let removed = entries.remove(offset);
        if entries.is_empty() {
            self.chunks.remove(position);
        } else {
            self.merge_with_next(position);
        }
        self.count -= 1;
        Some(removed)
    }

    /// The first place whose name does not satisfy `before`, which must hold for a prefix of the order only.
    pub(crate) fn position(&self, before: impl Fn(&str) -> bool) -> Position {
        let above = self.chunks.partition_point(|chunk| before(&chunk.fence));
        let Some(chunk) = above.checked_sub(1) else { return Position { chunk: 0, offset: 0 } };
        let offset = self.chunks[chunk].entries.partition_point(|entry| before(&entry.name));
        if offset == self.chunks[chunk].entries.len() {
            Position { chunk: above, offset: 0 }
        } else {
            Position { chunk, offset }
        }
    }

    /// How many entries lie from `start` up to `end`.
    pub(crate) fn count_between(&self, start: Position, end: Position) -> usize {
        let whole: usize =
            self.chunks[start.chunk..end.chunk.max(start.chunk)].iter().map(|chunk| chunk.entries.len()).sum();
        (whole + end.offset).saturating_sub(start.offset)
    }

    /// At most `limit` entries from `start` on, as a snapshot that later writes do not touch.
    pub(crate) fn slice(&self, start: Position, limit: usize) -> Slice {
        let mut chunks = Vec::new();
        let mut reached = 0_usize;
        for chunk in self.chunks.iter().skip(start.chunk) {
            if reached >= limit.saturating_add(start.offset) {
                break;
            }
            reached += chunk.entries.len();
            chunks.push(Arc::clone(&chunk.entries));
        }
        Slice { chunks, skip: start.offset, take: limit }
    }

    /// Every entry, as a snapshot that later writes do not touch.
    pub(crate) fn all(&self) -> Slice {
        self.slice(Position { chunk: 0, offset: 0 }, self.count)
    }

    fn chunk_of(&self, name: &str) -> usize {
        self.chunks.partition_point(|chunk| &*chunk.fence <= name).saturating_sub(1)
    }

    /// Keeps a shrinking index from ending as many chunks of one entry.
    fn merge_with_next(&mut self, position: usize) {
        let Some(next) = self.chunks.get(position + 1) else { return };
        if self.chunks[position].entries.len() + next.entries.len() > CHUNK_ENTRIES / 2 {
            return;
        }
        let next = self.chunks.remove(position + 1);
        Arc::make_mut(&mut self.chunks[position].entries).extend(next.entries.iter().cloned());
    }
}

/// A part of an index as it was at one moment.
pub(crate) struct Slice {
    chunks: Vec<Arc<Vec<Entry>>>,
    skip: usize,
    take: usize,
}

impl Slice {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.chunks.iter().flat_map(|chunk| chunk.iter()).skip(self.skip).take(self.take)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;

    fn entry(name: &str, modified: u64) -> Entry {
        Entry { name: name.into(), value: Bytes::new(), created: 1, modified }
    }

    proptest! {
        #[test]
        fn behaves_like_a_sorted_map(steps in prop::collection::vec((0_u16..900, any::<bool>(), 0_u8..4), 0..3000), cut in 0_u16..900) {
            let mut index = Index::default();
            let mut model = BTreeMap::new();
            for (step, (key, grow, dice)) in steps.into_iter().enumerate() {
                let name = format!("{key:04}");
                if grow || dice == 0 {
                    let was = index.put(entry(&name, step as u64)).map(|entry| entry.modified);
                    prop_assert_eq!(was, model.insert(name, step as u64));
                } else {
                    prop_assert_eq!(index.remove(&name).map(|entry| entry.modified), model.remove(&name));
                }
            }
            prop_assert_eq!(index.count(), model.len());
            let names: Vec<_> = index.all().iter().map(|entry| entry.name.to_string()).collect();
            prop_assert_eq!(names, model.keys().cloned().collect::<Vec<_>>());
            let cut = format!("{cut:04}");
            let start = index.position(|name| name < cut.as_str());
            let end = index.position(|_| true);
            prop_assert_eq!(index.count_between(start, end), model.range(cut.clone()..).count());
            let some: Vec<_> = index.slice(start, 7).iter().map(|entry| entry.name.to_string()).collect();
            prop_assert_eq!(some, model.range(cut..).take(7).map(|(name, _)| name.clone()).collect::<Vec<_>>());
            for (name, modified) in &model {
                prop_assert_eq!(index.get(name).map(|entry| entry.modified), Some(*modified));
            }
        }
    }

    #[test]
    fn a_slice_does_not_see_later_writes() {
        let mut index = Index::default();
        index.put(entry("a", 1));
        let slice = index.all();
        index.put(entry("a", 2));
        index.put(entry("b", 3));
        assert_eq!(slice.iter().map(|entry| entry.modified).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn names_in_order_fill_their_chunks() {
        let mut index = Index::default();
        for number in 0..CHUNK_ENTRIES * 10 {
            index.put(entry(&format!("{number:06}"), 1));
        }
        assert_eq!(index.chunks.len(), 10);
    }
}
