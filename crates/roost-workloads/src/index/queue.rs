//! Pods that wait for a node, and when each is tried again.

use std::collections::{BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};

use crate::Pod;
use crate::scheduler::DEFAULT_NAME;

/// The first wait after a pod found no node; it doubles each time.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(1);
/// The longest wait between tries, once something has changed.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(10);

/// Pods that wait for a node: the most important first, then the oldest.
#[derive(Debug, Default)]
pub struct Queue {
    order: BTreeSet<Turn>,
    turns: HashMap<String, Turn>,
    tries: HashMap<String, Tries>,
    /// Counts what could let a pod in that found no node before.
    moves: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    priority: std::cmp::Reverse<i64>,
    since: Option<Timestamp>,
    key: String,
}

#[derive(Debug)]
struct Tries {
    count: u32,
    last: Timestamp,
    moves: u64,
}

/// Who is next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// This pod.
    Pod(String),
    /// Somebody, but not before this time.
    NotBefore(Timestamp),
    /// Nobody, until something changes.
    Nobody,
}

impl Queue {
    /// Takes in a pod as it is.
    pub fn observe(&mut self, key: &str, pod: &Pod) {
        let waits = pod.spec.node_name.is_empty()
            && pod.is_active()
            && pod.spec.scheduling_gates.is_empty()
            && matches!(pod.spec.scheduler_name.as_str(), "" | DEFAULT_NAME);
        if !waits {
            let moved = pod.has_ended() || !pod.spec.node_name.is_empty();
            self.forget(key, moved);
            return;
        }
        let turn = Turn {
            priority: std::cmp::Reverse(pod.spec.priority),
            since: pod.metadata.creation_timestamp,
            key: key.to_owned(),
        };
        if let Some(before) = self.turns.insert(key.to_owned(), turn.clone()) {
            self.order.remove(&before);
        }
        self.order.insert(turn);
    }

    /// Forgets a pod; one that was somewhere leaves room, or company, to others.
    pub fn forget(&mut self, key: &str, moved: bool) {
        if let Some(turn) = self.turns.remove(key) {
            self.order.remove(&turn);
        }
        self.tries.remove(key);
        if moved {
            self.something_moved();
        }
    }

    /// Lets pods that found no node have another try.
    pub fn something_moved(&mut self) {
        self.moves += 1;
    }

    /// Takes out the next pod. It comes back when it is observed or has failed.
    pub fn next(&mut self, now: Timestamp) -> Next {
        let mut soonest: Option<Timestamp> = None;
        let mut found = None;
        for turn in &self.order {
            let due = match self.tries.get(&turn.key) {
                None => now,
                Some(tries) if tries.moves == self.moves => continue,
                Some(tries) => tries.last + wait(tries.count),
            };
            if due <= now {
                found = Some(turn.clone());
                break;
            }
            soonest = Some(soonest.map_or(due, |soonest| soonest.min(due)));
        }
        match (found, soonest) {
            (Some(turn), _) => {
                self.order.remove(&turn);
                self.turns.remove(&turn.key);
                Next::Pod(turn.key)
            }
            (None, Some(time)) => Next::NotBefore(time),
            (None, None) => Next::Nobody,
        }
    }

    /// Notes that a pod found no node, as far as the state that it was tried on went.
    pub fn failed(&mut self, key: &str, pod: &Pod, now: Timestamp) {
        let moves = self.moves;
        let count = self.tries.get(key).map_or(0, |tries| tries.count) + 1;
        self.observe(key, pod);
        self.tries.insert(key.to_owned(), Tries { count, last: now, moves });
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

fn wait(count: u32) -> SignedDuration {
    let factor = 1_i32.checked_shl(count.saturating_sub(1)).unwrap_or(i32::MAX).max(1);
    (FIRST_WAIT.checked_mul(factor).unwrap_or(LONGEST_WAIT)).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(priority: i64) -> Pod {
        serde_json::from_value(json!({"spec": {"priority": priority}})).expect("a pod")
    }

    #[test]
    fn pods_come_by_importance_and_are_tried_again_only_when_something_moved() {
        let mut queue = Queue::default();
        let mut now: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        queue.observe("a", &pod(0));
        queue.observe("b", &pod(5));
        assert_eq!(queue.next(now), Next::Pod("b".into()));
        assert_eq!(queue.next(now), Next::Pod("a".into()));
        assert_eq!(queue.next(now), Next::Nobody);
        queue.failed("a", &pod(0), now);
        assert_eq!(queue.next(now), Next::Nobody);
        queue.something_moved();
        assert_eq!(queue.next(now), Next::NotBefore(now + FIRST_WAIT));
        now += FIRST_WAIT;
        assert_eq!(queue.next(now), Next::Pod("a".into()));
        queue.failed("a", &pod(0), now);
        queue.something_moved();
        assert_eq!(queue.next(now), Next::NotBefore(now + FIRST_WAIT * 2));
        queue.forget("a", false);
        assert_eq!(queue.next(now), Next::Nobody);
    }

    #[test]
    fn gated_and_foreign_pods_do_not_wait() {
        let mut queue = Queue::default();
        for spec in
            [json!({"schedulingGates": [{"name": "g"}]}), json!({"schedulerName": "mine"}), json!({"nodeName": "n"})]
        {
            queue.observe("a", &serde_json::from_value(json!({"spec": spec})).expect("a pod"));
        }
        assert!(queue.is_empty());
    }
}
