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
use tokio::sync::Notify;

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
    seen_when(&all, None, hosts.len(), is_in("known-unbound")).await?;
    let registered = started.elapsed();
    let approving = Instant::now();
    let ids: Vec<String> = hosts.iter().map(|host| host.id().to_owned()).collect();
    let bound = approvals(&all, None, &ids).await?;
    seen_when(&all, None, hosts.len(), is_in("added-to-existing-cluster")).await?;
    let ready = approving.elapsed();
    let giving = Instant::now();
    scale(&client, &cluster, 0).await?;
    let is_free = |agent: &DynamicObject| {
        is_in("known-unbound")(agent) && agent.data["spec"]["clusterDeploymentName"]["name"].is_null()
    };
    seen_when(&all, None, hosts.len(), is_free).await?;
    Ok(Hosts { registered, bound, ready, given_back: giving.elapsed() })
}

/// Whether an Agent is in a state.
pub(super) fn is_in(wanted: &'static str) -> impl Fn(&DynamicObject) -> bool {
    move |agent| agent.data["status"]["debugInfo"]["state"] == wanted
}

/// Approves hosts, and says how long each waited for its pool.
pub(super) async fn approvals(
    agents: &Api<DynamicObject>,
    labels: Option<&str>,
    ids: &[String],
) -> Result<Latency, NodesError> {
    let is_bound = |agent: &DynamicObject| {
        agent.data["spec"]["clusterDeploymentName"]["name"].is_string()
            && agent.metadata.name.as_ref().is_some_and(|name| ids.contains(name))
    };
    let listed = Notify::new();
    let approve = async {
        // Reading all Agents takes the longer the more there are, and is not what is measured.
        listed.notified().await;
        let approvals = ids.iter().map(|id| approve(agents, id));
        let approved: Vec<(String, Instant)> =
            futures::stream::iter(approvals).buffer_unordered(APPROVALS).try_collect().await?;
        Ok::<_, NodesError>(approved.into_iter().collect::<HashMap<_, _>>())
    };
    let (approved, taken) = tokio::try_join!(approve, seen_from(&listed, agents, labels, ids.len(), is_bound))?;
    let waits = taken.into_iter().filter_map(|(id, at)| Some(at.saturating_duration_since(*approved.get(&id)?)));
    Ok(Latency::of(waits.collect()))
}

async fn approve(agents: &Api<DynamicObject>, id: &str) -> Result<(String, Instant), NodesError> {
    let patch = Patch::Merge(json!({"spec": {"approved": true}}));
    let approved = agents.patch(id, &PatchParams::default(), &patch).await;
    approved.map_err(|error| NodesError::Client(error.to_string()))?;
    Ok((id.to_owned(), Instant::now()))
}

/// When each of so many Agents was first seen to be as wished, among those with these labels.
pub(super) async fn seen_when(
    agents: &Api<DynamicObject>,
    labels: Option<&str>,
    count: usize,
    is_so: impl Fn(&DynamicObject) -> bool,
) -> Result<HashMap<String, Instant>, NodesError> {
    seen_from(&Notify::new(), agents, labels, count, is_so).await
}

/// The same, and says when all that there are were read and changes are told.
async fn seen_from(
    listed: &Notify,
    agents: &Api<DynamicObject>,
    labels: Option<&str>,
    count: usize,
    is_so: impl Fn(&DynamicObject) -> bool,
) -> Result<HashMap<String, Instant>, NodesError> {
    let mut seen = HashMap::new();
    let config = watcher::Config::default();
    let config = labels.map_or(config.clone(), |labels| config.labels(labels));
    let mut events = pin!(watcher::watcher(agents.clone(), config));
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while seen.len() < count {
        let late =
            |seen: usize| NodesError::Late { ready: seen, count, trouble: "the others are not so yet".to_owned() };
        let event = tokio::time::timeout_at(deadline, events.next()).await.map_err(|_| late(seen.len()))?;
        let event = event.ok_or_else(|| late(seen.len()))?.map_err(|error| NodesError::Client(error.to_string()))?;
        match event {
            watcher::Event::Apply(agent) | watcher::Event::InitApply(agent) if is_so(&agent) => {
                seen.entry(agent.metadata.name.unwrap_or_default()).or_insert_with(Instant::now);
            }
            watcher::Event::InitDone => listed.notify_one(),
            _ => {}
        }
    }
    Ok(seen)
}
