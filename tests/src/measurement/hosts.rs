//! Many discovered hosts: how fast they register, how soon a pool takes those that are approved, and when all are nodes.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::pin;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::runtime::watcher;
use roost_sim::{Host, Simulator};
use serde_json::json;

use super::Latency;
use super::nodes::{NodesError, management, raise_file_limit};
use crate::hosted::{HostedCluster, agents, create, prepare_environment, scale, wait_until_ready};
use crate::plane::Plane;

const NAME: &str = "hosts";
const NAMESPACE: &str = "hardware";
/// How long all hosts may take for one step.
const PATIENCE: Duration = Duration::from_mins(5);
/// Approvals that are under way at the same time.
const APPROVALS: usize = 16;

/// What was found.
#[derive(Debug)]
pub struct Hosts {
    /// Until all had registered and sent what they consist of.
    pub registered: Duration,
    /// From an approval until a pool has the host.
    pub bound: Latency,
    /// From the first approval until all are Ready nodes.
    pub ready: Duration,
    /// Until all are free again after the pool was scaled to nothing.
    pub given_back: Duration,
}

/// Has hosts register, be approved, become nodes and be given back.
pub async fn hosts(plane: &Plane, count: u16) -> Result<Hosts, NodesError> {
    raise_file_limit();
    let client = management(plane).await?;
    let cluster = HostedCluster::on_agents(NAME, IpAddr::V4(Ipv4Addr::LOCALHOST), NAMESPACE);
    create(&client, &cluster).await?;
    wait_until_ready(&client, &cluster).await?;
    scale(&client, &cluster, count).await?;
    let environment = prepare_environment(&client, NAMESPACE, NAME).await?;
    let simulator = Simulator::new();
    let started = Instant::now();
    let hosts: Vec<Host> = (1..=count).map(|number| simulator.turn_on(environment.host_of(number))).collect();
    let all = agents(&client, NAMESPACE);
    let is = |wanted: &'static str| move |agent: &DynamicObject| agent.data["status"]["debugInfo"]["state"] == wanted;
    when(&all, hosts.len(), is("known-unbound")).await?;
    let registered = started.elapsed();
    let approving = Instant::now();
    let bound = |agent: &DynamicObject| agent.data["spec"]["clusterDeploymentName"]["name"].is_string();
    let approve = async {
        let approvals = hosts.iter().map(|host| approve(&all, host.id()));
        let approved: Vec<(String, Instant)> =
            futures::stream::iter(approvals).buffer_unordered(APPROVALS).try_collect().await?;
        Ok::<_, NodesError>(approved.into_iter().collect::<HashMap<_, _>>())
    };
    let (approved, taken) = tokio::try_join!(approve, when(&all, hosts.len(), bound))?;
    let waits = taken.into_iter().filter_map(|(id, at)| Some(at.saturating_duration_since(*approved.get(&id)?)));
    let bound = Latency::of(waits.collect());
    when(&all, hosts.len(), is("added-to-existing-cluster")).await?;
    let ready = approving.elapsed();
    let giving = Instant::now();
    scale(&client, &cluster, 0).await?;
    let is_free = |agent: &DynamicObject| {
        is("known-unbound")(agent) && agent.data["spec"]["clusterDeploymentName"]["name"].is_null()
    };
    when(&all, hosts.len(), is_free).await?;
    Ok(Hosts { registered, bound, ready, given_back: giving.elapsed() })
}

async fn approve(agents: &Api<DynamicObject>, id: &str) -> Result<(String, Instant), NodesError> {
    let patch = Patch::Merge(json!({"spec": {"approved": true}}));
    let approved = agents.patch(id, &PatchParams::default(), &patch).await;
    approved.map_err(|error| NodesError::Client(error.to_string()))?;
    Ok((id.to_owned(), Instant::now()))
}

/// When each of so many Agents was first seen to be as wished.
async fn when(
    agents: &Api<DynamicObject>,
    count: usize,
    is_so: impl Fn(&DynamicObject) -> bool,
) -> Result<HashMap<String, Instant>, NodesError> {
    let mut seen = HashMap::new();
    let mut events = pin!(watcher::watcher(agents.clone(), watcher::Config::default()));
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while seen.len() < count {
        let late =
            |seen: usize| NodesError::Late { ready: seen, count, trouble: "the others are not so yet".to_owned() };
        let event = tokio::time::timeout_at(deadline, events.next()).await.map_err(|_| late(seen.len()))?;
        let event = event.ok_or_else(|| late(seen.len()))?.map_err(|error| NodesError::Client(error.to_string()))?;
        if let watcher::Event::Apply(agent) | watcher::Event::InitApply(agent) = event
            && is_so(&agent)
        {
            seen.entry(agent.metadata.name.unwrap_or_default()).or_insert_with(Instant::now);
        }
    }
    Ok(seen)
}
