//! One clock for all tenants: tasks that are due later. It sleeps until the first of them, and for ever when there is
//! none.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Task;
use super::queue::Queue;

/// The longest wait of one timer: whoever waits longer is asked in between, which also follows a clock that was set.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

type Key = (String, Task);

/// Tasks by the second in which they are due.
pub(crate) struct Timers {
    start: Instant,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    due: BTreeMap<u64, Vec<Key>>,
    known: HashMap<Key, u64>,
}

impl Timers {
    /// No timers.
    pub(super) fn new() -> Timers {
        Timers { start: Instant::now(), state: Mutex::new(State::default()), changed: Notify::new() }
    }

    /// Asks for a task after a while, rounded up to a second. A task that is due earlier already stays so.
    pub(super) fn after(&self, tenant: &str, task: Task, wait: Duration) {
        let wait = wait.min(LONGEST_WAIT) + self.start.elapsed();
        let slot = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let key = (tenant.to_owned(), task);
        let mut state = self.state.lock();
        if state.known.get(&key).is_some_and(|known| *known <= slot) {
            return;
        }
        let is_first = state.due.first_key_value().is_none_or(|(first, _)| slot < *first);
        state.known.insert(key.clone(), slot);
        state.due.entry(slot).or_default().push(key);
        drop(state);
        if is_first {
            self.changed.notify_one();
        }
    }

    /// Asks for a task at a time of the wall clock; at once when it has passed.
    pub(super) fn at(&self, tenant: &str, task: Task, time: Timestamp) {
        let wait: SignedDuration = time.duration_since(Timestamp::now());
        self.after(tenant, task, Duration::try_from(wait).unwrap_or_default());
    }

    /// Hands tasks that are due to the queue, until dropped.
    pub(super) async fn run(&self, queue: &Queue) {
        loop {
            let first = self.state.lock().due.first_key_value().map(|(slot, _)| *slot);
            match first {
                None => self.changed.notified().await,
                Some(slot) => tokio::select! {
                    () = self.changed.notified() => {}
                    () = tokio::time::sleep_until(self.start + Duration::from_secs(slot)) => {
                        self.hand_over(self.start.elapsed().as_secs(), queue);
                    }
                },
            }
        }
    }

    fn hand_over(&self, now: u64, queue: &Queue) {
        let mut state = self.state.lock();
        while let Some(entry) = state.due.first_entry().filter(|entry| *entry.key() <= now) {
            let (slot, keys) = entry.remove_entry();
            for key in keys {
                // A task that was moved to an earlier second has been handed over already.
                if state.known.get(&key) == Some(&slot) {
                    state.known.remove(&key);
                    queue.add(&key.0, key.1);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str) -> Task {
        Task::CheckNode(name.to_owned())
    }

    #[test]
    fn tasks_come_once_and_at_the_earliest_time_asked_for() {
        let (timers, queue) = (Timers::new(), Queue::new());
        for (name, seconds) in [("late", 30), ("early", 30), ("early", 5), ("early", 20)] {
            timers.after("a", task(name), Duration::from_secs(seconds));
        }
        for (second, due) in [(4, vec![]), (7, vec!["early"]), (29, vec![]), (32, vec!["late"]), (90, vec![])] {
            timers.hand_over(second, &queue);
            let found: Vec<Task> = queue.drain().into_iter().map(|(_, task)| task).collect();
            assert_eq!(found, due.into_iter().map(task).collect::<Vec<_>>(), "at second {second}");
        }
        assert!(timers.state.lock().due.is_empty() && timers.state.lock().known.is_empty());
    }
}
