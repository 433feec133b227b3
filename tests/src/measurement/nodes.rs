//! Many simulated nodes of one hosted cluster: how fast they join, how soon their requests are answered, and what they
//! cost once they are there.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::join_all;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use roost_sim::{Node, NodeSpec, Progress, Simulator, Stage, Start, Statistics};
use rustix::process::{Resource, getrlimit, setrlimit};

use super::Latency;
use super::processes::{Usage, memory, own_memory, own_processor, processor};
use crate::hosted::{HostedCluster, HostedError, create, scale, secrets, until};
use crate::plane::{Plane, PlaneError};

/// The cluster and its pool.
const NAME: &str = "bench";
/// How long all nodes may take.
const PATIENCE: Duration = Duration::from_mins(5);

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum NodesError {
    /// The plane is not as it should be.
    #[error(transparent)]
    Plane(#[from] PlaneError),
    /// The hosted cluster did not do what it should.
    #[error(transparent)]
    Hosted(#[from] HostedError),
    /// There is no client.
    #[error("no client of the management plane: {0}")]
    Client(String),
    /// Not all nodes came.
    #[error("{ready} of {count} nodes were ready after {} s; one that was not says: {trouble}", PATIENCE.as_secs())]
    Late {
        /// How many were ready.
        ready: usize,
        /// How many there should be.
        count: usize,
        /// What one of the others said.
        trouble: String,
    },
}

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How many nodes.
    pub count: u16,
    /// How many boot in a second; zero for all at once.
    pub rate: u16,
    /// How long they are watched once they are there.
    pub period: Duration,
}

/// What was found.
#[derive(Debug)]
pub struct Nodes {
    /// Until all were ready.
    pub joined: Duration,
    /// From the start of a host to its ready node.
    pub join: Latency,
    /// From a signing request for a client certificate to its approval.
    pub approval: Latency,
    /// What became of the heartbeats in the period after.
    pub heartbeats: Statistics,
    /// How many nodes the plane then held for ready.
    pub ready_after: usize,
    /// The processor time of the plane while they joined, in seconds.
    pub joining_processor: f64,
    /// The memory of the plane before the first one came, in MiB.
    pub memory_before: f64,
    /// The plane with all of them.
    pub plane: Usage,
    /// The simulator with all of them: its memory is what they added.
    pub simulator: Usage,
}

/// Has nodes join a hosted cluster of a whole plane, and watches them.
pub async fn nodes(plane: &Plane, effort: Effort) -> Result<Nodes, NodesError> {
    raise_file_limit();
    let user_data = prepare(plane, effort.count).await?;
    let (memory_before, own_before) = (memory(plane), own_memory());
    let spent_before = processor(plane);
    let started = Instant::now();
    let simulator = Simulator::new();
    let mut nodes: Vec<Node> = Vec::new();
    for number in 0..effort.count {
        if effort.rate > 0 {
            let due = started + Duration::from_secs(number.into()) / u32::from(effort.rate);
            tokio::time::sleep_until(due.into()).await;
        }
        nodes.push(simulator.spawn(spec(number, &user_data)));
    }
    let ready = join_all(nodes.iter().map(|node| node.reach(Stage::Ready)));
    let Ok(reached) = tokio::time::timeout(PATIENCE, ready).await else { return Err(late(&nodes)) };
    let joined = started.elapsed();
    let joining_processor = processor(plane) - spent_before;
    let heartbeats_before = total(&nodes);
    let (spent, own_spent, watched) = (processor(plane), own_processor(), Instant::now());
    tokio::time::sleep(effort.period).await;
    let elapsed = watched.elapsed().as_secs_f64();
    let share = |seconds: f64| seconds / elapsed * 100.0;
    let heartbeats = total(&nodes);
    Ok(Nodes {
        joined,
        join: Latency::of(reached.iter().filter_map(|progress| progress.reached(Stage::Ready)).collect()),
        approval: Latency::of(reached.iter().filter_map(approval).collect()),
        heartbeats: Statistics {
            heartbeats: heartbeats.heartbeats - heartbeats_before.heartbeats,
            late: heartbeats.late - heartbeats_before.late,
            failed: heartbeats.failed - heartbeats_before.failed,
        },
        ready_after: ready_nodes(plane).await?,
        joining_processor,
        memory_before,
        plane: Usage { memory: memory(plane), processor: share(processor(plane) - spent) },
        simulator: Usage { memory: own_memory() - own_before, processor: share(own_processor() - own_spent) },
    })
}

pub(crate) async fn management(plane: &Plane) -> Result<kube::Client, NodesError> {
    let wrong = |error: &dyn std::fmt::Display| NodesError::Client(error.to_string());
    let kubeconfig = Kubeconfig::read_from(&plane.kubeconfig).map_err(|error| wrong(&error))?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    kube::Client::try_from(config.map_err(|error| wrong(&error))?).map_err(|error| wrong(&error))
}

/// A cluster with a pool, and what its hosts are booted with.
async fn prepare(plane: &Plane, count: u16) -> Result<Vec<u8>, NodesError> {
    let client = management(plane).await?;
    let cluster = HostedCluster::new(NAME, IpAddr::V4(Ipv4Addr::LOCALHOST));
    create(&client, &cluster).await?;
    scale(&client, &cluster, count).await?;
    let secrets = secrets(&client, &cluster.control_plane_namespace());
    let prefix = format!("user-data-{NAME}-");
    let found = until("the pool has user-data", async || {
        let list = secrets.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let names = |name: Option<&String>| name.is_some_and(|name| name.starts_with(&prefix));
        let secret = list.items.into_iter().find(|secret| names(secret.metadata.name.as_ref()));
        let value = secret.and_then(|secret| secret.data["data"]["value"].as_str().map(str::to_owned));
        value.and_then(|value| STANDARD.decode(value).ok()).ok_or_else(|| "there are none".to_owned())
    });
    Ok(found.await?)
}

fn spec(number: u16, user_data: &[u8]) -> NodeSpec {
    let mut spec = NodeSpec::new(format!("{NAME}-{number}"), Start::UserData(user_data.to_vec()));
    let [high, low] = number.to_be_bytes();
    // The last part of an address is neither the first nor the last of its network.
    spec.address = IpAddr::V4(Ipv4Addr::new(127, 80 + high, low, 10));
    spec
}

fn approval(progress: &Progress) -> Option<Duration> {
    progress.reached(Stage::Approved)?.checked_sub(progress.reached(Stage::Requested)?)
}

fn total(nodes: &[Node]) -> Statistics {
    nodes.iter().map(Node::statistics).fold(Statistics::default(), |sum, one| Statistics {
        heartbeats: sum.heartbeats + one.heartbeats,
        late: sum.late + one.late,
        failed: sum.failed + one.failed,
    })
}

fn late(nodes: &[Node]) -> NodesError {
    let is_ready = |node: &&Node| node.progress().borrow().stage >= Stage::Ready;
    let ready = nodes.iter().filter(is_ready).count();
    let other = nodes.iter().find(|node| !is_ready(node));
    let trouble = other.map(|node| format!("{:?}", *node.progress().borrow())).unwrap_or_default();
    NodesError::Late { ready, count: nodes.len(), trouble }
}

/// The nodes that the hosted plane holds for ready.
async fn ready_nodes(plane: &Plane) -> Result<usize, NodesError> {
    let client = management(plane).await?;
    let cluster = HostedCluster::new(NAME, IpAddr::V4(Ipv4Addr::LOCALHOST));
    let guest = crate::hosted::guest_of(&client, &cluster).await?;
    let nodes: kube::Api<k8s_openapi::api::core::v1::Node> = kube::Api::all(guest);
    let list = nodes.list(&ListParams::default()).await.map_err(|error| NodesError::Client(error.to_string()))?;
    let ready = |node: &k8s_openapi::api::core::v1::Node| {
        let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
        conditions.into_iter().flatten().any(|condition| condition.type_ == "Ready" && condition.status == "True")
    };
    Ok(list.items.iter().filter(|node| ready(node)).count())
}

/// Every node has a connection, so the soft limit of a login shell is too low.
pub(super) fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        eprintln!("the limit of open files stays as it is: {error}");
    }
}
