//! The place where a journey happens on one plane: a directory with its files and a kubeconfig of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

use super::Journey;
use crate::assets::{AssetError, binary, repository};
use crate::client::{Call, Client, ClientError};
use crate::kubeconfig::{Kubeconfig, KubeconfigError};
use crate::plane::{Plane, PlaneError};

/// How long the controllers may take to fill a new namespace.
const NAMESPACE_LIMIT: Duration = Duration::from_mins(1);

/// The version of the Python client that was tried.
const PYTHON_CLIENT: &str = "kubernetes==37.0.2";

/// Why a journey did not happen.
#[derive(Debug, thiserror::Error)]
pub enum JourneyError {
    /// kubectl is missing.
    #[error(transparent)]
    Asset(#[from] AssetError),
    /// A plane cannot be used.
    #[error(transparent)]
    Plane(#[from] PlaneError),
    /// A server cannot be reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A kubeconfig cannot be used.
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    /// A command could not be started.
    #[error("cannot run a command")]
    Run(#[source] std::io::Error),
    /// A file could not be used.
    #[error("cannot use {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file does not have the format.
    #[error("{}: {reason}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The Python client could not be installed.
    #[error("cannot install {PYTHON_CLIENT}: {0}")]
    Python(String),
    /// A filter that fits nothing must not look like success.
    #[error("no journey fits")]
    NothingToRun,
    /// The namespace did not get its service account.
    #[error("the namespace {0} was not prepared in time")]
    Namespace(String),
    /// A task of the runner itself died.
    #[error("the runner broke: {0}")]
    Broken(String),
}

/// Where a journey happens on one plane.
#[derive(Debug)]
pub struct Workplace {
    directory: TempDir,
    namespace: String,
    kubeconfig: Kubeconfig,
}

impl Workplace {
    /// Writes the files of a journey and a kubeconfig whose namespace is the journey's.
    pub fn prepare(plane: &Plane, journey: &Journey, namespace: &str) -> Result<Self, JourneyError> {
        let kubeconfig = Kubeconfig::read(&plane.kubeconfig)?;
        let failed = |path: &Path, source| JourneyError::File { path: path.to_owned(), source };
        let directory = tempfile::Builder::new()
            .prefix("roost-journey-")
            .tempdir()
            .map_err(|source| failed(Path::new("a temporary directory"), source))?;
        for (name, content) in &journey.files {
            let path = directory.path().join(name);
            let parent = path.parent().unwrap_or(directory.path());
            std::fs::create_dir_all(parent).map_err(|source| failed(parent, source))?;
            std::fs::write(&path, content.replace("${ns}", namespace)).map_err(|source| failed(&path, source))?;
        }
        kubeconfig.write_for(&directory.path().join("kubeconfig"), namespace)?;
        Ok(Self { directory, namespace: namespace.to_owned(), kubeconfig })
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The address of the server.
    pub fn server(&self) -> &str {
        &self.kubeconfig.server
    }

    /// What the commands find in their environment.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        let tools = binary("kubectl").map(|path| path.parent().map(Path::to_owned).unwrap_or_default());
        let mut path = tools.unwrap_or_default().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        vec![
            ("PATH", path),
            ("KUBECONFIG", self.directory().join("kubeconfig").into()),
            ("HOME", self.directory().into()),
            ("NS", self.namespace.clone().into()),
            ("PYTHON", python_path().into()),
            ("SCRIPTS", repository().join("tests").join("python").into()),
            ("TZ", "UTC".into()),
            ("LC_ALL", "C.UTF-8".into()),
        ]
    }

    /// Makes the namespace and waits for what the controllers put into it.
    pub async fn make_namespace(&self) -> Result<(), JourneyError> {
        let client = Client::administrator(&self.kubeconfig)?;
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}});
        client.send(Call::new(Method::POST, "/api/v1/namespaces").json(&body)).await?;
        let start = Instant::now();
        for path in ["serviceaccounts/default", "configmaps/kube-root-ca.crt"] {
            let target = format!("/api/v1/namespaces/{}/{path}", self.namespace);
            while !client.send(Call::get(target.clone())).await?.status.is_success() {
                if start.elapsed() > NAMESPACE_LIMIT {
                    return Err(JourneyError::Namespace(self.namespace.clone()));
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }
}

fn python_directory() -> PathBuf {
    repository().join("target").join("python-client")
}

fn python_path() -> PathBuf {
    python_directory().join("bin").join("python")
}

/// Makes a Python environment with the Kubernetes client, unless it is there.
pub async fn python() -> Result<(), JourneyError> {
    let imports = async || {
        let found = Command::new(python_path()).args(["-c", "import kubernetes"]).output().await;
        found.is_ok_and(|output| output.status.success())
    };
    if imports().await {
        return Ok(());
    }
    let directory = python_directory();
    let made =
        Command::new("python3").args(["-m", "venv"]).arg(&directory).output().await.map_err(JourneyError::Run)?;
    if !made.status.success() {
        return Err(JourneyError::Python(String::from_utf8_lossy(&made.stderr).into_owned()));
    }
    let pip = directory.join("bin").join("pip");
    let installed =
        Command::new(pip).args(["install", "--quiet", PYTHON_CLIENT]).output().await.map_err(JourneyError::Run)?;
    if installed.status.success() {
        Ok(())
    } else {
        Err(JourneyError::Python(String::from_utf8_lossy(&installed.stderr).into_owned()))
    }
}
