//! The life of a discovered host: from its registration to a Ready node and back to the free ones, on every management
//! plane; and hosts that are not what they should be.

pub(super) mod images;
mod surroundings;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use jiff::SignedDuration;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use roost_host::HostIdentity;
use roost_pki::Secret;
use roost_sim::{Host, HostFaults, HostSpec, Simulator};
use serde_json::{Value, json};

use super::objects::{api, condition, create, decode, refused, scale, secrets, until, wait_until_gone};
use super::{HostedCluster, HostedError, Management, Step, hosted_clusters, wait_until_ready};

const NAME: &str = "metal";
const NAMESPACE: &str = "hardware-inventory";
const HOSTS: u8 = 5;
const GROUP: &str = "agent-install.openshift.io/v1beta1";

/// What hosts of an InfraEnv know from their image.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    url: String,
    token: Secret<String>,
    id: String,
    authorities: String,
}

/// Runs all steps.
pub async fn run(management: &Management, tell: Step<'_>) -> Result<(), HostedError> {
    let client = &management.client;
    let environment = prepare(client, NAMESPACE, "pool-a").await?;
    let other = prepare(client, NAMESPACE, "pool-b").await?;
    images::check(client, NAMESPACE, "pool-a").await?;
    tell("two InfraEnvs have links to their images, which are there");
    let simulator = Simulator::new();
    let mut hosts: Vec<Host> = (1..=HOSTS).map(|number| simulator.turn_on(environment.host(number))).collect();
    for host in &hosts {
        agent_is(client, host.id(), "known-unbound", "").await?;
    }
    tell("five hosts registered and sent what they consist of");
    let agent = agents(client, NAMESPACE).get(hosts[0].id()).await.map_err(refused("the Agent was not read"))?;
    shows_its_host(&agent)?;
    classified(client, usize::from(HOSTS)).await?;
    tell("hosts have the labels of classifications, and lose them with those");
    strangers(client, &simulator, &environment, &other).await?;
    tell("a token of another InfraEnv, a cloned identity and a wrong clock are named");
    surroundings::far_hosts(client, &simulator, &environment).await?;
    tell("hosts that are far from others or cut off say so, and can be used");
    let cluster = HostedCluster::on_agents(NAME, management.address, NAMESPACE);
    create(client, &cluster).await?;
    let guest = wait_until_ready(client, &cluster).await?;
    scale(client, &cluster, 2).await?;
    machines_say(client, &cluster, "5 not approved").await?;
    tell("a pool whose hosts nobody approved says so");
    for host in &hosts {
        approve(client, host.id()).await?;
    }
    nodes_are(client, &guest, 2).await?;
    scale(client, &cluster, u16::from(HOSTS)).await?;
    nodes_are(client, &guest, usize::from(HOSTS)).await?;
    for host in &hosts {
        agent_is(client, host.id(), "added-to-existing-cluster", "Done").await?;
    }
    tell("five approved hosts were installed and are Ready nodes");
    surroundings::measured(client, hosts[0].id()).await?;
    tell("a host measured its disk and resolved the names that lead to its cluster");
    scale(client, &cluster, 1).await?;
    nodes_are(client, &guest, 1).await?;
    until("four hosts were free again", async || free(client, 4).await).await?;
    tell("hosts that were given back left their cluster and are free again");
    let used = bound(client).await?;
    let free = hosts.iter().find(|host| !used.contains(host.id()));
    leaves_no_machine(client, &cluster, free.map(roost_sim::Host::id).unwrap_or_default()).await?;
    tell("a host that fetched its configuration while it was given back leaves no Machine");
    let mut weak = environment.host(9);
    weak.identity.serial = "0".repeat(16);
    weak.processors = 2;
    weak.faults.fails_at = Some(roost_api::agent_install::HostStage::WritingImageToDisk);
    let weak = simulator.turn_on(weak);
    agent_is(client, weak.id(), "known-unbound", "").await?;
    approve(client, weak.id()).await?;
    // The pool would take another while it has not heard of this one.
    until("the host that fails was known as approved", async || {
        let agent = agents(client, NAMESPACE).get(weak.id()).await.map_err(|error| error.to_string())?;
        let info = &agent.data["status"]["debugInfo"]["stateInfo"];
        if *info == "Host is ready to be bound to a cluster" { Ok(()) } else { Err(info.to_string()) }
    })
    .await?;
    scale(client, &cluster, 2).await?;
    until("the host that fails was tried once", async || {
        let agent = agents(client, NAMESPACE).get(weak.id()).await.map_err(|error| error.to_string())?;
        let failures = agent.metadata.annotations.unwrap_or_default().get("roost.dev/failed-installations").cloned();
        if failures.as_deref() == Some("1") { Ok(()) } else { Err(agent.data["status"]["debugInfo"].to_string()) }
    })
    .await?;
    nodes_are(client, &guest, 2).await?;
    if weak.progress().borrow().installations != 1 {
        return Err(HostedError::Wrong("a host that failed was tried again while others were free".to_owned()));
    }
    images::has_logs(client, NAMESPACE, weak.id()).await?;
    tell("a host whose installation fails is replaced by another, and its logs are behind a link");
    // Nobody waits for ever for the host of a node that was turned off.
    let bound = bound(client).await?;
    hosts.remove(hosts.iter().position(|host| bound.contains(host.id())).unwrap_or_default());
    hosted_clusters(client).delete(NAME, &DeleteParams::default()).await.map_err(refused("it was not deleted"))?;
    wait_until_gone(client, &cluster).await?;
    until("no host belonged to a cluster", async || {
        let all = agents(client, NAMESPACE).list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let held = |agent: &&DynamicObject| agent.data["spec"]["clusterDeploymentName"]["name"].is_string();
        all.items.iter().find(held).map_or(Ok(()), |agent| Err(agent.data["status"]["debugInfo"].to_string()))
    })
    .await?;
    tell("the cluster is gone and its hosts are free, but for one that was turned off");
    drop((hosts, weak));
    for name in ["pool-a", "pool-b"] {
        let all = api(client, GROUP, "InfraEnv", "infraenvs", NAMESPACE);
        all.delete(name, &DeleteParams::default()).await.map_err(refused("the InfraEnv was not deleted"))?;
    }
    until("nothing of the InfraEnvs was left", async || {
        let words = |error: kube::Error| error.to_string();
        let left = agents(client, NAMESPACE).list(&ListParams::default()).await.map_err(words)?.items.len();
        let services = api(client, "v1", "Service", "services", "hypershift");
        let mut open = Vec::new();
        for name in ["assisted-service", "assisted-image-service"] {
            open.extend(services.get_opt(name).await.map_err(words)?.map(|_| name));
        }
        if left == 0 && open.is_empty() { Ok(()) } else { Err(format!("{left} Agents, services: {open:?}")) }
    })
    .await?;
    tell("InfraEnvs take their Agents along, and the service closes with the last");
    Ok(())
}

/// A Machine of a host that is free is taken away, as it is made when a host is given back in the middle of its start.
async fn leaves_no_machine(client: &Client, cluster: &HostedCluster, free: &str) -> Result<(), HostedError> {
    let machines = api(client, "cluster.x-k8s.io/v1beta1", "Machine", "machines", &cluster.control_plane_namespace());
    let all = machines.list(&ListParams::default()).await.map_err(refused("the Machines were not read"))?;
    let mut late = all.items.into_iter().next().ok_or_else(|| HostedError::Wrong("there is no Machine".to_owned()))?;
    let metadata = std::mem::take(&mut late.metadata);
    late.metadata.name = Some(format!("{NAME}-late"));
    late.metadata.labels = metadata.labels;
    late.metadata.annotations = metadata.annotations;
    let annotations = late.metadata.annotations.get_or_insert_default();
    annotations.insert("roost.dev/host-id".to_owned(), free.to_owned());
    annotations.insert("roost.dev/node-name".to_owned(), "late".to_owned());
    machines.create(&PostParams::default(), &late).await.map_err(refused("the Machine was not made"))?;
    until("the Machine of a free host was gone", async || {
        match machines.get_opt(&format!("{NAME}-late")).await.map_err(|error| error.to_string())? {
            Some(machine) => Err(machine.data["status"].to_string()),
            None => Ok(()),
        }
    })
    .await
}

/// The hosts that belong to a cluster.
async fn bound(client: &Client) -> Result<BTreeSet<String>, HostedError> {
    let all =
        agents(client, NAMESPACE).list(&ListParams::default()).await.map_err(refused("the Agents were not read"))?;
    let is_bound = |agent: &DynamicObject| agent.data["spec"]["clusterDeploymentName"]["name"].is_string();
    Ok(all.items.into_iter().filter(is_bound).filter_map(|agent| agent.metadata.name).collect())
}

/// The Agents of a namespace.
pub(crate) fn agents(client: &Client, namespace: &str) -> Api<DynamicObject> {
    api(client, GROUP, "Agent", "agents", namespace)
}

/// Makes an object, unless it is there.
pub(super) async fn write(client: &Client, plural: &str, document: Value) -> Result<(), HostedError> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let namespace = text(&document["metadata"]["namespace"]);
    let all = api(client, &text(&document["apiVersion"]), &text(&document["kind"]), plural, &namespace);
    let object: DynamicObject =
        serde_json::from_value(document).map_err(|error| HostedError::Wrong(error.to_string()))?;
    until(&format!("{plural} was accepted"), async || match all.create(&PostParams::default(), &object).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(error.to_string()),
    })
    .await
}

/// Makes an InfraEnv, and reads from it what a host's image would know.
pub(crate) async fn prepare(client: &Client, namespace: &str, name: &str) -> Result<Environment, HostedError> {
    write(client, "namespaces", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))
        .await?;
    write(
        client,
        "secrets",
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull-secret", "namespace": namespace},
            "stringData": {".dockerconfigjson": "{\"auths\":{}}"}}),
    )
    .await?;
    write(
        client,
        "infraenvs",
        json!({"apiVersion": GROUP, "kind": "InfraEnv", "metadata": {"name": name, "namespace": namespace},
            "spec": {"pullSecretRef": {"name": "pull-secret"}, "agentLabels": {"site": "test"},
                "sshAuthorizedKey": "ssh-ed25519 AAAA test"}}),
    )
    .await?;
    let all = api(client, GROUP, "InfraEnv", "infraenvs", namespace);
    // Hosts that run already need no image.
    let found = until("the InfraEnv had links", async || {
        let found = all.get(name).await.map_err(|error| error.to_string())?;
        let has_links = found.data["status"]["bootArtifacts"]["discoveryIgnitionURL"].is_string();
        if has_links { Ok(found) } else { Err(condition(&found, "ImageCreated").1) }
    })
    .await?;
    let wrong = |what: &str| HostedError::Wrong(format!("{what}: {}", found.data["status"]));
    let link = found.data["status"]["bootArtifacts"]["discoveryIgnitionURL"].as_str();
    let link = link.ok_or_else(|| wrong("no discoveryIgnitionURL"))?;
    let (url, _) = link.split_once("/api/").ok_or_else(|| wrong("no service in the link"))?;
    let (_, token) = link.split_once("api_key=").ok_or_else(|| wrong("no token in the link"))?;
    let secret = secrets(client, "hypershift").get("assisted-service-ca").await.map_err(refused("the authority"))?;
    let authorities = decode(secret.data["data"]["tls.crt"].as_str().unwrap_or_default());
    Ok(Environment {
        url: url.to_owned(),
        token: Secret::new(token.to_owned()),
        id: found.metadata.uid.clone().unwrap_or_default(),
        authorities: authorities.ok_or_else(|| wrong("the authority is no text"))?,
    })
}

impl Environment {
    /// A good host with a number.
    pub(crate) fn host(&self, number: u8) -> HostSpec {
        self.host_of(u16::from(number))
    }

    /// One of many good hosts.
    pub(crate) fn host_of(&self, number: u16) -> HostSpec {
        let [high, low] = number.to_be_bytes();
        HostSpec {
            identity: HostIdentity {
                serial: format!("{number:016x}"),
                product: String::new(),
                addresses: BTreeSet::from([format!("52:54:00:00:{high:02x}:{low:02x}")]),
            },
            claimed_id: None,
            hostname: format!("metal-{number}"),
            address: IpAddr::V4(Ipv4Addr::new(127, 120 + high, low, 10)),
            url: self.url.clone(),
            authorities: self.authorities.clone(),
            infra_env: self.id.clone(),
            token: self.token.clone(),
            processors: 4,
            memory_mebibytes: 16 << 10,
            disk_gigabytes: 120,
            version: "v1.36.3".to_owned(),
            stage_time: Duration::from_millis(20),
            faults: HostFaults::default(),
        }
    }
}

/// Waits until an Agent is in a state, and says something about it.
async fn agent_is(client: &Client, id: &str, state: &str, words: &str) -> Result<(), HostedError> {
    until(&format!("{id} was {state}"), async || {
        let agent = agents(client, NAMESPACE).get(id).await.map_err(|error| error.to_string())?;
        let debug = &agent.data["status"]["debugInfo"];
        let is_said = debug["stateInfo"].as_str().is_some_and(|info| info.contains(words));
        if debug["state"] == state && is_said { Ok(()) } else { Err(debug.to_string()) }
    })
    .await
}

/// An Agent says what its host is, by the names that others read.
fn shows_its_host(agent: &DynamicObject) -> Result<(), HostedError> {
    let labels = agent.metadata.labels.clone().unwrap_or_default();
    let status = &agent.data["status"];
    let wrong = |what: &str| Err(HostedError::Wrong(format!("{what}: {labels:?} {status}")));
    for (key, value) in [
        ("infraenvs.agent-install.openshift.io", "pool-a"),
        ("site", "test"),
        ("inventory.agent-install.openshift.io/cpu-architecture", "x86_64"),
        ("inventory.agent-install.openshift.io/storage-hasnonrotationaldisk", "true"),
        ("inventory.agent-install.openshift.io/host-isvirtual", "true"),
    ] {
        if labels.get(key).map(String::as_str) != Some(value) {
            return wrong(key);
        }
    }
    if status["inventory"]["cpu"]["count"] != 4 || status["role"] != "auto-assign" {
        return wrong("inventory and role");
    }
    for (kind, reason) in [
        ("SpecSynced", "SyncOK"),
        ("Connected", "AgentIsConnected"),
        ("RequirementsMet", "AgentIsNotApproved"),
        ("Validated", "ValidationsPassing"),
        ("Installed", "InstallationNotStarted"),
        ("Bound", "Unbound"),
    ] {
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        if !conditions.iter().any(|condition| condition["type"] == kind && condition["reason"] == reason) {
            return wrong(kind);
        }
    }
    if status["validationsInfo"]["hardware"].as_array().is_none_or(Vec::is_empty) {
        return wrong("validationsInfo");
    }
    Ok(())
}

/// A classification labels the hosts that match, counts them and those that it cannot ask, and takes its labels along.
async fn classified(client: &Client, hosts: usize) -> Result<(), HostedError> {
    const PREFIX: &str = "agentclassification.agent-install.openshift.io/";
    let all = api(client, GROUP, "AgentClassification", "agentclassifications", NAMESPACE);
    let queries = [
        ("size", ".cpu.count >= 4 and ([.disks[].sizeBytes] | add) > 1000000000", "medium", hosts, 0),
        ("gpu", ".gpus | length > 0", "some", 0, 0),
        ("odd", ".hostname.first", "broken", 0, hosts),
    ];
    for (name, query, value, matched, failed) in queries {
        write(
            client,
            "agentclassifications",
            json!({"apiVersion": GROUP, "kind": "AgentClassification", "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {"labelKey": name, "labelValue": value, "query": query}}),
        )
        .await?;
        until(&format!("the classification {name} had counted"), async || {
            let found = all.get(name).await.map_err(|error| error.to_string())?;
            let status = &found.data["status"];
            let wanted = if failed > 0 { "True" } else { "False" };
            let is_counted = status["matchedCount"] == matched && status["errorCount"] == failed;
            if is_counted && condition(&found, "QueryErrors").0 == wanted { Ok(()) } else { Err(status.to_string()) }
        })
        .await?;
    }
    let labelled = async |name: &str, value: &str| {
        let labelled = ListParams::default().labels(&format!("{PREFIX}{name}={value}"));
        agents(client, NAMESPACE).list(&labelled).await.map(|list| list.items.len()).map_err(refused("the Agents"))
    };
    if labelled("size", "medium").await? != hosts || labelled("odd", "QUERYERROR-broken").await? != hosts {
        return Err(HostedError::Wrong("labels are not what was counted".to_owned()));
    }
    for (name, ..) in queries {
        all.delete(name, &DeleteParams::default()).await.map_err(refused("the classification was not deleted"))?;
    }
    until("classifications took their labels along", async || {
        let left = all.list(&ListParams::default()).await.map_err(|error| error.to_string())?.items.len();
        let agents = agents(client, NAMESPACE).list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let has_label = |agent: &&DynamicObject| {
            agent.metadata.labels.as_ref().is_some_and(|labels| labels.keys().any(|key| key.starts_with(PREFIX)))
        };
        let labelled = agents.items.iter().filter(has_label).count();
        if left == 0 && labelled == 0 { Ok(()) } else { Err(format!("{left} are left, on {labelled} hosts")) }
    })
    .await
}

/// Hosts that are not what they say.
async fn strangers(
    client: &Client,
    simulator: &Simulator,
    environment: &Environment,
    other: &Environment,
) -> Result<(), HostedError> {
    let foreign = simulator.turn_on(HostSpec { token: other.token.clone(), ..environment.host(6) });
    let mut progress = foreign.progress();
    let refused = tokio::time::timeout(
        Duration::from_secs(20),
        progress.wait_for(|progress| progress.trouble.as_ref().is_some_and(|words| words.contains("403"))),
    );
    refused.await.map_err(|_| HostedError::Wrong("a foreign token was accepted".to_owned())).map(drop)?;
    if agents(client, NAMESPACE).get_opt(foreign.id()).await.is_ok_and(|found| found.is_some()) {
        return Err(HostedError::Wrong("a host with a foreign token became an Agent".to_owned()));
    }
    let late = HostFaults { clock_offset: SignedDuration::from_hours(2), ..HostFaults::default() };
    let late = simulator.turn_on(HostSpec { faults: late, ..environment.host(7) });
    agent_is(client, late.id(), "insufficient-unbound", "ahead of the service").await?;
    let one = simulator.turn_on(environment.host(8));
    agent_is(client, one.id(), "known-unbound", "").await?;
    let mut twin = environment.host(8);
    twin.identity.addresses = BTreeSet::from(["52:54:00:ff:ff:08".to_owned()]);
    twin.claimed_id = Some(one.id().to_owned());
    twin.address = IpAddr::V4(Ipv4Addr::new(127, 120, 8, 11));
    let twin = simulator.turn_on(twin);
    agent_is(client, one.id(), "insufficient-unbound", "52:54:00:ff:ff:08 at 127.120.8.11").await?;
    let ids = [late.id().to_owned(), one.id().to_owned()];
    drop((late, one, twin));
    for id in ids {
        agents(client, NAMESPACE)
            .delete(&id, &DeleteParams::default())
            .await
            .map_err(super::objects::refused("an Agent"))?;
    }
    Ok(())
}

async fn approve(client: &Client, id: &str) -> Result<(), HostedError> {
    let patch = Patch::Merge(json!({"spec": {"approved": true}}));
    let approved = agents(client, NAMESPACE).patch(id, &PatchParams::default(), &patch).await;
    approved.map(drop).map_err(refused("the Agent was not approved"))
}

/// Waits until machines without hosts say why.
async fn machines_say(client: &Client, cluster: &HostedCluster, words: &str) -> Result<(), HostedError> {
    let group = "capi-provider.agent-install.openshift.io/v1beta1";
    let machines = api(client, group, "AgentMachine", "agentmachines", &cluster.control_plane_namespace());
    until(&format!("machines said {words:?}"), async || {
        let all = machines.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let said: Vec<String> = all.items.iter().map(|machine| condition(machine, "AgentReserved").1).collect();
        if !said.is_empty() && said.iter().all(|said| said.contains(words)) { Ok(()) } else { Err(said.join("; ")) }
    })
    .await
}

/// Waits until so many nodes are there, all of them Ready, and the pool is satisfied.
async fn nodes_are(client: &Client, guest: &Client, count: usize) -> Result<(), HostedError> {
    let nodes = api(guest, "v1", "Node", "nodes", "");
    until(&format!("{count} nodes were Ready"), async || {
        let all = nodes.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let ready = all.items.iter().filter(|node| condition(node, "Ready").0 == "True").count();
        if all.items.len() == count && ready == count {
            return Ok(());
        }
        let agents = agents(client, NAMESPACE).list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let states: Vec<String> =
            agents.items.iter().map(|agent| agent.data["status"]["debugInfo"].to_string()).collect();
        Err(format!("{ready} of {} nodes are Ready; {}", all.items.len(), states.join(" ")))
    })
    .await
}

/// Whether so many approved hosts are free.
async fn free(client: &Client, count: usize) -> Result<(), String> {
    let all = agents(client, NAMESPACE).list(&ListParams::default()).await.map_err(|error| error.to_string())?;
    let is_free = |agent: &&DynamicObject| {
        agent.data["status"]["debugInfo"]["state"] == "known-unbound"
            && agent.data["spec"]["clusterDeploymentName"].is_null()
            && !agent.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key("agentMachineRef"))
    };
    let found = all.items.iter().filter(is_free).count();
    if found == count { Ok(()) } else { Err(format!("{found} are free")) }
}
