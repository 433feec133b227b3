//! Owns the threads that change a durable store. One of them at a time has the pen: it takes what waits, decides, writes
//! it down and passes the pen on. Then it makes what it wrote durable, publishes it in its turn, and only then answers.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::desk::{Desk, Item, Load, Order, Reply, Task};
use crate::engine::Engine;
use crate::journal::{Batch, Journal, SyncWork, unix_milliseconds};
use crate::plan::Plan;
use crate::watch;
use crate::{CommitError, Event, Revision, StorageError};

/// How many flights there are at most. One is enough for one tenant, however busy it is; the others are there so that
/// nobody else waits for it.
const CLERKS: usize = 4;

/// The time for which a clerk asks the kernel at once: few steps need more.
const SLICE: Duration = Duration::from_micros(200);

/// A compaction that failed, most likely for want of space, is not tried again sooner.
const COMPACTION_RETRY: Duration = Duration::from_mins(1);

/// Says that a compaction ended, even when it never came to run.
struct CompactionNotice {
    desk: Arc<Desk>,
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
        // A store that has ended has no use for it.
        let _ = self.desk.order(Order::Compacted(result));
    }
}

/// What only one thread at a time may touch.
struct Pen {
    journal: Box<dyn Journal>,
    /// The last revision that was given out.
    given: Revision,
    compacting: bool,
    compaction_not_before: Instant,
    /// Whoever waits for the running compaction.
    waiting: Vec<Reply<()>>,
    /// Whoever waits for the one after it.
    waiting_next: Vec<Reply<()>>,
}

/// How somebody is answered when a flight has landed.
enum Answer {
    Commit(Reply<Revision>, Result<Revision, CommitError>),
    Drop(Reply<()>),
}

impl Answer {
    fn send(self, failure: Option<&StorageError>) {
        // Even a conflict may have been with a write of this flight, which now never was.
        match (self, failure.cloned().map(CommitError::Storage)) {
            (Self::Commit(reply, answer), None) => drop(reply.send(answer)),
            (Self::Commit(reply, _), Some(failure)) => drop(reply.send(Err(failure))),
            (Self::Drop(reply), failure) => drop(reply.send(failure.map_or(Ok(()), Err))),
        }
    }
}

/// What was decided together, and becomes durable together.
struct Flight {
    /// With how many each takes part.
    tenants: Vec<(Box<str>, usize)>,
    events: Vec<Arc<Event>>,
    answers: Vec<Answer>,
}

/// A flight on its way, and what makes it durable.
struct Flown {
    number: u64,
    flight: Flight,
    sync: Option<SyncWork>,
}

impl Flight {
    fn tenants(&self) -> impl Iterator<Item = (&str, usize)> {
        self.tenants.iter().map(|(tenant, count)| (&**tenant, *count))
    }

    fn answer(self, failure: Option<&StorageError>) {
        for answer in self.answers {
            answer.send(failure);
        }
    }
}

/// What those who write share.
pub(crate) struct Writer {
    engine: Arc<Engine>,
    pub(crate) desk: Arc<Desk>,
    /// Whether callers may write on their own threads.
    borrows_threads: bool,
    /// None after the end.
    pen: Mutex<Option<Pen>>,
}

/// One thread's part; the store ends with the first that panics, instead of waiting for it for ever.
struct Clerk(Arc<Writer>);

impl Clerk {
    fn work(self) {
        // Everybody whose commit is in a flight waits for its clerk. A kernel that does not know slices has its own order.
        if let Err(error) = roost_kernel::come_soon(SLICE) {
            tracing::debug!(%error, "a writer of the store has no slice of its own");
        }
        while self.0.turn() {}
    }
}

impl Drop for Clerk {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.desk.give_up();
        }
    }
}

/// Starts the threads, which end when the desk is closed.
pub(crate) fn start(
    engine: Arc<Engine>,
    desk: Arc<Desk>,
    journal: Box<dyn Journal>,
) -> std::io::Result<(Arc<Writer>, Vec<JoinHandle<()>>)> {
    engine.set_stored_bytes(journal.stored_bytes());
    let borrows_threads = journal.can_borrow_threads();
    let pen = Pen {
        journal,
        given: engine.state.read().revision,
        compacting: false,
        compaction_not_before: Instant::now(),
        waiting: Vec::new(),
        waiting_next: Vec::new(),
    };
    // What was read from the disk may be older than is kept.
    desk.expect_idle_work();
    let writer = Arc::new(Writer { engine, desk, borrows_threads, pen: Mutex::new(Some(pen)) });
    let threads = (0..CLERKS).map(|_| {
        let clerk = Clerk(Arc::clone(&writer));
        std::thread::Builder::new().name("store-writer".into()).spawn(move || clerk.work())
    });
    let threads = threads.collect::<Result<_, _>>()?;
    Ok((writer, threads))
}

impl Writer {
    /// Waits for something to do. False after the end.
    fn turn(&self) -> bool {
        let is_idle = self.desk.take_pen();
        self.use_pen(is_idle)
    }

    /// Takes in a request. A caller who is alone writes it down himself, where his thread may and a clerk looks on.
    pub(crate) fn take_in(self: &Arc<Self>, tenant: &str, item: Item) -> Result<(), CommitError> {
        let Some(runtime) = self.borrows_threads.then(watch::runtime_of_caller).flatten() else {
            return self.desk.push(tenant, item);
        };
        if self.desk.push_or_take_pen(tenant, item, runtime)? {
            Clerk(Arc::clone(self)).0.use_pen(false);
        }
        Ok(())
    }

    /// Does what there is to do with the pen and brings home what was written. False after the end.
    fn use_pen(&self, is_idle: bool) -> bool {
        let flown = {
            let mut place = self.pen.lock();
            let Some(pen) = place.as_mut() else { return false };
            if is_idle && self.engine.trim() {
                self.desk.expect_idle_work();
            }
            match self.write(pen) {
                Ok(flown) => flown,
                Err(closers) => {
                    pen.journal.close();
                    // Whoever is told that the store is closed may open it again at once, so the journal's lock goes first.
                    *place = None;
                    for closer in closers {
                        let _ = closer.send(());
                    }
                    return false;
                }
            }
        };
        self.desk.lay_down_pen();
        if let Some(Flown { number, flight, sync }) = flown {
            self.bring_home(number, flight, sync);
        }
        true
    }

    /// Does what there is to do until a flight has begun or nothing is left; fails at the end, with those to be told.
    fn write(&self, pen: &mut Pen) -> Result<Option<Flown>, Vec<oneshot::Sender<()>>> {
        loop {
            self.compact_if_worth(pen);
            if pen.journal.must_settle() {
                self.desk.settle();
            }
            match self.desk.next(pen.journal.batch_bytes()) {
                None => return Ok(None),
                Some(Task::Write(load)) => {
                    let flight = self.decide(pen, load);
                    if let Some((flight, sync)) = self.write_down(pen, flight) {
                        return Ok(Some(Flown { number: self.desk.launch(), flight, sync }));
                    }
                }
                Some(Task::Obey(Order::Compact { before, reply })) => self.compact(pen, before, reply),
                Some(Task::Obey(Order::Compacted(result))) => self.compacted(pen, &result),
                Some(Task::TakeBack(revision)) => {
                    pen.journal.take_back(revision);
                    pen.given = revision - 1;
                }
                Some(Task::Close(closers)) => return Err(closers),
            }
        }
    }

    fn decide(&self, pen: &Pen, load: Load) -> Flight {
        let state = self.engine.state.read();
        let mut plan = Plan::new(&state, pen.given);
        let mut flight = Flight { tenants: Vec::new(), events: Vec::new(), answers: Vec::new() };
        for (tenant, items) in load {
            let count = items.len();
            for item in items {
                flight.answers.push(match item {
                    Item::Commit { writes, reply } => Answer::Commit(reply, plan.add(writes)),
                    Item::Drop { reply } => {
                        plan.drop_tenant(&tenant);
                        Answer::Drop(reply)
                    }
                });
            }
            flight.tenants.push((tenant, count));
        }
        flight.events = plan.into_events();
        flight
    }

    /// Gives a flight to the journal. One that changes nothing, or that the journal refuses, is answered at once.
    fn write_down(&self, pen: &mut Pen, flight: Flight) -> Option<(Flight, Option<SyncWork>)> {
        let Some(last) = flight.events.last().map(|event| event.revision) else {
            self.desk.release(flight.tenants());
            flight.answer(None);
            return None;
        };
        let durable = self.engine.state.read().revision;
        match pen.journal.append(Batch { events: &flight.events, time: unix_milliseconds(), durable }) {
            Ok(sync) => {
                pen.given = last;
                self.engine.set_stored_bytes(pen.journal.stored_bytes());
                Some((flight, sync))
            }
            Err(failure) => {
                self.note_failure(&failure);
                self.desk.release(flight.tenants());
                flight.answer(Some(&failure));
                None
            }
        }
    }

    /// Makes a flight durable, then visible, then answers.
    fn bring_home(&self, number: u64, flight: Flight, sync: Option<SyncWork>) {
        let begin = Instant::now();
        let synced = sync.map_or(Ok(()), |sync| sync());
        let took = begin.elapsed();
        let failure = self.desk.await_turn(number).and(synced).err();
        let mut removed = None;
        match &failure {
            None => {
                removed = Some(self.engine.publish(&mut self.engine.state.write(), &flight.events));
                if self.engine.failure().is_some() {
                    tracing::info!("the store can be written again");
                    self.engine.set_failure(None);
                }
            }
            Some(failure) => self.note_failure(failure),
        }
        let first = flight.events.first().map_or(0, |event| event.revision);
        self.desk.land(flight.tenants(), took, failure.clone().map(|failure| (first, failure)));
        let Flight { events, answers, .. } = flight;
        for answer in answers {
            answer.send(failure.as_ref());
        }
        if failure.is_none() {
            self.engine.wakeups.wake(&events);
        }
        drop(removed);
    }

    fn note_failure(&self, failure: &StorageError) {
        tracing::error!(%failure, "the store cannot be written, reading goes on");
        self.engine.set_failure(Some(failure.clone()));
    }

    fn compact(&self, pen: &mut Pen, before: Revision, reply: Reply<()>) {
        let head = self.engine.state.read().revision;
        self.engine.trim_to(before.min(head));
        pen.waiting_next.push(reply);
        if !pen.compacting {
            self.start_compaction(pen);
        }
    }

    fn compact_if_worth(&self, pen: &mut Pen) {
        if pen.compacting || Instant::now() < pen.compaction_not_before {
            return;
        }
        let mark = self.engine.state.read().compacted;
        if pen.journal.worth_compacting(mark) {
            self.start_compaction(pen);
        }
    }

    fn start_compaction(&self, pen: &mut Pen) {
        pen.compacting = true;
        pen.waiting.append(&mut pen.waiting_next);
        let notice = CompactionNotice { desk: Arc::clone(&self.desk), result: None };
        if !self.desk.settle() {
            return notice.send(Err(StorageError::new("the store cannot be written")));
        }
        let snapshot = self.engine.state.read().snapshot();
        pen.journal.compact(snapshot, Box::new(move |result| notice.send(result)));
    }

    fn compacted(&self, pen: &mut Pen, result: &Result<(), StorageError>) {
        pen.compacting = false;
        self.engine.set_stored_bytes(pen.journal.stored_bytes());
        if let Err(failure) = result {
            tracing::warn!(%failure, "the store could not be compacted");
            pen.compaction_not_before = Instant::now() + COMPACTION_RETRY;
        }
        for reply in pen.waiting.drain(..) {
            let _ = reply.send(result.clone().map_err(CommitError::Storage));
        }
        if !pen.waiting_next.is_empty() {
            self.start_compaction(pen);
        }
    }
}
