//! Joins that are cut short: the operator with its ignition servers, or the host, is killed at a moment that chance says,
//! and started again. A host ends joined or says why it is not, and is never two Machines.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::time::{Duration, Instant};

use kube::Api;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use roost_sim::{Node, NodeSpec, Simulator, Stage, Start};
use serde_json::json;

use super::nodes::user_data;
use super::objects::{api, create, refused, scale, secrets, until, wait_until_gone};
use super::{HostedCluster, HostedError, Management, Step, hosted_clusters, wait_until_ready};
use crate::random::Random;

const POOL: &str = "storms";
/// How long a join takes, roughly: kills fall somewhere in it.
const JOIN: u64 = 600;
/// Hosts that boot at once while tokens are replaced.
const STORM: u8 = 60;
/// When a pool's token was made, by which the operator knows when to replace it.
const GENERATED: &str = "hypershift.openshift.io/last-token-generation-time";

/// What is killed.
const VICTIMS: [&str; 4] = ["the operator", "the host", "the host, with its disk", "both"];

/// What the runs came to.
#[derive(Debug, Default)]
pub struct Joins {
    /// Hosts that joined.
    pub joined: usize,
    /// The longest that one took after the last kill.
    pub slowest: Duration,
}

/// Cuts `runs` joins short, one after the other, then lets many hosts boot while tokens are replaced.
pub async fn run(
    management: &mut Management,
    runs: usize,
    random: &mut Random,
    tell: Step<'_>,
) -> Result<Joins, HostedError> {
    let cluster = HostedCluster::new(POOL, management.address);
    create(&management.client, &cluster).await?;
    wait_until_ready(&management.client, &cluster).await?;
    scale(&management.client, &cluster, u16::from(STORM)).await?;
    let machines =
        api(&management.client, "cluster.x-k8s.io/v1beta1", "Machine", "machines", &cluster.control_plane_namespace());
    let simulator = Simulator::new();
    let disks = tempfile::tempdir().map_err(|error| HostedError::Wrong(error.to_string()))?;
    let mut joins = Joins::default();
    for number in 0..runs {
        let took = cut_short(management, &cluster, &simulator, &machines, disks.path(), number, random).await?;
        joins.joined += 1;
        joins.slowest = joins.slowest.max(took);
    }
    tell(&format!("{runs} joins were cut short; all hosts joined, each as one Machine"));
    storm(management, &cluster, &simulator).await?;
    tell(&format!("{STORM} hosts booted while tokens were replaced; none failed"));
    let deleted = hosted_clusters(&management.client).delete(POOL, &DeleteParams::default()).await;
    deleted.map_err(refused("it was not deleted"))?;
    wait_until_gone(&management.client, &cluster).await?;
    Ok(joins)
}

/// One join, with kills in it. Returns how long it took after the last one.
async fn cut_short(
    management: &mut Management,
    cluster: &HostedCluster,
    simulator: &Simulator,
    machines: &Api<DynamicObject>,
    disks: &Path,
    number: usize,
    random: &mut Random,
) -> Result<Duration, HostedError> {
    let boots = user_data(&management.client, cluster).await?.to_bytes();
    let spec = || {
        let mut spec = NodeSpec::new(format!("storm-{number}"), Start::UserData(boots.clone()));
        let place = u8::try_from(number % 250).unwrap_or_default() + 1;
        spec.address = IpAddr::V4(Ipv4Addr::new(127, 46, 0, place));
        spec.disk = Some(disks.join(number.to_string()));
        spec
    };
    let mut host: Option<Node> = Some(simulator.spawn(spec()));
    let kills = 1 + random.below(2);
    let mut killed = Vec::new();
    for _ in 0..kills {
        tokio::time::sleep(Duration::from_millis(random.below(JOIN))).await;
        let victim = VICTIMS[usize::try_from(random.below(VICTIMS.len() as u64)).unwrap_or_default()];
        killed.push(victim);
        if victim != "the host" && victim != "the host, with its disk" {
            management.kill_operator();
        }
        let stage = host.as_ref().map(|host| host.progress().borrow().stage);
        if victim != "the operator" {
            host = None;
        }
        // A host that was installed anew is the same host to its pool, but gets no certificate while its node is Ready.
        if victim == "the host, with its disk" && stage.is_some_and(|stage| stage < Stage::Certified) {
            let _ = std::fs::remove_dir_all(disks.join(number.to_string()));
        }
        tokio::time::sleep(Duration::from_millis(random.below(100))).await;
        if victim != "the host" && victim != "the host, with its disk" {
            management.start_operator();
        }
        host.get_or_insert_with(|| simulator.spawn(spec()));
    }
    let start = Instant::now();
    let Some(host) = host else { return Ok(Duration::ZERO) };
    until(&format!("storm-{number} had joined after {}", killed.join(" and ")), async || {
        let progress = host.progress().borrow().clone();
        let listed = machines.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let own: Vec<&DynamicObject> = listed.items.iter().filter(|machine| host_of(machine) == host.name()).collect();
        match own.as_slice() {
            [machine] if progress.stage == Stage::Serving && machine.data["status"]["phase"] == "Running" => Ok(()),
            [] | [_] => Err(format!("{:?}: {:?}", progress.stage, progress.trouble)),
            several => Err(format!("{} Machines for one host", several.len())),
        }
    })
    .await?;
    let took = start.elapsed();
    let listed = machines.list(&ListParams::default()).await.map_err(refused("the Machines were not read"))?;
    let own: Vec<String> = listed
        .items
        .iter()
        .filter(|machine| host_of(machine) == host.name())
        .filter_map(|machine| machine.metadata.name.clone())
        .collect();
    if own.len() != 1 {
        return Err(HostedError::Wrong(format!("storm-{number} is {} Machines", own.len())));
    }
    drop(host);
    machines.delete(&own[0], &DeleteParams::default()).await.map_err(refused("the Machine was not deleted"))?;
    Ok(took)
}

fn host_of(machine: &DynamicObject) -> &str {
    let annotations = machine.metadata.annotations.as_ref();
    annotations.and_then(|all| all.get("roost.dev/host-id")).map(String::as_str).unwrap_or_default()
}

/// Many hosts boot with the same user-data while its token is replaced.
async fn storm(management: &Management, cluster: &HostedCluster, simulator: &Simulator) -> Result<(), HostedError> {
    let boots = user_data(&management.client, cluster).await?.to_bytes();
    let mut hosts = Vec::new();
    for number in 1..=STORM {
        let mut spec = NodeSpec::new(format!("boot-{number}"), Start::UserData(boots.clone()));
        spec.address = IpAddr::V4(Ipv4Addr::new(127, 47, 0, number));
        hosts.push(simulator.spawn(spec));
        if number == STORM / 3 {
            // Later user-data has the new token; those that were handed out before are still on their way.
            replace_token(management, cluster).await?;
        }
    }
    for host in &hosts {
        let reached = tokio::time::timeout(Duration::from_mins(1), host.reach(Stage::Serving)).await;
        reached.map_err(|_| {
            let progress = host.progress().borrow().clone();
            HostedError::Wrong(format!("{} stays at {:?}: {:?}", host.name(), progress.stage, progress.trouble))
        })?;
    }
    Ok(())
}

/// Makes the pool's token as old as one that is due, and waits until there is another.
async fn replace_token(management: &Management, cluster: &HostedCluster) -> Result<(), HostedError> {
    let secrets = secrets(&management.client, &cluster.control_plane_namespace());
    let prefix = format!("token-{}-", cluster.name);
    let find = async || {
        let all = secrets.list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let is_token =
            |secret: &DynamicObject| secret.metadata.name.as_ref().is_some_and(|name| name.starts_with(&prefix));
        all.items.into_iter().find(is_token).ok_or_else(|| "there is no token".to_owned())
    };
    let before = until("the pool had a token", find).await?;
    let old = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(6);
    let change = json!({"metadata": {"annotations": {(GENERATED): old.to_string()}}});
    let name = before.metadata.name.clone().unwrap_or_default();
    let changed = secrets.patch(&name, &PatchParams::default(), &Patch::Merge(change)).await;
    changed.map_err(refused("the token was not made older"))?;
    // A change of the pool that means nothing has it looked at.
    let pools = api(&management.client, "hypershift.openshift.io/v1beta1", "NodePool", "nodepools", "clusters");
    let touch = json!({"metadata": {"annotations": {"example.com/looked-at": old.to_string()}}});
    pools.patch(&cluster.name, &PatchParams::default(), &Patch::Merge(touch)).await.map_err(refused("not touched"))?;
    until("the token was replaced", async || {
        let now = find().await?;
        if now.data["data"]["token"] == before.data["data"]["token"] {
            Err("it is the same".to_owned())
        } else {
            Ok(())
        }
    })
    .await
}
