//! Jobs: pods that run to their end, as often as asked.

mod indexes;
mod policy;
mod track;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::action::Reference;
use crate::{Action, Event, Pod, condition, replica_set, selector, template, value};
use indexes::Indexes;

/// Who the events are from.
pub const COMPONENT: &str = "job-controller";

const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";
/// The most pods that are made or deleted in one pass.
const BURST: i64 = 500;
/// The first wait after a pod failed; it doubles each time.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(10);
/// The longest wait after a pod failed.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(600);

/// What to do about a Job.
#[derive(Debug, Default)]
pub struct Plan {
    /// Adoptions and releases.
    pub claims: Vec<Action>,
    /// Pods to make.
    pub create: Vec<Value>,
    /// Pods to delete.
    pub delete: Vec<Arc<Pod>>,
    /// What follows for the status, once pods were made and deleted.
    pub after: Vec<Action>,
}

/// Whether a Job has come to its end.
pub fn is_finished(job: &Value) -> bool {
    condition::is_true(job, "Complete") || condition::is_true(job, "Failed")
}

/// How long until a Job that has ended is deleted; none when it stays.
pub fn until_removal(job: &Value, now: Timestamp) -> Option<SignedDuration> {
    let seconds = value::number_given(job, &["spec", "ttlSecondsAfterFinished"])?;
    let ended = ["Complete", "Failed"].iter().find_map(|kind| {
        let condition = condition::find(job, kind).filter(|condition| condition["status"] == "True")?;
        value::time(condition, &["lastTransitionTime"])
    })?;
    Some((ended + SignedDuration::from_secs(seconds)).duration_since(now))
}

struct Look<'a> {
    job: &'a Value,
    pods: &'a [Arc<Pod>],
    now: Timestamp,
    indexed: bool,
    suspended: bool,
}

/// What to do about a Job and its pods.
pub fn plan(job: &Value, pods: Vec<Arc<Pod>>, now: Timestamp) -> Plan {
    let foreign = job["spec"]["managedBy"].as_str().is_some_and(|name| name != "kubernetes.io/job-controller");
    if is_finished(job) || foreign {
        return Plan::default();
    }
    let (pods, claims) = replica_set::claim(job, &selector::read(&job["spec"]["selector"]), pods);
    let look = Look {
        job,
        pods: &pods,
        now,
        indexed: job["spec"]["completionMode"] == "Indexed",
        suspended: job["spec"]["suspend"] == true,
    };
    let mut plan = Plan { claims, ..Plan::default() };
    look.decide(&mut plan);
    plan
}

impl Look<'_> {
    fn decide(&self, plan: &mut Plan) {
        let active: Vec<&Arc<Pod>> = self.pods.iter().filter(|pod| pod.is_active()).collect();
        let mut next = self.job.clone();
        value::object_mut(&mut next, &["status", "uncountedTerminatedPods"]);
        if !self.suspended && next["status"].get("startTime").is_none() {
            value::set(&mut next, &["status", "startTime"], value::seconds(self.now));
        }
        let succeeded = self.succeeded_indexes();
        let count = self.count(succeeded.as_ref());
        let failed_indexes = self.failed_indexes();
        let mut finish = self.finish(&count, succeeded.as_ref(), failed_indexes.as_ref(), &mut plan.after);
        if finish.is_some() {
            plan.delete = active.iter().map(|pod| Arc::clone(pod)).collect();
        } else if self.job["metadata"]["deletionTimestamp"].is_null() {
            self.manage(&active, &count, succeeded.as_ref(), failed_indexes.as_ref(), plan);
        }
        let left = active.len() as i64 - plan.delete.len() as i64 + plan.create.len() as i64;
        if finish.is_none() {
            let done = match value::number_given(self.job, &["spec", "completions"]) {
                None => count.succeeded > 0 && left == 0,
                Some(wanted) => count.succeeded >= wanted && left == 0,
            };
            if done {
                let message = "Reached expected number of succeeded pods";
                finish = Some(Finish::success("CompletionsReached", message));
            } else {
                self.note_suspension(&mut next, &mut plan.after);
            }
        }
        let deleted_ready = plan.delete.iter().filter(|pod| pod.is_ready()).count() as i64;
        let ready = active.iter().filter(|pod| pod.is_ready()).count() as i64 - deleted_ready;
        let terminating = self.pods.iter().filter(|pod| pod.is_terminating()).count() as i64;
        // A pod without a node goes at once.
        let going = plan.delete.iter().filter(|pod| !pod.spec.node_name.is_empty()).count() as i64;
        value::set_count(&mut next["status"], &["active"], left);
        value::set(&mut next, &["status", "ready"], ready);
        value::set(&mut next, &["status", "terminating"], terminating + going);
        self.track(next, finish, failed_indexes.as_ref(), terminating + going, plan);
    }

    fn note_suspension(&self, next: &mut Value, actions: &mut Vec<Action>) {
        let noted = condition::find(self.job, "Suspended").map(|condition| condition["status"] == "True");
        let (status, reason, message, event) = match (self.suspended, noted) {
            (true, None | Some(false)) => ("True", "JobSuspended", "Job suspended", "Suspended"),
            (false, Some(true)) => ("False", "JobResumed", "Job resumed", "Resumed"),
            _ => return,
        };
        condition::replace(&mut next["status"], track::new_condition("Suspended", status, reason, message, self.now));
        if self.suspended {
            value::remove(next, &["status", "startTime"]);
        } else {
            value::set(next, &["status", "startTime"], value::seconds(self.now));
        }
        actions.push(Event::normal(self.job, COMPONENT, event, message));
    }

    /// Makes what is missing and deletes what is too much.
    fn manage(
        &self,
        active: &[&Arc<Pod>],
        count: &Count,
        succeeded: Option<&Indexes>,
        failed: Option<&Indexes>,
        plan: &mut Plan,
    ) {
        if self.suspended {
            plan.delete = active.iter().map(|pod| Arc::clone(pod)).collect();
            // They did not fail: they are let go before they are deleted, so that nobody counts them.
            plan.claims.extend(plan.delete.iter().map(|pod| track::release(pod)));
            return;
        }
        let parallelism = value::number(self.job, &["spec", "parallelism"]);
        let running = active.len() as i64;
        let wanted = match value::number_given(self.job, &["spec", "completions"]) {
            None if count.succeeded > 0 => running,
            None => parallelism,
            Some(completions) => (completions - count.succeeded).clamp(0, parallelism),
        };
        if running > wanted {
            let mut ranked: Vec<Arc<Pod>> = active.iter().map(|pod| Arc::clone(pod)).collect();
            let doubles = crate::pod::Doubles::default();
            ranked.sort_by(|one, other| crate::pod::compare_for_deletion(one, other, &doubles, self.now));
            ranked.truncate(usize::try_from((running - wanted).min(BURST)).unwrap_or_default());
            plan.delete = ranked;
            plan.claims.extend(plan.delete.iter().map(|pod| track::release(pod)));
            return;
        }
        let only_failed = self.job["spec"]["podReplacementPolicy"] == "Failed";
        let waiting = if only_failed { self.pods.iter().filter(|pod| pod.is_terminating()).count() as i64 } else { 0 };
        let missing = (wanted - waiting - running).min(BURST);
        if missing <= 0 {
            return;
        }
        if let Some(wait) = self.back_off() {
            plan.after.push(Action::LookAgain(wait));
            return;
        }
        if self.indexed {
            let taken: BTreeSet<i64> = active.iter().filter_map(|pod| index_of(pod)).collect();
            let completions = value::number(self.job, &["spec", "completions"]);
            let free = (0..completions).filter(|index| {
                let done = |indexes: Option<&Indexes>| indexes.is_some_and(|indexes| indexes.contains(*index));
                !taken.contains(index) && !done(succeeded) && !done(failed)
            });
            plan.create
                .extend(free.take(usize::try_from(missing).unwrap_or_default()).map(|index| self.pod(Some(index))));
        } else {
            plan.create.extend((0..missing).map(|_| self.pod(None)));
        }
    }

    /// A pod of the Job, for an index where it has them.
    fn pod(&self, index: Option<i64>) -> Value {
        let mut pod = template::pod(self.job, &self.job["spec"]["template"]);
        let mut finalizers = value::list(&pod, &["metadata", "finalizers"]).to_vec();
        finalizers.push(FINALIZER.into());
        pod["metadata"]["finalizers"] = finalizers.into();
        let Some(index) = index else { return pod };
        let name = value::text(self.job, &["metadata", "name"]);
        value::set(&mut pod, &["metadata", "annotations", INDEX], index.to_string());
        value::set(&mut pod, &["metadata", "labels", INDEX], index.to_string());
        if value::number_given(self.job, &["spec", "backoffLimitPerIndex"]).is_some() {
            let failures = self.failures_of(index);
            value::set(&mut pod, &["metadata", "annotations", policy::FAILURE_COUNT], failures.to_string());
        }
        pod["metadata"]["generateName"] = format!("{name}-{index}-").into();
        pod["spec"]["hostname"] = format!("{name}-{index}").into();
        for list in ["containers", "initContainers"] {
            let containers = pod["spec"].get_mut(list).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten() {
                let mut variables = value::list(container, &["env"]).to_vec();
                if !variables.iter().any(|variable| variable["name"] == INDEX_VARIABLE) {
                    let path = format!("metadata.labels['{INDEX}']");
                    variables.push(json!({"name": INDEX_VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": path}}}));
                    container["env"] = variables.into();
                }
            }
        }
        pod
    }

    /// How long to wait because pods failed, if it is not over yet.
    fn back_off(&self) -> Option<SignedDuration> {
        if value::number_given(self.job, &["spec", "backoffLimitPerIndex"]).is_some() {
            return None;
        }
        let ended = |pod: &Pod| {
            let containers = pod.status.container_statuses.iter().filter_map(|status| status.state.terminated.as_ref());
            containers.filter_map(|end| end.finished_at).max().or_else(|| {
                let ready = pod.status.condition("Ready").and_then(|condition| condition.last_transition_time);
                ready.or(pod.metadata.deletion_timestamp).or(pod.metadata.creation_timestamp)
            })
        };
        let times = |phase: &str| {
            let pods = self.pods.iter().filter(|pod| pod.status.phase == phase);
            pods.filter_map(|pod| ended(pod)).collect::<Vec<_>>()
        };
        let last_success = times("Succeeded").into_iter().max();
        let failures: Vec<Timestamp> =
            times("Failed").into_iter().filter(|time| last_success.is_none_or(|success| *time > success)).collect();
        let last = failures.iter().max()?;
        let doubled = 1_i32.checked_shl(failures.len() as u32 - 1).unwrap_or(i32::MAX).max(1);
        let wait = FIRST_WAIT.checked_mul(doubled).unwrap_or(LONGEST_WAIT).min(LONGEST_WAIT);
        let left = (*last + wait).duration_since(self.now);
        (left > SignedDuration::ZERO).then_some(left)
    }
}

/// A pod's index.
fn index_of(pod: &Pod) -> Option<i64> {
    pod.metadata.annotations.get(INDEX)?.parse().ok().filter(|index| *index >= 0)
}

/// How many pods have come to which end, those that are not written down yet included.
struct Count {
    succeeded: i64,
    failed: i64,
}

/// How a Job ends.
struct Finish {
    success: bool,
    reason: String,
    message: String,
}

impl Finish {
    fn success(reason: &str, message: impl Into<String>) -> Finish {
        Finish { success: true, reason: reason.to_owned(), message: message.into() }
    }

    fn failure(reason: &str, message: impl Into<String>) -> Finish {
        Finish { success: false, reason: reason.to_owned(), message: message.into() }
    }
}

/// Deletes a Job whose time has passed.
pub fn remove(job: &Value) -> Action {
    Action::Delete { object: Reference::of(job), propagation: Some("Foreground"), grace_seconds: None }
}

/// Whether a pod that a Job counts goes, or has no owner any more.
pub fn may_be_left(pod: &Pod) -> bool {
    track::is_tracked(pod) && (pod.metadata.is_going() || pod.metadata.controller().is_none())
}

/// Lets a pod go that was to be counted by a Job which is gone, or by nobody. `job` has the name of its owner now.
pub fn let_go(pod: &Pod, job: Option<&Value>) -> Option<Action> {
    let is_left = match pod.metadata.controller() {
        None => true,
        Some(owner) => owner.kind == "Job" && job.is_none_or(|job| job["metadata"]["uid"] != *owner.uid),
    };
    (may_be_left(pod) && is_left).then(|| track::release(pod))
}

#[cfg(test)]
mod tests;
