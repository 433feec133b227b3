//! One leader among several operators: whoever holds the Lease works, the others wait.
//!
//! A holder renews the Lease and stops by itself, well before another may take it, when it cannot. Whether a Lease has
//! run out is judged by how long it was not seen to change, so that clocks need not agree.

use std::future::Future;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::install::NAMESPACE;
use crate::object::{Kind, Objects};

/// The Lease that operators compete for.
const LEASE: &str = "roost-operator";

/// Who competes, and how patiently.
#[derive(Clone, Debug)]
pub struct Candidate {
    identity: String,
    /// How long after its last renewal a Lease may be taken by another.
    duration: Duration,
    /// How often a Lease is renewed, and looked at by those that wait.
    interval: Duration,
}

impl Candidate {
    /// One of several processes. The identity must be its own.
    pub fn replica(identity: impl Into<String>) -> Candidate {
        // The durations that Kubernetes' own controllers use.
        Candidate { identity: identity.into(), duration: Duration::from_secs(15), interval: Duration::from_secs(2) }
    }

    /// The operator inside the process that also serves the management plane. There is never a second one, because the
    /// data are locked; so after a crash it need not wait for its own Lease to run out, and need not renew it often.
    pub fn embedded() -> Candidate {
        Candidate { identity: "hcp-up".to_owned(), duration: Duration::from_mins(1), interval: Duration::from_secs(20) }
    }

    /// The same at another pace; the Lease runs out after `duration`.
    #[must_use]
    pub fn with_duration(self, duration: Duration) -> Candidate {
        Candidate { duration, interval: duration / 6, ..self }
    }
}

/// Works while this candidate leads, and begins anew whenever it leads again. Returns what the work returns when it ends
/// by itself, and none once `stop` is true; in both cases the Lease is given back. Work that is under way when the Lease
/// is lost is dropped at once.
pub async fn lead<W: Future>(
    client: kube::Client,
    candidate: Candidate,
    mut stop: watch::Receiver<bool>,
    mut work: impl FnMut() -> W,
) -> Option<W::Output> {
    let mut election = Election {
        leases: Api::namespaced(client.clone(), NAMESPACE),
        objects: Objects::new(client),
        candidate,
        observed: None,
    };
    loop {
        let held = tokio::select! {
            held = election.acquire() => held,
            () = stopped(&mut stop) => return None,
        };
        tracing::info!(identity = election.candidate.identity, "this operator leads");
        let outcome = tokio::select! {
            biased;
            () = stopped(&mut stop) => Some(None),
            held = election.keep(held) => {
                let holder = held.as_ref().map(|lease| holder(lease).to_owned());
                tracing::warn!(?holder, "this operator no longer leads, and stops");
                None
            }
            output = work() => Some(Some(output)),
        };
        if let Some(outcome) = outcome {
            election.release().await;
            return outcome;
        }
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        // Nobody is left who could ask for it.
        std::future::pending::<()>().await;
    }
}

struct Election {
    leases: Api<Lease>,
    objects: Objects,
    candidate: Candidate,
    /// Another's Lease as it was seen last.
    observed: Option<Observed>,
}

/// Another's Lease.
struct Observed {
    version: String,
    /// Since when it has this version for sure.
    since: Instant,
    /// How long it is another's without a renewal.
    granted: Duration,
}

/// A Lease that is held, and since when for sure.
struct Held {
    lease: Lease,
    renewed: Instant,
}

impl Election {
    /// Waits until the Lease is held.
    async fn acquire(&mut self) -> Held {
        loop {
            match self.try_acquire().await {
                Ok(Some(held)) => return held,
                Ok(None) => {}
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(kube::Error::Api(status)) if status.code == 404 => self.make_namespace().await,
                Err(error) => tracing::warn!(%error, "the Lease {NAMESPACE}/{LEASE} cannot be had; trying again"),
            }
            tokio::time::sleep(self.patience()).await;
        }
    }

    /// How long to wait before the next look: no longer than until the Lease may be taken.
    fn patience(&self) -> Duration {
        let left = self.observed.as_ref().map(|seen| (seen.since + seen.granted).duration_since(Instant::now()));
        left.filter(|left| !left.is_zero()).map_or(self.candidate.interval, |left| left.min(self.candidate.interval))
    }

    async fn try_acquire(&mut self) -> Result<Option<Held>, kube::Error> {
        let start = Instant::now();
        let Some(found) = self.leases.get_opt(LEASE).await? else {
            let lease = Lease {
                metadata: ObjectMeta { name: Some(LEASE.to_owned()), ..ObjectMeta::default() },
                spec: Some(self.spec(None)),
            };
            let lease = match self.leases.create(&PostParams::default(), &lease).await {
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    self.make_namespace().await;
                    self.leases.create(&PostParams::default(), &lease).await?
                }
                created => created?,
            };
            return Ok(Some(Held { lease, renewed: start }));
        };
        if !self.may_take(&found, start) {
            return Ok(None);
        }
        let lease = Lease { spec: Some(self.spec(found.spec.as_ref())), ..found };
        let lease = self.leases.replace(LEASE, &PostParams::default(), &lease).await?;
        Ok(Some(Held { lease, renewed: start }))
    }

    /// Whether a Lease is free, this candidate's own, or was not renewed in its time.
    fn may_take(&mut self, lease: &Lease, now: Instant) -> bool {
        let holder = holder(lease);
        if holder.is_empty() || holder == self.candidate.identity {
            return true;
        }
        let version = lease.metadata.resource_version.clone().unwrap_or_default();
        match &self.observed {
            Some(seen) if seen.version == version => now.duration_since(seen.since) >= seen.granted,
            _ => {
                let seconds = lease.spec.as_ref().and_then(|spec| spec.lease_duration_seconds);
                let granted = seconds.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs);
                let granted = granted.unwrap_or(self.candidate.duration);
                self.observed = Some(Observed { version, since: Instant::now(), granted });
                false
            }
        }
    }

    /// Renews until that was not possible in time, or somebody else has the Lease, which is returned then.
    async fn keep(&self, mut held: Held) -> Option<Lease> {
        loop {
            // A third of its time is left for what is under way to end before another begins.
            let deadline = held.renewed + self.candidate.duration * 2 / 3;
            let renewal = async {
                tokio::time::sleep(self.candidate.interval).await;
                self.renew(&held.lease).await
            };
            match tokio::time::timeout_at(deadline, renewal).await {
                Ok(Ok(renewed)) => held = renewed,
                Ok(Err(lost)) => return Some(lost),
                Err(_) => return None,
            }
        }
    }

    /// Renews, trying again as long as nobody else has it.
    async fn renew(&self, lease: &Lease) -> Result<Held, Lease> {
        let mut lease = lease.clone();
        loop {
            let renewed = Instant::now();
            lease.spec = Some(self.spec(lease.spec.as_ref()));
            match self.leases.replace(LEASE, &PostParams::default(), &lease).await {
                Ok(lease) => return Ok(Held { lease, renewed }),
                Err(error) => tracing::debug!(%error, "the Lease was not renewed; trying again"),
            }
            match self.leases.get(LEASE).await {
                Ok(found) if holder(&found) != self.candidate.identity => return Err(found),
                Ok(found) => lease = found,
                Err(_) => tokio::time::sleep(self.candidate.interval / 4).await,
            }
        }
    }

    /// Gives the Lease back, so that another need not wait for it to run out.
    async fn release(&self) {
        let released = async {
            let mut lease = self.leases.get(LEASE).await?;
            if holder(&lease) == self.candidate.identity
                && let Some(spec) = &mut lease.spec
            {
                spec.holder_identity = Some(String::new());
                spec.lease_duration_seconds = Some(1);
                self.leases.replace(LEASE, &PostParams::default(), &lease).await?;
            }
            Ok::<(), kube::Error>(())
        };
        match tokio::time::timeout(self.candidate.interval, released).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the Lease could not be given back; it runs out"),
            Err(_) => tracing::warn!("the Lease could not be given back in time; it runs out"),
        }
    }

    /// The Lease as this candidate holds it from now on.
    fn spec(&self, before: Option<&LeaseSpec>) -> LeaseSpec {
        let now = Some(MicroTime(Timestamp::now()));
        let before = before.cloned().unwrap_or_default();
        let is_renewal = before.holder_identity.as_deref() == Some(&self.candidate.identity);
        let transitions = before.lease_transitions.unwrap_or_default();
        let is_first = before.holder_identity.is_none();
        LeaseSpec {
            holder_identity: Some(self.candidate.identity.clone()),
            // The field counts whole seconds; a holder that is more patient than it says would be wrong.
            lease_duration_seconds: Some(i32::try_from(self.candidate.duration.as_secs().max(1)).unwrap_or(i32::MAX)),
            acquire_time: if is_renewal { before.acquire_time } else { now.clone() },
            renew_time: now,
            lease_transitions: Some(if is_renewal || is_first { transitions } else { transitions + 1 }),
            ..before
        }
    }

    async fn make_namespace(&self) {
        let document = serde_json::json!({
            "apiVersion": Kind::Namespace.api_version(), "kind": Kind::Namespace.name(), "metadata": {"name": NAMESPACE},
        });
        if let Err(error) = self.objects.apply(&document).await {
            tracing::warn!(error = crate::context::words(&error), "trying again");
        }
    }
}

fn holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}
