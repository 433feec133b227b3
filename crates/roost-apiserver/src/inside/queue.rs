//! The queue of tasks: each at most once, failed ones again after a growing while.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use parking_lot::Mutex;
use roost_object::Status;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::Task;

/// Tasks in work at a time: they mostly wait for the disk.
const MAX_IN_WORK: usize = 32;
/// The first wait after a failure; it doubles each time.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// The longest wait after a failure.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

type Key = (String, Task);

/// A shared queue.
#[derive(Clone)]
pub(crate) struct Queue {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Key>,
    known: HashMap<Key, Entry>,
}

#[derive(Default)]
struct Entry {
    /// Whether it is in work, and so must be done once more when it is asked for again.
    in_work: bool,
    again: bool,
    failures: u32,
    /// Whether it waits after a failure.
    asleep: bool,
}

impl Queue {
    /// An empty queue.
    pub(super) fn new() -> Queue {
        Queue { state: Arc::new(Mutex::new(State::default())), changed: Arc::new(Notify::new()) }
    }

    /// Asks for a task. A task that waits already is not added twice; one in work is done once more.
    pub(super) fn add(&self, tenant: &str, task: Task) {
        self.ask((tenant.to_owned(), task), false);
    }

    /// Asks for a task, also when it waits after a failure: what it waited for may have come.
    pub(super) fn hurry(&self, tenant: &str, task: Task) {
        self.ask((tenant.to_owned(), task), true);
    }

    /// Whether nothing is asked for.
    pub(super) fn is_empty(&self) -> bool {
        self.state.lock().known.is_empty()
    }

    fn ask(&self, key: Key, wake: bool) {
        let mut state = self.state.lock();
        match state.known.get_mut(&key) {
            Some(entry) if entry.asleep && wake => {
                entry.asleep = false;
                state.waiting.push_back(key);
            }
            Some(entry) => {
                entry.again |= entry.in_work;
                return;
            }
            None => {
                state.known.insert(key.clone(), Entry::default());
                state.waiting.push_back(key);
            }
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Works until dropped.
    pub(super) async fn work<F, W>(self, perform: F)
    where
        F: Fn(String, Task) -> W,
        W: Future<Output = Result<(), Status>> + Send + 'static,
    {
        let mut running = JoinSet::new();
        loop {
            while running.len() < MAX_IN_WORK {
                let Some(key) = self.take() else { break };
                let work = AssertUnwindSafe(perform(key.0.clone(), key.1.clone())).catch_unwind();
                running.spawn(async move {
                    let outcome = work.await.unwrap_or_else(|_| Err(Status::internal("the task broke off")));
                    (key, outcome)
                });
            }
            tokio::select! {
                () = self.changed.notified() => {}
                Some(done) = running.join_next(), if !running.is_empty() => match done {
                    Ok((key, outcome)) => self.finish(key, outcome),
                    Err(error) => tracing::error!(%error, "a task of the inside controllers was cancelled"),
                },
            }
        }
    }

    fn take(&self) -> Option<Key> {
        let mut state = self.state.lock();
        let key = state.waiting.pop_front()?;
        if let Some(entry) = state.known.get_mut(&key) {
            entry.in_work = true;
        }
        Some(key)
    }

    fn finish(&self, key: Key, outcome: Result<(), Status>) {
        let mut state = self.state.lock();
        let Some(entry) = state.known.get_mut(&key) else { return };
        entry.in_work = false;
        match outcome {
            Ok(()) if entry.again => {
                entry.again = false;
                entry.failures = 0;
                state.waiting.push_back(key);
            }
            Ok(()) => {
                state.known.remove(&key);
            }
            Err(status) => {
                entry.again = false;
                entry.failures += 1;
                entry.asleep = true;
                let wait = FIRST_WAIT.saturating_mul(1 << entry.failures.min(16)).min(LONGEST_WAIT);
                tracing::debug!(tenant = key.0, task = ?key.1, %status, "a task failed and is tried again");
                let (queue, failures) = (self.clone(), entry.failures);
                tokio::spawn(async move {
                    tokio::time::sleep(wait).await;
                    queue.wake(key, failures);
                });
            }
        }
    }

    /// Ends the wait that followed a failure, unless something else ended it before.
    fn wake(&self, key: Key, failures: u32) {
        let mut state = self.state.lock();
        let Some(entry) = state.known.get_mut(&key) else { return };
        if !entry.asleep || entry.failures != failures {
            return;
        }
        entry.asleep = false;
        state.waiting.push_back(key);
        drop(state);
        self.changed.notify_one();
    }

    /// Takes everything out.
    #[cfg(test)]
    pub(super) fn drain(&self) -> Vec<Key> {
        let mut state = self.state.lock();
        state.known.clear();
        state.waiting.drain(..).collect()
    }
}
