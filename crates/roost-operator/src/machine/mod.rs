//! Machine: one host from its first fetch to its last day, and the Node that it becomes.

mod names;
mod node;
mod record;
mod status;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use roost_api::agent_install::names::label;
use roost_api::cluster_api::names::finalizer::MACHINE as MACHINE_FINALIZER;
use roost_runtime::{PlaneId, Runtime};
use serde_json::{Value, json};

pub(crate) use names::{
    CONFIG_HASH, HOST_ID, NODE_NAME, TOKEN_ID, digits, machine_name, pool_label, provider_id, token_secret,
};
pub(crate) use node::{UNINITIALIZED, labels};
pub(crate) use record::{Record, approval, read};
pub(crate) use status::is_ready;

use crate::context::{Context, Next, ReconcileError};
use crate::names::CLUSTER;
use crate::node_pool::CURRENT_CONFIG;
use crate::object::{Kind, Objects, Reference, annotation, has_finalizer, is_deleting};

/// How soon a hosted cluster that does not answer is asked again.
const RETRY: Duration = Duration::from_secs(5);

/// Brings one Machine nearer to what is wanted.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let Some(machine) = objects.find(Kind::Machine, namespace, name).await? else { return Ok(Next::Settled) };
    if annotation(&machine, HOST_ID).is_empty() {
        // Somebody else's.
        return Ok(Next::Settled);
    }
    let plane = plane_of(&machine);
    let guest = plane.as_ref().and_then(|plane| context.runtime.client(plane)).map(Objects::new);
    if is_deleting(&machine) {
        return release(context, &machine, guest.as_ref()).await;
    }
    let (Some(plane), Some(guest)) = (plane, guest) else { return Ok(Next::After(RETRY)) };
    let node = guest.find(Kind::Node, "", annotation(&machine, NODE_NAME)).await?;
    let mut node = node.filter(|node| belongs(node, &machine));
    let now = Timestamp::now();
    if let Some(found) = node.take() {
        node = Some(tend(context, &plane, &guest, &machine, found).await?);
    }
    let reference = Reference::new(Kind::Machine, namespace, name);
    if node.is_none() && is_of_free_host(objects, &machine).await? {
        // The host fetched its configuration while it was given back, and will never come.
        objects.delete(&reference).await?;
        return Ok(Next::Settled);
    }
    let status = status::status(&machine, node.as_ref(), now);
    if status != machine["status"] {
        objects.set_status(&reference, &status).await?;
        if status["nodeRef"] != machine["status"]["nodeRef"] {
            context.nodes.look_again(&plane, annotation(&machine, NODE_NAME));
            return Ok(Next::After(Duration::ZERO));
        }
    }
    Ok(status::deadline(&machine).filter(|&deadline| deadline > now).map_or(Next::Settled, Next::At))
}

/// Whether a Machine is of a discovered host that nobody uses any more.
async fn is_of_free_host(objects: &Objects, machine: &Value) -> Result<bool, ReconcileError> {
    let Some((space, pool)) = pool_of(machine) else { return Ok(false) };
    let pool = objects.find(Kind::NodePool, space, pool).await?;
    let Some(pool) = pool.filter(|pool| pool["spec"]["platform"]["type"] == "Agent") else { return Ok(false) };
    let cluster = pool["spec"]["clusterName"].as_str().unwrap_or_default();
    let Some(cluster) = objects.find(Kind::HostedCluster, space, cluster).await? else { return Ok(false) };
    let agents = cluster["spec"]["platform"]["agent"]["agentNamespace"].as_str().unwrap_or_default();
    let agent = objects.find(Kind::Agent, agents, annotation(machine, HOST_ID)).await?;
    Ok(agent.is_some_and(|agent| {
        agent["spec"]["clusterDeploymentName"]["name"].is_null()
            && agent["metadata"]["labels"][label::AGENT_MACHINE].is_null()
    }))
}

/// Gives a Node what it lacks, and takes back the credential that it no longer needs.
async fn tend<R: Runtime>(
    context: &Arc<Context<R>>,
    plane: &PlaneId,
    guest: &Objects,
    machine: &Value,
    mut node: Value,
) -> Result<Value, ReconcileError> {
    let objects = &context.objects;
    let pool = match pool_of(machine) {
        Some((space, name)) => objects.find(Kind::NodePool, space, name).await?,
        None => None,
    };
    let name = annotation(machine, NODE_NAME);
    let pods = context.nodes.pod_networks(plane, name, &node);
    if let Some(change) = node::change(&node, machine, pool.as_ref(), &pods) {
        node = guest.merge(&Reference::new(Kind::Node, "", name), &change).await?;
    }
    follow_configuration(objects, machine, &node).await?;
    let token = annotation(machine, TOKEN_ID);
    if !token.is_empty() && machine["status"]["nodeRef"]["uid"] == node["metadata"]["uid"] {
        // The Node registered with its own certificate, so nobody needs the token any more.
        guest.delete(&Reference::new(Kind::Secret, "kube-system", &token_secret(token))).await?;
        let version = &machine["metadata"]["resourceVersion"];
        let change = json!({"metadata": {"annotations": {(TOKEN_ID): null}, "resourceVersion": version}});
        objects.merge(&Reference::of(machine), &change).await?;
    }
    Ok(node)
}

/// A Machine has the configuration that its node says it has.
async fn follow_configuration(objects: &Objects, machine: &Value, node: &Value) -> Result<(), ReconcileError> {
    let current = annotation(node, CURRENT_CONFIG);
    if !current.is_empty() && current != annotation(machine, CONFIG_HASH) {
        let change = json!({"metadata": {"annotations": {(CONFIG_HASH): current}}});
        objects.merge(&Reference::of(machine), &change).await?;
    }
    Ok(())
}

/// Whether a Node is what a Machine's host became. One without a provider id is when the host was given a certificate
/// for its name: nobody else can have registered it since.
fn belongs(node: &Value, machine: &Value) -> bool {
    let provider = node["spec"]["providerID"].as_str().unwrap_or_default();
    if !provider.is_empty() {
        return machine["spec"]["providerID"] == provider;
    }
    let recorded = machine["status"]["nodeRef"]["uid"].as_str();
    if let Some(uid) = recorded {
        return node["metadata"]["uid"] == uid;
    }
    let made: Option<Timestamp> = node["metadata"]["creationTimestamp"].as_str().and_then(|time| time.parse().ok());
    let facts = read(machine);
    // Times of objects have no fractions of seconds.
    let fetched = Timestamp::from_second(facts.fetched_at.as_second()).unwrap_or(facts.fetched_at);
    facts.approvals > 0 && made.is_some_and(|made| made >= fetched)
}

/// Lets a Machine go: its Node and its credential go first.
async fn release<R: Runtime>(
    context: &Arc<Context<R>>,
    machine: &Value,
    guest: Option<&Objects>,
) -> Result<Next, ReconcileError> {
    if !has_finalizer(machine, MACHINE_FINALIZER) {
        return Ok(Next::Settled);
    }
    let objects = &context.objects;
    let reference = Reference::of(machine);
    if let Some(guest) = guest {
        let token = annotation(machine, TOKEN_ID);
        if !token.is_empty() {
            guest.delete(&Reference::new(Kind::Secret, "kube-system", &token_secret(token))).await?;
        }
        let name = annotation(machine, NODE_NAME);
        let node = guest.find(Kind::Node, "", name).await?;
        if node.is_some_and(|node| belongs(&node, machine)) {
            guest.delete(&Reference::new(Kind::Node, "", name)).await?;
        }
    } else {
        // A cluster that sleeps has to forget the node when it wakes; one that goes takes it along.
        let space = objects.find(Kind::Namespace, "", &reference.namespace).await?;
        let owner = space.as_ref().map(|space| annotation(space, CLUSTER).to_owned()).unwrap_or_default();
        let cluster = match owner.split_once('/') {
            Some((namespace, name)) => objects.find(Kind::HostedCluster, namespace, name).await?,
            None => None,
        };
        if cluster.is_some_and(|cluster| !is_deleting(&cluster)) {
            return Ok(Next::After(RETRY));
        }
    }
    Ok(Next::after_release(objects.release(machine, MACHINE_FINALIZER).await?))
}

/// The pool that a Machine names, as namespace and name.
pub(crate) fn pool_of(machine: &Value) -> Option<(&str, &str)> {
    annotation(machine, roost_api::hypershift::names::annotation::NODE_POOL).split_once('/')
}

/// The hosted cluster of a Machine, by its provider id.
fn plane_of(machine: &Value) -> Option<PlaneId> {
    let (id, _) = machine["spec"]["providerID"].as_str()?.strip_prefix("roost://")?.split_once('/')?;
    id.parse().ok()
}
