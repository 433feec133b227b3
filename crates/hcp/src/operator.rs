//! `hcp operator`: controllers and hosted planes for a management plane that somebody else serves.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use roost_apiserver::{Engine, serve};
use roost_operator::{Candidate, Supplies};
use roost_runtime::{EmbeddedRuntime, Front};
use roost_store::{OpenError, Options, Store};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::arguments::Operator;
use crate::instance::{self, InstanceError};
use crate::plane::{Plane, PlaneError};
use crate::up::{self, UpError};

/// How often data are tried again that the leader before still holds.
const LOCK_RETRY: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
pub(crate) enum OperatorError {
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error(transparent)]
    Plane(#[from] PlaneError),
    #[error(transparent)]
    Serve(#[from] UpError),
}

impl OperatorError {
    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Instance(_) => None,
            // It serves none itself, so starting one here would not help.
            Self::Plane(PlaneError::None) => Some("name the one to work for with --kubeconfig FILE".to_owned()),
            Self::Plane(error) => error.hint(),
            Self::Serve(error) => error.hint(),
        }
    }
}

pub(crate) fn run(arguments: &Operator) -> Result<(), OperatorError> {
    let data_dir = up::make_data_dir(match &arguments.data_dir {
        Some(data_dir) => data_dir.clone(),
        None => instance::default_data_dir()?.join("operator"),
    })?;
    up::server_runtime()?.block_on(operate(arguments, data_dir))
}

async fn operate(arguments: &Operator, data_dir: PathBuf) -> Result<(), OperatorError> {
    let plane = Plane::connect(arguments.kubeconfig.as_deref()).await?;
    let client = plane.client();
    let identity = arguments.identity.clone().unwrap_or_else(own_identity);
    let (stop, stopping) = watch::channel(false);
    tokio::spawn(async move {
        up::wait_for_end().await;
        let _ = stop.send(true);
    });
    println!("{identity} waits to lead on {}", plane.server);
    let supplies = up::supplies(arguments.artifacts.as_deref(), arguments.images.as_deref(), &data_dir)?;
    let work = || work(client.clone(), &data_dir, arguments.listen, supplies.clone());
    let leading = roost_operator::lead(client.clone(), Candidate::replica(identity), stopping, work);
    Box::pin(leading).await.unwrap_or(Ok(()))
}

/// Runs everything until the future is dropped, which ends all of it.
async fn work(
    client: kube::Client,
    data_dir: &Path,
    listen: SocketAddr,
    supplies: Supplies,
) -> Result<(), OperatorError> {
    let store = open(&data_dir.join("store")).await?;
    let listener = up::listen(listen).await?;
    let address = listener.local_addr().map_err(|source| UpError::Listen { address: listen, source })?;
    let engine = Engine::new(store.clone());
    let mut tasks = JoinSet::new();
    tasks.spawn(Arc::clone(&engine).run());
    let runtime = EmbeddedRuntime::new(engine, store, address.ip());
    let (_stop, stopping) = watch::channel(false);
    tasks.spawn(serve(Front { management: None, runtime: Arc::clone(&runtime) }, listener, stopping));
    println!("leads; hosted clusters are published on {address}");
    let published =
        roost_operator::Front { address: up::reachable(address.ip()), port: address.port(), listen: address.ip() };
    Box::pin(roost_operator::run(client, runtime, published, supplies)).await;
    Ok(())
}

/// Opens the data as soon as whoever led before has let them go.
async fn open(directory: &Path) -> Result<Store, UpError> {
    loop {
        match Store::open_file(directory, Options::default()) {
            Err(error @ OpenError::Locked { .. }) => {
                tracing::warn!(%error, "trying again");
                tokio::time::sleep(LOCK_RETRY).await;
            }
            opened => return Ok(opened?),
        }
    }
}

/// A name that no other process has at the same time.
fn own_identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}_{}", host.trim(), std::process::id())
}
