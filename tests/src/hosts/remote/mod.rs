//! Workers of a far site: behind a router that translates addresses, over a line of 50 ms, 0.02 % loss and 20 Mbit/s.
//!
//! Simulated hosts register there, are checked without a waiver, bound, installed and Ready; then the line is cut.

mod site;

use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use kube::Client;
use kube::api::{ListParams, Patch, PatchParams};
use roost_sim::{Host, HostSpec, Simulator};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};

use super::HostsError;
use crate::hosted::{
    HostedCluster, HostedError, agents, api, condition, create, prepare_environment, scale, until, wait_until_ready,
};
use crate::ours;
use site::Site;

const NAME: &str = "far";
const NAMESPACE: &str = "far-hosts";

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct RemoteJourney<'a> {
    /// The `hcp` binary.
    pub hcp: &'a Path,
    /// Hosts that become nodes; one more waits.
    pub hosts: u8,
    /// How long the line is cut.
    pub cut: Duration,
}

/// Nodes that were not heard of for so long are not Ready any more, with some seconds to spare.
const LOST_AFTER: Duration = Duration::from_mins(1);

/// What was found.
#[derive(Debug)]
pub struct Remote {
    /// How long a connection takes: one round trip.
    pub round_trip: Duration,
    /// From power-on to the approval: registered and found fit.
    pub known: Duration,
    /// From the approval until all are Ready nodes.
    pub joined: Duration,
    /// From the mending of the line until a waiting host did what it was told.
    pub heard: Duration,
    /// From the mending of the line until all nodes that were Ready before it was cut are again.
    pub healed: Duration,
    /// From the mending of the line until the waiting host is a Ready node, too.
    pub ready: Duration,
}

/// Makes the networks, runs everything in them, and takes them away.
pub fn run(journey: RemoteJourney<'_>, tell: &(dyn Fn(&str) + Sync)) -> Result<Remote, HostsError> {
    let mut networks = Site::make(journey.hosts + 1)?;
    let far = inside("site", || Builder::new_multi_thread().worker_threads(1).enable_all().build())?;
    let far = far.map_err(|error| HostsError::Wrong(format!("no runtime: {error}")))?;
    let found = inside("hub", || {
        let here = Builder::new_current_thread().enable_all().build();
        let here = here.map_err(|error| HostsError::Wrong(format!("no runtime: {error}")))?;
        here.block_on(travel(journey, &mut networks, &far, tell))
    });
    far.shutdown_background();
    found?
}

/// Runs something on a thread of its own in one of the namespaces.
fn inside<T: Send>(part: &str, work: impl FnOnce() -> T + Send) -> Result<T, HostsError> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| site::enter(part).map(|()| work()));
        thread.join().unwrap_or_else(|_| Err(HostsError::Wrong(format!("the thread in {part} broke"))))
    })
}

fn wrong(error: &dyn std::fmt::Display) -> HostsError {
    HostsError::Wrong(error.to_string())
}

impl From<HostedError> for HostsError {
    fn from(error: HostedError) -> Self {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Self::Wrong(format!("{error}{cause}"))
    }
}

async fn travel(
    journey: RemoteJourney<'_>,
    networks: &mut Site,
    far: &Runtime,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Remote, HostsError> {
    let plane = ours::start_in(journey.hcp, &site::path("hub"), IpAddr::V4(site::HUB)).await;
    let plane = plane.map_err(|error| wrong(&error))?;
    let client = crate::measurement::management(&plane).await.map_err(|error| wrong(&error))?;
    let cluster = HostedCluster::on_agents(NAME, IpAddr::V4(site::HUB), NAMESPACE);
    create(&client, &cluster).await?;
    let guest = wait_until_ready(&client, &cluster).await?;
    let environment = prepare_environment(&client, NAMESPACE, NAME).await?;
    let round_trip = round_trip(far).await?;
    tell(&format!("a hosted cluster is there; a connection from the site takes {} ms", round_trip.as_millis()));
    let (simulator, begin) = (Simulator::new(), Instant::now());
    let mut hosts = Vec::new();
    for number in 1..=journey.hosts + 1 {
        let address = IpAddr::V4(site::address(number));
        let spec = HostSpec { address, ..environment.host(number) };
        let simulator = simulator.clone();
        let host = far.spawn(async move { simulator.turn_on(spec) }).await.map_err(|error| wrong(&error))?;
        hosts.push(host);
    }
    for host in &hosts {
        known(&client, host).await?;
    }
    let known = begin.elapsed();
    tell(&format!("{} hosts registered and are fit, without a waiver", hosts.len()));
    let (begin, count) = (Instant::now(), usize::from(journey.hosts));
    for host in &hosts {
        let patch = Patch::Merge(json!({"spec": {"approved": true}}));
        let approved = agents(&client, NAMESPACE).patch(host.id(), &PatchParams::default(), &patch).await;
        approved.map_err(|error| wrong(&error))?;
    }
    scale(&client, &cluster, u16::from(journey.hosts)).await?;
    ready_nodes(&guest, count).await?;
    let joined = begin.elapsed();
    tell(&format!("{count} of them are Ready nodes"));
    let waiting = hosts.iter().position(|host| !host.progress().borrow().is_node);
    let waiting = waiting.map(|place| hosts.swap_remove(place)).ok_or_else(|| wrong(&"no host waits"))?;
    let before = ready_names(&guest).await?;
    networks.say("cut")?;
    tokio::time::sleep(journey.cut).await;
    scale(&client, &cluster, u16::from(journey.hosts) + 1).await?;
    let still = ready_names(&guest).await?;
    if journey.cut >= LOST_AFTER && !still.is_empty() {
        return Err(HostsError::Wrong(format!("{} were not missed while the line was cut", still.join(", "))));
    }
    networks.say("mend")?;
    let begin = Instant::now();
    let heard = async {
        let mut progress = waiting.progress();
        let told = tokio::time::timeout(Duration::from_mins(1), progress.wait_for(|now| now.installations > 0));
        told.await.map_err(|_| wrong(&"the waiting host was not heard of again")).map(|_| begin.elapsed())
    };
    let (heard, healed, ready) = tokio::try_join!(
        heard,
        async {
            ready_again(&guest, &before).await?;
            Ok(begin.elapsed())
        },
        async {
            ready_nodes(&guest, count + 1).await?;
            Ok(begin.elapsed())
        }
    )?;
    tell(&format!("the line was cut for {} s and healed by itself", journey.cut.as_secs()));
    Ok(Remote { round_trip, known, joined, heard, healed, ready })
}

/// How long a host of the site needs to open a connection, at best.
async fn round_trip(far: &Runtime) -> Result<Duration, HostsError> {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let connect = async {
            let start = Instant::now();
            TcpStream::connect((site::HUB, ours::REMOTE_PORT)).await.map(|_| start.elapsed())
        };
        let took = far.spawn(connect).await.map_err(|error| wrong(&error))?;
        best = best.min(took.map_err(|error| wrong(&error))?);
    }
    if best < site::ROUND_TRIP {
        return Err(HostsError::Wrong(format!("{} ms is no bad line", best.as_millis())));
    }
    Ok(best)
}

/// Waits until a host is fit, and looks whether somebody waived something.
async fn known(client: &Client, host: &Host) -> Result<(), HostsError> {
    let agent = until(&format!("{} was known", host.id()), async || {
        let agent = agents(client, NAMESPACE).get(host.id()).await.map_err(|error| error.to_string())?;
        let debug = &agent.data["status"]["debugInfo"];
        if debug["state"] == "known-unbound" { Ok(agent) } else { Err(debug.to_string()) }
    })
    .await?;
    if condition(&agent, "ValidationsWaived").0 == "missing" && condition(&agent, "Validated").0 == "True" {
        Ok(())
    } else {
        Err(HostsError::Wrong(format!("{} is not fit by itself: {}", host.id(), agent.data["status"]["conditions"])))
    }
}

/// The names of the nodes that are Ready.
async fn ready_names(guest: &Client) -> Result<Vec<String>, HostsError> {
    let nodes = api(guest, "v1", "Node", "nodes", "").list(&ListParams::default()).await;
    let nodes = nodes.map_err(|error| wrong(&error))?;
    let ready = nodes.items.iter().filter(|node| condition(node, "Ready").0 == "True");
    Ok(ready.filter_map(|node| node.metadata.name.clone()).collect())
}

/// Waits until nodes are Ready that were so before.
async fn ready_again(guest: &Client, before: &[String]) -> Result<(), HostsError> {
    until(&format!("{} were Ready again", before.join(", ")), async || {
        let ready = ready_names(guest).await.map_err(|error| error.to_string())?;
        if before.iter().all(|name| ready.contains(name)) { Ok(()) } else { Err(format!("{ready:?} are")) }
    })
    .await
    .map_err(Into::into)
}

/// Waits until so many nodes are Ready.
async fn ready_nodes(guest: &Client, count: usize) -> Result<(), HostsError> {
    let nodes = api(guest, "v1", "Node", "nodes", "");
    until(&format!("{count} nodes were Ready"), async || {
        let all = nodes.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let ready = all.items.iter().filter(|node| condition(node, "Ready").0 == "True").count();
        if ready == count { Ok(()) } else { Err(format!("{ready} are")) }
    })
    .await
    .map_err(Into::into)
}
