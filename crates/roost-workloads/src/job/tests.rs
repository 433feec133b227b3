//! Jobs, pod by pod.

use super::*;

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

fn job(spec: &Value) -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work", "namespace": "d", "uid": "u"},
        "spec": {"parallelism": 2, "completions": 3, "backoffLimit": 6, "completionMode": "NonIndexed",
            "selector": {"matchLabels": {"job": "work"}},
            "template": {"metadata": {"labels": {"job": "work"}}, "spec": {"containers": [{"name": "c"}]}}},
    });
    for (field, content) in spec.as_object().into_iter().flatten() {
        job["spec"][field.as_str()] = content.clone();
    }
    job
}

/// A world in which every pod comes to the end that the test names.
struct World {
    job: Value,
    pods: Vec<Value>,
    made: usize,
    told: Vec<String>,
}

impl World {
    fn new(spec: &Value) -> World {
        World { job: job(spec), pods: Vec::new(), made: 0, told: Vec::new() }
    }

    fn observed(&self) -> Vec<Arc<Pod>> {
        self.pods.iter().map(|pod| Arc::new(serde_json::from_value(pod.clone()).expect("a pod"))).collect()
    }

    fn look(&mut self, at: Timestamp) {
        let plan = plan(&self.job, self.observed(), at);
        for mut pod in plan.create {
            let name = format!("p{}", self.made);
            self.made += 1;
            pod["metadata"]["uid"] = name.as_str().into();
            pod["metadata"]["name"] = name.into();
            pod["status"] = json!({"phase": "Running"});
            self.pods.push(pod);
        }
        for gone in plan.delete {
            self.pods.retain(|pod| pod["metadata"]["uid"] != *gone.metadata.uid);
        }
        for action in plan.claims.into_iter().chain(plan.after) {
            match action {
                Action::UpdateStatus(next) => self.job = next,
                Action::Patch { object, .. } => self.pods.retain(|pod| pod["metadata"]["uid"] != *object.uid),
                Action::Tell(event) => self.told.push(event.reason.to_owned()),
                _ => {}
            }
        }
    }

    fn end(&mut self, phase: &str, code: i64) {
        for pod in &mut self.pods {
            pod["status"] = json!({"phase": phase, "containerStatuses": [{"name": "c",
                "state": {"terminated": {"exitCode": code, "finishedAt": "2026-01-01T00:00:00Z"}}}]});
        }
    }

    fn ended(&self) -> Vec<String> {
        let conditions = value::list(&self.job, &["status", "conditions"]).iter();
        conditions.map(|own| format!("{} {}", value::text(own, &["type"]), value::text(own, &["reason"]))).collect()
    }
}

#[test]
fn a_job_runs_until_enough_succeeded() {
    let mut world = World::new(&json!({}));
    world.look(now());
    assert_eq!(world.pods.len(), 2);
    world.end("Succeeded", 0);
    world.look(now());
    assert_eq!((world.pods.len(), &world.job["status"]["succeeded"]), (1, &json!(2)));
    world.end("Succeeded", 0);
    world.look(now());
    assert_eq!(world.job["status"]["succeeded"], 3);
    assert_eq!(world.ended(), ["SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"]);
    assert_eq!((world.told, world.made), (vec!["Completed".to_owned()], 3));
}

#[test]
fn failures_wait_longer_each_time_and_end_the_job() {
    let mut world = World::new(&json!({"completions": 1, "parallelism": 1, "backoffLimit": 1}));
    world.look(now());
    world.end("Failed", 1);
    world.look(now());
    assert_eq!((world.pods.len(), &world.job["status"]["failed"]), (0, &json!(1)));
    world.look(now() + SignedDuration::from_secs(30));
    world.end("Failed", 1);
    world.look(now() + SignedDuration::from_secs(31));
    assert_eq!(world.job["status"]["failed"], 2);
    assert_eq!(world.ended(), ["FailureTarget BackoffLimitExceeded", "Failed BackoffLimitExceeded"]);
    assert_eq!(world.told, ["BackoffLimitExceeded"]);
}

#[test]
fn a_crash_between_writing_down_and_counting_counts_once() {
    let mut world = World::new(&json!({}));
    world.look(now());
    world.end("Succeeded", 0);
    let written = plan(&world.job, world.observed(), now()).after.into_iter().find_map(|action| match action {
        Action::UpdateStatus(next) => Some(next),
        _ => None,
    });
    world.job = written.expect("they are written down first");
    assert_eq!(value::list(&world.job, &["status", "uncountedTerminatedPods", "succeeded"]).len(), 2);
    world.look(now());
    assert_eq!(world.job["status"]["succeeded"], 2);
}

#[test]
fn indexes_are_done_once_each_and_policies_end_the_job() {
    let policy = json!({"rules": [{"succeededIndexes": "0", "succeededCount": 1}]});
    let mut world = World::new(&json!({"completionMode": "Indexed", "successPolicy": policy}));
    world.look(now());
    assert_eq!(world.pods[1]["spec"]["hostname"], "work-1");
    world.pods[0]["status"] = json!({"phase": "Succeeded"});
    world.look(now());
    assert_eq!(world.job["status"]["completedIndexes"], "0");
    assert_eq!(world.ended(), ["SuccessCriteriaMet SuccessPolicy", "Complete SuccessPolicy"]);
    let rules = json!({"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]});
    let mut world = World::new(&json!({"podFailurePolicy": rules}));
    world.look(now());
    world.end("Failed", 42);
    world.look(now());
    assert_eq!(world.ended(), ["FailureTarget PodFailurePolicy", "Failed PodFailurePolicy"]);
}

#[test]
fn a_suspended_job_has_no_pods_and_starts_anew() {
    let mut world = World::new(&json!({"suspend": true}));
    world.look(now());
    assert_eq!((world.pods.len(), world.ended()), (0, vec!["Suspended JobSuspended".to_owned()]));
    world.job["spec"]["suspend"] = false.into();
    world.look(now());
    assert_eq!((world.pods.len(), world.ended()), (2, vec!["Suspended JobResumed".to_owned()]));
    assert_eq!(world.told, ["Suspended", "Resumed"]);
}

#[test]
fn a_job_that_takes_too_long_ends_and_goes_after_its_time() {
    let mut world = World::new(&json!({"activeDeadlineSeconds": 5, "ttlSecondsAfterFinished": 10}));
    world.look(now());
    world.look(now() + SignedDuration::from_secs(6));
    assert_eq!(world.ended(), ["FailureTarget DeadlineExceeded", "Failed DeadlineExceeded"]);
    assert!(world.pods.is_empty());
    let left = until_removal(&world.job, now() + SignedDuration::from_secs(6));
    assert_eq!(left, Some(SignedDuration::from_secs(10)));
}

#[test]
fn a_pod_is_let_go_when_its_job_is_gone() {
    let pod = |owners: Value, going: bool| -> Pod {
        let mut object = json!({"metadata": {"name": "p", "namespace": "d", "uid": "p", "finalizers": [FINALIZER, "other"], "ownerReferences": owners}});
        if going {
            object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        serde_json::from_value(object).expect("a pod")
    };
    let owned = || json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": true}]);
    let other = json!([{"apiVersion": "example.com/v1", "kind": "Thing", "name": "j", "uid": "j", "controller": true}]);
    let (same, newer) = (json!({"metadata": {"uid": "j"}}), json!({"metadata": {"uid": "k"}}));
    for (what, pod, job, let_go) in [
        ("its Job is there", pod(owned(), true), Some(&same), false),
        ("its Job is gone, and it stays for now", pod(owned(), false), None, false),
        ("its Job is gone", pod(owned(), true), None, true),
        ("another Job has the name", pod(owned(), true), Some(&newer), true),
        ("it belongs to something else", pod(other, true), None, false),
        ("it belongs to nobody", pod(json!([]), false), None, true),
    ] {
        let action = super::let_go(&pod, job);
        assert_eq!(action.is_some(), let_go, "{what}");
        if let Some(Action::Patch { patch, .. }) = action {
            assert_eq!(patch["metadata"]["finalizers"], json!(["other"]), "{what}");
        }
    }
}
