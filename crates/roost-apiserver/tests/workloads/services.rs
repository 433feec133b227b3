//! Endpoints and disruption budgets.

use serde_json::{Value, json};

use crate::plane::Plane;

const SLICES: &str =
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io/service-name=web";
const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": "web"}}, "spec": {"containers": [
        {"name": "c", "image": "a", "ports": [{"name": "http", "containerPort": 8080}]}]}})
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_follow_pods_and_go_with_their_service() {
    let plane = Plane::start(1).await;
    let service = json!({"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"},
        "ports": [{"port": 80, "targetPort": "http"}]}});
    plane.create("/api/v1/namespaces/default/services", service).await;
    let empty = plane.until_count(SLICES, 1).await;
    assert_eq!(empty[0]["addressType"], "IPv4");
    plane.create(PODS, pod("one")).await;
    let ready = |list: &Value| list["items"][0]["endpoints"][0]["conditions"]["ready"] == true;
    let slices = plane.until(SLICES, ready).await;
    assert_eq!(slices["items"][0]["ports"][0]["port"], 8080);
    assert_eq!(slices["items"][0]["endpoints"][0]["targetRef"]["name"], "one");
    let older = "/api/v1/namespaces/default/endpoints/web";
    plane.until(older, |older| older["subsets"][0]["addresses"][0]["ip"] == "10.0.0.1").await;
    plane.delete(&format!("{PODS}/one")).await;
    plane.until(older, |older| older["subsets"].is_null()).await;
    plane.delete("/api/v1/namespaces/default/services/web").await;
    plane.until(older, Value::is_null).await;
    plane.until_count(SLICES, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_says_how_many_may_go() {
    let plane = Plane::start(1).await;
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let budget =
        json!({"metadata": {"name": "web"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}});
    plane.create(budgets, budget).await;
    for name in ["one", "two"] {
        plane.create(PODS, pod(name)).await;
    }
    let path = format!("{budgets}/web");
    let counted = plane.until(&path, |budget| budget["status"]["disruptionsAllowed"] == 1).await;
    assert_eq!(counted["status"]["conditions"][0]["reason"], "SufficientPods");
    plane.create(&format!("{PODS}/one/eviction"), json!({"metadata": {"name": "one"}})).await;
    plane.until(&format!("{PODS}/one"), Value::is_null).await;
    plane.until(&path, |budget| budget["status"]["disruptionsAllowed"] == 0).await;
}
