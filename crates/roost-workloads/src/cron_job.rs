//! CronJobs: Jobs by the clock.

mod schedule;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::action::Reference;
use crate::metadata::Metadata;
use crate::{Action, Event, condition, job, metadata, value};

pub use schedule::Schedule;

/// Who the events are from.
pub const COMPONENT: &str = "cronjob-controller";

const SCHEDULED: &str = "batch.kubernetes.io/cronjob-scheduled-timestamp";

struct Look<'a> {
    cron: &'a Value,
    next: Value,
    now: Timestamp,
    actions: Vec<Action>,
}

/// What to do about a CronJob and its Jobs, by the clock of a zone.
pub fn plan(cron: &Value, jobs: &[Value], zone: &TimeZone, now: Timestamp) -> Vec<Action> {
    let mut next = cron.clone();
    value::object_mut(&mut next, &["status"]);
    let mut look = Look { cron, next, now, actions: Vec::new() };
    let uid = value::text(cron, &["metadata", "uid"]);
    let own: Vec<&Value> = jobs.iter().filter(|job| Metadata::read(job).is_controlled_by(uid)).collect();
    look.note_ends(&own);
    look.clean_up(&own);
    if cron["metadata"]["deletionTimestamp"].is_null() && cron["spec"]["suspend"] != true {
        look.run(&own, zone);
    }
    if look.next["status"] != cron["status"] && !(look.next["status"] == json!({}) && cron["status"].is_null()) {
        look.actions.push(Action::UpdateStatus(look.next));
    }
    look.actions
}

fn name(object: &Value) -> &str {
    value::text(object, &["metadata", "name"])
}

impl Look<'_> {
    fn tell(&mut self, warning: bool, reason: &'static str, message: String) {
        self.actions.push(Event::about(Reference::of(self.cron), COMPONENT, warning, reason, message));
    }

    fn active(&self) -> Vec<Value> {
        value::list(&self.next, &["status", "active"]).to_vec()
    }

    fn set_active(&mut self, active: Vec<Value>) {
        if active.is_empty() {
            value::remove(&mut self.next, &["status", "active"]);
        } else {
            value::set(&mut self.next, &["status", "active"], active);
        }
    }

    /// Takes Jobs that ended or went off the list of those that run.
    fn note_ends(&mut self, jobs: &[&Value]) {
        for job in jobs {
            let uid = &job["metadata"]["uid"];
            let listed = self.active().iter().any(|reference| reference["uid"] == *uid);
            let finished = job::is_finished(job);
            if listed && finished {
                let kept = self.active().into_iter().filter(|reference| reference["uid"] != *uid).collect();
                self.set_active(kept);
                let how = if condition::is_true(job, "Complete") { "Complete" } else { "Failed" };
                let message = format!("Saw completed job: {}, condition: {how}", name(job));
                self.tell(false, "SawCompletedJob", message);
            }
            if finished && condition::is_true(job, "Complete") {
                let ended = value::text(job, &["status", "completionTime"]);
                if ended > value::text(&self.next, &["status", "lastSuccessfulTime"]) {
                    let ended = ended.to_owned();
                    value::set(&mut self.next, &["status", "lastSuccessfulTime"], ended);
                }
            }
        }
        let (kept, missing): (Vec<Value>, Vec<Value>) = self
            .active()
            .into_iter()
            .partition(|reference| jobs.iter().any(|job| job["metadata"]["uid"] == reference["uid"]));
        for reference in &missing {
            let gone = reference["name"].as_str().unwrap_or_default();
            self.tell(false, "MissingJob", format!("Active job went missing: {gone}"));
        }
        if !missing.is_empty() {
            self.set_active(kept);
        }
    }

    /// Deletes the oldest Jobs that ended, beyond those that are kept.
    fn clean_up(&mut self, jobs: &[&Value]) {
        for (kind, limit) in [("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")] {
            let Some(limit) = value::number_given(self.cron, &["spec", limit]) else { continue };
            let mut ended: Vec<&&Value> = jobs.iter().filter(|job| condition::is_true(job, kind)).collect();
            ended.sort_by_key(|job| (value::text(job, &["status", "startTime"]), name(job)));
            let surplus = ended.len().saturating_sub(usize::try_from(limit).unwrap_or_default());
            for job in ended.into_iter().take(surplus) {
                self.delete(job);
            }
        }
    }

    fn delete(&mut self, job: &Value) {
        let object = Reference::of(job);
        let kept = self.active().into_iter().filter(|reference| reference["uid"] != *object.uid).collect();
        self.set_active(kept);
        self.actions.push(Action::Delete { object, propagation: Some("Background"), grace_seconds: None });
        self.tell(false, "SuccessfulDelete", format!("Deleted job {}", name(job)));
    }

    fn run(&mut self, jobs: &[&Value], zone: &TimeZone) {
        let text = value::text(self.cron, &["spec", "schedule"]);
        let Some(schedule) = Schedule::parse(text) else {
            self.tell(true, "UnparseableSchedule", format!("unparseable schedule: \"{text}\""));
            return;
        };
        if let Some(next) = schedule.next(self.now, zone) {
            self.actions.push(Action::LookAgain(next.duration_since(self.now)));
        }
        let last = value::time(self.cron, &["status", "lastScheduleTime"]);
        let made = value::time(self.cron, &["metadata", "creationTimestamp"]).unwrap_or(self.now);
        let deadline = value::number_given(self.cron, &["spec", "startingDeadlineSeconds"]);
        let bound = deadline.map(|seconds| self.now - SignedDuration::from_secs(seconds));
        let earliest = last.unwrap_or(made).max(bound.unwrap_or(Timestamp::MIN));
        let Some(due) = schedule.last(earliest, self.now, zone) else { return };
        let own_name = format!("{}-{}", name(self.cron), due.as_second() / 60);
        if last == Some(due) || jobs.iter().any(|job| name(job) == own_name) {
            return;
        }
        let policy = value::text(self.cron, &["spec", "concurrencyPolicy"]);
        let active = self.active();
        if policy == "Forbid" && !active.is_empty() {
            let message = "Not starting job because prior execution is running and concurrency policy is Forbid";
            self.tell(false, "JobAlreadyActive", message.to_owned());
            return;
        }
        if policy == "Replace" {
            for job in jobs.iter().filter(|job| active.iter().any(|own| own["uid"] == job["metadata"]["uid"])) {
                self.delete(job);
            }
        }
        self.start(&own_name, due, zone);
    }

    fn start(&mut self, own_name: &str, due: Timestamp, zone: &TimeZone) {
        let template = &self.cron["spec"]["jobTemplate"];
        let mut made = json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {
                "name": own_name, "namespace": self.cron["metadata"]["namespace"],
                "ownerReferences": [metadata::controller_reference(self.cron)],
            },
            "spec": template["spec"],
        });
        for field in ["labels", "annotations"] {
            if let Some(own) = template["metadata"].get(field) {
                made["metadata"][field] = own.clone();
            }
        }
        let local = due.to_zoned(zone.clone());
        let stamp = if local.offset().seconds() == 0 {
            local.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
        } else {
            local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
        };
        value::set(&mut made, &["metadata", "annotations", SCHEDULED], stamp);
        self.actions.push(Action::Create(made));
        self.tell(false, "SuccessfulCreate", format!("Created job {own_name}"));
        value::set(&mut self.next, &["status", "lastScheduleTime"], value::seconds(due));
    }
}

/// Puts a Job that was made on the list of those that run.
pub fn started(status: &mut Value, job: &Value) {
    let metadata = &job["metadata"];
    let mut active = value::list(status, &["status", "active"]).to_vec();
    active.push(json!({
        "apiVersion": "batch/v1", "kind": "Job", "namespace": metadata["namespace"], "name": metadata["name"],
        "uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"],
    }));
    value::set(status, &["status", "active"], active);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cron(spec: &Value) -> Value {
        let mut cron = json!({
            "apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": {"name": "tick", "namespace": "d", "uid": "u", "creationTimestamp": "2026-01-01T00:00:30Z"},
            "spec": {"schedule": "*/5 * * * *", "concurrencyPolicy": "Allow", "jobTemplate": {"spec": {"a": 1}},
                "successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 1},
        });
        for (field, content) in spec.as_object().into_iter().flatten() {
            cron["spec"][field.as_str()] = content.clone();
        }
        cron
    }

    fn at(text: &str) -> Timestamp {
        format!("2026-01-01T{text}Z").parse().expect("a time")
    }

    fn job(name: &str, ended: Option<&str>) -> Value {
        let conditions: Vec<Value> = ended.map(|kind| json!({"type": kind, "status": "True"})).into_iter().collect();
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "d", "uid": name,
            "ownerReferences": [{"uid": "u", "controller": true}]}, "status": {"conditions": conditions, "startTime": name}})
    }

    fn made(actions: &[Action]) -> Vec<&str> {
        actions
            .iter()
            .filter_map(|action| if let Action::Create(job) = action { Some(name(job)) } else { None })
            .collect()
    }

    #[test]
    fn a_job_is_made_when_its_time_has_come_and_only_once() {
        let cron = cron(&json!({}));
        assert!(made(&plan(&cron, &[], &TimeZone::UTC, at("00:04:59"))).is_empty());
        let actions = plan(&cron, &[], &TimeZone::UTC, at("00:12:00"));
        let minute = at("00:10:00").as_second() / 60;
        let wanted = format!("tick-{minute}");
        assert_eq!(made(&actions), [wanted.as_str()]);
        assert!(made(&plan(&cron, &[job(&wanted, None)], &TimeZone::UTC, at("00:12:00"))).is_empty());
        let Some(Action::UpdateStatus(next)) = actions.last() else { panic!("a status") };
        assert_eq!(next["status"]["lastScheduleTime"], "2026-01-01T00:10:00Z");
        assert!(made(&plan(next, &[], &TimeZone::UTC, at("00:14:00"))).is_empty());
    }

    #[test]
    fn policies_say_what_becomes_of_those_that_still_run() {
        let listed = json!([{"uid": "old", "name": "old"}]);
        for (policy, count, deleted) in [("Allow", 1, 0), ("Forbid", 0, 0), ("Replace", 1, 1)] {
            let mut cron = cron(&json!({"concurrencyPolicy": policy}));
            cron["status"] = json!({"active": listed});
            let actions = plan(&cron, &[job("old", None)], &TimeZone::UTC, at("00:05:00"));
            assert_eq!(made(&actions).len(), count, "{policy}");
            let gone = actions.iter().filter(|action| matches!(action, Action::Delete { .. })).count();
            assert_eq!(gone, deleted, "{policy}");
        }
        assert!(made(&plan(&cron(&json!({"suspend": true})), &[], &TimeZone::UTC, at("00:05:00"))).is_empty());
        let late = cron(&json!({"startingDeadlineSeconds": 30}));
        assert!(made(&plan(&late, &[], &TimeZone::UTC, at("00:06:00"))).is_empty());
    }

    #[test]
    fn only_the_last_ones_are_kept() {
        let jobs = [job("a", Some("Complete")), job("b", Some("Complete")), job("c", Some("Failed"))];
        let actions = plan(&cron(&json!({"suspend": true})), &jobs, &TimeZone::UTC, at("00:05:00"));
        let gone: Vec<&str> = actions
            .iter()
            .filter_map(|action| if let Action::Delete { object, .. } = action { Some(&*object.name) } else { None })
            .collect();
        assert_eq!(gone, ["a"]);
    }
}
