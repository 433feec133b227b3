//! How far a simulated node has come, and how it is doing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

/// The steps from a bare host to a node that serves, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Nothing has happened yet.
    Started,
    /// It knows where the API is and has something to show there.
    Configured,
    /// It has asked for its client certificate.
    Requested,
    /// The request was approved.
    Approved,
    /// It has its client certificate.
    Certified,
    /// Its Node object is there.
    Registered,
    /// It has said that it is ready.
    Ready,
    /// It has its serving certificate.
    Serving,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Stage; 8] = [
        Stage::Started,
        Stage::Configured,
        Stage::Requested,
        Stage::Approved,
        Stage::Certified,
        Stage::Registered,
        Stage::Ready,
        Stage::Serving,
    ];
}

/// How far a node has come.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The furthest step that it has made.
    pub stage: Stage,
    /// What keeps it from the next one, in words.
    pub trouble: Option<String>,
    /// Whether it has died.
    pub dead: bool,
    reached: [Option<Duration>; Stage::ALL.len()],
}

impl Progress {
    /// When a step was made, counted from the start of the node; a step that was not needed has no time.
    pub fn reached(&self, stage: Stage) -> Option<Duration> {
        self.reached[stage as usize]
    }
}

/// Counters of a node's heartbeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Leases that were renewed.
    pub heartbeats: u64,
    /// Renewals that came later than they should have.
    pub late: u64,
    /// Renewals that failed.
    pub failed: u64,
}

#[derive(Debug, Default)]
struct Counters {
    heartbeats: AtomicU64,
    late: AtomicU64,
    failed: AtomicU64,
}

/// Where a node writes down how far it is. Copies write to the same place.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    started: Instant,
    dies_at: Option<Stage>,
    progress: watch::Sender<Progress>,
    counters: Arc<Counters>,
    death: Arc<Notify>,
    strayed: Arc<Notify>,
}

impl Reporter {
    pub(crate) fn new(dies_at: Option<Stage>) -> Self {
        let mut reached = [None; Stage::ALL.len()];
        reached[0] = Some(Duration::ZERO);
        let progress = Progress { stage: Stage::Started, trouble: None, dead: false, reached };
        Self {
            started: Instant::now(),
            dies_at,
            progress: watch::Sender::new(progress),
            counters: Arc::default(),
            death: Arc::default(),
            strayed: Arc::default(),
        }
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Writes down that a step was made. A step that was made before, as a renewal is, keeps its first time.
    pub(crate) fn reach(&self, stage: Stage) {
        let elapsed = self.started.elapsed();
        self.progress.send_modify(|progress| {
            progress.stage = progress.stage.max(stage);
            progress.trouble = None;
            progress.reached[stage as usize].get_or_insert(elapsed);
        });
        if self.dies_at.is_some_and(|end| end <= stage) {
            self.death.notify_one();
        }
    }

    /// Lets the node die.
    pub(crate) fn end_life(&self) {
        self.death.notify_one();
    }

    /// Writes down what is in the way.
    pub(crate) fn trouble(&self, words: String) {
        self.progress.send_modify(|progress| progress.trouble = Some(words));
    }

    /// Waits until the node has come as far as it is meant to live.
    pub(crate) async fn end(&self) {
        self.death.notified().await;
    }

    pub(crate) fn die(&self) {
        self.progress.send_modify(|progress| progress.dead = true);
    }

    pub(crate) fn heartbeat(&self, late: bool) {
        self.counters.heartbeats.fetch_add(1, Ordering::Relaxed);
        self.counters.late.fetch_add(u64::from(late), Ordering::Relaxed);
    }

    /// A heartbeat did not come through.
    pub(crate) fn missed(&self) {
        self.counters.failed.fetch_add(1, Ordering::Relaxed);
        self.strayed.notify_one();
    }

    /// Waits until a heartbeat does not come through.
    pub(crate) async fn strayed(&self) {
        self.strayed.notified().await;
    }

    pub(crate) fn statistics(&self) -> Statistics {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Statistics {
            heartbeats: read(&self.counters.heartbeats),
            late: read(&self.counters.late),
            failed: read(&self.counters.failed),
        }
    }
}
