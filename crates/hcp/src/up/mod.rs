//! `hcp up`: everything in one process, from keys on disk to an API that answers.

mod demo;
mod detach;
mod error;
mod idle;
mod keys;

use std::error::Error as _;
use std::io::{self, IsTerminal as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use roost_apiserver::{AuditLog, Cluster, ClusterConfig, Engine, Host, ServingCertificate, serve, tls_config};
use roost_ignition_server::{Artifacts, ArtifactsError};
use roost_operator::{BaseImages, Candidate, Supplies};
use roost_runtime::{EmbeddedRuntime, Front};
use roost_store::{Options, Store};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::arguments::Up;
use crate::instance::{self, Instance};
pub(crate) use error::UpError;
use keys::Keys;

/// The management plane's own tenant.
const MANAGEMENT: &str = "management";

/// Expressions and schemas nest up to limits that stock sets, and walks along them are recursive. Only what is used
/// of a stack takes memory.
const STACK_BYTES: usize = 16 * 1024 * 1024;

pub(crate) fn run(arguments: &Up) -> Result<(), UpError> {
    let started = Instant::now();
    let data_dir = make_data_dir(match &arguments.data_dir {
        Some(data_dir) => data_dir.clone(),
        None => instance::default_data_dir()?,
    })?;
    if arguments.detach {
        return detach::start(arguments, &data_dir);
    }
    server_runtime()?.block_on(serve_management(arguments, data_dir, started))
}

/// Makes a data directory, and names it in full.
pub(crate) fn make_data_dir(path: PathBuf) -> Result<PathBuf, UpError> {
    std::fs::create_dir_all(&path).map_err(|source| UpError::DataDir { path: path.clone(), source })?;
    Ok(std::fs::canonicalize(&path).unwrap_or(path))
}

/// Threads, words and limits of a process that serves.
pub(crate) fn server_runtime() -> Result<tokio::runtime::Runtime, UpError> {
    start_logging();
    raise_file_limit();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()
        .map_err(UpError::Serve)?;
    runtime.spawn(idle::give_back());
    Ok(runtime)
}

async fn serve_management(arguments: &Up, data_dir: PathBuf, started: Instant) -> Result<(), UpError> {
    let store = Store::open_file(&data_dir.join("store"), Options::default())?;
    let supplies = supplies(arguments.artifacts.as_deref(), arguments.images.as_deref(), &data_dir)?;
    let listener = listen(arguments.listen).await?;
    let address = listener.local_addr().map_err(|source| UpError::Listen { address: arguments.listen, source })?;
    let keys = Keys::load_or_make(&data_dir, address, &arguments.server_name, &arguments.service_cidr)?;
    let certificate = ServingCertificate::new(keys.server_certificates(), keys.server_key()?).map_err(UpError::Tls)?;
    let tls = Arc::new(tls_config(certificate).map_err(UpError::Tls)?);
    let kubeconfig = keys.write_kubeconfig(&data_dir, address)?;
    let config = ClusterConfig {
        service_cidr: arguments.service_cidr,
        encryption_key: Some(keys.encryption_key()),
        advertised: Some((reachable(address.ip()), address.port())),
        ..ClusterConfig::default()
    };
    let cluster = Cluster::new(MANAGEMENT, store.clone(), config, keys.into_identity());
    if let Some(path) = &arguments.audit_log {
        let log = AuditLog::open(path).map_err(|source| UpError::AuditLog { path: path.clone(), source })?;
        cluster.set_audit_log(log);
    }
    cluster.bootstrap().await.map_err(|status| UpError::Bootstrap(status.message))?;
    let engine = Engine::new(store.clone());
    engine.add(Arc::clone(&cluster));
    let inside = tokio::spawn(Arc::clone(&engine).run());
    let instance = Instance {
        pid: std::process::id().cast_signed(),
        data_dir,
        server: format!("https://{}", SocketAddr::new(reachable(address.ip()), address.port())),
        kubeconfig,
        started: Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        version: roost_apiserver::KUBERNETES_VERSION.to_owned(),
    };
    let (stop, stopping) = watch::channel(false);
    let runtime = EmbeddedRuntime::new(engine, store, address.ip());
    if let Some(path) = &arguments.audit_log {
        runtime.set_audit_log(path.clone());
    }
    let front = Front { management: Some(Host { cluster: Arc::clone(&cluster), tls }), runtime: Arc::clone(&runtime) };
    let server = tokio::spawn(serve(front, listener, stopping.clone()));
    let published =
        roost_operator::Front { address: reachable(address.ip()), port: address.port(), listen: address.ip() };
    let operator = if arguments.without_operator {
        None
    } else {
        // Whoever reads that it is ready may ask for a hosted cluster at once.
        roost_operator::prepare(&cluster.client(), &*runtime).await;
        let (client, planes) = (cluster.client(), Arc::clone(&runtime));
        let work = move || roost_operator::run(client.clone(), Arc::clone(&planes), published, supplies.clone());
        Some(tokio::spawn(roost_operator::lead(cluster.client(), Candidate::embedded(), stopping, work)))
    };
    let record = instance.register().inspect_err(|error| {
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        tracing::warn!(%error, cause, "hcp status and hcp down will not find this process");
    });
    println!(
        "ready in {} ms: {} (kubeconfig {})",
        started.elapsed().as_millis(),
        instance.server,
        instance.kubeconfig.display()
    );
    let demo = || tokio::spawn(demo::run(instance.kubeconfig.clone(), instance.data_dir.clone()));
    let demo = arguments.demo.then(demo);
    wait_for_end().await;
    tracing::info!("stopping");
    if let Some(demo) = demo {
        // The nodes go first, so that none of them sees the plane go.
        demo.abort();
        let _ = demo.await;
    }
    let _ = stop.send(true);
    if let Some(operator) = operator {
        // It gives its Lease back.
        let _ = operator.await;
    }
    cluster.close();
    runtime.stop().await;
    let outcome = server.await;
    inside.abort();
    drop(record);
    outcome.map_err(|panicked| UpError::Serve(io::Error::other(panicked)))
}

/// What hosts and nodes are given, each from the directory that was named, else from the one in the data directory.
pub(crate) fn supplies(artifacts: Option<&Path>, images: Option<&Path>, data_dir: &Path) -> Result<Supplies, UpError> {
    let usual = data_dir.join("images");
    let given = match images {
        None if !usual.is_dir() => Vec::new(),
        named => {
            let path = named.unwrap_or(&usual);
            let given = std::fs::canonicalize(path).and_then(|path| roost_image_server::given(&path));
            given.map_err(|source| UpError::Images { path: path.to_owned(), source })?
        }
    };
    let images = BaseImages { given, directory: data_dir.join("fetched-images") };
    let host_logs = data_dir.join("host-logs");
    Ok(Supplies { artifacts: self::artifacts(artifacts, data_dir)?, images, host_logs })
}

/// The large files of nodes: those of a directory that was named, else of the one in the data directory, if it is there.
fn artifacts(named: Option<&Path>, data_dir: &Path) -> Result<Arc<Artifacts>, ArtifactsError> {
    let usual = data_dir.join("artifacts");
    match named {
        None if !usual.is_dir() => Ok(Arc::default()),
        named => Artifacts::open(named.unwrap_or(&usual), &data_dir.join("artifacts.json")).map(Arc::new),
    }
}

/// Binds a listener, and says who is in the way.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener, UpError> {
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => UpError::PortInUse { address: address.ip(), port: address.port() },
        _ => UpError::Listen { address, source },
    })
}

/// An address that clients on this machine can use.
pub(crate) fn reachable(address: IpAddr) -> IpAddr {
    if address.is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { address }
}

/// Waits for SIGTERM or SIGINT. A closed terminal is not a reason to end.
pub(crate) async fn wait_for_end() {
    let listen = |kind: SignalKind| signal(kind).ok();
    let (mut terminate, mut interrupt, mut hangup) =
        (listen(SignalKind::terminate()), listen(SignalKind::interrupt()), listen(SignalKind::hangup()));
    loop {
        tokio::select! {
            Some(()) = next(&mut terminate) => return,
            Some(()) = next(&mut interrupt) => return,
            Some(()) = next(&mut hangup) => {}
        }
    }
}

async fn next(signal: &mut Option<tokio::signal::unix::Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    }
}

/// Every hosted cluster has a listener and every client a connection, so the soft limit of a login shell is too low.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

/// Words go to standard error; `ROOST_LOG` says how many.
fn start_logging() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("ROOST_LOG").unwrap_or_else(|_| "warn,hcp=info".into());
    // Colours are for people: `hcp.log` and journals would show them as escape sequences.
    let colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let _ = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(io::stderr).try_init();
}
