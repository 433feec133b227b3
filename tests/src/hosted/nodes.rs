//! The life of a node: from a pool's user-data to a Ready node and away again, on every management plane.

use std::net::{IpAddr, Ipv4Addr};

use http::StatusCode;
use http::header::{HeaderName, HeaderValue};
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use roost_ignition::payload::{Joining, paths};
use roost_ignition::{Config, Pointer};
use roost_sim::{NodeSpec, Simulator, Stage, Start};
use serde_json::json;

use super::objects::{NAMESPACE, api, condition, create, decode, refused, secrets, until, wait_until_gone};
use super::{HostedCluster, HostedError, Management, Step, hosted_clusters, wait_until_ready};
use crate::client::{Answer, Call, Client as Browser};

const POOL: &str = "joins";

/// A host that boots.
struct Host {
    id: &'static str,
    name: &'static str,
    address: IpAddr,
}

const ONE: Host = Host { id: "host-one", name: "node-one", address: IpAddr::V4(Ipv4Addr::new(127, 44, 0, 1)) };
const TWO: Host = Host { id: "host-two", name: "node-two", address: IpAddr::V4(Ipv4Addr::new(127, 44, 0, 2)) };
const CLONE: Host = Host { id: "host-clone", name: "node-one", address: IpAddr::V4(Ipv4Addr::new(127, 44, 0, 3)) };

/// Runs all steps.
pub async fn run(management: &Management, tell: Step<'_>) -> Result<(), HostedError> {
    let client = &management.client;
    let cluster = HostedCluster::new(POOL, management.address);
    create(client, &cluster).await?;
    let guest = wait_until_ready(client, &cluster).await?;
    if hosted_clusters(client).get(POOL).await.map_err(refused("it was not read"))?.data["status"]["ignitionEndpoint"]
        .is_string()
    {
        return Err(HostedError::Wrong("a pool of no machines opened an ignition endpoint".to_owned()));
    }
    scale(client, 2).await?;
    let user_data = user_data(client, &cluster).await?;
    pool_says(client, "Ready", "2 machines are missing").await?;
    tell("a pool that wants machines has user-data, and says what is missing");
    strangers(&user_data).await?;
    let payload = fetch(&user_data, &ONE).await?;
    pool_says(client, "ReachedIgnitionEndpoint", "").await?;
    tell("a host fetches its configuration over TLS");
    let machines = api(client, "cluster.x-k8s.io/v1beta1", "Machine", "machines", &cluster.control_plane_namespace());
    let machine = machine_of(&machines, &ONE).await?;
    let refused_host = get(&user_data, &CLONE).await?;
    if refused_host.status != StatusCode::CONFLICT {
        return Err(HostedError::Wrong(format!("another host got the same name: {}", refused_host.status)));
    }
    tell("another host that asks for its name is refused");
    let again = fetch(&user_data, &ONE).await?;
    if again.bootstrap.token == payload.bootstrap.token {
        return Err(HostedError::Wrong("a credential was given twice".to_owned()));
    }
    if machine_of(&machines, &ONE).await?.metadata.uid != machine.metadata.uid || count(&machines).await? != 1 {
        return Err(HostedError::Wrong("one host became two Machines".to_owned()));
    }
    tell("the same host that fetches again is the same Machine, with another credential");
    let simulator = Simulator::new();
    let mut nodes = Vec::new();
    for (host, joining) in [(&ONE, again), (&TWO, fetch(&user_data, &TWO).await?)] {
        nodes.push(simulator.spawn(spec(host, joining)));
    }
    for node in &nodes {
        let reached = tokio::time::timeout(std::time::Duration::from_mins(1), node.reach(Stage::Serving)).await;
        reached.map_err(|_| {
            let progress = node.progress().borrow().clone();
            HostedError::Wrong(format!("{} stays at {:?}: {:?}", node.name(), progress.stage, progress.trouble))
        })?;
    }
    tell("two nodes have their client and serving certificates");
    joined(&guest, &machines, &ONE).await?;
    joined(&guest, &machines, &TWO).await?;
    pool_says(client, "Ready", "").await?;
    tell("both are Ready, in their pool, with their part of the pod network, and without the credential");
    scale(client, 3).await?;
    pool_says(client, "Ready", "1 machines are missing").await?;
    scale(client, 1).await?;
    pool_says(client, "Ready", "2 machines have joined and 1 are wanted").await?;
    tell("scaling says what is missing and what is too much");
    drop(nodes.pop());
    remove_machine(&guest, &machines, &TWO).await?;
    pool_says(client, "Ready", "").await?;
    tell("a Machine that is deleted takes its Node along");
    drop(nodes);
    pools(client).delete(POOL, &DeleteParams::default()).await.map_err(refused("the pool was not deleted"))?;
    cleared(client, &guest, &cluster, &machines).await?;
    tell("a pool that is deleted leaves no Machine, no Node, no credential and no Secret");
    hosted_clusters(client).delete(POOL, &DeleteParams::default()).await.map_err(refused("it was not deleted"))?;
    wait_until_gone(client, &cluster).await?;
    tell("the cluster is gone");
    Ok(())
}

fn pools(client: &Client) -> Api<DynamicObject> {
    api(client, "hypershift.openshift.io/v1beta1", "NodePool", "nodepools", NAMESPACE)
}

async fn scale(client: &Client, replicas: u32) -> Result<(), HostedError> {
    let change = json!({"spec": {"replicas": replicas}});
    let scaled = pools(client).patch_scale(POOL, &PatchParams::default(), &Patch::Merge(change)).await;
    scaled.map(drop).map_err(refused("the pool was not scaled"))
}

/// Waits until a condition of the pool has words in its message; no words mean that it is true.
async fn pool_says(client: &Client, kind: &str, words: &str) -> Result<(), HostedError> {
    until(&format!("the pool's {kind} said {words:?}"), async || {
        let pool = pools(client).get(POOL).await.map_err(|error| error.to_string())?;
        let (status, message) = condition(&pool, kind);
        let is_so = if words.is_empty() { status == "True" } else { status == "False" && message.contains(words) };
        if is_so { Ok(()) } else { Err(format!("{status}: {message}")) }
    })
    .await
}

/// What a machine of the pool is booted with.
pub(super) async fn user_data(client: &Client, cluster: &HostedCluster) -> Result<Config, HostedError> {
    let secrets = secrets(client, &cluster.control_plane_namespace());
    until("the pool had user-data", async || {
        let all = secrets.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let is_user_data = |secret: &&DynamicObject| {
            secret.metadata.name.as_ref().is_some_and(|name| name.starts_with(&format!("user-data-{}-", cluster.name)))
        };
        let secret = all.items.iter().find(is_user_data).ok_or("there is no such Secret")?;
        let text = decode(secret.data["data"]["value"].as_str().unwrap_or_default()).ok_or("it has no value")?;
        Config::parse(text.as_bytes()).map_err(|error| error.to_string())
    })
    .await
}

fn wrong(error: impl std::fmt::Display) -> HostedError {
    HostedError::Wrong(error.to_string())
}

/// Asks for a payload as Ignition does, with what a host says of itself beside it.
async fn get(user_data: &Config, host: &Host) -> Result<Answer, HostedError> {
    let target = Pointer::read(user_data).ok_or_else(|| wrong("the user-data point nowhere"))?;
    let browser = Browser::stranger(&target.url, &target.certificate_authority).map_err(wrong)?;
    let mut call = Call::get("/ignition");
    for (name, value) in &target.headers {
        let value = HeaderValue::from_str(value.expose()).map_err(wrong)?;
        call.headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(wrong)?, value);
    }
    for (name, value) in [
        ("roost-host-id", host.id.to_owned()),
        ("roost-host-name", host.name.to_owned()),
        ("roost-host-addresses", host.address.to_string()),
    ] {
        call.headers.insert(HeaderName::from_static(name), HeaderValue::from_str(&value).map_err(wrong)?);
    }
    browser.send(call).await.map_err(wrong)
}

/// A host's payload, as the host reads it.
async fn fetch(user_data: &Config, host: &Host) -> Result<Joining, HostedError> {
    until(&format!("{} got its configuration", host.name), async || {
        let answer = get(user_data, host).await.map_err(|error| error.to_string())?;
        if answer.status != StatusCode::OK {
            return Err(format!("{}: {}", answer.status, String::from_utf8_lossy(&answer.body)));
        }
        let config = Config::parse(&answer.body).map_err(|error| error.to_string())?;
        config.file(paths::BOOTSTRAP_KUBECONFIG).ok_or("there is no kubeconfig")?;
        Joining::read(&config).map_err(|error| error.to_string())
    })
    .await
}

/// Without the token, or with another one, there is nothing to be had.
async fn strangers(user_data: &Config) -> Result<(), HostedError> {
    let target = Pointer::read(user_data).ok_or_else(|| wrong("the user-data point nowhere"))?;
    let browser = Browser::stranger(&target.url, &target.certificate_authority).map_err(wrong)?;
    let mut call = Call::get("/ignition");
    let bare = browser.send(call.clone()).await.map_err(wrong)?;
    call.headers.insert(http::header::AUTHORIZATION, HeaderValue::from_static("Bearer bm90LWEtdG9rZW4="));
    let unknown = browser.send(call).await.map_err(wrong)?;
    if bare.status.as_u16() == 401 && unknown.status.as_u16() == 511 {
        Ok(())
    } else {
        Err(HostedError::Wrong(format!("strangers are answered with {} and {}", bare.status, unknown.status)))
    }
}

fn spec(host: &Host, joining: Joining) -> NodeSpec {
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": joining.bootstrap.server,
            "certificate-authority-data": encode(&joining.bootstrap.certificate_authority)}}],
        "users": [{"name": "u", "user": {"token": joining.bootstrap.token.expose()}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    });
    let mut spec = NodeSpec::new(joining.node_name, Start::Kubeconfig(kubeconfig.to_string().into_bytes()));
    host.id.clone_into(&mut spec.host_id);
    spec.address = host.address;
    spec.labels = joining.labels;
    spec.provider_id = joining.provider_id;
    spec
}

fn encode(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

async fn count(machines: &Api<DynamicObject>) -> Result<usize, HostedError> {
    let all = machines.list(&ListParams::default()).await.map_err(refused("the Machines were not read"))?;
    Ok(all.items.len())
}

/// The Machine of a host.
async fn machine_of(machines: &Api<DynamicObject>, host: &Host) -> Result<DynamicObject, HostedError> {
    let all = machines.list(&ListParams::default()).await.map_err(refused("the Machines were not read"))?;
    let annotation = |machine: &DynamicObject| {
        machine.metadata.annotations.as_ref().and_then(|annotations| annotations.get("roost.dev/host-id")).cloned()
    };
    let mut found = all.items.into_iter().filter(|machine| annotation(machine).as_deref() == Some(host.id));
    let machine = found.next().ok_or_else(|| wrong(format!("no Machine stands for {}", host.id)))?;
    if found.next().is_some() { Err(wrong(format!("{} is two Machines", host.id))) } else { Ok(machine) }
}

/// The Machine runs, the Node has all, and the credential is gone.
async fn joined(guest: &Client, machines: &Api<DynamicObject>, host: &Host) -> Result<(), HostedError> {
    let nodes = api(guest, "v1", "Node", "nodes", "");
    until(&format!("{} had joined", host.name), async || {
        let machine = machine_of(machines, host).await.map_err(|error| error.to_string())?;
        if machine.data["status"]["phase"] != "Running" || machine.data["status"]["nodeRef"]["name"] != host.name {
            return Err(machine.data["status"].to_string());
        }
        let node = nodes.get(host.name).await.map_err(|error| error.to_string())?;
        let labels = node.metadata.labels.unwrap_or_default();
        let pool = labels.get("hypershift.openshift.io/nodePool").map(String::as_str);
        let spec = &node.data["spec"];
        if pool != Some(POOL)
            || !labels.contains_key("node-role.kubernetes.io/worker")
            || spec["providerID"] != machine.data["spec"]["providerID"]
            || spec["podCIDR"].as_str().is_none_or(|cidr| !cidr.starts_with("10.132."))
        {
            return Err(format!("{labels:?} {spec}"));
        }
        let tokens = secrets(guest, "kube-system").list(&ListParams::default()).await;
        let tokens = tokens.map_err(|error| error.to_string())?;
        let name = machine.metadata.name.unwrap_or_default();
        let is_left = |secret: &DynamicObject| {
            let groups = decode(secret.data["data"]["auth-extra-groups"].as_str().unwrap_or_default());
            groups.is_some_and(|groups| groups.ends_with(&name))
        };
        if tokens.items.iter().any(is_left) { Err("the credential is there".to_owned()) } else { Ok(()) }
    })
    .await
}

async fn remove_machine(guest: &Client, machines: &Api<DynamicObject>, host: &Host) -> Result<(), HostedError> {
    let machine = machine_of(machines, host).await?;
    let name = machine.metadata.name.unwrap_or_default();
    machines.delete(&name, &DeleteParams::default()).await.map_err(refused("the Machine was not deleted"))?;
    let nodes = api(guest, "v1", "Node", "nodes", "");
    until("the Node went with its Machine", async || {
        let left = nodes.get_opt(host.name).await.map_err(|error| error.to_string())?;
        if left.is_none() { Ok(()) } else { Err("it is there".to_owned()) }
    })
    .await
}

/// Nothing of a pool is left.
async fn cleared(
    client: &Client,
    guest: &Client,
    cluster: &HostedCluster,
    machines: &Api<DynamicObject>,
) -> Result<(), HostedError> {
    let nodes = api(guest, "v1", "Node", "nodes", "");
    let beside = secrets(client, &cluster.control_plane_namespace());
    let services = api(client, "v1", "Service", "services", &cluster.control_plane_namespace());
    until("nothing of the pool was left", async || {
        let words = |error: kube::Error| error.to_string();
        if pools(client).get_opt(POOL).await.map_err(words)?.is_some() {
            return Err("the pool is there".to_owned());
        }
        let mut left: Vec<String> = Vec::new();
        let everything = ListParams::default();
        let name = |object: DynamicObject| object.metadata.name.unwrap_or_default();
        left.extend(machines.list(&everything).await.map_err(words)?.items.into_iter().map(name));
        left.extend(nodes.list(&everything).await.map_err(words)?.items.into_iter().map(name));
        let inside = secrets(guest, "kube-system").list(&everything).await.map_err(words)?;
        left.extend(inside.items.into_iter().map(name).filter(|name| name.starts_with("bootstrap-token-")));
        let outside = beside.list(&everything).await.map_err(words)?;
        let is_ours = |name: &String| name.starts_with("token-") || name.starts_with("user-data-");
        left.extend(outside.items.into_iter().map(name).filter(is_ours));
        left.extend(services.get_opt("ignition-server").await.map_err(words)?.map(name));
        let endpoint = hosted_clusters(client).get(POOL).await.map_err(words)?;
        left.extend(endpoint.data["status"]["ignitionEndpoint"].as_str().map(str::to_owned));
        if left.is_empty() { Ok(()) } else { Err(left.join(", ")) }
    })
    .await
}
