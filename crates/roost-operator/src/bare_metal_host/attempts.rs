//! What management controllers were asked to do, and what became of it. A controller may take minutes, so nobody waits for
//! one: an attempt runs beside the passes and asks for one when it ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use roost_redfish::{Controller, Outcome, Wanted};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::discovery::Place;
use crate::queue::{Key, Queue};

/// Controllers that are spoken to at the same time.
const CONCURRENCY: usize = 64;
/// How often a computer is looked at when nothing is wanted from it.
const LOOK: Duration = Duration::from_mins(1);
/// How soon a failed attempt is repeated; it doubles with each further failure.
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// The longest wait after failures: a controller that comes back is used again soon.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// What an attempt was for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Which controller, and as whom.
    pub(super) door: String,
    pub(super) wanted: Wanted,
}

/// An attempt that ended.
#[derive(Clone)]
pub(super) struct Ended {
    pub(super) request: Request,
    pub(super) outcome: Arc<Outcome>,
    /// How many failed, one after the other, this one included.
    pub(super) failures: u32,
    at: Instant,
}

impl Ended {
    /// How long until the next one.
    fn pause(&self) -> Duration {
        match &self.outcome.problem {
            None => LOOK,
            // Many controllers lock out whoever tries a wrong password too often.
            Some(problem) if problem.is_about_credentials() => LONGEST_WAIT,
            Some(_) => LONGEST_WAIT.min(FIRST_WAIT.saturating_mul(1 << self.failures.saturating_sub(1).min(10))),
        }
    }
}

#[derive(Default)]
struct Attempt {
    is_running: bool,
    ended: Option<Ended>,
}

/// The attempts of all hosts.
pub(crate) struct Attempts {
    all: Mutex<HashMap<Place, Attempt>>,
    places: Arc<Semaphore>,
}

impl Default for Attempts {
    fn default() -> Self {
        Self { all: Mutex::default(), places: Arc::new(Semaphore::new(CONCURRENCY)) }
    }
}

/// What is known of a host's attempts.
pub(super) enum Known {
    /// One is under way; its end asks for a pass.
    Running,
    /// This is what became of the last one; the next is due after a while.
    Ended(Ended, Duration),
    /// Another one has to be made.
    Due,
}

impl Attempts {
    pub(super) fn look(&self, place: &Place, request: &Request) -> Known {
        let all = self.all.lock();
        let Some(attempt) = all.get(place) else { return Known::Due };
        if attempt.is_running {
            return Known::Running;
        }
        match &attempt.ended {
            Some(ended) if ended.request == *request => match ended.pause().checked_sub(ended.at.elapsed()) {
                Some(rest) if !rest.is_zero() => Known::Ended(ended.clone(), rest),
                _ => Known::Due,
            },
            _ => Known::Due,
        }
    }

    /// Begins an attempt.
    pub(super) fn begin(
        self: &Arc<Self>,
        queue: &Arc<Queue>,
        key: Key,
        place: Place,
        controller: Controller,
        request: Request,
    ) {
        self.all.lock().entry(place.clone()).or_default().is_running = true;
        let (attempts, queue) = (Arc::clone(self), Arc::clone(queue));
        tokio::spawn(async move {
            let Ok(_turn) = attempts.places.acquire().await else { return };
            let outcome = Arc::new(controller.carry_out(&request.wanted).await);
            if let Some(attempt) = attempts.all.lock().get_mut(&place) {
                let before = attempt.ended.as_ref().filter(|ended| ended.request == request);
                let failures = match outcome.problem {
                    Some(_) => before.map_or(0, |ended| ended.failures) + 1,
                    None => 0,
                };
                *attempt = Attempt {
                    is_running: false,
                    ended: Some(Ended { request, outcome, failures, at: Instant::now() }),
                };
            }
            queue.add(key);
        });
    }

    pub(super) fn forget(&self, place: &Place) {
        self.all.lock().remove(place);
    }
}
