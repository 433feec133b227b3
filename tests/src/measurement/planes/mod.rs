//! What hosted clusters cost: how soon they take writes, how many fit, and how soon they are gone.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _, pin_mut, stream};
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::watcher::{self, Event};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Latency;
use super::processes::{Usage, memory, usage_over};
use crate::hosted::{HostedCluster, HostedError, create, guest_of, hosted_clusters, write_into};
use crate::plane::{Plane, PlaneError};

/// Requests that are under way at the same time when many clusters are made or removed.
const CONCURRENCY: usize = 32;
/// How long anything may take.
const PATIENCE: Duration = Duration::from_mins(5);
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
    /// There is no client.
    #[error("no client of the management plane: {0}")]
    Client(String),
}

/// What was found.
#[derive(Debug)]
pub struct Planes {
    /// From the first request to a successful write, one cluster after the other.
    pub alone: Latency,
    /// The slowest of a hundred that were asked for at once.
    pub slowest_of_hundred: Duration,
    /// How many clusters there were at most.
    pub count: usize,
    /// Until all of them were available.
    pub created: Duration,
    /// What one more cluster needs, in MiB.
    pub memory_each: f64,
    /// The process with all of them, doing nothing.
    pub idle: Usage,
    /// Until all were gone.
    pub destroyed: Duration,
    /// Memory before there was any cluster, in MiB.
    pub memory_before: f64,
    /// Memory after all were gone, in MiB.
    pub memory_after: f64,
}

/// Measures a plane that has no hosted clusters yet.
pub async fn planes(plane: &Plane, singles: usize, count: usize) -> Result<Planes, PlanesError> {
    let client = client(&plane.kubeconfig).await?;
    let seen = Seen::follow(&client);
    let address = [127, 0, 0, 1].into();
    let mut alone = Vec::new();
    for number in 0..singles {
        let cluster = HostedCluster::new(format!("single-{number}"), address);
        let start = Instant::now();
        create(&client, &cluster).await?;
        seen.available(&cluster.name).await?;
        write_into(&guest_of(&client, &cluster).await?, "first").await?;
        alone.push(start.elapsed());
    }
    let start = Instant::now();
    let hundred = clusters("hundred", 100, address);
    make(&client, &hundred).await?;
    seen.all(&hundred).await?;
    let slowest_of_hundred = start.elapsed();
    let mut earlier = clusters("single", singles, address);
    earlier.extend(hundred);
    remove(&client, &earlier).await?;
    seen.none_of(&earlier).await?;

    let memory_before = memory(plane);
    let many = clusters("many", count, address);
    let start = Instant::now();
    make(&client, &many).await?;
    seen.all(&many).await?;
    let created = start.elapsed();
    // What follows availability, such as the objects inside that tell of it, is not idleness.
    tokio::time::sleep(IDLE).await;
    let idle = usage_over(plane, IDLE).await;
    let start = Instant::now();
    remove(&client, &many).await?;
    seen.none_of(&many).await?;
    let destroyed = start.elapsed();
    let memory_after = usage_over(plane, IDLE).await.memory;
    Ok(Planes {
        alone: Latency::of(alone),
        slowest_of_hundred,
        count,
        created,
        memory_each: (idle.memory - memory_before) / count.max(1) as f64,
        idle,
        destroyed,
        memory_before,
        memory_after,
    })
}

async fn client(kubeconfig: &Path) -> Result<Client, PlanesError> {
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

/// Which clusters there are, and whether they are available, as a watch tells.
struct Seen {
    clusters: Arc<Mutex<HashMap<String, bool>>>,
    changed: Arc<Notify>,
    task: tokio::task::JoinHandle<()>,
}

impl Seen {
    fn follow(client: &Client) -> Seen {
        let clusters: Arc<Mutex<HashMap<String, bool>>> = Arc::default();
        let changed = Arc::new(Notify::new());
        let (list, told, api) = (Arc::clone(&clusters), Arc::clone(&changed), hosted_clusters(client));
        let task = tokio::spawn(async move { watch(api, &list, &told).await });
        Seen { clusters, changed, task }
    }

    async fn until(&self, what: &str, holds: impl Fn(&HashMap<String, bool>) -> bool) -> Result<(), HostedError> {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                if holds(&self.clusters.lock()) {
                    return;
                }
                changed.await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.map_err(|_| HostedError::Late {
            what: what.to_owned(),
            seconds: PATIENCE.as_secs(),
            seen: format!("{} available", self.clusters.lock().values().filter(|available| **available).count()),
        })
    }

    async fn available(&self, name: &str) -> Result<(), HostedError> {
        self.until(name, |clusters| clusters.get(name) == Some(&true)).await
    }

    async fn all(&self, wanted: &[HostedCluster]) -> Result<(), HostedError> {
        self.until("all are available", |clusters| {
            wanted.iter().all(|cluster| clusters.get(&cluster.name) == Some(&true))
        })
        .await
    }

    async fn none_of(&self, wanted: &[HostedCluster]) -> Result<(), HostedError> {
        self.until("all are gone", |clusters| !wanted.iter().any(|cluster| clusters.contains_key(&cluster.name))).await
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn watch(api: Api<DynamicObject>, clusters: &Mutex<HashMap<String, bool>>, changed: &Notify) {
    let events = watcher::watcher(api, watcher::Config::default());
    pin_mut!(events);
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => {
                let conditions = object.data["status"]["conditions"].as_array();
                let available = conditions
                    .into_iter()
                    .flatten()
                    .any(|condition| condition["type"] == "Available" && condition["status"] == "True")
                    && object.data["status"]["kubeconfig"].is_object();
                clusters.lock().insert(object.metadata.name.unwrap_or_default(), available);
            }
            Ok(Event::Delete(object)) => {
                clusters.lock().remove(&object.metadata.name.unwrap_or_default());
            }
            Ok(Event::Init | Event::InitDone) => {}
            // The kinds come a moment after the plane itself.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        changed.notify_waiters();
    }
}
