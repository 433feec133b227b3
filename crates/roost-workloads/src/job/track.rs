//! Counting pods once, whatever happens: a pod is first written down as uncounted, then let go, then counted.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::indexes::Indexes;
use super::policy::Verdict;
use super::{COMPONENT, FINALIZER, Finish, Look, Plan, index_of};
use crate::action::Reference;
use crate::{Action, Event, Pod, condition, value};

pub(super) fn new_condition(kind: &str, status: &str, reason: &str, message: &str, now: Timestamp) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastProbeTime": value::seconds(now), "lastTransitionTime": value::seconds(now),
    })
}

pub(super) fn is_tracked(pod: &Pod) -> bool {
    pod.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER)
}

impl Look<'_> {
    /// Writes down what ended, lets those pods go, and counts them; then the Job's own end, once nothing is left.
    pub(super) fn track(
        &self,
        mut next: Value,
        finish: Option<Finish>,
        failed_indexes: Option<&Indexes>,
        terminating: i64,
        plan: &mut Plan,
    ) {
        let uncounted = |job: &Value, kind: &str| {
            let uids = value::list(job, &["status", "uncountedTerminatedPods", kind]);
            uids.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let (mut succeeded, mut failed) = (uncounted(self.job, "succeeded"), uncounted(self.job, "failed"));
        let completions = value::number(self.job, &["spec", "completions"]);
        let mut indexes = Indexes::parse(value::text(self.job, &["status", "completedIndexes"]), completions);
        let mut released = Vec::new();
        let (ends, ends_badly) = (finish.is_some(), finish.as_ref().is_some_and(|finish| !finish.success));
        let goes = !self.job["metadata"]["deletionTimestamp"].is_null();
        for pod in self.pods.iter().filter(|pod| is_tracked(pod)) {
            let (uid, has_failed) = (&pod.metadata.uid, self.has_failed(pod));
            if !(goes || ends || pod.status.phase == "Succeeded" || has_failed) || self.is_kept_for_index(pod, ends) {
                continue;
            }
            released.push(pod);
            let index = index_of(pod).filter(|index| *index < completions);
            if pod.status.phase == "Succeeded" && !failed.contains(uid) {
                match index.filter(|_| self.indexed) {
                    Some(index) => indexes.insert(index),
                    None if !self.indexed && !succeeded.contains(uid) => succeeded.push(uid.clone()),
                    None => {}
                }
            } else if (has_failed || ends_badly)
                && !failed.contains(uid)
                && (!self.indexed || index.is_some())
                && !matches!(self.judge(pod), Verdict::Ignore)
            {
                failed.push(uid.clone());
            }
        }
        self.note_end(&mut next, finish.as_ref());
        if self.indexed {
            value::set_count(&mut next["status"], &["succeeded"], indexes.len());
            let text = indexes.to_string();
            if text.is_empty() {
                value::remove(&mut next, &["status", "completedIndexes"]);
            } else {
                value::set(&mut next, &["status", "completedIndexes"], text);
            }
            if let Some(failed) = failed_indexes {
                value::set(&mut next, &["status", "failedIndexes"], failed.to_string());
            }
        }
        let (counted_succeeded, counted_failed) = (succeeded.len() as i64, failed.len() as i64);
        if !released.is_empty() {
            // Whoever dies after this finds the pods written down, and counts them once.
            let mut written = next.clone();
            for (kind, uids) in [("succeeded", succeeded), ("failed", failed)] {
                if !uids.is_empty() {
                    value::set(&mut written, &["status", "uncountedTerminatedPods", kind], uids);
                }
            }
            if written != *self.job {
                plan.after.push(Action::UpdateStatus(written));
            }
            plan.after.extend(released.iter().map(|pod| release(pod)));
        }
        value::set(&mut next, &["status", "uncountedTerminatedPods"], json!({}));
        if !self.indexed {
            let before = value::number(self.job, &["status", "succeeded"]);
            value::set_count(&mut next["status"], &["succeeded"], before + counted_succeeded);
        }
        let before = value::number(self.job, &["status", "failed"]);
        value::set_count(&mut next["status"], &["failed"], before + counted_failed);
        if let Some(finish) = finish.filter(|_| terminating == 0) {
            self.end(&mut next, &finish, plan);
        } else if next != *self.job || !released.is_empty() {
            plan.after.push(Action::UpdateStatus(next));
        }
    }

    /// Whether a failed pod stays for now because it tells how often its index has failed.
    fn is_kept_for_index(&self, pod: &Pod, ends: bool) -> bool {
        if ends || value::number_given(self.job, &["spec", "backoffLimitPerIndex"]).is_none() {
            return false;
        }
        let Some(index) = index_of(pod).filter(|_| self.has_failed(pod)) else { return false };
        let count = |pod: &Pod| {
            let text = pod.metadata.annotations.get(super::policy::FAILURE_COUNT);
            text.and_then(|text| text.parse::<i64>().ok()).unwrap_or_default()
        };
        let replaced = self.pods.iter().any(|other| index_of(other) == Some(index) && count(other) > count(pod));
        let ended = self.failed_indexes().is_some_and(|indexes| indexes.contains(index));
        !replaced && !ended
    }

    fn note_end(&self, next: &mut Value, finish: Option<&Finish>) {
        let Some(finish) = finish else { return };
        let kind = if finish.success { "SuccessCriteriaMet" } else { "FailureTarget" };
        if condition::find(self.job, kind).is_none() {
            let noted = new_condition(kind, "True", &finish.reason, &finish.message, self.now);
            condition::replace(&mut next["status"], noted);
        }
    }

    fn end(&self, next: &mut Value, finish: &Finish, plan: &mut Plan) {
        let kind = if finish.success { "Complete" } else { "Failed" };
        let ended = new_condition(kind, "True", &finish.reason, &finish.message, self.now);
        condition::replace(&mut next["status"], ended);
        if finish.success {
            value::set(next, &["status", "completionTime"], value::seconds(self.now));
        }
        plan.after.push(Action::UpdateStatus(next.clone()));
        plan.after.push(if finish.success {
            Event::normal(self.job, COMPONENT, "Completed", "Job completed")
        } else {
            Event::warning(self.job, COMPONENT, reason(&finish.reason), finish.message.clone())
        });
    }
}

/// A reason as an event has it.
fn reason(reason: &str) -> &'static str {
    const REASONS: &[&str] =
        &["BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy", "MaxFailedIndexesExceeded", "FailedIndexes"];
    REASONS.iter().find(|known| **known == reason).copied().unwrap_or("Failed")
}

/// Lets a pod go that was written down, or that does not count.
pub(super) fn release(pod: &Pod) -> Action {
    let kept: Vec<&String> = pod.metadata.finalizers.iter().filter(|finalizer| *finalizer != FINALIZER).collect();
    let finalizers = if kept.is_empty() { Value::Null } else { json!(kept) };
    Action::Patch {
        object: Reference::of_pod(pod),
        subresource: "",
        patch: json!({"metadata": {"finalizers": finalizers}}),
    }
}
