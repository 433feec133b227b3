//! A Secret through every side door, for somebody who may not read it.

use http::Method;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use roost_tests::client::Call;
use roost_tests::hostile::{self, Outsider};
use roost_tests::plane::Plane;
use serde_json::{Value, json};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const CANARY: &str = "tweety-never-leaves-its-cage";
const CANARY_IN_BASE64: &str = "dHdlZXR5LW5ldmVyLWxlYXZlcy1pdHMtY2FnZQ";

/// Makes the Secret that nobody may see.
pub(crate) async fn hide(plane: &Plane) {
    let client = plane.administrator().expect("a client");
    for namespace in ["default", "kube-system"] {
        let body = json!({
            "metadata": {"name": "canary", "labels": {"word": CANARY}},
            "stringData": {"word": CANARY},
        });
        let call = Call::new(Method::POST, format!("/api/v1/namespaces/{namespace}/secrets")).json(&body);
        assert!(client.send(call).await.expect("an answer").status.is_success());
    }
}

/// Fails when an answer shows the Secret.
pub(crate) fn assert_hidden(what: &str, text: &str) {
    assert!(!text.contains(CANARY) && !text.contains(CANARY_IN_BASE64), "{what}: {text}");
}

fn patch(target: &str, kind: &'static str, body: &Value) -> Call {
    let mut call = Call::new(Method::PATCH, target).json(body);
    call.headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    call
}

fn with_header(mut call: Call, name: &'static str, value: &'static str) -> Call {
    call.headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
    call
}

fn calls() -> Vec<Call> {
    let canary = format!("{SECRETS}/canary");
    let object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "canary"}});
    let mut calls: Vec<Call> = [
        canary.clone(),
        SECRETS.to_owned(),
        format!("{SECRETS}?watch=true"),
        format!("{SECRETS}?watch=true&fieldSelector=metadata.name%3Dcanary"),
        format!("{SECRETS}?fieldSelector=metadata.name%3Dcanary"),
        format!("{SECRETS}?labelSelector=word%3D{CANARY}"),
        format!(
            "{SECRETS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        ),
        format!("{SECRETS}?limit=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYVx1MDAwMCJ9"),
        "/api/v1/secrets?fieldSelector=metadata.namespace%3Ddefault".to_owned(),
        "/api/v1/watch/namespaces/default/secrets?fieldSelector=metadata.name%3Dcanary".to_owned(),
        "/api/v1/namespaces/kube-system/secrets/canary".to_owned(),
        "/api/v1/namespaces/default/configmaps/canary".to_owned(),
    ]
    .into_iter()
    .map(Call::get)
    .collect();
    for accept in [
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "application/vnd.kubernetes.protobuf",
        "application/yaml",
    ] {
        calls.push(with_header(Call::get(format!("{canary}?includeObject=Object")), "accept", accept));
        calls.push(with_header(Call::get(format!("{SECRETS}?includeObject=Object")), "accept", accept));
    }
    for (name, value) in [
        ("impersonate-user", "kubernetes-admin"),
        ("impersonate-group", "system:masters"),
        ("impersonate-uid", "1"),
        ("x-remote-user", "kubernetes-admin"),
        ("x-remote-group", "system:masters"),
        ("x-forwarded-user", "kubernetes-admin"),
        ("x-http-method-override", "GET"),
        ("x-http-method", "GET"),
        ("x-original-url", "/readyz"),
        ("authorization", "Bearer of bad news"),
    ] {
        calls.push(with_header(Call::get(canary.clone()), name, value));
        calls.push(with_header(Call::new(Method::POST, canary.clone()), name, value));
    }
    let both = with_header(Call::get(canary.clone()), "impersonate-user", "system:admin");
    calls.push(with_header(both, "impersonate-group", "system:masters"));
    let dry = format!("{canary}?dryRun=All&fieldManager=test&force=true");
    for target in [canary.as_str(), dry.as_str()] {
        calls.push(patch(target, "application/apply-patch+yaml", &object));
        calls.push(patch(target, "application/merge-patch+json", &json!({})));
        calls.push(patch(target, "application/strategic-merge-patch+json", &json!({})));
        calls.push(patch(target, "application/json-patch+json", &json!([])));
        calls.push(Call::new(Method::PUT, target).json(&object));
        calls.push(Call::new(Method::DELETE, target));
    }
    calls.push(Call::new(Method::DELETE, format!("{SECRETS}?dryRun=All")));
    calls.push(Call::new(Method::POST, format!("{SECRETS}?dryRun=All")).json(&object));
    calls.push(Call::new(Method::PUT, format!("{canary}/status")).json(&object));
    calls.push(patch(&format!("{canary}/status"), "application/merge-patch+json", &json!({})));
    let token = json!({"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Secret", "name": "canary"}}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    calls.push(Call::new(Method::POST, format!("{accounts}/default/token")).json(&token));
    calls
}

#[tokio::test]
async fn a_secret_stays_one() {
    let plane = hostile::start().await.expect("a server");
    hide(&plane).await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps", "pods", "services"], "verbs": ["*"]}]);
    let outsider = Outsider::with_rules(&plane, "default", "outsider", &rules).await.expect("an account");
    for call in calls() {
        let what = format!("{} {} {:?}", call.method, call.target, call.headers);
        let answer = outsider.send(call).await.expect("an answer");
        let text = String::from_utf8_lossy(&answer.body);
        assert_hidden(&what, &text);
        assert!(matches!(answer.status.as_u16(), 400 | 401 | 403 | 404 | 405), "{what}: {} {text}", answer.status);
        if answer.status == 403
            && answer.headers.get(http::header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json")
        {
            assert_eq!(answer.json()["reason"], "Forbidden", "{what}");
        }
    }
}

#[tokio::test]
async fn the_right_to_one_secret_is_not_the_right_to_another() {
    let plane = hostile::start().await.expect("a server");
    hide(&plane).await;
    let client = plane.administrator().expect("a client");
    let mine = json!({"metadata": {"name": "mine"}, "stringData": {"a": "b"}});
    assert!(client.send(Call::new(Method::POST, SECRETS).json(&mine)).await.expect("an answer").status.is_success());
    let rules = json!([{
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": ["get", "list", "watch"],
    }]);
    let outsider = Outsider::with_rules(&plane, "default", "outsider", &rules).await.expect("an account");
    for (target, code) in [
        ("?fieldSelector=metadata.name%3Dmine", 200),
        ("/mine", 200),
        ("/mine?fieldSelector=metadata.name%3Dcanary", 200),
        ("?fieldSelector=metadata.name%3Dcanary", 403),
        ("?fieldSelector=metadata.name!%3Dx", 403),
        ("?fieldSelector=metadata.name%3Dmine&fieldSelector=metadata.name%3Dcanary", 200),
        ("?fieldSelector=metadata.name%3Dcanary&fieldSelector=metadata.name%3Dmine", 403),
        ("?fieldSelector=metadata.name%3Dmine,metadata.name%3Dcanary", 403),
        ("?labelSelector=word", 403),
    ] {
        let answer = outsider.send(Call::get(format!("{SECRETS}{target}"))).await.expect("an answer");
        let text = String::from_utf8_lossy(&answer.body);
        assert_hidden(target, &text);
        assert_eq!(answer.status.as_u16(), code, "{target}: {text}");
    }
    let prefix = "/api/v1/watch/namespaces/default/secrets/mine";
    for target in ["?fieldSelector=metadata.name!%3Dx", "?fieldSelector=metadata.name%3Dcanary", "/status"] {
        let answer = outsider.send(Call::get(format!("{prefix}{target}&timeoutSeconds=1"))).await.expect("an answer");
        let text = String::from_utf8_lossy(&answer.body);
        assert_hidden(target, &text);
        assert!(answer.status.is_client_error(), "{target}: {text}");
    }
}

#[tokio::test]
async fn views_without_data_have_none() {
    let plane = hostile::start().await.expect("a server");
    hide(&plane).await;
    let client = plane.administrator().expect("a client");
    let mut call = Call::get(format!("{SECRETS}/canary"));
    let kind = HeaderValue::from_static("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
    call.headers.insert(ACCEPT, kind);
    let answer = client.send(call).await.expect("an answer").json();
    assert_eq!(answer.get("data"), None);
    assert_eq!(answer["kind"], "PartialObjectMetadata");
    let files = plane.directory().expect("a directory").join("data").join("store");
    for file in std::fs::read_dir(files).expect("the store's directory").flatten() {
        let bytes = std::fs::read(file.path()).unwrap_or_default();
        let found = bytes.windows(CANARY_IN_BASE64.len()).any(|window| window == CANARY_IN_BASE64.as_bytes());
        assert!(!found, "{} holds a Secret in the clear", file.path().display());
    }
}
