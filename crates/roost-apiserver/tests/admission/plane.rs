//! A cluster in memory, and words to speak to it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use roost_access::User;
use roost_apiserver::{ApiService, Cluster, ClusterConfig, Engine, Identity, InProcess};
use roost_store::{Options, Store};
use serde_json::{Value, json};
use tower::ServiceExt as _;

/// How long a state may take to come about before a test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where most tests work.
pub(crate) const NAMESPACE: &str = "/api/v1/namespaces/test";

pub(crate) struct Plane {
    cluster: Arc<Cluster>,
    inside: tokio::task::JoinHandle<()>,
}

impl Drop for Plane {
    fn drop(&mut self) {
        self.inside.abort();
    }
}

/// An answer of the API.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    /// The words of a refusal.
    pub(crate) fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// The texts of all warnings.
    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.headers.get_all("warning").iter().filter_map(|value| value.to_str().ok()).collect()
    }
}

impl Plane {
    /// A cluster with the namespace `test`.
    pub(crate) async fn start() -> Plane {
        let store = Store::memory(Options::default());
        let config = ClusterConfig::default();
        let cluster = Cluster::new(
            "test",
            store.clone(),
            config,
            Identity::generate(Timestamp::now(), "https://kubernetes.default.svc").expect("keys"),
        );
        cluster.bootstrap().await.expect("the first objects");
        let engine = Engine::new(store);
        engine.add(Arc::clone(&cluster));
        let plane = Plane { cluster, inside: tokio::spawn(engine.run()) };
        plane.create("/api/v1/namespaces", json!({"metadata": {"name": "test"}})).await;
        plane.until(&format!("{NAMESPACE}/serviceaccounts/default"), |account| !account.is_null()).await;
        plane
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
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
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.expect("a body").to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn post(&self, path: &str, object: Value) -> Answer {
        self.send(Method::POST, path, Some(&object)).await
    }

    pub(crate) async fn create(&self, path: &str, object: Value) -> Value {
        let answer = self.post(path, object).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{path}: {}", answer.body);
        answer.body
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let answer = self.send(Method::GET, path, None).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
        answer.body
    }

    pub(crate) async fn patch(&self, path: &str, patch: Value) -> Answer {
        self.send(Method::PATCH, path, Some(&patch)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None).await
    }

    /// Waits until an object is as wanted; it is `null` when there is none.
    pub(crate) async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let end = tokio::time::Instant::now() + PATIENCE;
        loop {
            let answer = self.send(Method::GET, path, None).await;
            let object = if answer.status == StatusCode::NOT_FOUND { Value::Null } else { answer.body };
            if wanted(&object) {
                return object;
            }
            assert!(tokio::time::Instant::now() < end, "{path} stays {object}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// A pod that asks for some resources.
pub(crate) fn pod(name: &str, resources: &Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}})
}
