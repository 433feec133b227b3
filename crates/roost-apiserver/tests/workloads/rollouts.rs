//! Deployments and ReplicaSets.

use http::Method;
use serde_json::{Value, json};

use crate::plane::{BROKEN, Plane};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn deployment(name: &str, replicas: i64, image: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": image}]}},
        },
    })
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}})
}

fn is_done(deployment: &Value) -> bool {
    let (wanted, status) = (&deployment["spec"]["replicas"], &deployment["status"]);
    deployment["metadata"]["generation"] == status["observedGeneration"]
        && ["replicas", "updatedReplicas", "availableReplicas"].iter().all(|name| status[*name] == *wanted)
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
}

async fn sizes(plane: &Plane) -> Vec<(String, i64)> {
    let mut sizes: Vec<(String, i64)> = plane
        .list(SETS)
        .await
        .iter()
        .map(|set| {
            let revision = set["metadata"]["annotations"]["deployment.kubernetes.io/revision"].as_str();
            (revision.unwrap_or_default().to_owned(), set["spec"]["replicas"].as_i64().unwrap_or_default())
        })
        .collect();
    sizes.sort();
    sizes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_runs_rolls_scales_and_goes() {
    let plane = Plane::start(3).await;
    let path = format!("{DEPLOYMENTS}/web");
    plane.create(DEPLOYMENTS, deployment("web", 4, "a")).await;
    let done = plane.until(&path, is_done).await;
    assert_eq!(done["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    let progress = condition(&done, "Progressing");
    assert_eq!((&progress["status"], &progress["reason"]), (&json!("True"), &json!("NewReplicaSetAvailable")));
    let nodes: std::collections::HashSet<Value> =
        plane.list(PODS).await.iter().map(|pod| pod["spec"]["nodeName"].clone()).collect();
    assert_eq!(nodes.len(), 3, "pods of one kind are spread");
    plane.until_event("SuccessfulCreate", "Created pod: web-").await;
    plane.until_event("ScalingReplicaSet", "from 0 to 4").await;
    plane.until_event("Scheduled", "Successfully assigned default/web-").await;

    plane.patch(&path, image("b")).await;
    plane.until(&path, is_done).await;
    assert_eq!(sizes(&plane).await, [("1".to_owned(), 0), ("2".to_owned(), 4)]);
    let pods = plane.until_count(PODS, 4).await;
    assert!(pods.iter().all(|pod| pod["spec"]["containers"][0]["image"] == "b"));

    plane.patch(&path, image("a")).await;
    plane.until(&path, is_done).await;
    assert_eq!(sizes(&plane).await, [("2".to_owned(), 0), ("3".to_owned(), 4)]);

    plane.patch(&format!("{path}/scale"), json!({"spec": {"replicas": 1}})).await;
    plane.until(&path, is_done).await;
    plane.until_count(PODS, 1).await;
    plane.delete(&path).await;
    plane.until_count(SETS, 0).await;
    plane.until_count(PODS, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_that_breaks_keeps_the_old_pods() {
    let plane = Plane::start(2).await;
    let path = format!("{DEPLOYMENTS}/web");
    plane.create(DEPLOYMENTS, deployment("web", 4, "a")).await;
    plane.until(&path, is_done).await;
    let mut broken = image("b");
    broken["spec"]["template"]["metadata"] = json!({"labels": {BROKEN: "yes"}});
    broken["spec"]["progressDeadlineSeconds"] = 1.into();
    plane.patch(&path, broken).await;
    let stuck =
        plane.until(&path, |object| condition(object, "Progressing")["reason"] == "ProgressDeadlineExceeded").await;
    assert_eq!(stuck["status"]["availableReplicas"], 3);
    assert_eq!(condition(&stuck, "Available")["status"], "True");
    assert_eq!(sizes(&plane).await, [("1".to_owned(), 3), ("2".to_owned(), 2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_pod_is_replaced_and_an_orphan_adopted() {
    let plane = Plane::start(1).await;
    let set = json!({"metadata": {"name": "set"}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "x"}},
        "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "a"}]}}}});
    let orphan = json!({"metadata": {"name": "orphan", "labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "a"}]}});
    plane.create(PODS, orphan).await;
    plane.create(SETS, set).await;
    let ready = |set: &Value| set["status"]["readyReplicas"] == 2;
    plane.until(&format!("{SETS}/set"), ready).await;
    let pods = plane.until_count(PODS, 2).await;
    assert!(pods.iter().all(|pod| pod["metadata"]["ownerReferences"][0]["name"] == "set"));
    plane.delete(&format!("{PODS}/orphan")).await;
    plane.until(&format!("{PODS}/orphan"), Value::is_null).await;
    plane.until(&format!("{SETS}/set"), ready).await;
    plane.until_count(PODS, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_quota_forbids_is_said() {
    let plane = Plane::start(1).await;
    let quotas = "/api/v1/namespaces/default/resourcequotas";
    plane.create(quotas, json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})).await;
    plane.until(&format!("{quotas}/q"), |quota| quota["status"]["hard"]["pods"] == "1").await;
    plane.create(DEPLOYMENTS, deployment("web", 2, "a")).await;
    let path = format!("{DEPLOYMENTS}/web");
    let stuck = plane.until(&path, |object| condition(object, "ReplicaFailure")["status"] == "True").await;
    assert_eq!(condition(&stuck, "ReplicaFailure")["reason"], "FailedCreate");
    plane.until_event("FailedCreate", "Error creating: pods \"web-").await;
    let (status, _) = plane.send(Method::DELETE, &format!("{quotas}/q"), None).await;
    assert!(status.is_success());
    plane.until(&path, is_done).await;
}
