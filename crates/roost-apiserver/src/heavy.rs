//! Requests that take long to work out: they have threads of their own, so that nobody waits behind them.
//!
//! A body of megabytes, a patch of an object of that size or a list of thousands costs as much of the processor as a
//! thousand small requests. The threads that answer those must not be held up, and the kernel must prefer them.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use roost_kernel::{Pauses, time_of_thread};
use roost_object::Status;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::call::Call;
use crate::party::Party;
use crate::threads;
use crate::write::key;

/// A request is heavy when it brings, or changes, more than this: it takes about as long as a write to the disk.
pub(crate) const HEAVY_BYTES: usize = 64 * 1024;
/// A list is heavy when its collection holds more objects than this.
const HEAVY_OBJECTS: u64 = 1000;

/// Whether a request takes long to work out, as far as that can be told beforehand.
pub(crate) fn is_heavy(call: &Call, body: &Bytes) -> bool {
    if body.len() > HEAVY_BYTES {
        return true;
    }
    let info = &call.info;
    let Some(resource) = call.cluster.resource(&info.group, &info.version, &info.resource) else { return false };
    let collection = resource.collection(&call.cluster.tenant);
    match info.verb.as_str() {
        "update" | "patch" | "delete" => {
            let entry = call.cluster.store.get(&collection, &key(&resource, &info.namespace, &info.name));
            entry.is_some_and(|entry| entry.value.len() > HEAVY_BYTES)
        }
        "list" | "deletecollection" => call.cluster.store.state(&collection).count > HEAVY_OBJECTS,
        _ => false,
    }
}

/// Whether a request was wrong in itself, so that its work came to nothing, and would again.
pub(crate) fn is_refusal(status: &Status) -> bool {
    matches!(status.code, 400 | 413 | 415 | 422)
}

/// Works for a party on the threads for heavy requests. Whoever stops waiting stops the work at its next pause.
pub(crate) async fn run<T: Send + 'static>(
    party: Option<Arc<Party>>,
    work: impl Future<Output = Result<T, Status>> + Send + 'static,
) -> Result<T, Status> {
    let Some(runtime) = &*RUNTIME else { return work.await };
    let mut task = Task(runtime.spawn(Paused { work: Box::pin(work), party, taken: Duration::ZERO }));
    (&mut task.0).await.unwrap_or_else(|error| Err(Status::internal(error.to_string())))
}

/// Half of the processors, at least one; started when it is needed first.
static RUNTIME: LazyLock<Option<Runtime>> = LazyLock::new(|| threads::that_stand_back("heavy", 2));

thread_local! {
    /// The pauses of a thread for heavy requests.
    static PAUSES: Option<Pauses> = match Pauses::new() {
        Ok(pauses) => Some(pauses),
        Err(error) => {
            tracing::warn!(%error, "a thread for heavy requests cannot pause");
            None
        }
    };
}

/// Work that pauses for others, on whichever of the threads it is.
struct Paused<Work> {
    work: Pin<Box<Work>>,
    party: Option<Arc<Party>>,
    taken: Duration,
}

impl<T, Work: Future<Output = Result<T, Status>>> Future for Paused<Work> {
    type Output = Work::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let begin = time_of_thread();
        let mut step = || self.work.as_mut().poll(context);
        let outcome = PAUSES.with(|pauses| match pauses {
            Some(pauses) => pauses.during(step),
            None => step(),
        });
        let taken = time_of_thread().saturating_sub(begin);
        self.taken += taken;
        if let Some(party) = &self.party {
            party.take_heavy(taken);
            match &outcome {
                Poll::Ready(Ok(_)) => party.accept_heavy(self.taken),
                Poll::Ready(Err(status)) if is_refusal(status) => party.refuse_heavy(self.taken),
                _ => {}
            }
        }
        outcome
    }
}

struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::{Method, Request, StatusCode};
    use http_body_util::Full;
    use roost_access::User;
    use roost_store::{Options, Store};
    use tower::ServiceExt as _;

    use super::*;
    use crate::access::InProcess;
    use crate::cluster::{Cluster, ClusterConfig};
    use crate::identity::Identity;
    use crate::service::ApiService;

    async fn send(cluster: &Arc<Cluster>, method: Method, path: &str, body: String) -> StatusCode {
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder().method(method).uri(path).header("content-type", kind);
        let mut request = request.body(Full::new(Bytes::from(body))).unwrap();
        request.extensions_mut().insert(InProcess(User::new("someone", ["system:authenticated"])));
        ApiService::new(Arc::clone(cluster)).oneshot(request).await.unwrap().status()
    }

    #[tokio::test]
    async fn heavy_requests_are_answered_like_others() {
        let config = ClusterConfig::default();
        let identity = Identity::generate(jiff::Timestamp::now(), "https://issuer.example.com").unwrap();
        let cluster = Cluster::new("one", Store::memory(Options::default()), config, identity);
        cluster.bootstrap().await.unwrap();
        let binding = serde_json::json!({
            "metadata": {"name": "everyone"}, "subjects": [{"kind": "User", "name": "someone"}],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        });
        let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
        let mut request = Request::post(bindings).header("content-type", "application/json");
        request = request.extension(InProcess(User::new("root", ["system:masters"])));
        let request = request.body(Full::new(Bytes::from(binding.to_string()))).unwrap();
        let made = ApiService::new(Arc::clone(&cluster)).oneshot(request).await.unwrap();
        assert_eq!(made.status(), StatusCode::CREATED);

        let maps = "/api/v1/namespaces/default/configmaps";
        let large = serde_json::json!({"metadata": {"name": "large"}, "data": {"a": "x".repeat(2 * HEAVY_BYTES)}});
        let patch = serde_json::json!({"data": {"b": "c"}}).to_string();
        let named = format!("{maps}/large");
        assert_eq!(send(&cluster, Method::POST, maps, large.to_string()).await, StatusCode::CREATED);
        assert_eq!(send(&cluster, Method::PATCH, &named, patch).await, StatusCode::OK);
        assert_eq!(send(&cluster, Method::POST, maps, "[".repeat(2 * HEAVY_BYTES)).await, StatusCode::BAD_REQUEST);
        let mut request = Request::get(&named).header("accept-encoding", "gzip").body(Full::new(Bytes::new())).unwrap();
        request.extensions_mut().insert(InProcess(User::new("someone", ["system:authenticated"])));
        let compressed = ApiService::new(Arc::clone(&cluster)).oneshot(request).await.unwrap();
        assert_eq!(compressed.headers()["content-encoding"], "gzip");
        assert_eq!(send(&cluster, Method::DELETE, &named, String::new()).await, StatusCode::OK);
    }

    #[tokio::test]
    async fn work_that_panics_is_an_answer() {
        let outcome: Result<(), Status> = run(None, async { panic!("on purpose") }).await;
        assert_eq!(outcome.unwrap_err().code, 500);
    }
}
