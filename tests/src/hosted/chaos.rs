//! Destruction from any state: something is broken at random, and nothing may be left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::api::{DeleteParams, Patch, PatchParams};
use roost_runtime::Runtime as _;
use serde_json::{Value, json};

use super::objects::{api, create, hosted_clusters, secrets, until, wait_until_gone, wait_until_ready};
use super::{HostedCluster, HostedError, Management};
use crate::random::Random;

/// What was done before and while a cluster was destroyed, and how long its end took.
#[derive(Debug)]
pub struct Outcome {
    /// What was broken.
    pub broken: Vec<&'static str>,
    /// From the request to the last trace.
    pub took: Duration,
}

/// A cluster that is no longer held goes without its operator.
const CLUSTER_FREED: &str = "finalizer of the cluster removed";
/// Things that people and accidents do.
const MISHAPS: [&str; 9] = [
    "operator killed",
    "control plane deleted",
    "namespace deleted",
    "keys deleted",
    "finalizer of the control plane removed",
    CLUSTER_FREED,
    "node pool deleted",
    "paused",
    "disk full",
];

/// The longest time that a disk is full, in milliseconds.
const FULL_FOR: u64 = 1500;

/// Makes a cluster, breaks what chance says at a moment that chance says, destroys it and checks that nothing is left.
pub async fn destroy_at_random(
    management: &mut Management,
    number: usize,
    random: &mut Random,
) -> Result<Outcome, HostedError> {
    let cluster = HostedCluster::new(format!("chaos-{number}"), management.address);
    create(&management.client, &cluster).await?;
    if random.below(2) == 0 {
        wait_until_ready(&management.client, &cluster).await?;
    } else {
        tokio::time::sleep(Duration::from_millis(random.below(60))).await;
    }
    let mut broken = Vec::new();
    for mishap in MISHAPS {
        if random.below(4) == 0 {
            broken.push(mishap);
        }
    }
    let planned = broken.clone();
    let split = usize::try_from(random.below(planned.len() as u64 + 1)).unwrap_or_default();
    let (before, after) = planned.split_at(split);
    for mishap in before {
        happen(management, &cluster, mishap, random).await;
    }
    let start = Instant::now();
    // One that nobody had taken in yet, such as one that was paused at once, has no finalizer and is gone at once.
    let was_taken_in = delete(management, &cluster).await?;
    for mishap in after {
        happen(management, &cluster, mishap, random).await;
    }
    // Half of the ends are brought about by the operator that saw everything, half by one that sees only what is left.
    if random.below(2) == 0 {
        broken.push("operator replaced");
        management.kill_operator();
        management.start_operator();
    }
    if broken.contains(&CLUSTER_FREED) || !was_taken_in {
        remove_stray_pool(management, &cluster).await?;
    }
    let gone = wait_until_gone(&management.client, &cluster).await;
    gone.map_err(|error| HostedError::Wrong(format!("after {broken:?}: {error}")))?;
    no_data(management, &broken).await?;
    Ok(Outcome { broken, took: start.elapsed() })
}

/// Asks for the end; true when somebody has to bring it about. On a full disk the wish cannot be written down, and whoever
/// asked is told so and asks again.
async fn delete(management: &Management, cluster: &HostedCluster) -> Result<bool, HostedError> {
    loop {
        match hosted_clusters(&management.client).delete(&cluster.name, &DeleteParams::default()).await {
            Ok(answer) => return Ok(!answer.is_right()),
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(true),
            Err(kube::Error::Api(status)) if status.message.contains("the store could not be written") => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => return Err(HostedError::Wrong(format!("{} cannot be deleted: {error}", cluster.name))),
        }
    }
}

/// A pool that nobody had taken in before its cluster was gone may belong to one that is still to come, so it stays; but
/// it says what it misses, and goes when it is asked to.
async fn remove_stray_pool(management: &Management, cluster: &HostedCluster) -> Result<(), HostedError> {
    let pools = api(&management.client, "hypershift.openshift.io/v1beta1", "NodePool", "nodepools", "clusters");
    let clusters = hosted_clusters(&management.client);
    until("the NodePool was gone or said what it misses", async || {
        let words = |error: kube::Error| error.to_string();
        if clusters.get_opt(&cluster.name).await.map_err(words)?.is_some() {
            return Err("the cluster is there".to_owned());
        }
        let Some(pool) = pools.get_opt(&cluster.name).await.map_err(words)? else { return Ok(()) };
        let is_owned = pool.metadata.owner_references.as_ref().is_some_and(|owners| !owners.is_empty());
        if is_owned || pool.metadata.deletion_timestamp.is_some() {
            return Err("the NodePool is on its way out".to_owned());
        }
        let conditions = pool.data["status"]["conditions"].to_string();
        if !conditions.contains("HostedCluster") || !conditions.contains(&cluster.name) {
            return Err(format!("the NodePool says {conditions}"));
        }
        pools.delete(&cluster.name, &DeleteParams::default()).await.map(drop).map_err(words)
    })
    .await
}

async fn no_data(management: &Management, broken: &[&str]) -> Result<(), HostedError> {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !management.runtime.planes().is_empty() {
        if Instant::now() > deadline {
            let planes = management.runtime.planes();
            return Err(HostedError::Wrong(format!("after {broken:?} data are left of {planes:?}")));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Lets something go wrong. What is already gone cannot.
async fn happen(management: &mut Management, cluster: &HostedCluster, mishap: &str, random: &mut Random) {
    let client = management.client.clone();
    let inside = cluster.control_plane_namespace();
    let group = "hypershift.openshift.io/v1beta1";
    let planes = api(&client, group, "HostedControlPlane", "hostedcontrolplanes", &inside);
    let spaces = api(&client, "v1", "Namespace", "namespaces", "");
    let pools = api(&client, group, "NodePool", "nodepools", "clusters");
    let clusters = hosted_clusters(&client);
    let now = DeleteParams::default();
    let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let parameters = PatchParams::default();
    match mishap {
        "operator killed" => {
            management.kill_operator();
            tokio::time::sleep(Duration::from_millis(30)).await;
            management.start_operator();
        }
        "control plane deleted" => drop(planes.delete(&cluster.name, &now).await),
        "namespace deleted" => drop(spaces.delete(&inside, &now).await),
        "keys deleted" => {
            for name in ["root-ca", "admin-kubeconfig", "kas-server-crt", "pull-secret"] {
                drop(secrets(&client, &inside).delete(name, &now).await);
            }
        }
        "finalizer of the control plane removed" => drop(planes.patch(&cluster.name, &parameters, &free).await),
        CLUSTER_FREED => drop(clusters.patch(&cluster.name, &parameters, &free).await),
        "node pool deleted" => drop(pools.delete(&cluster.name, &now).await),
        "disk full" => {
            let disk = Arc::clone(&management.disk);
            let until = Duration::from_millis(random.below(FULL_FOR));
            disk.set_full(true);
            tokio::spawn(async move {
                tokio::time::sleep(until).await;
                disk.set_full(false);
            });
        }
        _ => {
            let pause: Patch<Value> = Patch::Merge(json!({"spec": {"pausedUntil": "true"}}));
            drop(clusters.patch(&cluster.name, &parameters, &pause).await);
        }
    }
}
