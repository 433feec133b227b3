//! One way to speak to both planes.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method, Request};
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use roost_access::User;
use roost_apiserver::{ApiService, Cluster, ClusterConfig, Engine, Identity, InProcess};
use roost_store::{Options, Store};
use serde_json::Value;
use tokio::task::JoinHandle;
use tower::ServiceExt as _;

use super::WorkloadsError;
use super::serve::{Remote, RemoteStream};
use crate::client::{Call, Client};

/// The kinds that scenarios speak of, with where they are.
pub(super) const KINDS: &[(&str, &str, &str)] = &[
    ("Deployment", "/apis/apps/v1", "deployments"),
    ("ReplicaSet", "/apis/apps/v1", "replicasets"),
    ("ReplicationController", "/api/v1", "replicationcontrollers"),
    ("StatefulSet", "/apis/apps/v1", "statefulsets"),
    ("DaemonSet", "/apis/apps/v1", "daemonsets"),
    ("ControllerRevision", "/apis/apps/v1", "controllerrevisions"),
    ("Job", "/apis/batch/v1", "jobs"),
    ("CronJob", "/apis/batch/v1", "cronjobs"),
    ("Pod", "/api/v1", "pods"),
    ("Service", "/api/v1", "services"),
    ("Endpoints", "/api/v1", "endpoints"),
    ("PersistentVolumeClaim", "/api/v1", "persistentvolumeclaims"),
    ("ResourceQuota", "/api/v1", "resourcequotas"),
    ("EndpointSlice", "/apis/discovery.k8s.io/v1", "endpointslices"),
    ("PodDisruptionBudget", "/apis/policy/v1", "poddisruptionbudgets"),
    ("HorizontalPodAutoscaler", "/apis/autoscaling/v2", "horizontalpodautoscalers"),
];

/// The kinds outside namespaces that scenarios speak of. Their names begin with that of the namespace.
pub(super) const CLUSTER_KINDS: &[(&str, &str, &str)] = &[
    ("Node", "/api/v1", "nodes"),
    ("PersistentVolume", "/api/v1", "persistentvolumes"),
    ("StorageClass", "/apis/storage.k8s.io/v1", "storageclasses"),
    ("PriorityClass", "/apis/scheduling.k8s.io/v1", "priorityclasses"),
];

/// Ends the engine when it is dropped.
pub(super) struct Running(JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What a stream brings.
pub(super) enum Lines {
    Stock(Box<crate::client::Stream>),
    Process(Box<RemoteStream>),
}

impl Lines {
    /// The next piece; none at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, WorkloadsError> {
        match self {
            Lines::Stock(stream) => Ok(stream.next().await.map_err(crate::plane::PlaneError::from)?),
            Lines::Process(stream) => stream.next().await,
        }
    }
}

/// A plane.
#[derive(Clone)]
pub(super) enum Api {
    Stock(Client),
    Ours(Arc<Cluster>),
    Process(Remote),
}

impl Api {
    pub(super) fn stock(client: Client) -> Api {
        Api::Stock(client)
    }

    /// A cluster in another process.
    pub(super) fn process(remote: Remote) -> Api {
        Api::Process(remote)
    }

    /// An engine in this process, with the controllers of workloads.
    pub(super) async fn ours() -> Result<(Api, Running), WorkloadsError> {
        let wrong = |why: String| WorkloadsError::Ours(why);
        let store = Store::memory(Options::default());
        let config = ClusterConfig { workloads: true, ..ClusterConfig::default() };
        let identity = Identity::generate(Timestamp::now(), crate::stock::SERVICE_ACCOUNT_ISSUER)
            .map_err(|error| wrong(error.to_string()))?;
        let cluster = Cluster::new("scenarios", store.clone(), config, identity);
        cluster.bootstrap().await.map_err(|status| wrong(status.message))?;
        let engine = Engine::new(store);
        engine.add(Arc::clone(&cluster));
        Ok((Api::Ours(cluster), Running(tokio::spawn(engine.run()))))
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Api::Stock(_) => "stock",
            Api::Ours(_) | Api::Process(_) => "ours",
        }
    }

    /// Sends a request; the answer is its code and its body.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), WorkloadsError> {
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        match self {
            Api::Stock(client) => {
                let mut call = Call::new(method, path);
                if let Some(body) = body {
                    call = call.json(body);
                    call.headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static(kind));
                }
                let answer = client.send(call).await.map_err(crate::plane::PlaneError::from)?;
                Ok((answer.status.as_u16(), answer.json()))
            }
            Api::Process(remote) => remote.send(method, path, body, kind).await,
            Api::Ours(cluster) => {
                let bytes = body.map_or_else(Bytes::new, |body| body.to_string().into());
                let request = Request::builder().method(method).uri(path).header("content-type", kind);
                let wrong = |error: String| WorkloadsError::Ours(error);
                let mut request = request.body(Full::new(bytes)).map_err(|error| wrong(error.to_string()))?;
                let admin = User::new("kubernetes-admin", ["system:masters", "system:authenticated"]);
                request.extensions_mut().insert(InProcess(admin));
                let Ok(response) = ApiService::new(Arc::clone(cluster)).oneshot(request).await;
                let code = response.status().as_u16();
                let body = response.into_body().collect().await.map_err(|error| wrong(error.to_string()))?;
                Ok((code, serde_json::from_slice(&body.to_bytes()).unwrap_or_default()))
            }
        }
    }

    /// Opens a stream, as watches are.
    pub(super) async fn stream(&self, path: &str) -> Result<Lines, WorkloadsError> {
        match self {
            Api::Stock(client) => {
                let stream = client.stream(Call::get(path)).await.map_err(crate::plane::PlaneError::from)?;
                Ok(Lines::Stock(Box::new(stream)))
            }
            Api::Process(remote) => Ok(Lines::Process(Box::new(remote.stream(path).await?))),
            Api::Ours(_) => Err(WorkloadsError::Ours("nobody follows an engine in the same process".to_owned())),
        }
    }

    /// The objects of a kind in a namespace, or of those outside namespaces the ones that are named after it.
    pub(super) async fn list(&self, namespace: &str, kind: &str) -> Result<Vec<Value>, WorkloadsError> {
        let (_, answer) = self.send(Method::GET, &path(namespace, kind), None).await?;
        let mut items = answer["items"].as_array().cloned().unwrap_or_default();
        if CLUSTER_KINDS.iter().any(|(known, ..)| *known == kind) {
            let prefix = format!("{namespace}-");
            items.retain(|item| item["metadata"]["name"].as_str().is_some_and(|name| name.starts_with(&prefix)));
        }
        Ok(items)
    }
}

/// Where the objects of a kind are.
pub(super) fn path(namespace: &str, kind: &str) -> String {
    if let Some((_, root, plural)) = CLUSTER_KINDS.iter().find(|(known, ..)| *known == kind) {
        return format!("{root}/{plural}");
    }
    let (_, root, plural) = KINDS.iter().find(|(known, ..)| *known == kind).copied().unwrap_or((kind, "/api/v1", kind));
    format!("{root}/namespaces/{namespace}/{plural}")
}
