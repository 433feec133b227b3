//! Hosts that take the place of others: for another configuration, and when one breaks. A host is let go only when a spare one
//! has joined.

use std::net::{IpAddr, Ipv4Addr};

use kube::Client;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use roost_sim::{Node, NodeSpec, Simulator, Stage, Start};
use serde_json::json;

use super::objects::{api, create, decode, refused, scale, secrets, until, wait_until_gone};
use super::rollout::{configure, nodes, pool_says, pools};
use super::{HostedCluster, HostedError, Management, Step, hosted_clusters, wait_until_ready};

const POOL: &str = "swaps";

/// Runs all steps.
pub async fn run(management: &Management, tell: Step<'_>) -> Result<(), HostedError> {
    let client = &management.client;
    let cluster = HostedCluster {
        management: json!({"upgradeType": "Replace", "autoRepair": true}),
        ..HostedCluster::new(POOL, management.address)
    };
    create(client, &cluster).await?;
    let guest = wait_until_ready(client, &cluster).await?;
    let change = json!({"metadata": {"annotations": {"hypershift.openshift.io/machine-health-check-timeout": "1s"}}});
    let changed = pools(client).patch(POOL, &PatchParams::default(), &Patch::Merge(change)).await;
    changed.map_err(refused("the pool was not changed"))?;
    scale(client, &cluster, 2).await?;
    let simulator = Simulator::new();
    let first = user_data(client, &cluster, "").await?;
    let mut hosts = vec![boot(&simulator, 1, &first.1).await, boot(&simulator, 2, &first.1).await];
    pool_says(client, POOL, "Ready", "True", "").await?;
    tell("two nodes have joined");

    configure(client, POOL, 60).await?;
    pool_says(client, POOL, "UpdatingConfig", "True", "boot a spare host").await?;
    if names(&guest).await? != [name(1), name(2)] {
        return Err(HostedError::Wrong("a node went while there was no spare host".to_owned()));
    }
    tell("without a spare host nothing is replaced, and the pool asks for one");
    let next = user_data(client, &cluster, &first.0).await?;
    let spare = boot(&simulator, 3, &next.1).await;
    let gone = one_left(&guest, &[name(1), name(2)]).await?;
    // The host of the node that was removed is started again, and is the spare one for the other.
    hosts.retain(|host| host.name() != gone);
    let number = if gone == name(1) { 1 } else { 2 };
    let again = boot(&simulator, number, &next.1).await;
    one_left(&guest, &[name(3 - number)]).await?;
    drop(hosts);
    pool_says(client, POOL, "UpdatingConfig", "False", "").await?;
    let machines = api(client, "cluster.x-k8s.io/v1beta1", "Machine", "machines", &cluster.control_plane_namespace());
    let left = machines.list(&ListParams::default()).await.map_err(refused("the Machines were not read"))?;
    if left.items.len() != 2 || names(&guest).await?.len() != 2 {
        return Err(HostedError::Wrong(format!("{} Machines are left of two", left.items.len())));
    }
    tell("with one the nodes are replaced in turn, each by a host that has the configuration");

    drop(spare);
    break_down(&guest, &name(3)).await?;
    pool_says(client, POOL, "AutorepairEnabled", "True", &format!("not Ready: {}; there is no spare host", name(3)))
        .await?;
    tell("a broken node stays, and is named, while there is no spare host");
    let other = boot(&simulator, 3 - number, &next.1).await;
    one_left(&guest, &[name(3)]).await?;
    pool_says(client, POOL, "Ready", "True", "").await?;
    tell("once there is one, the broken node is removed");

    drop((again, other));
    hosted_clusters(client).delete(POOL, &DeleteParams::default()).await.map_err(refused("it was not deleted"))?;
    wait_until_gone(client, &cluster).await
}

fn name(number: u8) -> String {
    format!("swap-{number}")
}

/// Starts a host with nothing on its disk and waits until it is a node.
async fn boot(simulator: &Simulator, number: u8, user_data: &[u8]) -> Node {
    let mut spec = NodeSpec::new(name(number), Start::UserData(user_data.to_vec()));
    spec.address = IpAddr::V4(Ipv4Addr::new(127, 48, 0, number));
    let host = simulator.spawn(spec);
    host.reach(Stage::Serving).await;
    host
}

/// The pool's user-data of another name than before, and their name.
async fn user_data(client: &Client, cluster: &HostedCluster, before: &str) -> Result<(String, Vec<u8>), HostedError> {
    let secrets = secrets(client, &cluster.control_plane_namespace());
    let prefix = format!("user-data-{POOL}-");
    until("the pool had other user-data", async || {
        let all = secrets.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let name_of = |secret: &DynamicObject| secret.metadata.name.clone().unwrap_or_default();
        let secret = all.items.iter().find(|secret| {
            let name = name_of(secret);
            name.starts_with(&prefix) && name != before
        });
        let secret = secret.ok_or("there is no such Secret")?;
        let text = decode(secret.data["data"]["value"].as_str().unwrap_or_default()).ok_or("it has no value")?;
        Ok((name_of(secret), text.into_bytes()))
    })
    .await
}

async fn names(guest: &Client) -> Result<Vec<String>, HostedError> {
    let all = nodes(guest).list(&ListParams::default()).await.map_err(refused("the nodes were not read"))?;
    let mut names: Vec<String> = all.items.into_iter().filter_map(|node| node.metadata.name).collect();
    names.sort();
    Ok(names)
}

/// Waits until one of these nodes is gone.
async fn one_left(guest: &Client, candidates: &[String]) -> Result<String, HostedError> {
    until(&format!("one of {} was gone", candidates.join(" and ")), async || {
        let there = names(guest).await.map_err(|error| error.to_string())?;
        candidates.iter().find(|name| !there.contains(name)).cloned().ok_or_else(|| there.join(", "))
    })
    .await
}

/// What is written of a node whose kubelet has not been heard of for long.
async fn break_down(guest: &Client, name: &str) -> Result<(), HostedError> {
    let now = jiff::Timestamp::now().strftime("%FT%TZ").to_string();
    let status = json!({"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.", "lastHeartbeatTime": now, "lastTransitionTime": now}]}});
    let written = nodes(guest).patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await;
    written.map(drop).map_err(refused("the node was not changed"))
}
