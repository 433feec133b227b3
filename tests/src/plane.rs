//! A control plane to compare: its processes, its files and the way in.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::assets::AssetError;
use crate::client::{Call, Client, ClientError};
use crate::kubeconfig::{Kubeconfig, KubeconfigError};
use crate::pki::PkiError;
use crate::process::{Process, ProcessError};

/// How long a plane may take to become ready on a busy machine.
const READY_TIMEOUT: Duration = Duration::from_mins(2);

/// How often readiness is asked for.
const READY_INTERVAL: Duration = Duration::from_millis(50);

/// Why there is no plane.
#[derive(Debug, thiserror::Error)]
pub enum PlaneError {
    /// A binary is missing.
    #[error(transparent)]
    Asset(#[from] AssetError),
    /// A process did not run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Certificates could not be made.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// The kubeconfig could not be read or written.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// The server could not be reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The directory or a port could not be had.
    #[error("cannot prepare a plane")]
    Prepare(#[from] std::io::Error),
}

/// A running control plane; dropping it ends its processes and removes its files.
#[derive(Debug)]
pub struct Plane {
    /// What it is called in reports.
    pub name: String,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    pub(crate) processes: Vec<Process>,
    pub(crate) directory: Option<TempDir>,
}

impl Plane {
    /// A plane that somebody else runs.
    pub fn running(name: &str, kubeconfig: &Path) -> Self {
        Self { name: name.to_owned(), kubeconfig: kubeconfig.to_owned(), processes: Vec::new(), directory: None }
    }

    /// A client with the administrator's certificate.
    pub fn administrator(&self) -> Result<Client, PlaneError> {
        Ok(Client::administrator(&Kubeconfig::read(&self.kubeconfig)?)?)
    }

    /// The directory of its files and logs, when it has one of its own.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_ref().map(TempDir::path)
    }

    /// The processes, the first of which is the one that serves the API.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Waits until the server says that it is ready.
    pub(crate) async fn wait_until_ready(&mut self) -> Result<(), PlaneError> {
        let client = self.administrator()?;
        let start = Instant::now();
        loop {
            for process in &mut self.processes {
                process.check_running()?;
            }
            if let Ok(answer) = client.send(Call::get("/readyz")).await
                && answer.status.is_success()
            {
                return Ok(());
            }
            if start.elapsed() > READY_TIMEOUT {
                let server = self.processes.first().expect("a plane that is waited for has a process");
                return Err(server.not_ready(READY_TIMEOUT.as_secs()).into());
            }
            tokio::time::sleep(READY_INTERVAL).await;
        }
    }
}

/// A port of the loopback interface that nobody listens on now.
pub fn free_port() -> Result<u16, std::io::Error> {
    Ok(std::net::TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
