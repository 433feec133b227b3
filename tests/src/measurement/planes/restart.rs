//! How soon a process that was killed serves again, with all of its hosted clusters.

use std::path::Path;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{CONCURRENCY, PlanesError};
use crate::client::{Call, Client};
use crate::hosted::{HostedCluster, HostedError, kubeconfig_of};
use crate::kubeconfig::Kubeconfig;
use crate::ours;
use crate::plane::Plane;

/// How often a hosted API that does not answer yet is asked again.
const INTERVAL: Duration = Duration::from_millis(20);
/// How long all of them may take.
const PATIENCE: Duration = Duration::from_mins(2);

/// From the start of the process, which was killed before.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// Until the management plane is ready.
    pub ready: Duration,
    /// Until every hosted API has answered its administrator.
    pub all_answering: Duration,
}

/// Kills and starts a plane, and asks all of its clusters.
pub(super) async fn restart(
    plane: &mut Plane,
    binary: &Path,
    client: &kube::Client,
    clusters: &[HostedCluster],
) -> Result<Restart, PlanesError> {
    let mut guests = Vec::new();
    for cluster in clusters {
        let text = kubeconfig_of(client, cluster).await?;
        let kubeconfig = Kubeconfig::parse(&text, Path::new(&cluster.name)).map_err(crate::plane::PlaneError::from)?;
        guests.push(Client::administrator(&kubeconfig)?);
    }
    let start = Instant::now();
    let ready = ours::restart(plane, binary).await?;
    let answers: Vec<_> = guests.iter().map(|guest| answers(guest, start)).collect();
    let _: Vec<()> = stream::iter(answers).buffer_unordered(CONCURRENCY).try_collect().await?;
    Ok(Restart { ready, all_answering: start.elapsed() })
}

async fn answers(guest: &Client, start: Instant) -> Result<(), PlanesError> {
    loop {
        let seen = match guest.send(Call::get("/api/v1/namespaces/default")).await {
            Ok(answer) if answer.status.is_success() => return Ok(()),
            Ok(answer) => answer.status.to_string(),
            Err(error) => error.to_string(),
        };
        if start.elapsed() > PATIENCE {
            return Err(HostedError::Late { what: "all answered".to_owned(), seconds: PATIENCE.as_secs(), seen }.into());
        }
        tokio::time::sleep(INTERVAL).await;
    }
}
