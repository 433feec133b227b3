//! Owns the one thread that changes a durable store: it takes what is queued, decides, makes it durable with one sync,
//! publishes it, and only then answers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::engine::Engine;
use crate::journal::{Batch, Journal, unix_milliseconds};
use crate::plan::Plan;
use crate::{CommitError, Event, Revision, StorageError, Write};

/// Half of the time that a sync takes, but at most half of this, is waited for a batch to become as large as the last one.
const GATHER_MAX: Duration = Duration::from_micros(500);

/// How often an idle store looks whether history has become too old.
const IDLE_INTERVAL: Duration = Duration::from_secs(30);

/// A compaction that failed, most likely for want of space, is not tried again sooner.
const COMPACTION_RETRY: Duration = Duration::from_mins(1);

type Reply<T> = oneshot::Sender<Result<T, CommitError>>;

pub(crate) enum Request {
    Commit { writes: Vec<Write>, reply: Reply<Revision> },
    DropTenant { tenant: String, reply: Reply<()> },
    Compact { before: Revision, reply: Reply<()> },
    Compacted(Result<(), StorageError>),
    Close { closed: Option<oneshot::Sender<()>> },
}

/// Says that a compaction ended, even when it never came to run.
struct CompactionNotice {
    requests: Sender<Request>,
    result: Option<Result<(), StorageError>>,
}

impl CompactionNotice {
    fn send(mut self, result: Result<(), StorageError>) {
        self.result = Some(result);
    }
}

impl Drop for CompactionNotice {
    fn drop(&mut self) {
        let result = self.result.take().unwrap_or_else(|| Err(StorageError::new("the compaction did not run")));
        // A writer that has gone has no use for it.
        let _ = self.requests.send(Request::Compacted(result));
    }
}

/// The state of the writer's thread.
pub(crate) struct Writer {
    engine: Arc<Engine>,
    journal: Box<dyn Journal>,
    requests: Sender<Request>,
    /// How many commits the last batch had.
    last_batch: usize,
    /// How long the journal takes for a batch, smoothed.
    sync_time: Duration,
    compacting: bool,
    compaction_not_before: Instant,
    /// Whoever waits for the running compaction.
    waiting: Vec<Reply<()>>,
    /// Whoever waits for the one after it.
    waiting_next: Vec<Reply<()>>,
}

impl Writer {
    /// Starts the thread; the sender is the way to it.
    pub(crate) fn start(
        engine: Arc<Engine>,
        journal: Box<dyn Journal>,
    ) -> std::io::Result<(Sender<Request>, std::thread::JoinHandle<()>)> {
        let (requests, queue) = channel();
        engine.set_stored_bytes(journal.stored_bytes());
        let writer = Self {
            engine,
            journal,
            requests: requests.clone(),
            last_batch: 0,
            sync_time: Duration::ZERO,
            compacting: false,
            compaction_not_before: Instant::now(),
            waiting: Vec::new(),
            waiting_next: Vec::new(),
        };
        let thread = std::thread::Builder::new().name("store-writer".into()).spawn(move || writer.run(&queue))?;
        Ok((requests, thread))
    }

    fn run(mut self, queue: &Receiver<Request>) {
        let mut requests = VecDeque::new();
        let mut idle_work = true;
        loop {
            let Some(request) = wait(queue, idle_work) else {
                idle_work = self.engine.trim();
                self.compact_if_worth();
                continue;
            };
            idle_work = true;
            requests.push_back(request);
            requests.extend(queue.try_iter());
            self.gather(queue, &mut requests);
            while let Some(request) = requests.pop_front() {
                match request {
                    Request::Commit { writes, reply } => self.commit(writes, reply, &mut requests),
                    Request::DropTenant { tenant, reply } => self.drop_tenant(&tenant, reply),
                    Request::Compact { before, reply } => self.compact(before, reply),
                    Request::Compacted(result) => self.compacted(&result),
                    Request::Close { closed } => return self.close(closed),
                }
            }
        }
    }

    /// Waits a moment for those who were in the last batch: they were just answered, and most come back at once. Without
    /// this they fall apart into groups that take turns, and each waits for the syncs of the others.
    fn gather(&self, queue: &Receiver<Request>, requests: &mut VecDeque<Request>) {
        let deadline = Instant::now() + self.sync_time.min(GATHER_MAX) / 2;
        while requests.len() < self.last_batch {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(request) = queue.recv_timeout(left) else { return };
            requests.push_back(request);
            requests.extend(queue.try_iter());
        }
    }

    /// Commits this and what is queued behind it as one batch.
    fn commit(&mut self, writes: Vec<Write>, reply: Reply<Revision>, queued: &mut VecDeque<Request>) {
        let mut answers = Vec::new();
        let engine = Arc::clone(&self.engine);
        let state = engine.state.read();
        let mut plan = Plan::new(&state);
        let limit = self.journal.batch_bytes();
        let mut bytes = size(&writes);
        answers.push((reply, plan.add(writes)));
        while let Some(Request::Commit { writes, .. }) = queued.front() {
            bytes += size(writes);
            if bytes > limit {
                break;
            }
            let Some(Request::Commit { writes, reply }) = queued.pop_front() else { break };
            answers.push((reply, plan.add(writes)));
        }
        let events = plan.into_events();
        drop(state);
        self.last_batch = answers.len();
        let failure = self.apply(&events).err();
        for (reply, answer) in answers {
            // Even a conflict may have been with a write of this batch, which now never was.
            let answer = failure.as_ref().map_or(answer, |failure| Err(CommitError::Storage(failure.clone())));
            let _ = reply.send(answer);
        }
        if failure.is_none() {
            self.engine.wakeups.wake(&events);
        }
        self.compact_if_worth();
    }

    fn drop_tenant(&mut self, tenant: &str, reply: Reply<()>) {
        let revision = {
            let state = self.engine.state.read();
            state.holds_tenant(tenant).then_some(state.revision + 1)
        };
        let events: Vec<_> =
            revision.into_iter().map(|revision| Arc::new(Event::tenant_dropped(revision, tenant))).collect();
        let result = self.apply(&events);
        let _ = reply.send(result.map_err(CommitError::Storage));
        self.engine.wakeups.wake(&events);
    }

    /// Makes changes durable, then visible.
    fn apply(&mut self, events: &[Arc<Event>]) -> Result<(), StorageError> {
        if events.is_empty() {
            return Ok(());
        }
        let begin = Instant::now();
        let appended = self.journal.append(Batch { events, time: unix_milliseconds() });
        self.sync_time = (self.sync_time * 7 + begin.elapsed()) / 8;
        if let Err(failure) = appended {
            tracing::error!(%failure, "the store cannot be written, reading goes on");
            self.engine.set_failure(Some(failure.clone()));
            return Err(failure);
        }
        let removed = self.engine.publish(&mut self.engine.state.write(), events);
        drop(removed);
        self.engine.set_stored_bytes(self.journal.stored_bytes());
        if self.engine.failure().is_some() {
            tracing::info!("the store can be written again");
            self.engine.set_failure(None);
        }
        Ok(())
    }

    fn compact(&mut self, before: Revision, reply: Reply<()>) {
        let head = self.engine.state.read().revision;
        self.engine.trim_to(before.min(head));
        self.waiting_next.push(reply);
        if !self.compacting {
            self.start_compaction();
        }
    }

    fn compact_if_worth(&mut self) {
        if self.compacting || Instant::now() < self.compaction_not_before {
            return;
        }
        let mark = self.engine.state.read().compacted;
        if self.journal.worth_compacting(mark) {
            self.start_compaction();
        }
    }

    fn start_compaction(&mut self) {
        self.compacting = true;
        self.waiting.append(&mut self.waiting_next);
        let snapshot = self.engine.state.read().snapshot();
        let notice = CompactionNotice { requests: self.requests.clone(), result: None };
        self.journal.compact(snapshot, Box::new(move |result| notice.send(result)));
    }

    fn compacted(&mut self, result: &Result<(), StorageError>) {
        self.compacting = false;
        self.engine.set_stored_bytes(self.journal.stored_bytes());
        if let Err(failure) = result {
            tracing::warn!(%failure, "the store could not be compacted");
            self.compaction_not_before = Instant::now() + COMPACTION_RETRY;
        }
        for reply in self.waiting.drain(..) {
            let _ = reply.send(result.clone().map_err(CommitError::Storage));
        }
        if !self.waiting_next.is_empty() {
            self.start_compaction();
        }
    }

    fn close(mut self, closed: Option<oneshot::Sender<()>>) {
        self.journal.close();
        // Whoever is told that the store is closed may open it again at once, so the journal's lock goes first.
        drop(self);
        if let Some(closed) = closed {
            let _ = closed.send(());
        }
    }
}

/// The next request; none when nothing came for a while. The writer holds a sender itself, so the queue never ends.
fn wait(queue: &Receiver<Request>, idle_work: bool) -> Option<Request> {
    if idle_work { queue.recv_timeout(IDLE_INTERVAL).ok() } else { queue.recv().ok() }
}

fn size(writes: &[Write]) -> usize {
    writes.iter().map(Write::size).sum()
}
