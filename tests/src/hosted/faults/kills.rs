//! Kills while discovered hosts come and go: of the controllers with their service, and of a whole process with its store.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use kube::api::{DeleteParams, DynamicObject, ListParams};
use roost_sim::{Host, HostSpec, Simulator};

use super::super::metal::prepare;
use super::super::objects::{connect, create, refused, scale, until, wait_until_gone};
use super::super::{HostedCluster, HostedError, Management, Step, hosted_clusters, wait_until_ready};
use super::{Faults, NAME, NAMESPACE};
use crate::ours;
use crate::plane::Plane;
use crate::random::Random;

/// Kills until everything has to be as wished.
const KILLS_TO_LOOK: usize = 10;
/// How long a change takes that a kill falls into, roughly, in milliseconds.
const CHANGE: u64 = 800;
/// How many hosts there are when whole processes are killed, and how long each stage of theirs takes.
const HOSTS: u8 = 5;
const STAGE: Duration = Duration::from_millis(100);

/// What is killed.
pub(super) enum Victim<'a> {
    /// The controllers with their service, in the middle of whatever they do.
    Controllers(&'a mut Management),
    /// `hcp up`: with the controllers their store, and the planes of all clusters.
    Process(&'a mut Plane, &'a Path),
}

impl Victim<'_> {
    /// Kills it and starts it again, the controllers after a pause.
    async fn kill(&mut self, pause: Duration) -> Result<(), HostedError> {
        match self {
            Self::Controllers(management) => {
                management.kill_operator();
                tokio::time::sleep(pause).await;
                management.start_operator();
                Ok(())
            }
            Self::Process(plane, binary) => {
                let restarted = ours::restart(plane, binary).await;
                restarted.map(drop).map_err(|error| HostedError::Wrong(error.to_string()))
            }
        }
    }
}

/// Kills `hcp up` so many times while its hosts come and go.
pub async fn run(binary: &Path, times: usize, random: &mut Random, tell: Step<'_>) -> Result<(), HostedError> {
    let wrong = |error: &dyn std::fmt::Display| HostedError::Wrong(error.to_string());
    let mut plane = ours::start_whole(binary).await.map_err(|error| wrong(&error))?;
    let text = std::fs::read_to_string(&plane.kubeconfig).map_err(|error| wrong(&error))?;
    let client = connect(&text).await?;
    let environment = prepare(&client, NAMESPACE, NAME).await?;
    let cluster = HostedCluster::on_agents(NAME, [127, 0, 0, 1].into(), NAMESPACE);
    create(&client, &cluster).await?;
    let guest = wait_until_ready(&client, &cluster).await?;
    let faults = Faults { client: &client, guest: &guest, cluster: &cluster, simulator: Simulator::new() };
    let mut hosts = BTreeMap::new();
    for number in 1..=HOSTS {
        let host = faults.simulator.turn_on(HostSpec { stage_time: STAGE, ..environment.host(number) });
        faults.is_in(host.id(), "known-unbound", "").await?;
        faults.approve(host.id()).await?;
        hosts.insert(host.id().to_owned(), host);
    }
    faults.kills(&mut Victim::Process(&mut plane, binary), &hosts, times, random).await?;
    tell(&format!("hcp up was killed {times} times while hosts came and went; none was lost or installed twice"));
    hosted_clusters(&client).delete(NAME, &DeleteParams::default()).await.map_err(refused("it was not deleted"))?;
    wait_until_gone(&client, &cluster).await
}

impl Faults<'_> {
    /// Kills while the pool grows and shrinks.
    pub(super) async fn kills(
        &self,
        victim: &mut Victim<'_>,
        hosts: &BTreeMap<String, Host>,
        times: usize,
        random: &mut Random,
    ) -> Result<(), HostedError> {
        let most = hosts.len() as u64 + 1;
        let mut wanted = hosts.len();
        for turn in 1..=times {
            if random.below(2) == 0 {
                wanted = usize::try_from(random.below(most)).unwrap_or_default();
            }
            // A connection that the kill broke is found out by who uses it next.
            until("the pool was scaled", async || {
                let scaled = scale(self.client, self.cluster, u16::try_from(wanted).unwrap_or_default()).await;
                scaled.map_err(|error| error.to_string())
            })
            .await?;
            tokio::time::sleep(Duration::from_millis(random.below(CHANGE))).await;
            victim.kill(Duration::from_millis(random.below(200))).await?;
            if turn % KILLS_TO_LOOK == 0 || turn == times {
                self.as_wished(hosts, wanted).await?;
            }
        }
        Ok(())
    }

    /// All hosts are there; so many are nodes, each by one Machine, and the others are free, without a failure.
    async fn as_wished(&self, hosts: &BTreeMap<String, Host>, wanted: usize) -> Result<(), HostedError> {
        self.nodes_are(wanted).await?;
        until(&format!("{wanted} hosts were nodes and the others free"), async || {
            let all = self.agents().list(&ListParams::default()).await.map_err(|error| error.to_string())?;
            let state = |agent: &DynamicObject| agent.data["status"]["debugInfo"]["state"].clone();
            let count = |wanted: &str| all.items.iter().filter(|agent| state(agent) == wanted).count();
            let nodes = hosts.values().filter(|host| host.progress().borrow().is_node).count();
            let found = (all.items.len(), count("added-to-existing-cluster"), count("known-unbound"), nodes);
            if found == (hosts.len(), wanted, hosts.len() - wanted, wanted) {
                return Ok(());
            }
            Err(format!(
                "{found:?}: {}",
                all.items.iter().map(|agent| state(agent).to_string()).collect::<Vec<_>>().join(", ")
            ))
        })
        .await?;
        let all = self.agents().list(&ListParams::default()).await.map_err(refused("the Agents were not read"))?;
        for agent in &all.items {
            let failed = agent.metadata.annotations.as_ref().and_then(|all| all.get("roost.dev/failed-installations"));
            if let Some(count) = failed {
                let id = agent.metadata.name.as_deref().unwrap_or_default();
                return Err(HostedError::Wrong(format!("{id} failed {count} times because its service was away")));
            }
        }
        Ok(())
    }
}
