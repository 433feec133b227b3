//! Workloads: the controllers of Deployments and their like, and the scheduler, for clusters that have nobody else for it.
//!
//! What they decide is in `roost-workloads`; here is what they look at, and how it is carried out. Their index follows
//! the log when it is asked and is asked only about clusters that have pods or what makes them.

mod apply;
mod autoscalers;
mod cron_jobs;
mod daemon_sets;
mod deployments;
mod disruptions;
mod endpoints;
mod evictions;
mod jobs;
mod observe;
mod replica_sets;
mod scheduling;
mod stateful_sets;
mod told;
mod volumes;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use roost_object::Status;
use roost_store::{Collection, Revision, Store};
use roost_workloads::{Index, Source, autoscaler};

use super::{Inside, Task};
use crate::cluster::Cluster;
use crate::derived::{self, Derived};
use crate::resource_metrics::Collected;
use crate::stored::Stored;

pub(super) use observe::tasks;

/// How often a task begins anew at once because someone else wrote first.
const CONFLICT_TRIES: usize = 4;

/// Who does a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Controller {
    /// Rolls out templates.
    Deployment,
    /// Keeps pods in number.
    ReplicaSet,
    /// Keeps pods in number, as it was done before.
    Replication,
    /// Keeps pods that have names of their own.
    StatefulSet,
    /// Keeps a pod on every node.
    DaemonSet,
    /// Runs pods to their end.
    Job,
    /// Lets a pod go whose Job is gone.
    LeftPod,
    /// Starts Jobs by the clock.
    CronJob,
    /// Says who answers for a Service.
    Endpoints,
    /// Says how many pods may be taken away.
    Disruption,
    /// Looks whether a pod must leave its node.
    Eviction,
    /// Sets how many pods there should be, by what they use.
    Autoscaler,
    /// Finds volumes for claims.
    Claim,
    /// Says how volumes are.
    Volume,
    /// Finds nodes for pods.
    Scheduler,
}

/// A piece of work on one object; the scheduler's is on all pods that wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Work {
    pub(crate) controller: Controller,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Work {
    /// The scheduler's turn.
    fn schedule() -> Work {
        Work { controller: Controller::Scheduler, namespace: String::new(), name: String::new() }
    }
}

/// What the controllers of one cluster look up.
pub(crate) struct Workloads {
    index: Derived<Followed>,
    /// Whether there ever was something to do, so that nodes that come and go matter.
    busy: AtomicBool,
    /// What pods and nodes use, once somebody has asked.
    pub(crate) usage: Collected,
    /// What is remembered of each autoscaler.
    autoscalers: Mutex<HashMap<String, autoscaler::Memory>>,
    /// What people were told lately.
    told: Mutex<told::Told>,
}

#[derive(Default)]
struct Followed(Index);

impl derived::Index for Followed {
    fn insert(&mut self, source: usize, name: &str, object: &Stored, _: Revision) {
        if let Some(source) = Source::ALL.get(source) {
            self.0.insert(*source, name, object.json());
        }
    }

    fn remove(&mut self, source: usize, name: &str) {
        if let Some(source) = Source::ALL.get(source) {
            self.0.remove(*source, name);
        }
    }
}

impl Workloads {
    /// Nothing is read before there is something to do.
    pub(crate) fn new(tenant: &str) -> Workloads {
        let collection = |source: Source| {
            let (group, plural) = source.resource();
            Collection::new(tenant, group, plural)
        };
        Workloads {
            index: Derived::new(Source::ALL.map(collection)),
            busy: AtomicBool::new(false),
            usage: Collected::default(),
            autoscalers: Mutex::default(),
            told: Mutex::default(),
        }
    }

    /// Asks the index, which takes in first what is new.
    fn ask<R>(&self, store: &Store, question: impl FnOnce(&mut Index) -> R) -> R {
        self.index.read(store, |followed| question(&mut followed.0))
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    fn set_busy(&self) {
        self.busy.store(true, Ordering::Relaxed);
    }
}

/// Does a piece of work.
pub(super) async fn perform(cluster: &Arc<Cluster>, inside: &Inside, work: Work) -> Result<(), Status> {
    let Some(workloads) = cluster.workloads.as_deref() else { return Ok(()) };
    let desk = Desk { cluster, inside, workloads, work: &work };
    for _ in 1..CONFLICT_TRIES {
        match desk.perform().await {
            Err(status) if status.reason == "Conflict" => {}
            done => return done,
        }
    }
    desk.perform().await
}

/// One piece of work and all that it needs.
#[derive(Clone, Copy)]
struct Desk<'a> {
    cluster: &'a Arc<Cluster>,
    inside: &'a Inside,
    workloads: &'a Workloads,
    work: &'a Work,
}

impl Desk<'_> {
    async fn perform(self) -> Result<(), Status> {
        match self.work.controller {
            Controller::Deployment => self.deployment().await,
            Controller::ReplicaSet => self.replica_set().await,
            Controller::Replication => self.replication_controller().await,
            Controller::StatefulSet => self.stateful_set().await,
            Controller::DaemonSet => self.daemon_set().await,
            Controller::Job => self.job().await,
            Controller::LeftPod => self.left_pod().await,
            Controller::CronJob => self.cron_job().await,
            Controller::Endpoints => self.endpoints().await,
            Controller::Disruption => self.disruption().await,
            Controller::Eviction => self.eviction().await,
            Controller::Autoscaler => self.autoscaler().await,
            Controller::Claim => self.claim().await,
            Controller::Volume => self.volume().await,
            Controller::Scheduler => self.schedule().await,
        }
    }

    /// The object that the work is on.
    fn subject(self, source: Source) -> Option<roost_object::Value> {
        let (group, plural) = source.resource();
        self.cluster.find(group, plural, &self.work.namespace, &self.work.name)
    }

    fn ask<R>(self, question: impl FnOnce(&mut Index) -> R) -> R {
        self.workloads.ask(&self.cluster.store, question)
    }

    /// Asks for the same work after a while.
    fn again(self, wait: jiff::SignedDuration) {
        let wait = std::time::Duration::try_from(wait).unwrap_or_default();
        self.inside.timers.after(&self.cluster.tenant, Task::Work(self.work.clone()), wait);
    }
}
