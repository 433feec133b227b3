//! Ways into containers that run nothing: `exec`, `attach` and `portForward`, as far as they can be had without a process.

mod exec;
mod files;
mod forward;
mod shell;
mod spdy;
mod websocket;

use std::collections::HashMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::header::{CONNECTION, UPGRADE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;

use super::Kubelet;
use super::answer::{Body, text};
use exec::{Session, Wanted};
use files::Files;
use shell::Facts;

/// What goes on after a connection has become a stream.
pub(super) type Entered = BoxFuture<'static, ()>;

/// The files of containers, by the pod's uid and the container's name.
#[derive(Debug, Default)]
pub(crate) struct Disks(Mutex<HashMap<(String, String), Files>>);

impl Disks {
    fn take(&self, key: &(String, String)) -> Files {
        self.0.lock().get(key).cloned().unwrap_or_default()
    }

    /// Keeps the files of a container, and forgets those of pods that are gone.
    fn put(&self, key: (String, String), files: Files, alive: &[String]) {
        let mut disks = self.0.lock();
        disks.retain(|(uid, _), _| alive.contains(uid));
        disks.insert(key, files);
    }
}

/// What is to be entered.
pub(super) struct Door<'a> {
    pub(super) action: &'a str,
    pub(super) namespace: &'a str,
    pub(super) pod: &'a str,
    pub(super) container: &'a str,
    pub(super) query: &'a str,
}

/// Answers a request to enter a container, and says what goes on then.
pub(super) fn answer<B>(
    kubelet: &Arc<Kubelet>,
    door: &Door<'_>,
    request: &Request<B>,
    upgrade: Option<OnUpgrade>,
) -> (Response<Body>, Option<Entered>) {
    let refuse = |code, words: String| (text(code, words), None);
    let Some(pod) = kubelet.view.pod(door.namespace, door.pod) else {
        return refuse(StatusCode::NOT_FOUND, format!("pod \"{}\" does not exist", door.pod));
    };
    let Some(upgrade) = upgrade else {
        return refuse(StatusCode::BAD_REQUEST, "Upgrade request required".to_owned());
    };
    if door.action == "portForward" {
        let place = forward::Place {
            namespace: door.namespace.to_owned(),
            pod: door.pod.to_owned(),
            node: kubelet.node.clone(),
        };
        return forward_ports(request.headers(), upgrade, place);
    }
    let running = pod.container(door.container).and_then(|container| container.running);
    if running.is_none() {
        return refuse(StatusCode::INTERNAL_SERVER_ERROR, format!("container not found (\"{}\")", door.container));
    }
    let protocol = websocket::choose(request.headers(), &exec::PROTOCOLS);
    let accepted = protocol.and_then(|protocol| websocket::accept(request.headers(), protocol));
    let Some(response) = accepted else {
        let words = "a simulated container is entered over WebSocket, by v5.channel.k8s.io or v4.channel.k8s.io only";
        return refuse(StatusCode::BAD_REQUEST, words.to_owned());
    };
    let visit = Visit {
        kubelet: Arc::clone(kubelet),
        wanted: Wanted::read(door.query),
        attach: door.action == "attach",
        namespace: door.namespace.to_owned(),
        pod: door.pod.to_owned(),
        container: door.container.to_owned(),
        uid: pod.uid,
    };
    (response, Some(visit.go_on(upgrade).boxed()))
}

/// Real kubelets forward ports over SPDY only, and so do these.
fn forward_ports(headers: &HeaderMap, upgrade: OnUpgrade, place: forward::Place) -> (Response<Body>, Option<Entered>) {
    let is = |name: &str, wanted: &str| {
        headers.get(name).and_then(|value| value.to_str().ok()).is_some_and(|value| value.eq_ignore_ascii_case(wanted))
    };
    if !is("upgrade", "SPDY/3.1") {
        return (text(StatusCode::BAD_REQUEST, "ports are forwarded over SPDY/3.1 only"), None);
    }
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let own = response.headers_mut();
    own.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    own.insert(UPGRADE, HeaderValue::from_static("SPDY/3.1"));
    own.insert("x-stream-protocol-version", HeaderValue::from_static(forward::PROTOCOL));
    let entered = async move {
        let Ok(stream) = upgrade.await else { return };
        if let Err(error) = forward::serve(TokioIo::new(stream), &place).await {
            tracing::debug!(%error, "a forwarded port was given up");
        }
    };
    (response, Some(entered.boxed()))
}

/// Somebody in a container.
struct Visit {
    kubelet: Arc<Kubelet>,
    wanted: Wanted,
    attach: bool,
    namespace: String,
    pod: String,
    container: String,
    uid: String,
}

impl Visit {
    async fn go_on(self, upgrade: OnUpgrade) {
        let Ok(stream) = upgrade.await else { return };
        let (reader, writer) = websocket::split(TokioIo::new(stream));
        let session = Session { reader, writer, wanted: self.wanted.clone() };
        let outcome = if self.attach {
            session.attach(&self.kubelet.view, (&self.namespace, &self.pod, &self.container)).await
        } else {
            let key = (self.uid.clone(), self.container.clone());
            let mut files = self.kubelet.disks.take(&key);
            let outcome = session.exec(&self.facts().await, &mut files).await;
            let alive: Vec<String> = self.kubelet.view.pods().into_values().map(|pod| pod.uid).collect();
            self.kubelet.disks.put(key, files, &alive);
            outcome
        };
        if let Err(error) = outcome {
            tracing::debug!(%error, "a stream of a container was given up");
        }
    }

    /// What the container knows of itself, from the pod as it is.
    async fn facts(&self) -> Facts {
        let path = format!("/api/v1/namespaces/{}/pods/{}", self.namespace, self.pod);
        let pod = self.kubelet.client.get(&path).await.unwrap_or_default();
        let hostname = pod["spec"]["hostname"].as_str().unwrap_or(&self.pod).to_owned();
        let mut environment = vec![
            ("PATH".to_owned(), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned()),
            ("HOSTNAME".to_owned(), hostname.clone()),
        ];
        let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
        let own = containers.into_iter().find(|container| container["name"] == *self.container);
        for variable in own.and_then(|own| own["env"].as_array()).into_iter().flatten() {
            let text = |field: &str| variable.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            environment.push((text("name"), text("value")));
        }
        Facts { hostname, environment }
    }
}
