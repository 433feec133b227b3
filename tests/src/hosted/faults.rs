//! What goes wrong with discovered hosts: they die at every stage, are not who they say, cannot be used, or the service
//! is killed while they are on their way. Nothing is lost, nothing is installed twice, and each says what to do.

mod kills;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use jiff::SignedDuration;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use roost_api::agent_install::HostStage;
use roost_sim::{Host, HostFaults, HostSpec, INSTALLATION_STAGES, Simulator};
use serde_json::{Value, json};

use super::metal::{self, Environment, agents, prepare};
use super::objects::{api, condition, create, refused, scale, until, wait_until_gone};
use super::{HostedCluster, HostedError, Management, Step, hosted_clusters, wait_until_ready};
use crate::random::Random;
use kills::Victim;
pub use kills::run as kill_processes;

const NAME: &str = "faults";
const NAMESPACE: &str = "fault-hosts";
/// Runs the table of faults, then kills the service so many times.
pub async fn run(
    management: &mut Management,
    times: usize,
    random: &mut Random,
    tell: Step<'_>,
) -> Result<(), HostedError> {
    let client = management.client.clone();
    let environment = prepare(&client, NAMESPACE, NAME).await?;
    let other = prepare(&client, NAMESPACE, "others").await?;
    let cluster = HostedCluster::on_agents(NAME, management.address, NAMESPACE);
    create(&client, &cluster).await?;
    let guest = wait_until_ready(&client, &cluster).await?;
    let faults = Faults { client: &client, guest: &guest, cluster: &cluster, simulator: Simulator::new() };
    let hosts = faults.deaths(&environment).await?;
    tell("hosts that died at each stage of their installation are nodes after they were started again");
    let signer = tokens::signer(&client).await?;
    faults.strangers(&environment, &other, &signer).await?;
    tell("foreign, made-up and expired tokens make no Agent, and an expired one says what to do");
    faults.renewed(&environment, &signer, hosts.len()).await?;
    tell("a host whose token is nearly over gets another one, is a node after the old one expired, and is free again");
    metal::images::stay_apart(&client, NAMESPACE, NAME, "others", &tokens::expired(&signer, &environment)?).await?;
    faults.other_images(&environment, &other).await?;
    tell("links and images of another InfraEnv are refused, or are that InfraEnv's; none takes the place of a node");
    faults.unfit(&environment).await?;
    tell("a cloned identity, clocks that are an hour off and a small disk are named, with what to do");
    faults.full(&environment, hosts.len()).await?;
    tell("a host whose disk is always full is left alone after three times, and says so");
    let hosts: BTreeMap<String, Host> = hosts.into_iter().map(|host| (host.id().to_owned(), host)).collect();
    faults.kills(&mut Victim::Controllers(management), &hosts, times, random).await?;
    tell(&format!("the service was killed {times} times while hosts came and went; none was lost or installed twice"));
    hosted_clusters(&client).delete(NAME, &DeleteParams::default()).await.map_err(refused("it was not deleted"))?;
    wait_until_gone(&client, &cluster).await
}

struct Faults<'a> {
    client: &'a Client,
    guest: &'a Client,
    cluster: &'a HostedCluster,
    simulator: Simulator,
}

impl Faults<'_> {
    fn agents(&self) -> Api<DynamicObject> {
        agents(self.client, NAMESPACE)
    }

    /// Hosts that die at each stage, and are started again.
    async fn deaths(&self, environment: &Environment) -> Result<Vec<Host>, HostedError> {
        let mut dying = Vec::new();
        for (number, stage) in (1..).zip(INSTALLATION_STAGES) {
            let faults = HostFaults { dies_at: Some(stage), ..HostFaults::default() };
            dying.push(self.simulator.turn_on(HostSpec { faults, ..environment.host(number) }));
        }
        for host in &dying {
            self.is_in(host.id(), "known-unbound", "").await?;
            self.approve(host.id()).await?;
        }
        scale(self.client, self.cluster, u16::try_from(INSTALLATION_STAGES.len()).unwrap_or_default()).await?;
        for (host, stage) in dying.iter().zip(&INSTALLATION_STAGES) {
            let mut progress = host.progress();
            let died = tokio::time::timeout(Duration::from_mins(1), progress.wait_for(|progress| progress.is_dead));
            died.await.map_err(|_| HostedError::Wrong(format!("no installation came to {stage}"))).map(drop)?;
        }
        let ids: Vec<String> = dying.iter().map(|host| host.id().to_owned()).collect();
        for (id, stage) in ids.iter().zip(&INSTALLATION_STAGES) {
            self.is_in(id, "installing-in-progress", stage.as_str()).await?;
        }
        drop(dying);
        let hosts: Vec<Host> = (1..)
            .zip(&INSTALLATION_STAGES)
            .map(|(number, _)| self.simulator.turn_on(environment.host(number)))
            .collect();
        let last = &ids[INSTALLATION_STAGES.len() - 1];
        self.is_in(last, "installing-pending-user-action", "put the disk first in the boot order").await?;
        self.give_back(last).await?;
        self.nodes_are(hosts.len()).await?;
        for host in &hosts {
            let installations = host.progress().borrow().installations;
            if installations != 1 {
                return Err(HostedError::Wrong(format!("{} was installed {installations} times", host.id())));
            }
        }
        Ok(hosts)
    }

    /// Hosts that cannot be used say why.
    async fn unfit(&self, environment: &Environment) -> Result<(), HostedError> {
        let clock = |hours| HostFaults { clock_offset: SignedDuration::from_hours(hours), ..HostFaults::default() };
        let original = self.simulator.turn_on(environment.host(34));
        self.is_in(original.id(), "known-unbound", "").await?;
        let mut clone = environment.host(34);
        clone.identity.addresses = BTreeSet::from(["52:54:00:ff:ff:34".to_owned()]);
        clone.claimed_id = Some(original.id().to_owned());
        clone.address = IpAddr::V4(Ipv4Addr::new(127, 120, 34, 11));
        let table = [
            (HostSpec { faults: clock(1), ..environment.host(31) }, "ahead of the service"),
            (HostSpec { faults: clock(-1), ..environment.host(32) }, "behind the service"),
            (HostSpec { disk_gigabytes: 10, ..environment.host(33) }, "disk"),
            (clone, "52:54:00:ff:ff:34 at 127.120.34.11"),
        ];
        let mut hosts = vec![original];
        for (spec, words) in table {
            let host = self.simulator.turn_on(spec);
            self.is_in(host.id(), "insufficient-unbound", words).await?;
            hosts.push(host);
        }
        let ids: BTreeSet<String> = hosts.iter().map(|host| host.id().to_owned()).collect();
        drop(hosts);
        self.forget(&ids).await
    }

    /// A host that fails each time it is installed.
    async fn full(&self, environment: &Environment, nodes: usize) -> Result<(), HostedError> {
        let faults = HostFaults { fails_at: Some(HostStage::WritingImageToDisk), ..HostFaults::default() };
        let full = self.simulator.turn_on(HostSpec { faults, ..environment.host(41) });
        self.is_in(full.id(), "known-unbound", "").await?;
        self.approve(full.id()).await?;
        scale(self.client, self.cluster, u16::try_from(nodes + 1).unwrap_or_default()).await?;
        until("the pool said that its host failed three times", async || {
            let said =
                self.machines().await?.iter().map(|machine| condition(machine, "AgentReserved").1).collect::<Vec<_>>();
            if said.iter().any(|words| words.contains("1 failed three times")) { Ok(()) } else { Err(said.join("; ")) }
        })
        .await?;
        let installations = full.progress().borrow().installations;
        if installations != 3 {
            return Err(HostedError::Wrong(format!("a host that always fails was tried {installations} times")));
        }
        scale(self.client, self.cluster, u16::try_from(nodes).unwrap_or_default()).await?;
        let id = full.id().to_owned();
        self.is_in(&id, "known-unbound", "").await?;
        drop(full);
        self.forget(&BTreeSet::from([id])).await
    }

    async fn approve(&self, id: &str) -> Result<(), HostedError> {
        let patch = Patch::Merge(json!({"spec": {"approved": true}}));
        let approved = self.agents().patch(id, &PatchParams::default(), &patch).await;
        approved.map(drop).map_err(refused("the Agent was not approved"))
    }

    /// Waits until an Agent is in a state, and says something about it.
    async fn is_in(&self, id: &str, state: &str, words: &str) -> Result<(), HostedError> {
        until(&format!("{id} was {state}, with {words:?}"), async || {
            let agent = self.agents().get(id).await.map_err(|error| error.to_string())?;
            let debug = &agent.data["status"]["debugInfo"];
            let is_said = debug["stateInfo"].as_str().is_some_and(|info| !info.is_empty() && info.contains(words));
            if debug["state"] == state && is_said { Ok(()) } else { Err(debug.to_string()) }
        })
        .await
    }

    fn machine_api(&self) -> Api<DynamicObject> {
        let group = "capi-provider.agent-install.openshift.io/v1beta1";
        api(self.client, group, "AgentMachine", "agentmachines", &self.cluster.control_plane_namespace())
    }

    async fn machines(&self) -> Result<Vec<DynamicObject>, String> {
        let all = self.machine_api().list(&ListParams::default()).await;
        all.map(|all| all.items).map_err(|error| error.to_string())
    }

    /// Deletes the machine that has a host, as a person does who is told to.
    async fn give_back(&self, id: &str) -> Result<(), HostedError> {
        let agent = self.agents().get(id).await.map_err(refused("the Agent was not read"))?;
        let machine = agent.metadata.labels.as_ref().and_then(|labels| labels.get("agentMachineRef")).cloned();
        let machine = machine.ok_or_else(|| HostedError::Wrong(format!("{id} has no machine")))?;
        let deleted = self.machine_api().delete(&machine, &DeleteParams::default()).await;
        deleted.map(drop).map_err(refused("the machine was not deleted"))
    }

    async fn forget(&self, ids: &BTreeSet<String>) -> Result<(), HostedError> {
        for id in ids {
            let deleted = self.agents().delete(id, &DeleteParams::default()).await;
            deleted.map(drop).map_err(refused("the Agent was not deleted"))?;
        }
        Ok(())
    }

    /// Waits until so many nodes are there, all of them Ready, and no Machine too many.
    async fn nodes_are(&self, count: usize) -> Result<(), HostedError> {
        let nodes = api(self.guest, "v1", "Node", "nodes", "");
        let inside = self.cluster.control_plane_namespace();
        let machines = api(self.client, "cluster.x-k8s.io/v1beta1", "Machine", "machines", &inside);
        until(&format!("{count} nodes were Ready"), async || {
            let words = |error: kube::Error| error.to_string();
            let all = nodes.list(&ListParams::default()).await.map_err(words)?.items;
            let ready = all.iter().filter(|node| condition(node, "Ready").0 == "True").count();
            let made = machines.list(&ListParams::default()).await.map_err(words)?.items.len();
            if (all.len(), ready, made) == (count, count, count) {
                return Ok(());
            }
            let agents = self.agents().list(&ListParams::default()).await.map_err(words)?;
            let states: Vec<&Value> = agents.items.iter().map(|agent| &agent.data["status"]["debugInfo"]).collect();
            let pools = api(self.client, "hypershift.openshift.io/v1beta1", "NodePool", "nodepools", "clusters");
            let pools = pools.list(&ListParams::default()).await.map_err(words)?.items;
            let pools: Vec<&Value> = pools.iter().map(|pool| &pool.data).collect();
            Err(format!("{ready} of {} nodes are Ready, of {made} Machines; {states:?}; {pools:?}", all.len()))
        })
        .await
    }
}
