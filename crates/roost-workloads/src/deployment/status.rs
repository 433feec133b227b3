//! How a rollout stands.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::pass::{Pass, available, replicas};
use super::{
    AVAILABLE, NEW_SET_AVAILABLE, PAUSED, PROGRESSING, REPLICA_FAILURE, TIMED_OUT, has_deadline, set_condition,
};
use crate::{Action, condition, value};

impl Pass<'_> {
    /// Notes that the rollout was paused or goes on, so that the time in between does not count against its deadline.
    pub(super) fn note_pause(&mut self) {
        if !has_deadline(&self.deployment) {
            return;
        }
        let reason =
            condition::find(&self.deployment, PROGRESSING).map_or("", |current| value::text(current, &["reason"]));
        if reason == TIMED_OUT {
            return;
        }
        let (paused, noted) = (self.deployment["spec"]["paused"] == true, reason == PAUSED);
        let now = self.now;
        if paused && !noted {
            set_condition(&mut self.deployment, PROGRESSING, "Unknown", PAUSED, "Deployment is paused", now);
        } else if !paused && noted {
            let reason = "DeploymentResumed";
            set_condition(&mut self.deployment, PROGRESSING, "Unknown", reason, "Deployment is resumed", now);
        }
    }

    /// Whether the last status said that all is as it should be.
    pub(super) fn was_complete(&self) -> bool {
        self.is_complete(&self.original["status"])
    }

    fn is_complete(&self, status: &Value) -> bool {
        let wanted = self.wanted();
        ["updatedReplicas", "replicas", "availableReplicas"].iter().all(|name| value::number(status, &[name]) == wanted)
            && value::number(status, &["observedGeneration"])
                >= value::number(&self.deployment, &["metadata", "generation"])
    }

    /// Ends a look: the status that follows, and when to look again.
    pub(super) fn finish(mut self, rollout: bool) -> Vec<Action> {
        self.count();
        if rollout {
            self.note_progress();
        }
        if self.deployment["status"] != self.original["status"]
            || self.deployment["metadata"] != self.original["metadata"]
        {
            self.actions.push(Action::UpdateStatus(self.deployment.clone()));
        }
        if rollout && let Some(wait) = self.until_deadline() {
            self.actions.push(Action::LookAgain(wait));
        }
        self.actions
    }

    fn count(&mut self) {
        let sum = |name: &str| self.sets().map(|set| value::number(set, &["status", name])).sum::<i64>();
        let ready_to_serve: i64 = self.sets().map(available).sum();
        let unavailable = (self.sets().map(replicas).sum::<i64>() - ready_to_serve).max(0);
        let updated = self.new.as_ref().map_or(0, |set| value::number(set, &["status", "replicas"]));
        let counts = [
            ("replicas", sum("replicas")),
            ("updatedReplicas", updated),
            ("readyReplicas", sum("readyReplicas")),
            ("availableReplicas", ready_to_serve),
            ("unavailableReplicas", unavailable),
        ];
        let terminating = self.terminating();
        let enough = ready_to_serve >= self.wanted() - self.max_unavailable();
        let generation = value::number(&self.deployment, &["metadata", "generation"]);
        let status = &mut self.deployment["status"];
        for (name, count) in counts {
            value::set_count(status, &[name], count);
        }
        match terminating {
            Some(count) => value::set(status, &["terminatingReplicas"], count),
            None => value::remove(status, &["terminatingReplicas"]),
        }
        value::set(status, &["observedGeneration"], generation);
        let (state, reason, message) = if enough {
            ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
        } else {
            ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
        };
        let now = self.now;
        set_condition(&mut self.deployment, AVAILABLE, state, reason, message, now);
    }

    /// How many pods are going; unknown when a `ReplicaSet` does not say.
    fn terminating(&self) -> Option<i64> {
        let mut total = 0;
        for set in self.sets() {
            match value::number_given(set, &["status", "terminatingReplicas"]) {
                Some(count) => total += count,
                None if value::number(set, &["status", "observedGeneration"]) == 0 => {}
                None => return None,
            }
        }
        Some(total)
    }

    fn note_progress(&mut self) {
        let current = condition::find(&self.deployment, PROGRESSING).cloned();
        let now = self.now;
        if has_deadline(&self.deployment) {
            let status = &self.deployment["status"];
            let all_new = value::number(status, &["replicas"]) == value::number(status, &["updatedReplicas"]);
            let done = current.as_ref().is_some_and(|current| current["reason"] == NEW_SET_AVAILABLE);
            if !(all_new && done) {
                self.judge_progress(current.as_ref(), now);
            }
        } else {
            condition::remove(&mut self.deployment["status"], PROGRESSING);
        }
        match self.failure() {
            Some(failure) => {
                let same = condition::find(&self.deployment, REPLICA_FAILURE).is_some_and(|current| {
                    current["status"] == failure["status"] && current["reason"] == failure["reason"]
                });
                if !same {
                    condition::replace(&mut self.deployment["status"], failure);
                }
            }
            None => condition::remove(&mut self.deployment["status"], REPLICA_FAILURE),
        }
    }

    fn judge_progress(&mut self, current: Option<&Value>, now: Timestamp) {
        let subject = match &self.new {
            Some(set) => format!("ReplicaSet \"{}\"", value::text(set, &["metadata", "name"])),
            None => format!("Deployment \"{}\"", value::text(&self.deployment, &["metadata", "name"])),
        };
        if self.is_complete(&self.deployment["status"]) {
            let message = format!("{subject} has successfully progressed.");
            set_condition(&mut self.deployment, PROGRESSING, "True", NEW_SET_AVAILABLE, &message, now);
        } else if self.progressed() {
            let since = current
                .filter(|current| current["status"] == "True")
                .map_or_else(|| value::seconds(now).into(), |current| current["lastTransitionTime"].clone());
            condition::replace(
                &mut self.deployment["status"],
                json!({"type": PROGRESSING, "status": "True", "reason": "ReplicaSetUpdated",
                    "message": format!("{subject} is progressing."),
                    "lastTransitionTime": since, "lastUpdateTime": value::seconds(now)}),
            );
        } else if self.has_timed_out(now) {
            let message = format!("{subject} has timed out progressing.");
            set_condition(&mut self.deployment, PROGRESSING, "False", TIMED_OUT, &message, now);
        }
    }

    /// Whether there is more of the new, or less of the old, than the last status said.
    fn progressed(&self) -> bool {
        let (before, after) = (&self.original["status"], &self.deployment["status"]);
        let count = |status: &Value, name: &str| value::number(status, &[name]);
        let old = |status: &Value| count(status, "replicas") - count(status, "updatedReplicas");
        old(after) < old(before)
            || ["updatedReplicas", "readyReplicas", "availableReplicas"]
                .iter()
                .any(|name| count(after, name) > count(before, name))
    }

    fn has_timed_out(&self, now: Timestamp) -> bool {
        let Some(current) = condition::find(&self.deployment, PROGRESSING) else { return false };
        match value::text(current, &["reason"]) {
            NEW_SET_AVAILABLE => false,
            TIMED_OUT => true,
            _ => value::time(current, &["lastUpdateTime"]).is_some_and(|since| now > since + self.deadline()),
        }
    }

    fn deadline(&self) -> SignedDuration {
        SignedDuration::from_secs(value::number(&self.deployment, &["spec", "progressDeadlineSeconds"]))
    }

    /// How long until the rollout may be called stuck; none when it cannot be.
    fn until_deadline(&self) -> Option<SignedDuration> {
        let current = condition::find(&self.deployment, PROGRESSING)?;
        if !has_deadline(&self.deployment)
            || self.is_complete(&self.deployment["status"])
            || current["reason"] == TIMED_OUT
        {
            return None;
        }
        let since = value::time(current, &["lastUpdateTime"])?;
        let left = (since + self.deadline()).duration_since(self.now);
        Some(left.max(SignedDuration::ZERO) + SignedDuration::from_secs(1))
    }

    /// What keeps a `ReplicaSet` from having its pods, the new one first.
    fn failure(&self) -> Option<Value> {
        let failed = self.new.iter().chain(&self.old).find_map(|set| condition::find(set, REPLICA_FAILURE))?;
        let mut failure = failed.clone();
        failure["lastUpdateTime"] = failed["lastTransitionTime"].clone();
        Some(failure)
    }
}
