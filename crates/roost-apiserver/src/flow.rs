//! Fairness: one client's requests wait for each other, not the others for them.
//!
//! Every client (a user, or the namespace of a service account) is a flow with a bounded number of requests in work
//! and a bounded queue. Watches only count while they start. Superusers and health checks are never held up.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use roost_access::User;
use roost_object::Status;
use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use crate::party::Party;

/// Requests of one client in work at a time: enough to keep two cores busy, few enough to leave room for others.
const IN_WORK_PER_FLOW: usize = 64;
/// Heavy requests of one client in work at a time. Each may hold many megabytes, and they keep others' heavy ones waiting.
const HEAVY_PER_FLOW: usize = 2;
/// Requests of one client that may wait; more than any sane client has outstanding.
const QUEUED_PER_FLOW: usize = 1024;
/// The longest wait in a queue.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(15);
/// Flows that are remembered; beyond it, idle ones are forgotten.
const MAX_IDLE_FLOWS: usize = 1024;
/// Watches that one client may hold open.
const WATCHES_PER_FLOW: usize = 5000;

/// The flows of one tenant.
pub(crate) struct FlowControl {
    flows: Mutex<HashMap<String, Arc<Flow>>>,
}

struct Flow {
    work: Arc<Semaphore>,
    heavy: Arc<Semaphore>,
    queue: Arc<Semaphore>,
    watches: Arc<Semaphore>,
}

/// The right to be worked on; given back when dropped.
pub(crate) struct Permit {
    _work: Option<OwnedSemaphorePermit>,
    _first: Option<OwnedMutexGuard<()>>,
}

impl Permit {
    fn of(work: Option<OwnedSemaphorePermit>) -> Permit {
        Permit { _work: work, _first: None }
    }
}

impl FlowControl {
    /// No flows yet.
    pub(crate) fn new(_tenant: &str) -> FlowControl {
        FlowControl { flows: Mutex::new(HashMap::new()) }
    }

    /// Waits for the client's turn.
    pub(crate) async fn enter(&self, user: &User) -> Result<Permit, Status> {
        if user.is_in("system:masters") {
            return Ok(Permit::of(None));
        }
        let flow = self.flow(user);
        if let Ok(work) = Arc::clone(&flow.work).try_acquire_owned() {
            return Ok(Permit::of(Some(work)));
        }
        let Ok(_queued) = Arc::clone(&flow.queue).try_acquire_owned() else { return Err(refusal()) };
        match tokio::time::timeout(QUEUE_TIMEOUT, Arc::clone(&flow.work).acquire_owned()).await {
            Ok(Ok(work)) => Ok(Permit::of(Some(work))),
            _ => Err(refusal()),
        }
    }

    /// Waits for the turn of a heavy request, which is among those in work already, and for its party's.
    pub(crate) async fn enter_heavy(&self, user: &User, party: Option<&Party>) -> Result<Permit, Status> {
        if user.is_in("system:masters") {
            return Ok(Permit::of(None));
        }
        let turn = async {
            let work = Arc::clone(&self.flow(user).heavy).acquire_owned().await.ok()?;
            let mut first = None;
            if let Some(party) = party {
                first = party.wait_for_first().await;
                party.wait_for_heavy().await;
            }
            Some(Permit { _work: Some(work), _first: first })
        };
        tokio::time::timeout(QUEUE_TIMEOUT, turn).await.ok().flatten().ok_or_else(refusal)
    }

    /// Counts a watch for as long as it is open.
    pub(crate) fn open_watch(&self, user: &User) -> Result<OwnedSemaphorePermit, Status> {
        Arc::clone(&self.flow(user).watches).try_acquire_owned().map_err(|_| refusal())
    }

    fn flow(&self, user: &User) -> Arc<Flow> {
        let mut flows = self.flows.lock();
        if let Some(flow) = flows.get(&user.name) {
            return Arc::clone(flow);
        }
        if flows.len() >= MAX_IDLE_FLOWS {
            flows.retain(|_, flow| Arc::strong_count(flow) > 1 || flow.watches.available_permits() < WATCHES_PER_FLOW);
        }
        let flow = Arc::new(Flow {
            work: Arc::new(Semaphore::new(IN_WORK_PER_FLOW)),
            heavy: Arc::new(Semaphore::new(HEAVY_PER_FLOW)),
            queue: Arc::new(Semaphore::new(QUEUED_PER_FLOW)),
            watches: Arc::new(Semaphore::new(WATCHES_PER_FLOW)),
        });
        flows.insert(user.name.clone(), Arc::clone(&flow));
        flow
    }
}

fn refusal() -> Status {
    Status::too_many_requests("Too many requests, please try again later.", 1)
}
