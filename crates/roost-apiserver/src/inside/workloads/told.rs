//! Events that were told already: what happens again is counted on the first one, as long as it is remembered.

use std::collections::{HashMap, VecDeque};

use roost_workloads::Event;

/// How many events of a cluster are remembered. Stock remembers more, of all that it tells.
const REMEMBERED: usize = 512;

/// The names of events by what they say.
#[derive(Default)]
pub(super) struct Told {
    names: HashMap<Key, String>,
    order: VecDeque<Key>,
}

/// What makes two events the same.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    kind: String,
    uid: String,
    name: String,
    reason: &'static str,
    message: String,
}

impl Key {
    pub(super) fn of(event: &Event) -> Key {
        // Stock's scheduler counts what it says of a pod whatever the words are; the others count only the same words.
        let message = if event.action.is_empty() { event.message.clone() } else { String::new() };
        Key {
            kind: event.regarding.kind.clone(),
            uid: event.regarding.uid.clone(),
            name: event.regarding.name.clone(),
            reason: event.reason,
            message,
        }
    }
}

impl Told {
    /// The event that said the same.
    pub(super) fn find(&self, key: &Key) -> Option<&str> {
        self.names.get(key).map(String::as_str)
    }

    /// Remembers an event, and forgets the oldest.
    pub(super) fn remember(&mut self, key: Key, name: String) {
        if self.names.insert(key.clone(), name).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > REMEMBERED {
            if let Some(oldest) = self.order.pop_front() {
                self.names.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use roost_workloads::Reference;

    use super::*;

    #[test]
    fn the_same_is_found_and_the_oldest_is_forgotten() {
        let event = |name: &str, message: &str, action: &'static str| Event {
            regarding: Reference { kind: "Pod".into(), name: name.into(), ..Reference::default() },
            warning: false,
            reason: "R",
            message: message.into(),
            component: "c",
            action,
        };
        let mut told = Told::default();
        told.remember(Key::of(&event("a", "one", "")), "a.1".into());
        assert_eq!(told.find(&Key::of(&event("a", "one", ""))), Some("a.1"));
        assert_eq!(told.find(&Key::of(&event("a", "two", ""))), None);
        assert!(Key::of(&event("a", "one", "Scheduling")) == Key::of(&event("a", "two", "Scheduling")));
        for number in 0..REMEMBERED {
            told.remember(Key::of(&event(&number.to_string(), "", "")), String::new());
        }
        assert_eq!(told.find(&Key::of(&event("a", "one", ""))), None);
        assert_eq!(told.names.len(), REMEMBERED);
    }
}
