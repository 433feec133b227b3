//! An engine as a process of its own, so that it can be killed and weighed: one store, clusters on it, and their API on a
//! socket that only its owner can reach.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::SendRequest;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use roost_access::User;
use roost_apiserver::{ApiService, Cluster, ClusterConfig, Engine, Identity, InProcess};
use roost_store::{Options, Store};
use serde_json::Value;
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;
use tower::ServiceExt as _;

use super::WorkloadsError;
use crate::process::Process;

/// Which cluster of the process a request is for.
const CLUSTER: &str = "x-cluster";
/// The socket, in the directory of the process.
const SOCKET: &str = "api.sock";
/// How long a start may take.
const PATIENCE: Duration = Duration::from_mins(2);
/// How often it is looked whether it has started.
const INTERVAL: Duration = Duration::from_millis(10);

fn wrong(error: impl std::fmt::Display) -> WorkloadsError {
    WorkloadsError::Ours(error.to_string())
}

/// What such a process serves.
#[derive(Clone, Debug)]
pub struct Serving {
    /// Where its store and its socket are.
    pub directory: PathBuf,
    /// How many clusters it has.
    pub clusters: usize,
    /// Whether their controllers of workloads run.
    pub workloads: bool,
}

/// Serves until it is killed.
pub async fn serve(serving: &Serving) -> Result<(), WorkloadsError> {
    let store = Store::open_file(&serving.directory.join("store"), Options::default()).map_err(wrong)?;
    let engine = Engine::new(store.clone());
    let inside = tokio::spawn(Arc::clone(&engine).run());
    let mut clusters = Vec::with_capacity(serving.clusters);
    for number in 0..serving.clusters {
        let config = ClusterConfig { workloads: serving.workloads, ..ClusterConfig::default() };
        let identity = Identity::generate(Timestamp::now(), crate::stock::SERVICE_ACCOUNT_ISSUER).map_err(wrong)?;
        let cluster = Cluster::new(&format!("cluster-{number}"), store.clone(), config, identity);
        cluster.bootstrap().await.map_err(|status| wrong(status.message))?;
        engine.add(Arc::clone(&cluster));
        clusters.push(cluster);
    }
    let clusters = Arc::new(clusters);
    let socket = serving.directory.join(SOCKET);
    // One that was killed leaves its socket behind.
    let _ = std::fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).map_err(wrong)?;
    while !inside.is_finished() {
        let (stream, _) = listener.accept().await.map_err(wrong)?;
        let clusters = Arc::clone(&clusters);
        let service = service_fn(move |mut request: Request<hyper::body::Incoming>| {
            let number = request.headers().get(CLUSTER).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
            let cluster = Arc::clone(&clusters[number.unwrap_or_default().min(clusters.len() - 1)]);
            let admin = User::new("kubernetes-admin", ["system:masters", "system:authenticated"]);
            request.extensions_mut().insert(InProcess(admin));
            ApiService::new(cluster).oneshot(request)
        });
        tokio::spawn(async move {
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
    Err(wrong("the engine has ended"))
}

/// Such a process, from outside.
pub(super) struct Served {
    program: PathBuf,
    arguments: Vec<OsString>,
    directory: TempDir,
    process: Process,
}

impl Served {
    /// Starts one. `arguments` are what this program calls it with, before the directory.
    pub(super) async fn start(arguments: &[&str]) -> Result<Served, WorkloadsError> {
        let program = std::env::current_exe().map_err(wrong)?;
        let directory = tempfile::Builder::new().prefix("roost-workloads-").tempdir().map_err(wrong)?;
        let mut arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        arguments.push(directory.path().into());
        let process = launch(&program, &arguments, directory.path())?;
        let mut served = Served { program, arguments, directory, process };
        served.wait().await?;
        Ok(served)
    }

    /// Kills it where it is, and starts it again.
    pub(super) async fn kill(&mut self) -> Result<(), WorkloadsError> {
        self.process.kill();
        self.process = launch(&self.program, &self.arguments, self.directory.path())?;
        self.wait().await
    }

    async fn wait(&mut self) -> Result<(), WorkloadsError> {
        let end = Instant::now() + PATIENCE;
        let remote = self.remote(0);
        while remote.send(Method::GET, "/readyz", None, "application/json").await.is_err() {
            self.process.check_running().map_err(wrong)?;
            if Instant::now() > end {
                return Err(wrong(self.process.not_ready(PATIENCE.as_secs())));
            }
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(())
    }

    /// One of its clusters.
    pub(super) fn remote(&self, cluster: usize) -> Remote {
        Remote { socket: self.directory.path().join(SOCKET).into(), cluster }
    }

    /// The process.
    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }
}

fn launch(program: &Path, arguments: &[OsString], directory: &Path) -> Result<Process, WorkloadsError> {
    Process::start("engine", program, arguments.iter().cloned(), directory).map_err(wrong)
}

/// A cluster in another process.
#[derive(Clone)]
pub(super) struct Remote {
    socket: Arc<Path>,
    cluster: usize,
}

/// An answer that goes on.
pub(super) struct RemoteStream {
    body: hyper::body::Incoming,
    connection: JoinHandle<hyper::Result<()>>,
    _sender: SendRequest<Full<Bytes>>,
}

impl Drop for RemoteStream {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

impl RemoteStream {
    /// The next piece; none at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, WorkloadsError> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(data) = frame.map_err(wrong)?.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }
}

impl Remote {
    /// Opens a stream.
    pub(super) async fn stream(&self, path: &str) -> Result<RemoteStream, WorkloadsError> {
        let stream = UnixStream::connect(&*self.socket).await.map_err(wrong)?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(wrong)?;
        let connection = tokio::spawn(connection);
        let request = Request::builder().uri(path).header("host", "engine").header(CLUSTER, self.cluster);
        let request = request.body(Full::new(Bytes::new())).map_err(wrong)?;
        let body = sender.send_request(request).await.map_err(wrong)?.into_body();
        Ok(RemoteStream { body, connection, _sender: sender })
    }

    /// Sends a request on a connection of its own.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        kind: &str,
    ) -> Result<(u16, Value), WorkloadsError> {
        let stream = UnixStream::connect(&*self.socket).await.map_err(wrong)?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(wrong)?;
        let connection = tokio::spawn(connection);
        let bytes = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let request = Request::builder().method(method).uri(path).header("host", "engine");
        let request = request.header("content-type", kind).header(CLUSTER, self.cluster);
        let request = request.body(Full::new(bytes)).map_err(wrong)?;
        let response = sender.send_request(request).await.map_err(wrong)?;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.map_err(wrong)?.to_bytes();
        connection.abort();
        Ok((code, serde_json::from_slice(&body).unwrap_or_default()))
    }
}
