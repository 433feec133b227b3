//! How long our engine takes from its start until it is ready, empty and full.

use std::path::Path;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::json;

use super::load;
use crate::client::{Call, Client};
use crate::kubeconfig::Kubeconfig;
use crate::ours;
use crate::plane::{PlaneError, free_port};
use crate::process::Process;

/// Starts on an empty directory, of which the middle one counts.
const STARTS: usize = 5;

/// Clients that fill the engine.
const CLIENTS: usize = 64;

/// No start takes longer.
const LIMIT: Duration = Duration::from_mins(1);

/// What was found.
#[derive(Debug, Clone, Copy)]
pub struct Readiness {
    /// From the start to the first `ok` of `/readyz`, on an empty directory.
    pub empty: Duration,
    /// The same with objects.
    pub full: Duration,
    /// How many objects.
    pub objects: usize,
    /// Resident memory with so many objects, in MiB.
    pub memory: f64,
}

/// Measures starts of our engine.
pub async fn readiness(binary: &Path, objects: usize) -> Result<Readiness, PlaneError> {
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let directory = tempfile::Builder::new().prefix("roost-ready-").tempdir()?;
        let (mut process, _, elapsed) = start(binary, directory.path()).await?;
        process.kill();
        starts.push(elapsed);
    }
    starts.sort_unstable();
    let directory = tempfile::Builder::new().prefix("roost-ready-").tempdir()?;
    let (mut process, client, _) = start(binary, directory.path()).await?;
    let namespace = json!({"metadata": {"name": super::NAMESPACE}});
    client.send(Call::new(Method::POST, "/api/v1/namespaces").json(&namespace)).await?;
    load::fill(&client, CLIENTS, objects).await?;
    process.kill();
    let (process, _, full) = start(binary, directory.path()).await?;
    Ok(Readiness {
        empty: starts[STARTS / 2],
        full,
        objects,
        memory: super::processes::resident_mebibytes(process.id()),
    })
}

async fn start(binary: &Path, directory: &Path) -> Result<(Process, Client, Duration), PlaneError> {
    let data = directory.join("data");
    // The kubeconfig of an earlier start names another port.
    let kubeconfig = data.join("admin.kubeconfig");
    if kubeconfig.exists() {
        std::fs::remove_file(&kubeconfig)?;
    }
    let begin = Instant::now();
    let mut process = ours::serve(binary, directory, &data, free_port()?)?;
    loop {
        if let Ok(kubeconfig) = Kubeconfig::read(&kubeconfig) {
            let client = Client::administrator(&kubeconfig)?;
            if let Ok(answer) = client.send(Call::get("/readyz")).await
                && answer.status.is_success()
            {
                return Ok((process, client, begin.elapsed()));
            }
        }
        process.check_running()?;
        if begin.elapsed() > LIMIT {
            return Err(process.not_ready(LIMIT.as_secs()).into());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
