//! Limit ranges, quotas and pod security levels.

use std::sync::Arc;

use http::StatusCode;
use serde_json::json;

use crate::plane::{NAMESPACE, Plane, pod};

#[tokio::test]
async fn limit_ranges_complete_and_refuse_pods() {
    let plane = Plane::start().await;
    let range = json!({"metadata": {"name": "r"}, "spec": {"limits": [
        {"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "1"}},
    ]}});
    plane.create(&format!("{NAMESPACE}/limitranges"), range).await;
    let pods = format!("{NAMESPACE}/pods");
    let made = plane.create(&pods, pod("a", &json!({}))).await;
    let resources = &made["spec"]["containers"][0]["resources"];
    assert_eq!(*resources, json!({"limits": {"cpu": "500m"}, "requests": {"cpu": "100m"}}));
    let refused = plane.post(&pods, pod("b", &json!({"limits": {"cpu": "2"}}))).await;
    let words = "pods \"b\" is forbidden: maximum cpu usage per Container is 1, but limit is 2";
    assert_eq!((refused.status, refused.message()), (StatusCode::FORBIDDEN, words));
}

#[tokio::test]
async fn quotas_are_never_exceeded_and_follow_their_objects() {
    let plane = Arc::new(Plane::start().await);
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"secrets": "5", "requests.cpu": "1"}}});
    plane.create(&format!("{NAMESPACE}/resourcequotas"), quota).await;
    let path = format!("{NAMESPACE}/resourcequotas/q");
    plane.until(&path, |quota| quota["status"]["used"]["secrets"] == "0").await;
    let secrets = format!("{NAMESPACE}/secrets");
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let (plane, secrets) = (Arc::clone(&plane), secrets.clone());
            tokio::spawn(async move { plane.post(&secrets, json!({"metadata": {"name": format!("s{number}")}})).await })
        })
        .collect();
    let mut made = 0;
    for task in tasks {
        let answer = task.await.expect("an answer");
        if answer.status == StatusCode::CREATED {
            made += 1;
        } else {
            let words = "is forbidden: exceeded quota: q, requested: secrets=1, used: secrets=5, limited: secrets=5";
            assert!(answer.message().ends_with(words), "{}", answer.message());
        }
    }
    assert_eq!(made, 5);
    let quota = plane.get(&path).await;
    assert_eq!(quota["status"]["used"], json!({"secrets": "5", "requests.cpu": "0"}));
    let list = plane.get(&secrets).await;
    let name = list["items"][0]["metadata"]["name"].as_str().expect("a name").to_owned();
    assert!(plane.delete(&format!("{secrets}/{name}")).await.status.is_success());
    plane.until(&path, |quota| quota["status"]["used"]["secrets"] == "4").await;
    let silent = plane.post(&format!("{NAMESPACE}/pods"), pod("a", &json!({}))).await;
    let words = "pods \"a\" is forbidden: failed quota: q: must specify requests.cpu for: c";
    assert_eq!(silent.message(), words);
    plane.create(&format!("{NAMESPACE}/pods"), pod("a", &json!({"requests": {"cpu": "600m"}}))).await;
    assert_eq!(plane.get(&path).await["status"]["used"]["requests.cpu"], "600m");
}

#[tokio::test]
async fn namespaces_say_what_their_pods_may_do() {
    let plane = Plane::start().await;
    let labels = json!({"metadata": {"labels": {
        "pod-security.kubernetes.io/enforce": "baseline",
        "pod-security.kubernetes.io/warn": "restricted",
    }}});
    assert_eq!(plane.patch(NAMESPACE, labels).await.status, StatusCode::OK);
    let warned = plane.post(&format!("{NAMESPACE}/pods"), pod("a", &json!({}))).await;
    assert_eq!(warned.status, StatusCode::CREATED);
    assert!(warned.warnings()[0].contains("would violate PodSecurity \\\"restricted:latest\\\""));
    let mut host = pod("b", &json!({}));
    host["spec"]["hostNetwork"] = true.into();
    let refused = plane.post(&format!("{NAMESPACE}/pods"), host).await;
    let words = "pods \"b\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces (hostNetwork=true)";
    assert_eq!((refused.status, refused.message()), (StatusCode::FORBIDDEN, words));
    let bad = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "none"}}});
    assert_eq!(plane.patch(NAMESPACE, bad).await.status, StatusCode::UNPROCESSABLE_ENTITY);
}
