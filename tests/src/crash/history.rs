//! What was acknowledged and what was seen, and whether the two can be true of one log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More violations say nothing new.
const LARGEST_REPORT: usize = 50;

/// An acknowledged write.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Write {
    life: usize,
    version: u64,
    name: String,
    value: String,
}

/// An event of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Event {
    life: usize,
    version: u64,
    kind: String,
    name: String,
    value: String,
}

#[derive(Debug, Default)]
struct Notes {
    writes: Vec<Write>,
    /// The version that each watcher began after, and what it saw since.
    watches: BTreeMap<usize, (u64, Vec<Event>)>,
    violations: Vec<String>,
}

/// The notes of all tasks.
#[derive(Debug, Default)]
pub(super) struct History {
    notes: Mutex<Notes>,
}

impl History {
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn violation(&self, text: String) {
        self.notes().violations.push(text);
    }

    pub(super) fn acknowledge(&self, life: usize, version: u64, name: &str, value: &str) {
        let write = Write { life, version, name: name.to_owned(), value: value.to_owned() };
        self.notes().writes.push(write);
    }

    pub(super) fn begin(&self, watcher: usize, version: u64) {
        self.notes().watches.insert(watcher, (version, Vec::new()));
    }

    pub(super) fn see(&self, watcher: usize, life: usize, version: u64, kind: &str, name: &str, value: &str) {
        let event = Event { life, version, kind: kind.to_owned(), name: name.to_owned(), value: value.to_owned() };
        if let Some((_, events)) = self.notes().watches.get_mut(&watcher) {
            events.push(event);
        }
    }

    /// The version that the slowest of all watchers has reached.
    pub(super) fn slowest_watcher(&self, watchers: usize) -> u64 {
        let notes = self.notes();
        if notes.watches.len() < watchers {
            return 0;
        }
        let reached = notes.watches.values().map(|(start, events)| events.last().map_or(*start, |event| event.version));
        reached.min().unwrap_or(0)
    }

    pub(super) fn acknowledged(&self) -> usize {
        self.notes().writes.len()
    }

    pub(super) fn events(&self) -> usize {
        self.notes().watches.values().map(|(_, events)| events.len()).sum()
    }

    /// All violations, those that the tasks noticed and those that only the whole history shows.
    pub(super) fn check(&self) -> Vec<String> {
        let notes = self.notes();
        let mut found = notes.violations.clone();
        found.extend(versions_used_twice(&notes));
        found.extend(versions_that_went_back(&notes));
        for (number, (start, events)) in &notes.watches {
            found.extend(gaps(*number, *start, events, &notes.writes));
        }
        found.truncate(LARGEST_REPORT);
        found
    }
}

/// Two different things under one version, whoever saw them.
fn versions_used_twice(notes: &Notes) -> Vec<String> {
    let mut contents: BTreeMap<u64, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for write in &notes.writes {
        contents.entry(write.version).or_default().insert((&write.name, &write.value));
    }
    for event in notes.watches.values().flat_map(|(_, events)| events) {
        // A deletion shows the value that was deleted, under the version of the deletion.
        let value = if event.kind == "DELETED" { "" } else { &event.value };
        contents.entry(event.version).or_default().insert((&event.name, value));
    }
    let doubled = contents.into_iter().filter(|(_, contents)| contents.len() > 1);
    doubled.map(|(version, contents)| format!("version {version} means {contents:?}")).collect()
}

/// A write of a later life whose version was reached in an earlier one.
fn versions_that_went_back(notes: &Notes) -> Vec<String> {
    let mut reached: BTreeMap<usize, u64> = BTreeMap::new();
    let writes = notes.writes.iter().map(|write| (write.life, write.version));
    let events = notes.watches.values().flat_map(|(_, events)| events).map(|event| (event.life, event.version));
    for (life, version) in writes.chain(events) {
        let largest = reached.entry(life).or_default();
        *largest = (*largest).max(version);
    }
    let before = |life: usize| reached.range(..life).map(|(_, version)| *version).max().unwrap_or(0);
    let limits: BTreeMap<usize, u64> =
        notes.writes.iter().map(|write| write.life).map(|life| (life, before(life))).collect();
    notes
        .writes
        .iter()
        .filter(|write| write.version <= limits[&write.life])
        .map(|write| {
            format!("{} got version {} in life {}, which was reached before", write.name, write.version, write.life)
        })
        .collect()
}

/// What a watcher missed, saw twice or saw out of order.
fn gaps(number: usize, start: u64, events: &[Event], writes: &[Write]) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = BTreeMap::new();
    let mut previous = start;
    for event in events {
        if event.version <= previous {
            found.push(format!("watcher {number} saw version {} after {previous}", event.version));
        }
        previous = event.version;
        seen.insert(event.version, event);
    }
    for write in writes.iter().filter(|write| write.version > start && write.version <= previous) {
        match seen.get(&write.version) {
            None => found.push(format!("watcher {number} missed {} at version {}", write.name, write.version)),
            Some(event) if event.name != write.name || event.value != write.value => found.push(format!(
                "watcher {number} saw {} = {} at version {}, where {} = {} was acknowledged",
                event.name, event.value, write.version, write.name, write.value
            )),
            Some(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::History;

    fn good() -> History {
        let history = History::default();
        history.begin(0, 10);
        history.acknowledge(0, 11, "a", "1");
        history.see(0, 0, 11, "ADDED", "a", "1");
        history.acknowledge(1, 12, "a", "2");
        history.see(0, 1, 12, "MODIFIED", "a", "2");
        history.see(0, 1, 13, "DELETED", "a", "2");
        history
    }

    #[test]
    fn a_good_history_has_no_violation() {
        assert_eq!(good().check(), Vec::<String>::new());
    }

    #[test]
    fn a_version_used_twice_is_found() {
        let history = good();
        history.acknowledge(1, 11, "b", "9");
        assert!(history.check().iter().any(|text| text.contains("version 11 means")));
    }

    #[test]
    fn a_version_that_went_back_is_found() {
        let history = good();
        history.acknowledge(2, 13, "b", "9");
        assert!(history.check().iter().any(|text| text.contains("reached before")));
    }

    #[test]
    fn a_missed_event_is_found() {
        let history = good();
        history.acknowledge(2, 14, "b", "9");
        history.see(0, 2, 15, "ADDED", "c", "1");
        assert!(history.check().iter().any(|text| text.contains("missed b at version 14")));
    }

    #[test]
    fn a_repeated_event_is_found() {
        let history = good();
        history.see(0, 2, 12, "MODIFIED", "a", "2");
        assert!(history.check().iter().any(|text| text.contains("saw version 12 after 13")));
    }

    #[test]
    fn a_write_lost_for_watchers_is_found() {
        let history = good();
        history.acknowledge(2, 16, "a", "3");
        history.see(0, 2, 16, "ADDED", "a", "4");
        assert!(history.check().iter().any(|text| text.contains("was acknowledged")));
    }
}
