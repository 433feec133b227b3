//! Owns what waits to be written: a line for every tenant, which line may go next, and what is in flight.
//!
//! One tenant's commits go one flight at a time, so that its many clients share a sync, and a condition is always checked
//! against what is durable. Those of other tenants need not wait for that flight to land: they take the next one at once.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::watch::{self, Watch};
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
    /// Whether somebody has the pen.
    pen_taken: bool,
    watch: Watch,
    /// Whether history may have become too old since somebody looked.
    idle_work: bool,
    closing: bool,
    closed: bool,
    closers: Vec<oneshot::Sender<()>>,
}

impl Papers {
    fn is_quiet(&self) -> bool {
        self.launched == self.landed
    }

    /// Whether somebody with the pen would find something to do, now or within a moment.
    fn has_task(&self) -> bool {
        if self.closed || self.failed.is_some() {
            return self.closed || self.is_quiet();
        }
        !self.ready.is_empty() || !self.orders.is_empty() || (self.closing && self.is_quiet())
    }

    /// Whether nothing is going on, and nobody else is expected of this tenant.
    fn is_deserted_for(&self, tenant: &str) -> bool {
        let is_idle = !self.pen_taken && !self.closing && self.failed.is_none() && self.is_quiet();
        let is_alone = || self.lines.get(tenant).is_none_or(|line| line.items.is_empty() && line.expected <= 1);
        is_idle && self.ready.is_empty() && self.orders.is_empty() && is_alone()
    }

    /// Puts it at the end of its line. Answers whether there is something to see for the one who looks for a task: a line
    /// that was empty, or that is now as long as it was. The rest is found when either is taken, or when a flight lands.
    fn push(&mut self, tenant: &str, item: Item) -> bool {
        if !self.lines.contains_key(tenant) {
            self.lines.insert(tenant.into(), Line::new());
        }
        let Some(line) = self.lines.get_mut(tenant) else { return false };
        line.items.push_back(item);
        if line.in_flight {
            return false;
        }
        let is_first = line.items.len() == 1;
        if is_first {
            self.ready.push_back(tenant.into());
        }
        is_first || line.items.len() == line.expected
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
        let mut commits = 0;
        for (tenant, count) in tenants {
            commits += count;
            let Some(line) = self.lines.get_mut(tenant) else { continue };
            line.in_flight = false;
            line.expected = count;
            line.expected_until = expected_until;
            if !line.items.is_empty() {
                self.ready.push_back(tenant.into());
            }
        }
        self.watch.end(commits);
    }
}

/// Where requests are left, and where those who write them look.
#[derive(Default)]
pub(crate) struct Desk {
    papers: Mutex<Papers>,
    /// For those who wait until the pen lies here and there is something to do with it.
    pen: Condvar,
    /// For the one who has the pen.
    changed: Condvar,
    /// For those whose flight is not the next to land.
    turn: Condvar,
}

impl Desk {
    /// Leaves a request; refused when the store is closed.
    pub(crate) fn push(&self, tenant: &str, item: Item) -> Result<(), CommitError> {
        let mut papers = self.open_papers()?;
        if papers.push(tenant, item) {
            self.tell(papers);
        }
        Ok(())
    }

    /// Leaves a request of somebody who may write on his own thread. Answers whether he has to: he has the pen then.
    pub(crate) fn push_or_take_pen(&self, tenant: &str, item: Item, runtime: Handle) -> Result<bool, CommitError> {
        let mut papers = self.open_papers()?;
        let takes_pen = papers.watch.is_kept() && papers.is_deserted_for(tenant);
        if !papers.push(tenant, item) {
            return Ok(false);
        }
        if takes_pen {
            papers.watch.begin(runtime);
            papers.pen_taken = true;
        } else {
            self.tell(papers);
        }
        Ok(takes_pen)
    }

    pub(crate) fn order(&self, order: Order) -> Result<(), CommitError> {
        let mut papers = self.open_papers()?;
        papers.orders.push_back(order);
        self.tell(papers);
        Ok(())
    }

    /// Lets the store end when all that was left before is done. A store that has ended tells nobody.
    pub(crate) fn close(&self, closer: Option<oneshot::Sender<()>>) {
        let mut papers = self.papers.lock();
        papers.closing = true;
        if !papers.closed {
            papers.closers.extend(closer);
        }
        self.tell(papers);
    }

    fn open_papers(&self) -> Result<MutexGuard<'_, Papers>, CommitError> {
        let papers = self.papers.lock();
        if papers.closed { Err(CommitError::Closed) } else { Ok(papers) }
    }

    /// Tells the one who has the pen that something changed, or lets somebody take it. Nobody is woken up for nothing: each
    /// time costs more than a commit takes to decide.
    fn tell(&self, papers: MutexGuard<'_, Papers>) {
        let waiting = match (papers.pen_taken, papers.has_task()) {
            (true, _) => Some(&self.changed),
            (false, true) => Some(&self.pen),
            (false, false) => None,
        };
        drop(papers);
        if let Some(waiting) = waiting {
            waiting.notify_one();
        }
    }

    /// Ends everything at once, because one of those who write cannot go on: who waits is told that the store is closed.
    pub(crate) fn give_up(&self) {
        let mut papers = self.papers.lock();
        papers.lines.clear();
        papers.ready.clear();
        papers.orders.clear();
        self.end(papers);
    }

    /// Nobody waits for anything any more.
    fn end(&self, mut papers: MutexGuard<'_, Papers>) {
        papers.closed = true;
        drop(papers);
        self.turn.notify_all();
        self.pen.notify_all();
        self.changed.notify_all();
    }

    /// Waits until there is something to do with the pen, and takes it. Says whether that is only because nothing came for a
    /// while.
    pub(crate) fn take_pen(&self) -> bool {
        let mut papers = self.papers.lock();
        let (mut is_idle, mut watches) = (false, false);
        while !papers.closed && (papers.pen_taken || !papers.has_task()) && !is_idle {
            if !papers.pen_taken {
                papers.forget_lines();
            }
            if watches && !papers.watch.is_worth_it() {
                papers.watch.leave();
                watches = false;
            }
            watches |= papers.watch.keep();
            if watches {
                if self.pen.wait_for(&mut papers, watch::LOOK).timed_out()
                    && let Some(runtime) = papers.watch.stalled()
                {
                    MutexGuard::unlocked(&mut papers, || watch::call(&runtime));
                }
                continue;
            }
            if papers.idle_work {
                let timed_out = self.pen.wait_for(&mut papers, IDLE_INTERVAL).timed_out();
                is_idle = timed_out && papers.idle_work && !papers.pen_taken && papers.is_quiet() && !papers.has_task();
            } else {
                self.pen.wait(&mut papers);
            }
        }
        if watches {
            papers.watch.leave();
        }
        papers.pen_taken = true;
        papers.idle_work &= !is_idle;
        is_idle
    }

    /// Lays the pen down; somebody else takes it if there is more to do.
    pub(crate) fn lay_down_pen(&self) {
        let mut papers = self.papers.lock();
        papers.pen_taken = false;
        self.tell(papers);
    }

    /// What to do next, for the one who has the pen.
    pub(crate) fn next(&self, limit: usize) -> Option<Task> {
        let mut papers = self.papers.lock();
        loop {
            if papers.closed {
                return Some(Task::Close(std::mem::take(&mut papers.closers)));
            }
            if papers.failed.is_some() {
                let taken_back = if papers.is_quiet() { papers.failed.take() } else { None };
                return taken_back.map(|(revision, _)| Task::TakeBack(revision));
            }
            if let Some(order) = papers.orders.pop_front() {
                return Some(Task::Obey(order));
            }
            match papers.take(limit) {
                Ok(taken) => {
                    papers.idle_work = true;
                    return Some(Task::Write(taken));
                }
                Err(Some(gathering_until)) => {
                    self.changed.wait_until(&mut papers, gathering_until);
                }
                Err(None) if papers.closing && papers.is_quiet() && papers.ready.is_empty() => {
                    let closers = std::mem::take(&mut papers.closers);
                    self.end(papers);
                    return Some(Task::Close(closers));
                }
                Err(None) => return None,
            }
        }
    }

    /// There is more idle work to do.
    pub(crate) fn expect_idle_work(&self) {
        self.papers.lock().idle_work = true;
    }

    /// Waits until nothing is in flight; says whether all of it is durable.
    pub(crate) fn settle(&self) -> bool {
        let mut papers = self.papers.lock();
        while !papers.is_quiet() && !papers.closed {
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
        self.turn.notify_all();
        self.tell(papers);
    }

    /// The tenants of what never flew may go on.
    pub(crate) fn release<'a>(&self, tenants: impl IntoIterator<Item = (&'a str, usize)>) {
        self.papers.lock().release(tenants);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit() -> Item {
        let (reply, _) = oneshot::channel();
        Item::Commit { writes: Vec::new(), reply }
    }

    /// What a flight takes.
    fn taken(papers: &mut Papers) -> usize {
        papers.take(usize::MAX).map_or(0, |load| load.iter().map(|(_, items)| items.len()).sum())
    }

    #[test]
    fn only_what_can_fly_is_worth_a_look() {
        let mut papers = Papers::default();
        assert!(papers.push("one", commit()), "the first of a line");
        assert!(!papers.push("one", commit()), "the first was told of");
        assert!(papers.has_task());
        assert_eq!(taken(&mut papers), 2);
        assert!(!papers.push("one", commit()), "its tenant is in flight");
        assert!(!papers.has_task());
        assert!(papers.push("two", commit()), "another tenant");
        assert!(papers.has_task());
    }

    #[test]
    fn a_line_is_worth_a_look_again_when_it_is_as_long_as_before() {
        let mut papers = Papers { sync_time: Duration::from_mins(1), ..Papers::default() };
        for _ in 0..3 {
            papers.push("one", commit());
        }
        assert_eq!(taken(&mut papers), 3);
        papers.release([("one", 3)]);
        assert!(!papers.has_task());
        let told: Vec<bool> = (0..3).map(|_| papers.push("one", commit())).collect();
        assert_eq!(told, [true, false, true]);
        assert_eq!(taken(&mut papers), 3);
    }

    #[test]
    fn after_a_failure_nothing_flies_until_all_has_landed() {
        let mut papers = Papers { launched: 2, landed: 1, ..Papers::default() };
        papers.failed = Some((7, StorageError::new("no space")));
        papers.push("one", commit());
        assert!(!papers.has_task());
        papers.landed = 2;
        assert!(papers.has_task());
    }

    #[test]
    fn the_pen_is_taken_by_one_at_a_time() {
        let desk = Desk::default();
        desk.push("one", commit()).unwrap();
        std::thread::scope(|scope| {
            assert!(!desk.take_pen());
            let (told, took) = std::sync::mpsc::channel();
            let desk = &desk;
            scope.spawn(move || {
                desk.take_pen();
                told.send(()).unwrap();
            });
            assert!(took.recv_timeout(Duration::from_millis(50)).is_err(), "somebody has it");
            assert!(matches!(desk.next(usize::MAX), Some(Task::Write(_))));
            desk.lay_down_pen();
            assert!(took.recv_timeout(Duration::from_millis(50)).is_err(), "there is nothing to do with it");
            desk.push("two", commit()).unwrap();
            assert!(took.recv_timeout(Duration::from_secs(10)).is_ok());
        });
    }
}
