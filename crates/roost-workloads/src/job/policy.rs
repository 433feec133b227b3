//! When a Job ends: limits, deadlines, and what its policies say.

use jiff::SignedDuration;
use serde_json::Value;

use super::indexes::Indexes;
use super::{Count, Finish, Look, index_of};
use crate::{Action, Pod, condition, value};

/// How often an index has failed before this pod.
pub(super) const FAILURE_COUNT: &str = "batch.kubernetes.io/job-index-failure-count";

/// What a policy makes of a failed pod.
pub(super) enum Verdict {
    /// It counts.
    Count,
    /// It does not.
    Ignore,
    /// Its index has failed for good.
    FailIndex,
    /// The Job has failed.
    FailJob(String),
}

impl Look<'_> {
    /// Whether a pod counts as failed: also one that was asked to go, unless only those that ended do.
    pub(super) fn has_failed(&self, pod: &Pod) -> bool {
        pod.status.phase == "Failed"
            || (self.job["spec"]["podReplacementPolicy"] != "Failed"
                && pod.metadata.is_going()
                && pod.status.phase != "Succeeded")
    }

    /// What the failure policy makes of a pod.
    pub(super) fn judge(&self, pod: &Pod) -> Verdict {
        let rules = value::list(self.job, &["spec", "podFailurePolicy", "rules"]);
        for (number, rule) in rules.iter().enumerate() {
            let action = value::text(rule, &["action"]);
            let subject = format!("{}/{}", pod.metadata.namespace, pod.metadata.name);
            let matched = if rule.get("onExitCodes").is_some() {
                exit_code(pod, &rule["onExitCodes"]).map(|(container, code)| {
                    format!(
                        "Container {container} for pod {subject} failed with exit code {code} matching {action} rule \
                            at index {number}"
                    )
                })
            } else {
                pod_condition(pod, value::list(rule, &["onPodConditions"]))
                    .map(|kind| format!("Pod {subject} has condition {kind} matching {action} rule at index {number}"))
            };
            if let Some(message) = matched {
                return match action {
                    "Ignore" => Verdict::Ignore,
                    "FailIndex" => Verdict::FailIndex,
                    "FailJob" => Verdict::FailJob(message),
                    _ => Verdict::Count,
                };
            }
        }
        Verdict::Count
    }

    /// The indexes that succeeded, those of pods that are not written down yet included.
    pub(super) fn succeeded_indexes(&self) -> Option<Indexes> {
        let completions = value::number(self.job, &["spec", "completions"]);
        let mut indexes = Indexes::parse(value::text(self.job, &["status", "completedIndexes"]), completions);
        for pod in self.pods.iter().filter(|pod| pod.status.phase == "Succeeded") {
            if let Some(index) = index_of(pod).filter(|index| *index < completions) {
                indexes.insert(index);
            }
        }
        self.indexed.then_some(indexes)
    }

    /// How often an index has failed.
    pub(super) fn failures_of(&self, index: i64) -> i64 {
        let of = |pod: &Pod| {
            let before = pod.metadata.annotations.get(FAILURE_COUNT).and_then(|count| count.parse::<i64>().ok());
            before.unwrap_or_default() + i64::from(!matches!(self.judge(pod), Verdict::Ignore))
        };
        let failed = self.pods.iter().filter(|pod| index_of(pod) == Some(index) && self.has_failed(pod));
        failed.map(|pod| of(pod)).max().unwrap_or_default()
    }

    /// The indexes that failed for good, where each has a limit of its own.
    pub(super) fn failed_indexes(&self) -> Option<Indexes> {
        let limit = value::number_given(self.job, &["spec", "backoffLimitPerIndex"]).filter(|_| self.indexed)?;
        let completions = value::number(self.job, &["spec", "completions"]);
        let mut indexes = Indexes::parse(value::text(self.job, &["status", "failedIndexes"]), completions);
        for pod in self.pods.iter().filter(|pod| self.has_failed(pod)) {
            let Some(index) = index_of(pod).filter(|index| *index < completions) else { continue };
            if matches!(self.judge(pod), Verdict::FailIndex) || self.failures_of(index) > limit {
                indexes.insert(index);
            }
        }
        Some(indexes)
    }

    /// How many pods have come to which end.
    pub(super) fn count(&self, succeeded: Option<&Indexes>) -> Count {
        let uncounted = |kind: &str| value::list(self.job, &["status", "uncountedTerminatedPods", kind]);
        let is_new = |pod: &Pod| {
            pod.metadata.finalizers.iter().any(|finalizer| finalizer == super::FINALIZER)
                && !["succeeded", "failed"]
                    .iter()
                    .any(|kind| uncounted(kind).iter().any(|uid| *uid == *pod.metadata.uid))
        };
        let new_failed = self
            .pods
            .iter()
            .filter(|pod| is_new(pod) && self.has_failed(pod) && !matches!(self.judge(pod), Verdict::Ignore))
            .count() as i64;
        let new_succeeded =
            self.pods.iter().filter(|pod| is_new(pod) && pod.status.phase == "Succeeded").count() as i64;
        let written = |name: &str| value::number(self.job, &["status", name]);
        Count {
            succeeded: succeeded.map_or_else(
                || written("succeeded") + uncounted("succeeded").len() as i64 + new_succeeded,
                Indexes::len,
            ),
            failed: written("failed") + uncounted("failed").len() as i64 + new_failed,
        }
    }

    /// Whether the Job ends now, and how. A deadline that is yet to come asks for another look.
    pub(super) fn finish(
        &self,
        count: &Count,
        succeeded: Option<&Indexes>,
        failed: Option<&Indexes>,
        actions: &mut Vec<Action>,
    ) -> Option<Finish> {
        let noted = |kind: &str| {
            let condition = condition::find(self.job, kind).filter(|condition| condition["status"] == "True")?;
            Some((value::text(condition, &["reason"]).to_owned(), value::text(condition, &["message"]).to_owned()))
        };
        if let Some((reason, message)) = noted("SuccessCriteriaMet") {
            return Some(Finish { success: true, reason, message });
        }
        if let Some((reason, message)) = noted("FailureTarget") {
            return Some(Finish { success: false, reason, message });
        }
        for pod in self.pods.iter().filter(|pod| self.has_failed(pod)) {
            if let Verdict::FailJob(message) = self.judge(pod) {
                return Some(Finish::failure("PodFailurePolicy", message));
            }
        }
        let limit = value::number_given(self.job, &["spec", "backoffLimit"]).unwrap_or(6);
        if count.failed > limit || self.restarted_too_often(limit) {
            return Some(Finish::failure("BackoffLimitExceeded", "Job has reached the specified backoff limit"));
        }
        let start = value::time(self.job, &["status", "startTime"]).filter(|_| !self.suspended);
        if let Some(deadline) = value::number_given(self.job, &["spec", "activeDeadlineSeconds"])
            && !self.suspended
        {
            let end = start.unwrap_or(self.now) + SignedDuration::from_secs(deadline);
            if self.now >= end {
                return Some(Finish::failure("DeadlineExceeded", "Job was active longer than specified deadline"));
            }
            actions.push(Action::LookAgain(end.duration_since(self.now)));
        }
        self.finish_indexes(succeeded, failed)
    }

    fn finish_indexes(&self, succeeded: Option<&Indexes>, failed: Option<&Indexes>) -> Option<Finish> {
        let completions = value::number(self.job, &["spec", "completions"]);
        let succeeded = succeeded?;
        if let Some(failed) = failed {
            let most = value::number_given(self.job, &["spec", "maxFailedIndexes"]);
            if most.is_some_and(|most| failed.len() > most) {
                let message = "Job has exceeded the specified maximal number of failed indexes";
                return Some(Finish::failure("MaxFailedIndexesExceeded", message));
            }
            if failed.len() > 0 && failed.len() + succeeded.len() >= completions {
                return Some(Finish::failure("FailedIndexes", "Job has failed indexes"));
            }
        }
        let rules = value::list(self.job, &["spec", "successPolicy", "rules"]);
        let met = |rule: &Value| {
            let count = value::number_given(rule, &["succeededCount"]);
            match rule["succeededIndexes"].as_str() {
                Some(text) => {
                    let wanted = Indexes::parse(text, completions);
                    let found = wanted.shared(succeeded);
                    wanted.len() > 0 && (found == wanted.len() || count.is_some_and(|count| found >= count))
                }
                None => count.is_some_and(|count| succeeded.len() >= count),
            }
        };
        let number = rules.iter().position(met).filter(|_| succeeded.len() > 0)?;
        Some(Finish::success("SuccessPolicy", format!("Matched rules at index {number}")))
    }

    /// Whether containers that start again in place have done so too often.
    fn restarted_too_often(&self, limit: i64) -> bool {
        if self.job["spec"]["template"]["spec"]["restartPolicy"] != "OnFailure" {
            return false;
        }
        let running = self.pods.iter().filter(|pod| matches!(pod.status.phase.as_str(), "Running" | "Pending"));
        let statuses =
            running.flat_map(|pod| pod.status.init_container_statuses.iter().chain(&pod.status.container_statuses));
        let restarts: i64 = statuses.map(|status| status.restart_count).sum();
        if limit == 0 { restarts > 0 } else { restarts >= limit }
    }
}

fn exit_code<'p>(pod: &'p Pod, rule: &Value) -> Option<(&'p str, i64)> {
    let values = value::list(rule, &["values"]);
    let wanted = rule["containerName"].as_str();
    let statuses = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
    statuses
        .filter(|status| wanted.is_none_or(|wanted| status.name == wanted))
        .filter_map(|status| Some((status.name.as_str(), status.state.terminated.as_ref()?.exit_code)))
        .filter(|(_, code)| *code != 0)
        .find(|(_, code)| values.iter().any(|value| value.as_i64() == Some(*code)) == (rule["operator"] == "In"))
}

fn pod_condition<'r>(pod: &Pod, patterns: &'r [Value]) -> Option<&'r str> {
    let matches = |pattern: &&Value| {
        let wanted = pattern["status"].as_str().unwrap_or("True");
        pod.status.condition(value::text(pattern, &["type"])).is_some_and(|condition| condition.status == wanted)
    };
    patterns.iter().find(matches).map(|pattern| value::text(pattern, &["type"]))
}
