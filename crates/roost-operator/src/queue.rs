//! What has to be looked at: each object once, not twice at the same time, and later again after a failure.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

/// The wait after the first failure; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// The longest wait after failures.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Which controller looks at an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Controller {
    HostedCluster,
    HostedControlPlane,
    NodePool,
    Machine,
    /// What a HostedCluster left behind that is gone.
    Orphans,
    AgentServiceConfig,
    InfraEnv,
    Agent,
    AgentClassification,
    BareMetalHost,
    AgentMachine,
    /// The hosts of a NodePool on the platform Agent, under that pool's name.
    AgentPool,
}

/// One object for one controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) controller: Controller,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Key {
    pub(crate) fn new(controller: Controller, namespace: &str, name: &str) -> Self {
        Self { controller, namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

/// How a pass over one object ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Look again when it changes.
    Settled,
    /// Look again after this while at the latest.
    After(Duration),
    /// Something failed; look again after a while that grows.
    Failed,
}

/// The queue of all controllers.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Key>,
    waiting: HashSet<Key>,
    running: HashSet<Key>,
    /// Asked for while a pass over it was under way.
    again: HashSet<Key>,
    /// Asked for within a while, while a pass over it was under way.
    late: HashMap<Key, Instant>,
    failures: HashMap<Key, u32>,
    timers: BTreeSet<(Instant, Key)>,
    due: HashMap<Key, Instant>,
}

impl Queue {
    /// Asks for a pass over an object, soon.
    pub(crate) fn add(&self, key: Key) {
        self.state.lock().add(key);
        self.changed.notify_one();
    }

    /// Asks for a pass over an object within a while: many wishes of that while are one pass.
    pub(crate) fn add_within(&self, key: Key, while_: Duration) {
        let mut state = self.state.lock();
        let time = Instant::now() + while_;
        if state.running.contains(&key) {
            // When the pass ends, what it returns is one more wish.
            state.late.insert(key, time);
        } else if !state.waiting.contains(&key) && state.due.get(&key).is_none_or(|due| *due > time) {
            if let Some(due) = state.due.remove(&key) {
                state.timers.remove(&(due, key.clone()));
            }
            state.schedule(key, time);
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Runs passes, several at a time but never two over one object, until the future is dropped.
    pub(crate) async fn run<F, P>(self: Arc<Self>, concurrency: usize, pass: F)
    where
        F: Fn(Key) -> P + Send + Sync + 'static,
        P: Future<Output = Done> + Send + 'static,
    {
        let pass = Arc::new(pass);
        let places = Arc::new(Semaphore::new(concurrency));
        let mut passes = tokio::task::JoinSet::new();
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let key = self.next().await;
            let (queue, pass) = (Arc::clone(&self), Arc::clone(&pass));
            passes.spawn(async move {
                let done = pass(key.clone()).await;
                queue.finish(key, done);
                drop(place);
            });
            while passes.try_join_next().is_some() {}
        }
    }

    async fn next(&self) -> Key {
        loop {
            let timer = {
                let mut state = self.state.lock();
                state.fire(Instant::now());
                if let Some(key) = state.take() {
                    return key;
                }
                state.timers.first().map(|(time, _)| *time)
            };
            match timer {
                None => self.changed.notified().await,
                Some(time) => tokio::select! {
                    () = self.changed.notified() => {}
                    () = tokio::time::sleep_until(time) => {}
                },
            }
        }
    }

    fn finish(&self, key: Key, done: Done) {
        let mut state = self.state.lock();
        state.running.remove(&key);
        let wait = match done {
            Done::Failed => {
                let failures = state.failures.entry(key.clone()).or_default();
                *failures = failures.saturating_add(1);
                Some(FIRST_WAIT.saturating_mul(1 << (*failures - 1).min(16)).min(LONGEST_WAIT))
            }
            Done::Settled => None,
            Done::After(wait) => Some(wait),
        };
        if done != Done::Failed {
            state.failures.remove(&key);
        }
        let late = state.late.remove(&key);
        let due = wait.map(|wait| Instant::now() + wait).into_iter().chain(late).min();
        if state.again.remove(&key) {
            state.add(key);
        } else if let Some(due) = due {
            state.schedule(key, due);
        }
        drop(state);
        self.changed.notify_one();
    }
}

impl State {
    fn add(&mut self, key: Key) {
        if self.running.contains(&key) {
            self.again.insert(key);
            return;
        }
        if let Some(time) = self.due.remove(&key) {
            self.timers.remove(&(time, key.clone()));
        }
        if self.waiting.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    fn take(&mut self) -> Option<Key> {
        let key = self.ready.pop_front()?;
        self.waiting.remove(&key);
        self.running.insert(key.clone());
        Some(key)
    }

    fn schedule(&mut self, key: Key, time: Instant) {
        self.due.insert(key.clone(), time);
        self.timers.insert((time, key));
    }

    fn fire(&mut self, now: Instant) {
        while self.timers.first().is_some_and(|(time, _)| *time <= now) {
            if let Some((_, key)) = self.timers.pop_first() {
                self.due.remove(&key);
                self.add(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn key(name: &str) -> Key {
        Key::new(Controller::HostedCluster, "clusters", name)
    }

    #[test]
    fn an_object_waits_once_and_never_runs_twice_at_a_time() {
        let mut state = State::default();
        state.add(key("a"));
        state.add(key("a"));
        state.add(key("b"));
        assert_eq!(state.take(), Some(key("a")));
        state.add(key("a"));
        assert_eq!(state.take(), Some(key("b")));
        assert_eq!(state.take(), None);
        assert!(state.again.contains(&key("a")));
    }

    #[tokio::test(start_paused = true)]
    async fn many_wishes_of_a_while_are_one_pass() {
        let queue = Arc::new(Queue::default());
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let running = tokio::spawn(Arc::clone(&queue).run(2, move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::time::sleep(Duration::from_millis(100)).await;
                Done::After(Duration::from_hours(1))
            }
        }));
        for _ in 0..10 {
            queue.add_within(key("a"), Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(count.load(Ordering::Relaxed), 0);
        tokio::time::sleep(Duration::from_millis(550)).await;
        assert_eq!(count.load(Ordering::Relaxed), 1);
        queue.add_within(key("a"), Duration::from_secs(1));
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(count.load(Ordering::Relaxed), 2);
        running.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_tried_again_later_and_later() {
        let queue = Arc::new(Queue::default());
        queue.add(key("a"));
        let (count, started) = (Arc::new(AtomicUsize::new(0)), Instant::now());
        let (seen, counted) = (Arc::new(Mutex::new(Vec::new())), Arc::clone(&count));
        let times = Arc::clone(&seen);
        let running = tokio::spawn(Arc::clone(&queue).run(2, move |_| {
            times.lock().push(started.elapsed().as_millis());
            let done = if counted.fetch_add(1, Ordering::Relaxed) < 3 { Done::Failed } else { Done::Settled };
            async move { done }
        }));
        tokio::time::sleep(Duration::from_mins(1)).await;
        running.abort();
        assert_eq!(count.load(Ordering::Relaxed), 4);
        let times = seen.lock().clone();
        assert!(times[1] >= 50 && times[2] >= times[1] + 100 && times[3] >= times[2] + 200, "{times:?}");
    }
}
