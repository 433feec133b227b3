//! What goes wrong with discovered hosts: they die at every stage, are not who they say, cannot be used, or the service
//! is killed while they are on their way. Nothing is lost, nothing is installed twice, and each says what to do.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use jiff::SignedDuration;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use roost_api::agent_install::HostStage;
use roost_pki::Secret;
use roost_sim::{Host, HostFaults, HostSpec, Simulator};
use serde_json::{Value, json};

use super::metal::{Environment, agents, prepare};
use super::objects::{api, condition, create, refused, scale, until, wait_until_gone};
use super::{HostedCluster, HostedError, Management, Step, hosted_clusters, wait_until_ready};
use crate::random::Random;

const NAME: &str = "faults";
const NAMESPACE: &str = "fault-hosts";
/// The stages at which a host dies.
const STAGES: [HostStage; 5] = [
    HostStage::StartingInstallation,
    HostStage::Installing,
    HostStage::WritingImageToDisk,
    HostStage::WaitingForControlPlane,
    HostStage::Rebooting,
];
/// Kills of the service until everything has to be as wished.
const KILLS_TO_LOOK: usize = 10;
/// How long a change takes that a kill falls into, roughly, in milliseconds.
const CHANGE: u64 = 800;

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
    faults.strangers(&environment, &other).await?;
    tell("foreign and made-up tokens make no Agent");
    faults.unfit(&environment).await?;
    tell("a cloned identity, clocks that are an hour off and a small disk are named, with what to do");
    faults.full(&environment, hosts.len()).await?;
    tell("a host whose disk is always full is left alone after three times, and says so");
    let hosts: BTreeMap<String, Host> = hosts.into_iter().map(|host| (host.id().to_owned(), host)).collect();
    faults.kills(management, &hosts, times, random).await?;
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
        for (number, stage) in (1..).zip(STAGES) {
            let faults = HostFaults { dies_at: Some(stage), ..HostFaults::default() };
            dying.push(self.simulator.turn_on(HostSpec { faults, ..environment.host(number) }));
        }
        for host in &dying {
            self.is_in(host.id(), "known-unbound", "").await?;
            self.approve(host.id()).await?;
        }
        scale(self.client, self.cluster, u16::try_from(STAGES.len()).unwrap_or_default()).await?;
        for (host, stage) in dying.iter().zip(&STAGES) {
            let mut progress = host.progress();
            let died = tokio::time::timeout(Duration::from_mins(1), progress.wait_for(|progress| progress.is_dead));
            died.await.map_err(|_| HostedError::Wrong(format!("no installation came to {stage}"))).map(drop)?;
        }
        let ids: Vec<String> = dying.iter().map(|host| host.id().to_owned()).collect();
        for (id, stage) in ids.iter().zip(&STAGES) {
            self.is_in(id, "installing-in-progress", stage.as_str()).await?;
        }
        drop(dying);
        let hosts: Vec<Host> =
            (1..).zip(&STAGES).map(|(number, _)| self.simulator.turn_on(environment.host(number))).collect();
        let last = &ids[STAGES.len() - 1];
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

    /// Whoever has no good token is refused, and is no Agent.
    async fn strangers(&self, environment: &Environment, other: &Environment) -> Result<(), HostedError> {
        let good = environment.host(21);
        let mut forged = good.token.expose().to_owned();
        let signature = forged.rfind('.').map_or(0, |dot| dot + 1);
        forged.replace_range(signature.., &"A".repeat(86));
        for (token, code) in
            [(other.host(21).token, "403"), (Secret::new(forged), "401"), (Secret::new("nothing".to_owned()), "401")]
        {
            let stranger = self.simulator.turn_on(HostSpec { token, ..good.clone() });
            let mut progress = stranger.progress();
            let refused =
                progress.wait_for(|progress| progress.trouble.as_ref().is_some_and(|words| words.contains(code)));
            let refused = tokio::time::timeout(Duration::from_mins(1), refused).await;
            refused.map_err(|_| HostedError::Wrong(format!("a bad token was not answered with {code}"))).map(drop)?;
            let found = self.agents().get_opt(stranger.id()).await.map_err(super::objects::refused("not read"))?;
            if found.is_some() {
                return Err(HostedError::Wrong("a host without a good token became an Agent".to_owned()));
            }
        }
        Ok(())
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

    /// Kills the service while the pool grows and shrinks.
    async fn kills(
        &self,
        management: &mut Management,
        hosts: &BTreeMap<String, Host>,
        times: usize,
        random: &mut Random,
    ) -> Result<(), HostedError> {
        let most = hosts.len() as u64 + 1;
        let mut wanted = hosts.len();
        for turn in 1..=times {
            if random.below(2) == 0 {
                wanted = usize::try_from(random.below(most)).unwrap_or_default();
                scale(self.client, self.cluster, u16::try_from(wanted).unwrap_or_default()).await?;
            }
            tokio::time::sleep(Duration::from_millis(random.below(CHANGE))).await;
            management.kill_operator();
            tokio::time::sleep(Duration::from_millis(random.below(200))).await;
            management.start_operator();
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
