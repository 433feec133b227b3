//! Starts the two planes that a task compares.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use roost_tests::ours;
use roost_tests::plane::Plane;
use roost_tests::stock::{self, Controllers, Durability};

use crate::command_line::PlaneChoice;
use crate::task::{self, TaskError};

/// The two planes.
pub(crate) struct Planes {
    /// The stock one.
    pub(crate) stock: Plane,
    /// Ours.
    pub(crate) ours: Plane,
    /// Whether one of them ran before, so that it may hold objects of an earlier run.
    used: bool,
}

impl Planes {
    /// What is appended to names, so that a plane that ran a suite before can run it again.
    pub(crate) fn suffix(&self) -> String {
        if !self.used {
            return String::new();
        }
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
        format!("-{:x}", seconds & 0xf_ffff)
    }
}

/// Starts what has to be started.
pub(crate) async fn start(choice: &PlaneChoice) -> Result<Planes, TaskError> {
    let ours = async {
        match choice.ours.as_str() {
            "stock" => stock::start(Durability::Fast, Controllers::Inside).await.map_err(TaskError::from),
            "hcp" => ours().await,
            kubeconfig => Ok(Plane::running("ours", Path::new(kubeconfig))),
        }
    };
    let stock = async {
        match &choice.stock {
            Some(kubeconfig) => Ok(Plane::running("stock", kubeconfig)),
            None => stock::start(Durability::Fast, Controllers::Inside).await.map_err(TaskError::from),
        }
    };
    let (stock, ours) = tokio::try_join!(stock, ours)?;
    let used = choice.stock.is_some() || !matches!(choice.ours.as_str(), "stock" | "hcp");
    Ok(Planes { stock, ours, used })
}

/// Builds `hcp`, unless the environment names a binary, and starts it.
pub(crate) async fn ours() -> Result<Plane, TaskError> {
    Ok(ours::start(&built()?).await?)
}

/// The same with everything that makes hosted clusters.
pub(crate) async fn ours_whole() -> Result<Plane, TaskError> {
    Ok(ours::start_whole(&built()?).await?)
}

fn built() -> Result<PathBuf, TaskError> {
    if std::env::var_os(ours::BINARY_VARIABLE).is_none() {
        task::run(task::cargo().args(["build", "--quiet", "--package", "hcp"]))?;
    }
    Ok(ours::binary()?)
}
