//! The controllers inside, seen from outside: a cluster in memory, spoken to as a client would.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use roost_access::User;
use roost_apiserver::{ApiService, Cluster, ClusterConfig, Engine, Identity, InProcess};
use roost_store::{Options, Store};
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// How long a state may take to come about before a test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

struct Plane {
    cluster: Arc<Cluster>,
    inside: tokio::task::JoinHandle<()>,
}

impl Drop for Plane {
    fn drop(&mut self) {
        self.inside.abort();
    }
}

impl Plane {
    async fn start() -> Plane {
        let store = Store::memory(Options::default());
        let config = ClusterConfig { encryption_key: Some([7; 32]), ..ClusterConfig::default() };
        let cluster = Cluster::new(
            "test",
            store.clone(),
            config,
            Identity::generate(Timestamp::now(), "https://kubernetes.default.svc").expect("keys"),
        );
        cluster.bootstrap().await.expect("the first objects");
        let engine = Engine::new(store);
        engine.add(Arc::clone(&cluster));
        Plane { cluster, inside: tokio::spawn(engine.run()) }
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let merge = "application/merge-patch+json";
        let kind = if method == Method::PATCH { merge } else { "application/json" };
        let bytes = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind)
            .body(Full::new(bytes))
            .expect("a request");
        let admin = User::new("system:admin", ["system:masters", "system:authenticated"]);
        request.extensions_mut().insert(InProcess(admin));
        let Ok(response) = ApiService::new(Arc::clone(&self.cluster)).oneshot(request).await;
        let status = response.status();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn create(&self, path: &str, object: Value) -> Value {
        let (status, answer) = self.send(Method::POST, path, Some(&object)).await;
        assert_eq!(status, StatusCode::CREATED, "{path}: {answer}");
        answer
    }

    async fn patch(&self, path: &str, patch: Value) -> Value {
        let (status, answer) = self.send(Method::PATCH, path, Some(&patch)).await;
        assert_eq!(status, StatusCode::OK, "{path}: {answer}");
        answer
    }

    async fn delete(&self, path: &str, options: Value) {
        let (status, answer) = self.send(Method::DELETE, path, Some(&options)).await;
        assert!(status.is_success(), "{path}: {answer}");
    }

    /// Waits until an object is as wanted; it is `null` when there is none.
    async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let end = tokio::time::Instant::now() + PATIENCE;
        loop {
            let (status, answer) = self.send(Method::GET, path, None).await;
            let object = if status == StatusCode::NOT_FOUND { Value::Null } else { answer };
            if wanted(&object) {
                return object;
            }
            assert!(tokio::time::Instant::now() < end, "{path} did not come to be as wanted: {object:#}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn until_gone(&self, path: &str) {
        self.until(path, Value::is_null).await;
    }

    async fn until_event(&self, namespace: &str, reason: &str) -> Value {
        let of = |list: &Value| {
            list["items"].as_array().into_iter().flatten().find(|event| event["reason"] == reason).cloned()
        };
        let path = format!("/api/v1/namespaces/{namespace}/events");
        let list = self.until(&path, |list| of(list).is_some()).await;
        of(&list).expect("it was just there")
    }
}

fn config_map(name: &str, owner: Option<(&str, &Value)>) -> Value {
    let mut object = json!({"metadata": {"name": name}});
    if let Some((kind, owner)) = owner {
        object["metadata"]["ownerReferences"] = json!([reference(kind, owner)]);
    }
    object
}

fn reference(kind: &str, owner: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]})
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let found = object["status"]["conditions"].as_array().into_iter().flatten().find(|found| found["type"] == kind);
    found.unwrap_or(&Value::Null)
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn dependents_follow_their_owner_and_keep_other_owners() {
    let plane = Plane::start().await;
    let first = plane.create(MAPS, config_map("first", None)).await;
    let second = plane.create(MAPS, config_map("second", None)).await;
    plane.create(MAPS, config_map("child", Some(("ConfigMap", &first)))).await;
    let mut shared = config_map("shared", Some(("ConfigMap", &first)));
    let references = shared["metadata"]["ownerReferences"].as_array_mut().expect("references");
    references.push(reference("ConfigMap", &second));
    plane.create(MAPS, shared).await;
    plane.delete(&format!("{MAPS}/first"), json!({})).await;
    plane.until_gone(&format!("{MAPS}/child")).await;
    let has_one = |object: &Value| object["metadata"]["ownerReferences"].as_array().is_some_and(|list| list.len() == 1);
    plane.until(&format!("{MAPS}/shared"), has_one).await;
}

#[tokio::test]
async fn an_owner_waits_for_dependents_that_block_it_and_no_longer() {
    let plane = Plane::start().await;
    let owner = plane.create(MAPS, config_map("owner", None)).await;
    let mut child = config_map("child", Some(("ConfigMap", &owner)));
    child["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = true.into();
    child["metadata"]["finalizers"] = json!(["example.com/hold"]);
    plane.create(MAPS, child).await;
    plane.delete(&format!("{MAPS}/owner"), json!({"propagationPolicy": "Foreground"})).await;
    let going = |object: &Value| object["metadata"].get("deletionTimestamp").is_some();
    let child = plane.until(&format!("{MAPS}/child"), going).await;
    plane.until(&format!("{MAPS}/owner"), going).await;
    let mut references = child["metadata"]["ownerReferences"].clone();
    references[0]["blockOwnerDeletion"] = false.into();
    plane.patch(&format!("{MAPS}/child"), json!({"metadata": {"ownerReferences": references}})).await;
    plane.until_gone(&format!("{MAPS}/owner")).await;
}

#[tokio::test]
async fn owners_of_other_namespaces_do_not_count_and_someone_says_so() {
    let plane = Plane::start().await;
    let owner = plane.create("/api/v1/namespaces/kube-public/configmaps", config_map("owner", None)).await;
    plane.create(MAPS, config_map("child", Some(("ConfigMap", &owner)))).await;
    plane.until_gone(&format!("{MAPS}/child")).await;
    let event = plane.until_event("default", "OwnerRefInvalidNamespace").await;
    let uid = owner["metadata"]["uid"].as_str().unwrap_or_default();
    let words = format!(
        "ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: {uid}] does not exist in namespace \"default\""
    );
    assert_eq!(event["message"], words);
    assert_eq!(event["source"]["component"], "garbage-collector-controller");
}

#[tokio::test]
async fn a_cluster_wide_dependent_of_a_namespaced_owner_stays() {
    let plane = Plane::start().await;
    let owner = plane.create(MAPS, config_map("owner", None)).await;
    let volume = json!({
        "metadata": {"name": "volume", "ownerReferences": [reference("ConfigMap", &owner)]},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/tmp/x"}},
    });
    plane.create("/api/v1/persistentvolumes", volume).await;
    plane.until_event("default", "OwnerRefInvalidNamespace").await;
    plane.delete(&format!("{MAPS}/owner"), json!({})).await;
    // What follows in the log is done after, so that the volume was looked at when the last one is gone.
    let last = plane.create(MAPS, config_map("last", None)).await;
    plane.create(MAPS, config_map("child", Some(("ConfigMap", &last)))).await;
    plane.delete(&format!("{MAPS}/last"), json!({})).await;
    plane.until_gone(&format!("{MAPS}/child")).await;
    let (status, _) = plane.send(Method::GET, "/api/v1/persistentvolumes/volume", None).await;
    assert_eq!(status, StatusCode::OK);
}

#[tokio::test]
async fn a_namespace_says_what_it_waits_for_and_goes_at_once_when_it_may() {
    let plane = Plane::start().await;
    plane.create("/api/v1/namespaces", json!({"metadata": {"name": "n"}})).await;
    let mut held = config_map("held", None);
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    plane.create("/api/v1/namespaces/n/configmaps", held).await;
    plane.delete("/api/v1/namespaces/n", json!({})).await;
    let waits = |namespace: &Value| condition(namespace, "NamespaceFinalizersRemaining")["status"] == "True";
    let namespace = plane.until("/api/v1/namespaces/n", waits).await;
    assert_eq!(
        condition(&namespace, "NamespaceContentRemaining")["message"],
        "Some resources are remaining: configmaps. has 1 resource instances"
    );
    assert_eq!(
        condition(&namespace, "NamespaceFinalizersRemaining")["message"],
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"
    );
    plane.patch("/api/v1/namespaces/n/configmaps/held", json!({"metadata": {"finalizers": null}})).await;
    plane.until_gone("/api/v1/namespaces/n").await;
}

#[tokio::test]
async fn pods_of_a_namespace_go_before_the_rest() {
    let plane = Plane::start().await;
    plane.create("/api/v1/namespaces", json!({"metadata": {"name": "n"}})).await;
    plane.until("/api/v1/namespaces/n/serviceaccounts/default", Value::is_object).await;
    let pod = json!({
        "metadata": {"name": "pod", "finalizers": ["example.com/hold"]},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    plane.create("/api/v1/namespaces/n/pods", pod).await;
    plane.create("/api/v1/namespaces/n/configmaps", config_map("guard", None)).await;
    plane.delete("/api/v1/namespaces/n", json!({})).await;
    let looked = |namespace: &Value| condition(namespace, "NamespaceContentRemaining").is_object();
    let waiting = plane.until("/api/v1/namespaces/n", looked).await;
    let remaining = condition(&waiting, "NamespaceContentRemaining");
    assert_eq!(remaining["message"], "Some resources are remaining: pods. has 1 resource instances");
    let (status, _) = plane.send(Method::GET, "/api/v1/namespaces/n/configmaps/guard", None).await;
    assert_eq!(status, StatusCode::OK);
    plane.patch("/api/v1/namespaces/n/pods/pod", json!({"metadata": {"finalizers": null}})).await;
    plane.until_gone("/api/v1/namespaces/n").await;
}

#[tokio::test]
async fn the_token_of_an_account_comes_and_goes_with_it() {
    let plane = Plane::start().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let secret = |name: &str| {
        let annotations = json!({"kubernetes.io/service-account.name": name});
        json!({"metadata": {"name": name, "annotations": annotations}, "type": "kubernetes.io/service-account-token"})
    };
    let account = plane.create(accounts, json!({"metadata": {"name": "robot"}})).await;
    plane.create("/api/v1/namespaces/default/secrets", secret("robot")).await;
    let path = "/api/v1/namespaces/default/secrets/robot";
    let filled = plane.until(path, |secret| secret["data"].get("token").is_some()).await;
    assert_eq!(filled["data"]["namespace"], "ZGVmYXVsdA==");
    assert!(filled["data"]["ca.crt"].as_str().is_some_and(|text| !text.is_empty()));
    assert_eq!(filled["metadata"]["annotations"]["kubernetes.io/service-account.uid"], account["metadata"]["uid"]);
    let token = STANDARD.decode(filled["data"]["token"].as_str().expect("a token")).expect("base64");
    let review = json!({"spec": {"token": String::from_utf8(token).expect("text")}});
    let answer = plane.create("/apis/authentication.k8s.io/v1/tokenreviews", review).await;
    assert_eq!(answer["status"]["authenticated"], true);
    let (_, used) = plane.send(Method::GET, path, None).await;
    let today = Timestamp::now().strftime("%Y-%m-%d").to_string();
    assert_eq!(used["metadata"]["labels"]["kubernetes.io/legacy-token-last-used"], today);
    plane.delete(&format!("{accounts}/robot"), json!({})).await;
    plane.until_gone(path).await;
    plane.create("/api/v1/namespaces/default/secrets", secret("nobody")).await;
    plane.until_gone("/api/v1/namespaces/default/secrets/nobody").await;
}

#[tokio::test]
async fn a_bootstrap_token_ends_in_time() {
    let plane = Plane::start().await;
    let secret = |id: &str, expiration: &str| {
        json!({
            "metadata": {"name": format!("bootstrap-token-{id}")}, "type": "bootstrap.kubernetes.io/token",
            "stringData": {"token-id": id, "token-secret": "0123456789abcdef", "expiration": expiration},
        })
    };
    let path = "/api/v1/namespaces/kube-system/secrets";
    plane.create(path, secret("aaaaaa", "2200-01-01T00:00:00Z")).await;
    plane.create(path, secret("bbbbbb", "2020-01-01T00:00:00Z")).await;
    let soon = Timestamp::now() + jiff::SignedDuration::from_secs(2);
    plane.create(path, secret("cccccc", &soon.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())).await;
    plane.until_gone(&format!("{path}/bootstrap-token-bbbbbb")).await;
    plane.until_gone(&format!("{path}/bootstrap-token-cccccc")).await;
    plane.until(&format!("{path}/bootstrap-token-aaaaaa"), Value::is_object).await;
}

#[tokio::test]
async fn nodes_are_tainted_by_what_they_say() {
    let plane = Plane::start().await;
    let taints = |node: &Value| -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().replace("node.kubernetes.io/", "");
        let list = node["spec"]["taints"].as_array().into_iter().flatten();
        list.map(|taint| format!("{}:{}", text(&taint["key"]), text(&taint["effect"]))).collect()
    };
    let ready = |status: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status}]}});
    for name in ["one", "two"] {
        plane
            .create("/api/v1/nodes", json!({"metadata": {"name": name, "labels": {"kubernetes.io/os": "linux"}}}))
            .await;
        plane.patch(&format!("/api/v1/nodes/{name}/status"), ready("True")).await;
        let node = plane.until(&format!("/api/v1/nodes/{name}"), |node| taints(node).is_empty()).await;
        assert_eq!(condition(&node, "Ready")["status"], "True");
    }
    plane.until_event("default", "RegisteredNode").await;
    plane.until("/api/v1/nodes/one", |node| node["metadata"]["labels"]["beta.kubernetes.io/os"] == "linux").await;
    plane.patch("/api/v1/nodes/one", json!({"spec": {"unschedulable": true}})).await;
    plane.until("/api/v1/nodes/one", |node| taints(node) == ["unschedulable:NoSchedule"]).await;
    plane.patch("/api/v1/nodes/one", json!({"spec": {"unschedulable": null}})).await;
    plane.until("/api/v1/nodes/one", |node| taints(node).is_empty()).await;
    plane.patch("/api/v1/nodes/one/status", ready("False")).await;
    plane.until("/api/v1/nodes/one", |node| taints(node) == ["not-ready:NoSchedule", "not-ready:NoExecute"]).await;
    // When no node answers, nobody is driven off.
    plane.patch("/api/v1/nodes/two/status", ready("False")).await;
    plane.until("/api/v1/nodes/one", |node| taints(node) == ["not-ready:NoSchedule"]).await;
    plane.patch("/api/v1/nodes/one/status", ready("True")).await;
    plane.until("/api/v1/nodes/one", |node| taints(node).is_empty()).await;
    plane.delete("/api/v1/nodes/two", json!({})).await;
    plane.until_event("default", "RemovingNode").await;
}

#[tokio::test]
async fn groups_that_are_served_are_shown() {
    let plane = Plane::start().await;
    let services = "/apis/apiregistration.k8s.io/v1/apiservices";
    let apps = plane.until(&format!("{services}/v1.apps"), Value::is_object).await;
    assert_eq!(apps["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"], "onstart");
    assert_eq!(condition(&apps, "Available")["reason"], "Local");
    assert_eq!(apps["metadata"]["managedFields"][0]["fieldsV1"].get("f:status"), None);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let definition = json!({
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    });
    plane.create(definitions, definition).await;
    let path = format!("{services}/v1.example.com");
    let service = plane.until(&path, Value::is_object).await;
    assert_eq!(service["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"], "true");
    assert_eq!(condition(&service, "Available")["status"], "True");
    plane.delete(&path, json!({})).await;
    let again = |found: &Value| found.is_object() && found["metadata"]["uid"] != service["metadata"]["uid"];
    plane.until(&path, again).await;
    plane.delete(&format!("{definitions}/things.example.com"), json!({})).await;
    plane.until_gone(&path).await;
}

#[tokio::test]
async fn dependents_of_a_kind_that_ends_go_with_its_objects() {
    let plane = Plane::start().await;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    let definition = json!({
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
        },
    });
    plane.create(definitions, definition).await;
    let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "thing"}});
    let thing = plane.create("/apis/example.com/v1/namespaces/default/things", thing).await;
    let mut child = config_map("child", Some(("Thing", &thing)));
    child["metadata"]["ownerReferences"][0]["apiVersion"] = "example.com/v1".into();
    plane.create(MAPS, child).await;
    plane.delete(&format!("{definitions}/things.example.com"), json!({})).await;
    plane.until_gone(&format!("{definitions}/things.example.com")).await;
    plane.until_gone(&format!("{MAPS}/child")).await;
}
