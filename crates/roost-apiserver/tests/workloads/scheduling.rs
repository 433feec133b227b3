//! The scheduler.

use serde_json::{Value, json};

use crate::plane::Plane;

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(name: &str, cpu: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [
        {"name": "c", "image": "a", "resources": {"requests": {"cpu": cpu}}}]}})
}

fn scheduled(pod: &Value) -> &Value {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().find(|condition| condition["type"] == "PodScheduled").unwrap_or(&Value::Null)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_does_not_fit_is_told_why_and_waits_for_room() {
    let plane = Plane::start(1).await;
    plane.create(PODS, pod("first", "1500m")).await;
    plane.until(&format!("{PODS}/first"), |pod| pod["spec"]["nodeName"] == "node-0").await;
    plane.create(PODS, pod("second", "1")).await;
    let path = format!("{PODS}/second");
    let waiting = plane.until(&path, |pod| scheduled(pod)["status"] == "False").await;
    let words = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: \
        0/1 nodes are available: 1 No preemption victims found for incoming pod.";
    assert_eq!(scheduled(&waiting)["message"], words);
    assert_eq!(scheduled(&waiting)["reason"], "Unschedulable");
    plane.until_event("FailedScheduling", words).await;
    plane.delete(&format!("{PODS}/first")).await;
    let bound = plane.until(&path, |pod| pod["spec"]["nodeName"] == "node-0").await;
    assert_eq!(scheduled(&bound)["status"], "True");
}

#[tokio::test(flavor = "multi_thread")]
async fn gates_hold_a_pod_back() {
    let plane = Plane::start(1).await;
    let mut gated = pod("gated", "100m");
    gated["spec"]["schedulingGates"] = json!([{"name": "example.com/wait"}]);
    plane.create(PODS, gated).await;
    plane.create(PODS, pod("free", "100m")).await;
    plane.until(&format!("{PODS}/free"), |pod| pod["spec"]["nodeName"] == "node-0").await;
    let path = format!("{PODS}/gated");
    let held = plane.until(&path, |pod| scheduled(pod)["reason"] == "SchedulingGated").await;
    assert!(held["spec"]["nodeName"].is_null());
    plane.patch(&path, json!({"spec": {"schedulingGates": null}})).await;
    plane.until(&path, |pod| pod["spec"]["nodeName"] == "node-0").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_important_take_the_place_of_the_others() {
    let plane = Plane::start(1).await;
    let class = json!({"metadata": {"name": "high"}, "value": 1000});
    plane.create("/apis/scheduling.k8s.io/v1/priorityclasses", class).await;
    plane.create(PODS, pod("low", "1500m")).await;
    plane.until(&format!("{PODS}/low"), |pod| pod["status"]["phase"] == "Running").await;
    let mut high = pod("high", "1");
    high["spec"]["priorityClassName"] = "high".into();
    plane.create(PODS, high).await;
    plane.until(&format!("{PODS}/high"), |pod| pod["spec"]["nodeName"] == "node-0").await;
    plane.until(&format!("{PODS}/low"), Value::is_null).await;
    plane.until_event("Preempted", "Preempted by pod").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_comes_takes_what_waits() {
    let plane = Plane::start(0).await;
    plane.create(PODS, pod("early", "100m")).await;
    let path = format!("{PODS}/early");
    let waiting = plane.until(&path, |pod| scheduled(pod)["status"] == "False").await;
    assert_eq!(scheduled(&waiting)["message"], "no nodes available to schedule pods");
    plane.create("/api/v1/nodes", json!({"metadata": {"name": "late"}})).await;
    let status = json!({"status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "5"},
        "conditions": [{"type": "Ready", "status": "True"}]}});
    plane.patch("/api/v1/nodes/late/status", status).await;
    plane.until(&path, |pod| pod["spec"]["nodeName"] == "late").await;
}
