//! A cluster in memory whose nodes pretend: every pod that comes to one runs, and goes when it is asked to.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use roost_access::User;
use roost_apiserver::{ApiService, Cluster, ClusterConfig, Engine, Identity, InProcess};
use roost_store::{Options, Store};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tower::ServiceExt as _;

/// How long a state may take to come about before a test gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A label on pods whose containers are never ready.
pub(crate) const BROKEN: &str = "broken";
/// A label on pods that end at once, with the phase in which they do.
pub(crate) const ENDS: &str = "ends";

pub(crate) struct Plane {
    api: Api,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Plane {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl std::ops::Deref for Plane {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}

impl Plane {
    /// A cluster with as many nodes as asked for, of two cores each.
    pub(crate) async fn start(nodes: usize) -> Plane {
        let store = Store::memory(Options::default());
        let config = ClusterConfig { workloads: true, ..ClusterConfig::default() };
        let identity = Identity::generate(Timestamp::now(), "https://kubernetes.default.svc").expect("keys");
        let cluster = Cluster::new("test", store.clone(), config, identity);
        cluster.bootstrap().await.expect("the first objects");
        let engine = Engine::new(store);
        engine.add(Arc::clone(&cluster));
        let api = Api { cluster };
        let inside = tokio::spawn(engine.run());
        for number in 0..nodes {
            api.create("/api/v1/nodes", node(&format!("node-{number}"))).await;
            let ready = json!({"status": {
                "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "20"}, "capacity": {"cpu": "2", "memory": "4Gi", "pods": "20"},
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "",
                    "lastHeartbeatTime": Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()}]}});
            api.patch(&format!("/api/v1/nodes/node-{number}/status"), ready).await;
        }
        let account = "/api/v1/namespaces/default/serviceaccounts/default";
        api.until(account, |account| !account.is_null()).await;
        let kubelet = tokio::spawn(pretend(api.clone()));
        Plane { api, tasks: vec![inside, kubelet] }
    }
}

fn node(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
}

/// Lets pods run and go, for ever.
async fn pretend(api: Api) {
    loop {
        let (_, pods) = api.send(Method::GET, "/api/v1/pods", None).await;
        for pod in pods["items"].as_array().into_iter().flatten() {
            let (namespace, name) = (text(pod, "namespace"), text(pod, "name"));
            let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
            if pod["spec"]["nodeName"].is_null() {
                continue;
            }
            if !pod["metadata"]["deletionTimestamp"].is_null() {
                api.send(Method::DELETE, &path, Some(&json!({"gracePeriodSeconds": 0}))).await;
            } else if let Some(phase) =
                pod["metadata"]["labels"].get(ENDS).filter(|phase| pod["status"]["phase"] != **phase)
            {
                let status = json!({"status": {"phase": phase}});
                api.send(Method::PATCH, &format!("{path}/status"), Some(&status)).await;
            } else if pod["status"]["phase"] == "Pending" {
                let ready = if pod["metadata"]["labels"].get(BROKEN).is_some() { "False" } else { "True" };
                let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                let status = json!({"status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}],
                    "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": now},
                        {"type": "PodScheduled", "status": "True", "lastTransitionTime": now}]}});
                api.send(Method::PATCH, &format!("{path}/status"), Some(&status)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"][name].as_str().unwrap_or_default()
}

/// The API, as a client sees it.
#[derive(Clone)]
pub(crate) struct Api {
    cluster: Arc<Cluster>,
}

impl Api {
    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let bytes = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let request = Request::builder().method(method).uri(path).header("content-type", kind);
        let mut request = request.body(Full::new(bytes)).expect("a request");
        let admin = User::new("system:admin", ["system:masters", "system:authenticated"]);
        request.extensions_mut().insert(InProcess(admin));
        let Ok(response) = ApiService::new(Arc::clone(&self.cluster)).oneshot(request).await;
        let status = response.status();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    pub(crate) async fn create(&self, path: &str, object: Value) -> Value {
        let (status, answer) = self.send(Method::POST, path, Some(&object)).await;
        assert_eq!(status, StatusCode::CREATED, "{path}: {answer}");
        answer
    }

    pub(crate) async fn patch(&self, path: &str, patch: Value) -> Value {
        let (status, answer) = self.send(Method::PATCH, path, Some(&patch)).await;
        assert_eq!(status, StatusCode::OK, "{path}: {answer}");
        answer
    }

    pub(crate) async fn delete(&self, path: &str) {
        let (status, answer) = self.send(Method::DELETE, path, None).await;
        assert!(status.is_success(), "{path}: {answer}");
    }

    pub(crate) async fn list(&self, path: &str) -> Vec<Value> {
        let (_, list) = self.send(Method::GET, path, None).await;
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until an object is as wanted; it is `null` when there is none.
    pub(crate) async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
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

    /// Waits until a list has as many elements as wanted.
    pub(crate) async fn until_count(&self, path: &str, count: usize) -> Vec<Value> {
        let list = self.until(path, |list| list["items"].as_array().map_or(0, Vec::len) == count).await;
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Waits for an event.
    pub(crate) async fn until_event(&self, reason: &str, message: &str) {
        let told = |list: &Value| {
            let events = list["items"].as_array();
            events.into_iter().flatten().any(|event| {
                event["reason"] == reason && event["message"].as_str().is_some_and(|text| text.contains(message))
            })
        };
        self.until("/api/v1/namespaces/default/events", told).await;
    }
}
