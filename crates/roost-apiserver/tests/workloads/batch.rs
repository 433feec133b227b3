//! Jobs and CronJobs.

use serde_json::{Value, json};

use crate::plane::{ENDS, Plane};

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn job(name: &str, ends: &str, spec: &Value) -> Value {
    let mut job = json!({"metadata": {"name": name}, "spec": {"template": {
        "metadata": {"labels": {ENDS: ends}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "a"}]}}}});
    for (field, content) in spec.as_object().into_iter().flatten() {
        job["spec"][field.as_str()] = content.clone();
    }
    job
}

fn conditions(job: &Value) -> Vec<String> {
    let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    let one = |own: &Value| format!("{} {}", own["type"].as_str().unwrap_or(""), own["reason"].as_str().unwrap_or(""));
    conditions.map(one).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_completes_and_goes_after_its_time() {
    let plane = Plane::start(2).await;
    let spec = json!({"completions": 3, "parallelism": 2, "ttlSecondsAfterFinished": 1});
    plane.create(JOBS, job("work", "Succeeded", &spec)).await;
    let path = format!("{JOBS}/work");
    let done = plane.until(&path, |job| !job["status"]["completionTime"].is_null()).await;
    assert_eq!(done["status"]["succeeded"], 3);
    assert_eq!(conditions(&done), ["SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"]);
    assert_eq!(done["status"]["uncountedTerminatedPods"], json!({}));
    plane.until_event("Completed", "Job completed").await;
    plane.until(&path, Value::is_null).await;
    plane.until_count(PODS, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_fails_ends_at_its_limit() {
    let plane = Plane::start(1).await;
    plane.create(JOBS, job("work", "Failed", &json!({"backoffLimit": 0}))).await;
    let failed = plane.until(&format!("{JOBS}/work"), |job| conditions(job).len() == 2).await;
    assert_eq!(conditions(&failed), ["FailureTarget BackoffLimitExceeded", "Failed BackoffLimitExceeded"]);
    assert_eq!(failed["status"]["failed"], 1);
    plane.until_event("BackoffLimitExceeded", "Job has reached the specified backoff limit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_index_is_done() {
    let plane = Plane::start(1).await;
    let spec = json!({"completions": 3, "parallelism": 3, "completionMode": "Indexed"});
    plane.create(JOBS, job("work", "Succeeded", &spec)).await;
    let done = plane.until(&format!("{JOBS}/work"), |job| !job["status"]["completionTime"].is_null()).await;
    assert_eq!((&done["status"]["completedIndexes"], &done["status"]["succeeded"]), (&json!("0-2"), &json!(3)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cron_job_starts_a_job_at_its_time() {
    let plane = Plane::start(1).await;
    let template = job("", "Succeeded", &json!({}))["spec"].clone();
    let cron =
        json!({"metadata": {"name": "tick"}, "spec": {"schedule": "@every 1s", "jobTemplate": {"spec": template}}});
    plane.create("/apis/batch/v1/namespaces/default/cronjobs", cron).await;
    let path = "/apis/batch/v1/namespaces/default/cronjobs/tick";
    plane.until(path, |cron| !cron["status"]["lastScheduleTime"].is_null()).await;
    plane.until_event("SuccessfulCreate", "Created job tick-").await;
    plane.until(path, |cron| !cron["status"]["lastSuccessfulTime"].is_null()).await;
}
