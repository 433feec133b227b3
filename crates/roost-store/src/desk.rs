//! Owns what waits to be written: a line for every tenant, which line may go next, and what is in flight.
//!
//! One tenant's commits go one flight at a time, so that its many clients share a sync, and a condition is always checked
//! against what is durable. Those of other tenants need not wait for that flight to land: they take the next one at once.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::{CommitError, Revision, StorageError, Write};

/// Half of the time that a sync takes, but at most half of this, is waited for a line to become as long as it was.
const GATHER_MAX: Duration = Duration::from_micros(500);

/// How often an idle store looks whether history has become too old.
const IDLE_INTERVAL: Duration = Duration::from_secs(30);

pub(crate) type Reply<T> = oneshot::Sender<Result<T, CommitError>>;

/// What a tenant asks for.
pub(crate) enum Item {
    Commit { writes: Vec<Write>, reply: Reply<Revision> },
    Drop { reply: Reply<()> },
}

impl Item {
    fn size(&self) -> usize {
        match self {
            Self::Commit { writes, .. } => writes.iter().map(Write::size).sum(),
            Self::Drop { .. } => 0,
        }
    }
}

/// What goes together, by tenant.
pub(crate) type Load = Vec<(Box<str>, Vec<Item>)>;

/// What is asked of the journal as a whole.
pub(crate) enum Order {
    Compact { before: Revision, reply: Reply<()> },
    Compacted(Result<(), StorageError>),
}

/// What to do next.
pub(crate) enum Task {
    Write(Load),
    Obey(Order),
    /// What was written from this revision on is not durable, and nothing is in flight any more.
    TakeBack(Revision),
    /// Nothing came for a while.
    Idle,
    /// All is written; whoever waits for the end is to be told.
    Close(Vec<oneshot::Sender<()>>),
}

/// What one tenant waits for.
struct Line {
    items: VecDeque<Item>,
    in_flight: bool,
    /// How many the last flight took: they were just answered, and most come back at once. Without waiting for them they
    /// fall apart into groups that take turns, and each waits for the syncs of the others.
    expected: usize,
    expected_until: Instant,
}

impl Line {
    fn new() -> Self {
        Self { items: VecDeque::new(), in_flight: false, expected: 0, expected_until: Instant::now() }
    }

    fn is_gathering(&self, now: Instant) -> bool {
        self.items.len() < self.expected && now < self.expected_until
    }

    /// What fits into a flight. A tenant is dropped in a flight without commits of its own.
    fn take(&mut self, bytes: &mut usize, limit: usize) -> Vec<Item> {
        let mut taken = Vec::new();
        while let Some(item) = self.items.front() {
            let size = item.size();
            if (*bytes > 0 && *bytes + size > limit) || (matches!(item, Item::Drop { .. }) && !taken.is_empty()) {
                break;
            }
            *bytes += size.max(1);
            let drops = matches!(item, Item::Drop { .. });
            taken.extend(self.items.pop_front());
            if drops {
                break;
            }
        }
        taken
    }
}

#[derive(Default)]
struct Papers {
    lines: HashMap<Box<str>, Line>,
    /// Tenants whose line is neither empty nor in flight, in the order of their coming.
    ready: VecDeque<Box<str>>,
    orders: VecDeque<Order>,
    /// Flights that began, and those that landed, in the order of their beginning.
    launched: u64,
    landed: u64,
    /// From where on nothing is durable, and why. All that is in flight behind it fails with it.
    failed: Option<(Revision, StorageError)>,
    /// How long a sync takes, smoothed.
    sync_time: Duration,
    closing: bool,
    closed: bool,
    closers: Vec<oneshot::Sender<()>>,
}

impl Papers {
    fn push(&mut self, tenant: &str, item: Item) {
        if !self.lines.contains_key(tenant) {
            self.lines.insert(tenant.into(), Line::new());
        }
        let Some(line) = self.lines.get_mut(tenant) else { return };
        if line.items.is_empty() && !line.in_flight {
            self.ready.push_back(tenant.into());
        }
        line.items.push_back(item);
    }

    /// What goes next, or until when it is worth to wait for more.
    fn take(&mut self, limit: usize) -> Result<Load, Option<Instant>> {
        let now = Instant::now();
        let mut taken = Vec::new();
        let mut left = VecDeque::new();
        let mut gathered = None;
        let mut bytes = 0;
        while let Some(tenant) = self.ready.pop_front() {
            let Some(line) = self.lines.get_mut(&tenant) else { continue };
            if !self.closing && line.is_gathering(now) {
                gathered = Some(gathered.map_or(line.expected_until, |until: Instant| until.min(line.expected_until)));
                left.push_back(tenant);
                continue;
            }
            let items = line.take(&mut bytes, limit);
            if items.is_empty() {
                left.push_back(tenant);
            } else {
                line.in_flight = true;
                taken.push((tenant, items));
            }
        }
        self.ready = left;
        if taken.is_empty() { Err(gathered) } else { Ok(taken) }
    }

    /// Lines that are only remembered for those who did not come back.
    fn forget_lines(&mut self) {
        let now = Instant::now();
        self.lines.retain(|_, line| !line.items.is_empty() || line.in_flight || now < line.expected_until);
    }

    fn release<'a>(&mut self, tenants: impl IntoIterator<Item = (&'a str, usize)>) {
        let expected_until = Instant::now() + self.sync_time.min(GATHER_MAX) / 2;
        for (tenant, count) in tenants {
            let Some(line) = self.lines.get_mut(tenant) else { continue };
            line.in_flight = false;
            line.expected = count;
            line.expected_until = expected_until;
            if !line.items.is_empty() {
                self.ready.push_back(tenant.into());
            }
        }
    }
}

/// Where requests are left, and where those who write them look.
#[derive(Default)]
pub(crate) struct Desk {
    papers: Mutex<Papers>,
    /// For the one who looks for a task.
    changed: Condvar,
    /// For those whose flight is not the next to land.
    turn: Condvar,
}

impl Desk {
    /// Leaves a request; refused when the store is closed.
    pub(crate) fn push(&self, tenant: &str, item: Item) -> Result<(), CommitError> {
        let mut papers = self.open_papers()?;
        papers.push(tenant, item);
        drop(papers);
        self.changed.notify_one();
        Ok(())
    }

    pub(crate) fn order(&self, order: Order) -> Result<(), CommitError> {
        self.open_papers()?.orders.push_back(order);
        self.changed.notify_one();
        Ok(())
    }

    /// Lets the store end when all that was left before is done. A store that has ended tells nobody.
    pub(crate) fn close(&self, closer: Option<oneshot::Sender<()>>) {
        let mut papers = self.papers.lock();
        papers.closing = true;
        if !papers.closed {
            papers.closers.extend(closer);
        }
        drop(papers);
        self.changed.notify_one();
    }

    fn open_papers(&self) -> Result<MutexGuard<'_, Papers>, CommitError> {
        let papers = self.papers.lock();
        if papers.closed { Err(CommitError::Closed) } else { Ok(papers) }
    }

    /// Ends everything at once, because one of those who write cannot go on: who waits is told that the store is closed.
    pub(crate) fn give_up(&self) {
        let mut papers = self.papers.lock();
        papers.closed = true;
        papers.lines.clear();
        papers.ready.clear();
        papers.orders.clear();
        drop(papers);
        self.turn.notify_all();
        self.changed.notify_one();
    }

    /// Waits for something to do. Only one looks at a time.
    pub(crate) fn next(&self, limit: usize, idle_work: bool) -> Task {
        let mut papers = self.papers.lock();
        loop {
            let quiet = papers.launched == papers.landed;
            let mut until = None;
            if papers.closed {
                return Task::Close(std::mem::take(&mut papers.closers));
            }
            if papers.failed.is_some() {
                if quiet && let Some((revision, _)) = papers.failed.take() {
                    return Task::TakeBack(revision);
                }
            } else if let Some(order) = papers.orders.pop_front() {
                return Task::Obey(order);
            } else {
                match papers.take(limit) {
                    Ok(taken) => return Task::Write(taken),
                    Err(gathering) => until = gathering,
                }
                if papers.closing && quiet && papers.ready.is_empty() {
                    papers.closed = true;
                    return Task::Close(std::mem::take(&mut papers.closers));
                }
            }
            if let Some(until) = until {
                self.changed.wait_until(&mut papers, until);
                continue;
            }
            papers.forget_lines();
            if !idle_work {
                self.changed.wait(&mut papers);
            } else if self.changed.wait_for(&mut papers, IDLE_INTERVAL).timed_out() && quiet {
                return Task::Idle;
            }
        }
    }

    /// Waits until nothing is in flight; says whether all of it is durable.
    pub(crate) fn settle(&self) -> bool {
        let mut papers = self.papers.lock();
        while papers.launched != papers.landed && !papers.closed {
            self.changed.wait(&mut papers);
        }
        papers.failed.is_none()
    }

    /// A flight begins; its number says when it may land.
    pub(crate) fn launch(&self) -> u64 {
        let mut papers = self.papers.lock();
        papers.launched += 1;
        papers.launched
    }

    /// Waits until all flights before this one have landed; says why one of them failed.
    pub(crate) fn await_turn(&self, flight: u64) -> Result<(), StorageError> {
        let mut papers = self.papers.lock();
        while papers.landed + 1 != flight {
            if papers.closed {
                return Err(StorageError::new("a writer of the store ended before"));
            }
            self.turn.wait(&mut papers);
        }
        papers.failed.as_ref().map_or(Ok(()), |(_, failure)| Err(failure.clone()))
    }

    /// The flight whose turn it is has landed, durable or not, and its tenants may take another.
    pub(crate) fn land<'a>(
        &self,
        tenants: impl IntoIterator<Item = (&'a str, usize)>,
        took: Duration,
        failure: Option<(Revision, StorageError)>,
    ) {
        let mut papers = self.papers.lock();
        papers.landed += 1;
        papers.sync_time = (papers.sync_time * 7 + took) / 8;
        papers.failed = papers.failed.take().or(failure);
        papers.release(tenants);
        drop(papers);
        self.turn.notify_all();
        self.changed.notify_one();
    }

    /// The tenants of what never flew may go on.
    pub(crate) fn release<'a>(&self, tenants: impl IntoIterator<Item = (&'a str, usize)>) {
        self.papers.lock().release(tenants);
    }
}
