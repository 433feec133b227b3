//! What hosted clusters cost: how soon they take writes, how many fit, and how soon they are gone.

mod restart;
mod seen;

use std::path::Path;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Client;
use kube::api::DeleteParams;
use kube::config::{KubeConfigOptions, Kubeconfig};

use super::Latency;
use super::processes::{Usage, memory, usage_over};
use crate::client::ClientError;
use crate::hosted::{HostedCluster, HostedError, create, guest_of, hosted_clusters, write_into};
use crate::plane::{Plane, PlaneError};
pub use restart::Restart;
use seen::Seen;

/// Requests that are under way at the same time when many clusters are made or removed.
const CONCURRENCY: usize = 32;
/// How long an idle process is watched.
const IDLE: Duration = Duration::from_secs(10);

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum PlanesError {
    /// The plane is not as it should be.
    #[error(transparent)]
    Plane(#[from] PlaneError),
    /// A hosted cluster did not do what it should.
    #[error(transparent)]
    Hosted(#[from] HostedError),
    /// A hosted API cannot be asked.
    #[error(transparent)]
    Asked(#[from] ClientError),
    /// There is no client.
    #[error("no client of the management plane: {0}")]
    Client(String),
}

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Clusters that are made one after the other.
    pub singles: usize,
    /// How often a hundred are made and removed.
    pub rounds: usize,
    /// How many there are at most.
    pub count: usize,
}

/// What was found.
#[derive(Debug)]
pub struct Planes {
    /// From the first request to a successful write, one cluster after the other.
    pub alone: Latency,
    /// What rounds of a hundred left behind.
    pub rounds: Rounds,
    /// How many clusters there were at most.
    pub count: usize,
    /// Until all of them were available.
    pub created: Duration,
    /// What one more cluster needs, in MiB.
    pub memory_each: f64,
    /// The process with all of them, doing nothing.
    pub idle: Usage,
    /// After a crash with all of them.
    pub restart: Restart,
    /// Until all were gone.
    pub destroyed: Duration,
}

/// A hundred clusters, made and removed again and again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    /// The slowest of a hundred that were asked for at once, in the first round.
    pub slowest: Duration,
    /// Memory when the first hundred were gone, in MiB: history and indexes have their size by then.
    pub memory_first: f64,
    /// Memory when the last hundred were gone.
    pub memory_last: f64,
}

/// Measures a plane that has no hosted clusters yet.
pub async fn planes(plane: &mut Plane, binary: &Path, effort: Effort) -> Result<Planes, PlanesError> {
    let client = client_of(&plane.kubeconfig).await?;
    let seen = Seen::follow(&client);
    let address = [127, 0, 0, 1].into();
    let mut alone = Vec::new();
    for number in 0..effort.singles {
        let cluster = HostedCluster::new(format!("single-{number}"), address);
        let start = Instant::now();
        create(&client, &cluster).await?;
        seen.available(&cluster.name).await?;
        write_into(&guest_of(&client, &cluster).await?, "first").await?;
        alone.push(start.elapsed());
    }
    let earlier = clusters("single", effort.singles, address);
    remove(&client, &earlier).await?;
    seen.none_of(&earlier).await?;
    let rounds = rounds(plane, &client, &seen, effort.rounds).await?;

    let memory_before = memory(plane);
    let many = clusters("many", effort.count, address);
    let start = Instant::now();
    make(&client, &many).await?;
    seen.all(&many).await?;
    let created = start.elapsed();
    // What follows availability, such as the objects inside that tell of it, is not idleness.
    tokio::time::sleep(IDLE).await;
    let idle = usage_over(plane, IDLE).await;
    let restart = restart::restart(plane, binary, &client, &many).await?;
    let start = Instant::now();
    remove(&client, &many).await?;
    seen.none_of(&many).await?;
    Ok(Planes {
        alone: Latency::of(alone),
        rounds,
        count: effort.count,
        created,
        memory_each: (idle.memory - memory_before) / effort.count.max(1) as f64,
        idle,
        restart,
        destroyed: start.elapsed(),
    })
}

async fn rounds(plane: &Plane, client: &Client, seen: &Seen, count: usize) -> Result<Rounds, PlanesError> {
    let mut found = Rounds::default();
    for round in 0..count {
        let hundred = clusters("hundred", 100, [127, 0, 0, 1].into());
        let start = Instant::now();
        make(client, &hundred).await?;
        seen.all(&hundred).await?;
        if round == 0 {
            found.slowest = start.elapsed();
        }
        remove(client, &hundred).await?;
        seen.none_of(&hundred).await?;
        if round == 0 {
            found.memory_first = usage_over(plane, IDLE).await.memory;
        }
    }
    found.memory_last = usage_over(plane, IDLE).await.memory;
    Ok(found)
}

/// A client of the plane that a kubeconfig names.
pub(super) async fn client_of(kubeconfig: &Path) -> Result<Client, PlanesError> {
    let wrong = |error: &dyn std::fmt::Display| PlanesError::Client(error.to_string());
    let kubeconfig = Kubeconfig::read_from(kubeconfig).map_err(|error| wrong(&error))?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .map_err(|error| wrong(&error))?;
    Client::try_from(config).map_err(|error| wrong(&error))
}

fn clusters(prefix: &str, count: usize, address: std::net::IpAddr) -> Vec<HostedCluster> {
    (0..count).map(|number| HostedCluster::new(format!("{prefix}-{number}"), address)).collect()
}

async fn make(client: &Client, clusters: &[HostedCluster]) -> Result<(), HostedError> {
    let requests: Vec<_> = clusters.iter().map(|cluster| create(client, cluster)).collect();
    stream::iter(requests).buffer_unordered(CONCURRENCY).try_collect().await
}

async fn remove(client: &Client, clusters: &[HostedCluster]) -> Result<(), HostedError> {
    let api = hosted_clusters(client);
    let parameters = DeleteParams::default();
    let requests: Vec<_> = clusters.iter().map(|cluster| api.delete(&cluster.name, &parameters)).collect();
    let outcome: Result<Vec<_>, kube::Error> = stream::iter(requests).buffer_unordered(CONCURRENCY).try_collect().await;
    outcome.map(drop).map_err(|source| HostedError::Refused {
        what: "a cluster was not deleted".to_owned(),
        source: Box::new(source),
    })
}
