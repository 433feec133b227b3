//! Admission webhooks on real sockets.

use std::net::{IpAddr, UdpSocket};

use base64::Engine as _;
use http::StatusCode;
use serde_json::{Value, json};

use crate::plane::{NAMESPACE, Plane};
use crate::webhook_server::WebhookServer;

const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

fn configuration(client: &Value, more: &Value) -> Value {
    let mut webhook = json!({
        "name": "hook.example.com",
        "clientConfig": client,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "test"}},
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        webhook[name] = value.clone();
    }
    json!({"metadata": {"name": "hook"}, "webhooks": [webhook]})
}

fn response(review: &Value, mut response: Value) -> Value {
    response["uid"] = review["request"]["uid"].clone();
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

fn refuse_bad(review: &Value) -> Value {
    let bad = review["request"]["object"]["data"]["bad"].is_string();
    response(review, json!({"allowed": !bad, "status": {"message": "bad data", "code": 403}, "warnings": ["seen"]}))
}

fn add_label(review: &Value) -> Value {
    let patch = json!([{"op": "add", "path": "/metadata/labels", "value": {"hooked": "yes"}}]).to_string();
    let patch = base64::engine::general_purpose::STANDARD.encode(patch);
    response(review, json!({"allowed": true, "patchType": "JSONPatch", "patch": patch}))
}

fn refuse_all(review: &Value) -> Value {
    response(review, json!({"allowed": false}))
}

#[tokio::test]
async fn validating_webhooks_have_the_last_word() {
    let plane = Plane::start().await;
    let server = WebhookServer::start(refuse_bad).await;
    plane.create(VALIDATING, configuration(&server.client_config(), &json!({}))).await;
    let maps = format!("{NAMESPACE}/configmaps");
    let good = plane.post(&format!("{maps}?fieldManager=me"), json!({"metadata": {"name": "a"}})).await;
    assert_eq!((good.status, good.warnings()), (StatusCode::CREATED, vec!["299 - \"seen\""]));
    let refused = plane.post(&maps, json!({"metadata": {"name": "b"}, "data": {"bad": "x"}})).await;
    let words = "admission webhook \"hook.example.com\" denied the request: bad data";
    assert_eq!((refused.status, refused.message()), (StatusCode::FORBIDDEN, words));
    assert!(plane.delete(&format!("{maps}/a")).await.status.is_success());
    let reviews = server.reviews();
    let request = &reviews[0]["request"];
    assert_eq!(request["operation"], "CREATE");
    assert_eq!(request["kind"], json!({"group": "", "version": "v1", "kind": "ConfigMap"}));
    assert_eq!(request["userInfo"]["username"], "system:admin");
    assert_eq!(request["options"]["fieldManager"], "me");
    assert_eq!(reviews[2]["request"]["operation"], "DELETE");
    assert_eq!(reviews[2]["request"]["oldObject"]["metadata"]["name"], "a");
}

#[tokio::test]
async fn mutating_webhooks_patch_objects() {
    let plane = Plane::start().await;
    let server = WebhookServer::start(add_label).await;
    plane.create(MUTATING, configuration(&server.client_config(), &json!({}))).await;
    let made = plane.create(&format!("{NAMESPACE}/configmaps"), json!({"metadata": {"name": "a"}})).await;
    assert_eq!(made["metadata"]["labels"], json!({"hooked": "yes"}));
    let owners = made["metadata"]["managedFields"].to_string();
    assert!(!owners.contains("hooked"), "nobody owns what a webhook adds: {owners}");
}

/// An address of this machine that an endpoint may have: those of loopback are refused.
fn address_beside_loopback() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    // Nothing is sent: connecting only chooses the address that would be sent from.
    socket.connect("192.0.2.1:9").expect("a route, so that endpoints can be reached at all");
    socket.local_addr().expect("an address").ip()
}

#[tokio::test]
async fn services_are_called_by_their_endpoints_under_their_own_name() {
    let plane = Plane::start().await;
    let address = address_beside_loopback();
    let server = WebhookServer::start_at(address, &["hook.test.svc"], refuse_bad).await;
    let service = json!({"metadata": {"name": "hook"}, "spec": {"ports": [{"port": 443}]}});
    plane.create(&format!("{NAMESPACE}/services"), service).await;
    let client = json!({"service": {"namespace": "test", "name": "hook", "path": "/x"}, "caBundle": server.bundle()});
    plane.create(VALIDATING, configuration(&client, &json!({}))).await;
    let maps = format!("{NAMESPACE}/configmaps");
    let early = plane.post(&maps, json!({"metadata": {"name": "a"}})).await;
    let words = "Internal error occurred: failed calling webhook \"hook.example.com\": failed to call webhook: Post \"https://hook.test.svc:443/x?timeout=5s\": no endpoints available for service \"hook\"";
    assert_eq!((early.status, early.message()), (StatusCode::INTERNAL_SERVER_ERROR, words));
    let slice = json!({
        "metadata": {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}},
        "addressType": "IPv4",
        "ports": [{"name": "", "port": server.address.port()}],
        "endpoints": [{"addresses": [address.to_string()], "conditions": {"ready": true}}],
    });
    plane.create("/apis/discovery.k8s.io/v1/namespaces/test/endpointslices", slice).await;
    plane.create(&maps, json!({"metadata": {"name": "a"}})).await;
    assert_eq!(server.reviews().len(), 1);
}

#[tokio::test]
async fn failure_policies_decide_when_a_webhook_cannot_be_asked() {
    let plane = Plane::start().await;
    let nowhere = json!({"url": "https://127.0.0.1:1/hook"});
    plane.create(VALIDATING, configuration(&nowhere, &json!({}))).await;
    let maps = format!("{NAMESPACE}/configmaps");
    let failed = plane.post(&maps, json!({"metadata": {"name": "a"}})).await;
    let words = "Internal error occurred: failed calling webhook \"hook.example.com\": failed to call webhook: Post \"https://127.0.0.1:1/hook?timeout=5s\": dial tcp 127.0.0.1:1: connect: connection refused";
    assert_eq!((failed.status, failed.message()), (StatusCode::INTERNAL_SERVER_ERROR, words));
    let other = configuration(&nowhere, &json!({"failurePolicy": "Ignore"}));
    let replaced = plane.patch(&format!("{VALIDATING}/hook"), json!({"webhooks": other["webhooks"]})).await;
    assert_eq!(replaced.status, StatusCode::OK);
    plane.create(&maps, json!({"metadata": {"name": "a"}})).await;
    let strangers = WebhookServer::start(refuse_bad).await;
    let untrusted = json!({"url": format!("https://{}/hook", strangers.address)});
    let other = configuration(&untrusted, &json!({}));
    plane.patch(&format!("{VALIDATING}/hook"), json!({"webhooks": other["webhooks"]})).await;
    let failed = plane.post(&maps, json!({"metadata": {"name": "b"}})).await;
    assert!(
        failed.message().ends_with("tls: failed to verify certificate: x509: certificate signed by unknown authority")
    );
}

#[tokio::test]
async fn conditions_spare_calls_and_configurations_can_always_be_removed() {
    let plane = Plane::start().await;
    let server = WebhookServer::start(refuse_all).await;
    let everything = json!({
        "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}],
        "namespaceSelector": {},
        "matchConditions": [{"name": "not-leases", "expression": "request.resource.resource != 'leases'"}],
    });
    plane.create(VALIDATING, configuration(&server.client_config(), &everything)).await;
    let lease = json!({"metadata": {"name": "l"}, "spec": {}});
    plane.create("/apis/coordination.k8s.io/v1/namespaces/test/leases", lease).await;
    let refused = plane.post(&format!("{NAMESPACE}/configmaps"), json!({"metadata": {"name": "a"}})).await;
    assert_eq!(refused.message(), "admission webhook \"hook.example.com\" denied the request without explanation");
    assert_eq!(plane.delete(&format!("{VALIDATING}/hook")).await.status, StatusCode::OK);
    plane.create(&format!("{NAMESPACE}/configmaps"), json!({"metadata": {"name": "a"}})).await;
}
