//! Pods on simulated nodes.

use roost_sim::{NodeSpec, Simulator, Stage, Start};
use serde_json::{Value, json};

use crate::plane::{Answer, Plane};

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(name: &str, annotations: &Value, spec: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"nodeName": "node", "containers": [{"name": "a", "image": "example.com/image"}]},
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][key] = value.clone();
    }
    pod
}

fn condition<'a>(pod: &'a Value, kind: &str) -> &'a str {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let found = conditions.into_iter().find(|condition| condition["type"] == kind);
    found.and_then(|condition| condition["status"].as_str()).unwrap_or_default()
}

#[tokio::test]
async fn pods_go_through_their_phases() {
    let plane = Plane::start(Answer::Approved).await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
    let _ = plane.try_create("/api/v1/namespaces/default/serviceaccounts", &account).await;
    let node = Simulator::new().spawn(NodeSpec::new("node", Start::Kubeconfig(plane.bootstrap_kubeconfig())));
    node.reach(Stage::Ready).await;

    plane.create(PODS, &pod("web", &json!({}), &json!({}))).await;
    let web = plane.wait_for(&format!("{PODS}/web"), |pod| condition(pod, "Ready") == "True").await;
    assert_eq!(web["status"]["phase"], "Running");
    assert_eq!(web["status"]["podIP"], "100.64.0.2");
    assert_eq!(web["status"]["hostIP"], "127.0.0.1");
    assert_eq!(web["status"]["containerStatuses"][0]["restartCount"], 0);

    let fails = json!({"sim.roost.dev/exit-code": "3", "sim.roost.dev/run-seconds": "0.1"});
    plane.create(PODS, &pod("fails", &fails, &json!({"restartPolicy": "Never"}))).await;
    let failed = plane.wait_for(&format!("{PODS}/fails"), |pod| pod["status"]["phase"] == "Failed").await;
    assert_eq!(failed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"], 3);
    assert_eq!(failed["status"]["podIP"], "100.64.0.3");

    let done = json!({"sim.roost.dev/run-seconds": "0.1"});
    plane.create(PODS, &pod("done", &done, &json!({"restartPolicy": "OnFailure"}))).await;
    plane.wait_for(&format!("{PODS}/done"), |pod| pod["status"]["phase"] == "Succeeded").await;

    let crashes = json!({"sim.roost.dev/exit-code": "1", "sim.roost.dev/run-seconds": "0.05",
        "sim.roost.dev/back-off-seconds": "0.05"});
    plane.create(PODS, &pod("crashes", &crashes, &json!({}))).await;
    let restarts = |pod: &Value| pod["status"]["containerStatuses"][0]["restartCount"].as_u64().unwrap_or_default();
    plane.wait_for(&format!("{PODS}/crashes"), |pod| restarts(pod) >= 3).await;

    plane.create(PODS, &pod("idle", &json!({"sim.roost.dev/never-ready": "true"}), &json!({}))).await;
    let idle = plane.wait_for(&format!("{PODS}/idle"), |pod| pod["status"]["phase"] == "Running").await;
    assert_eq!(condition(&idle, "Ready"), "False");

    plane.delete(&format!("{PODS}/web")).await;
    plane.wait_until_gone(&format!("{PODS}/web")).await;
}
