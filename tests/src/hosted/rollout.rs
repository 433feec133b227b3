//! A pool's configuration changes, and its nodes follow one by one: drained as budgets allow, and stopped by the first
//! that does not take it.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use roost_operator::Pending;
use roost_sim::{Node, NodeSpec, Simulator, Stage, Start, UpdateFault};
use serde_json::{Value, json};

use super::nodes::user_data;
use super::objects::{NAMESPACE, api, condition, create, refused, scale, until, wait_until_gone};
use super::{HostedCluster, HostedError, Management, Step, hosted_clusters, wait_until_ready};

const POOL: &str = "rolls";
const NODES: u8 = 6;
/// The node that cannot take a configuration.
const BAD: u8 = 3;
const CURRENT: &str = "roost.dev/current-config";

fn name(number: u8) -> String {
    format!("roll-{number}")
}

/// Runs all steps.
pub async fn run(management: &Management, tell: Step<'_>) -> Result<(), HostedError> {
    let client = &management.client;
    let cluster = HostedCluster::new(POOL, management.address);
    create(client, &cluster).await?;
    let guest = wait_until_ready(client, &cluster).await?;
    scale(client, &cluster, NODES.into()).await?;
    let user_data = user_data(client, &cluster).await?.to_bytes();
    let disks = tempfile::tempdir().map_err(|error| HostedError::Wrong(error.to_string()))?;
    let simulator = Simulator::new();
    let mut hosts: Vec<Node> =
        (1..=NODES).map(|number| simulator.spawn(spec(number, &user_data, disks.path(), None))).collect();
    for host in &hosts {
        host.reach(Stage::Serving).await;
    }
    pool_says(client, POOL, "Ready", "True", "").await?;
    tell("six nodes have joined");

    guard(&guest).await?;
    configure(client, POOL, 60).await?;
    pool_says(client, POOL, "UpdatingConfig", "True", "cannot be drained yet: default/guarded").await?;
    let seen = nodes(&guest).list(&ListParams::default()).await.map_err(refused("the nodes were not read"))?;
    if seen.items.iter().filter(|node| is_cordoned(node)).count() != 1 {
        return Err(HostedError::Wrong("a drain that waits does not keep others from being taken".to_owned()));
    }
    tell("a drain waits for a disruption budget, and says for which pod");
    let budgets = api(&guest, "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", "default");
    budgets.delete("guarded", &DeleteParams::default()).await.map_err(refused("the budget was not deleted"))?;
    one_by_one(client, &guest).await?;
    pool_says(client, POOL, "UpdatingConfig", "False", "").await?;
    let pods = api(&guest, "v1", "Pod", "pods", "default");
    if pods.get_opt("guarded").await.map_err(refused("the pod was not read"))?.is_some() {
        return Err(HostedError::Wrong("a node was changed under a pod".to_owned()));
    }
    tell("without it all six take the configuration one by one, and pods can run there again");

    foresee(client, &guest).await?;
    tell("what a change would do is told before anybody makes it");

    let place = usize::from(BAD) - 1;
    drop(hosts.remove(place));
    hosts.insert(place, simulator.spawn(spec(BAD, &user_data, disks.path(), Some(UpdateFault::GoesBack))));
    hosts[place].reach(Stage::Serving).await;
    configure(client, POOL, 70).await?;
    let words = format!("stopped: the node {} could not take the configuration", name(BAD));
    pool_says(client, POOL, "UpdatingConfig", "True", &words).await?;
    let before: Vec<String> = hashes(&guest).await?;
    // What stopped stays so: a few passes later nothing else was taken.
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let after: Vec<String> = hashes(&guest).await?;
    let changed = after.iter().filter(|hash| **hash == after[0]).count();
    if before != after || changed != place {
        return Err(HostedError::Wrong(format!("a rollout that stopped went on: {before:?} {after:?}")));
    }
    tell("a node that goes back stops the rollout, which names it");
    drop(hosts.remove(place));
    hosts.insert(place, simulator.spawn(spec(BAD, &user_data, disks.path(), None)));
    hosts[place].reach(Stage::Serving).await;
    let forget = json!({"metadata": {"annotations": {"roost.dev/update-failed": null}}});
    let forgotten = nodes(&guest).patch(&name(BAD), &PatchParams::default(), &Patch::Merge(forget)).await;
    forgotten.map_err(refused("the annotation was not removed"))?;
    one_by_one(client, &guest).await?;
    pool_says(client, POOL, "Ready", "True", "").await?;
    tell("once it is asked to try again, the rollout goes on to its end");

    drop(hosts);
    hosted_clusters(client).delete(POOL, &DeleteParams::default()).await.map_err(refused("it was not deleted"))?;
    wait_until_gone(client, &cluster).await
}

fn spec(number: u8, user_data: &[u8], disks: &Path, fault: Option<UpdateFault>) -> NodeSpec {
    let mut spec = NodeSpec::new(name(number), Start::UserData(user_data.to_vec()));
    spec.address = IpAddr::V4(Ipv4Addr::new(127, 45, 0, number));
    spec.disk = Some(disks.join(name(number)));
    spec.faults.update = fault;
    spec
}

pub(super) fn pools(client: &Client) -> Api<DynamicObject> {
    api(client, "hypershift.openshift.io/v1beta1", "NodePool", "nodepools", NAMESPACE)
}

pub(super) fn nodes(guest: &Client) -> Api<DynamicObject> {
    api(guest, "v1", "Node", "nodes", "")
}

fn is_cordoned(node: &DynamicObject) -> bool {
    node.data["spec"]["unschedulable"] == true
}

fn annotation(object: &DynamicObject, key: &str) -> String {
    object.metadata.annotations.as_ref().and_then(|all| all.get(key)).cloned().unwrap_or_default()
}

pub(super) async fn pool_says(
    client: &Client,
    pool: &str,
    kind: &str,
    status: &str,
    words: &str,
) -> Result<(), HostedError> {
    until(&format!("the pool's {kind} was {status} with {words:?}"), async || {
        let pool = pools(client).get(pool).await.map_err(|error| error.to_string())?;
        let (seen, message) = condition(&pool, kind);
        if seen == status && message.contains(words) { Ok(()) } else { Err(format!("{seen}: {message}")) }
    })
    .await
}

/// A pod on the first node that may not go.
async fn guard(guest: &Client) -> Result<(), HostedError> {
    let labels = json!({"app": "guarded"});
    let documents: [(Value, &str); 2] = [
        (
            json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "guarded"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}}),
            "poddisruptionbudgets",
        ),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "guarded", "labels": labels},
                "spec": {"nodeName": name(1), "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "c", "image": "example.com/guarded"}]}}),
            "pods",
        ),
    ];
    for (document, plural) in documents {
        let kind = document["kind"].as_str().unwrap_or_default().to_owned();
        let version = document["apiVersion"].as_str().unwrap_or_default().to_owned();
        let object: DynamicObject =
            serde_json::from_value(document).map_err(|error| HostedError::Wrong(error.to_string()))?;
        until(&format!("the {kind} was made"), async || {
            let made = api(guest, &version, &kind, plural, "default").create(&PostParams::default(), &object).await;
            made.map(drop).map_err(|error| error.to_string())
        })
        .await?;
    }
    let pods = api(guest, "v1", "Pod", "pods", "default");
    until("the guarded pod ran", async || {
        let pod = pods.get("guarded").await.map_err(|error| error.to_string())?;
        let is_ready = condition(&pod, "Ready").0 == "True";
        if is_ready { Ok(()) } else { Err(pod.data["status"].to_string()) }
    })
    .await
}

/// A plan names all nodes in their order and the field that changes, and changes nothing.
async fn foresee(client: &Client, guest: &Client) -> Result<(), HostedError> {
    let before = hashes(guest).await?;
    let preview = async |objects: Vec<Value>| {
        let pending = Pending { release: None, objects };
        let now = jiff::Timestamp::now();
        let made = roost_operator::preview(client, Some(guest.clone()), (NAMESPACE, POOL), &pending, now).await;
        made.map_err(|error| HostedError::Wrong(error.to_string()))
    };
    let nothing = preview(vec![map(POOL, 60)]).await?;
    if !nothing.nodes.is_empty() || nothing.unchanged.len() != usize::from(NODES) {
        return Err(HostedError::Wrong(format!("what is so already would be done again: {nothing:?}")));
    }
    let planned = preview(vec![map(POOL, 70)]).await?;
    let names: Vec<String> = planned.nodes.iter().map(|node| node.node.clone()).collect();
    if names != (1..=NODES).map(name).collect::<Vec<_>>() || planned.changed != ["spec.config of the NodePool"] {
        return Err(HostedError::Wrong(format!("the plan is {planned:?}")));
    }
    if hashes(guest).await? != before || planned.target == before[0] {
        return Err(HostedError::Wrong("a plan changed something, or nothing would change".to_owned()));
    }
    Ok(())
}

/// A configuration for the kubelets of the pool.
fn map(pool: &str, pods: u32) -> Value {
    let manifest = format!(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata:\n  name: pods\nspec:\n  kubeletConfig:\n    maxPods: {pods}\n"
    );
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": pool, "namespace": NAMESPACE},
        "data": {"config": manifest}})
}

/// Gives the pool another configuration.
pub(super) async fn configure(client: &Client, pool: &str, pods: u32) -> Result<(), HostedError> {
    let maps = api(client, "v1", "ConfigMap", "configmaps", NAMESPACE);
    let owner = PatchParams::apply("test").force();
    maps.patch(pool, &owner, &Patch::Apply(map(pool, pods)))
        .await
        .map_err(refused("the configuration was not written"))?;
    let change = Patch::Merge(json!({"spec": {"config": [{"name": pool}]}}));
    let changed = pools(client).patch(pool, &PatchParams::default(), &change).await;
    changed.map(drop).map_err(refused("the pool was not changed"))
}

/// The configurations that the nodes have, in the order of their names.
async fn hashes(guest: &Client) -> Result<Vec<String>, HostedError> {
    let mut all = nodes(guest).list(&ListParams::default()).await.map_err(refused("the nodes were not read"))?.items;
    all.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    Ok(all.iter().map(|node| annotation(node, CURRENT)).collect())
}

/// Waits until all nodes have the pool's configuration; at no moment more than one is away.
async fn one_by_one(client: &Client, guest: &Client) -> Result<(), HostedError> {
    let mut worst = 0;
    until("all nodes had the configuration", async || {
        let words = |error: kube::Error| error.to_string();
        let all = nodes(guest).list(&ListParams::default()).await.map_err(words)?.items;
        let away = all.iter().filter(|node| is_cordoned(node) || condition(node, "Ready").0 != "True").count();
        worst = worst.max(away);
        let pool = pools(client).get(POOL).await.map_err(words)?;
        let current = annotation(&pool, "hypershift.openshift.io/nodePoolCurrentConfigVersion");
        let is_done = away == 0
            && all.len() == usize::from(NODES)
            && all.iter().all(|node| annotation(node, CURRENT) == current)
            && condition(&pool, "UpdatingConfig").0 == "False";
        if is_done { Ok(()) } else { Err(format!("{current}: {}", condition(&pool, "UpdatingConfig").1)) }
    })
    .await?;
    if worst > 1 { Err(HostedError::Wrong(format!("{worst} nodes were away at once"))) } else { Ok(()) }
}
