//! The hosts of a NodePool on the platform Agent: as many AgentMachines as replicas, each with the best free host.

mod choose;
mod plan;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use parking_lot::Mutex;
use roost_api::agent_install::HostState;
use roost_api::agent_install::names::{annotation as names, key, label};
use roost_api::capi_provider::condition::AGENT_RESERVED;
use roost_api::capi_provider::names::finalizer::AGENT_MACHINE;
use roost_api::cluster_api::names::label::CLUSTER_NAME;
use roost_api::hypershift::names::{annotation::NODE_POOL, label::NODE_POOL as NODE_POOL_LABEL};
use roost_runtime::Runtime;
use serde_json::{Value, json};

pub(crate) use choose::selector;

use crate::condition;
use crate::context::{Context, Next, ReconcileError};
use crate::discovery::Place;
use crate::hosted_cluster::control_plane_namespace;
use crate::hosts::Host;
use crate::machine::pool_label;
use crate::names::POOL_LABEL;
use crate::object::{Kind, Objects, Reference, is_deleting};
use crate::pause::Pause;
use crate::queue::{Controller, Key};
use plan::{Plan, Slot};

/// The Secret with a host's token is named after the pool's user-data Secret, with this before it. Upstream's name.
pub(crate) const TOKEN_PREFIX: &str = "agent-";
/// The pool of a machine's configuration, which upstream takes from the last part of the address.
const CONFIG_POOL: &str = "ignition";
/// How soon a pool that has no configuration yet is looked at again.
const WAIT: Duration = Duration::from_secs(1);
/// How soon a pool that lacks hosts is looked at again, beside when one becomes free.
const LACKING: Duration = Duration::from_secs(30);
/// How often the machines of a pool that lacks hosts say anew why: a hundred that wait would be written for every host.
const EXPLAIN: Duration = Duration::from_secs(5);
/// Writes of one pass that are under way at the same time.
const AT_ONCE: usize = 16;

/// Brings the hosts of one NodePool nearer to what is wanted.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let place = (namespace.to_owned(), name.to_owned());
    let selector = format!("{POOL_LABEL}={}", pool_label(namespace, name));
    let pool = objects.find(Kind::NodePool, namespace, name).await?.filter(|pool| !is_deleting(pool));
    let Some(pool) = pool else {
        for machine in objects.list_labelled(Kind::AgentMachine, "", &selector).await? {
            if !is_deleting(&machine) {
                objects.delete(&Reference::of(&machine)).await?;
            }
        }
        return Ok(Next::Settled);
    };
    let now = Timestamp::now();
    let is_paused = !matches!(Pause::of(pool["spec"]["pausedUntil"].as_str(), now), Pause::Active | Pause::Unreadable);
    if pool["spec"]["platform"]["type"] != "Agent" || is_paused {
        return Ok(Next::Settled);
    }
    let cluster_name = pool["spec"]["clusterName"].as_str().unwrap_or_default();
    let cluster = objects.find(Kind::HostedCluster, namespace, cluster_name).await?;
    let Some(cluster) = cluster.filter(|cluster| !is_deleting(cluster)) else { return Ok(Next::Settled) };
    let Some(agents) = cluster["spec"]["platform"]["agent"]["agentNamespace"].as_str() else {
        return Ok(Next::Settled);
    };
    let inside = control_plane_namespace(namespace, cluster_name);
    let machines = objects.list_labelled(Kind::AgentMachine, &inside, &selector).await?;
    let slots: Vec<Slot> = machines.iter().map(|machine| slot(context, machine)).collect();
    let plan = plan::plan(&slots, &pool["spec"]);
    apply(context, &pool, &cluster, &inside, &plan).await?;
    let configuration = configuration(objects, &inside, &selector).await?;
    let open: Vec<Value> =
        if plan.create > 0 { objects.list_labelled(Kind::AgentMachine, &inside, &selector).await? } else { machines };
    let open: Vec<&Value> = open
        .iter()
        .filter(|machine| !is_deleting(machine) && machine["status"]["agentRef"]["name"].is_null())
        .filter(|machine| !plan.delete.contains(&machine["metadata"]["name"].as_str().unwrap_or_default().to_owned()))
        .collect();
    if let Some(configuration) = &configuration {
        keep(objects, context, &slots, configuration).await?;
    }
    if open.is_empty() {
        context.hosts.wait(agents, &place, false);
        return Ok(Next::Settled);
    }
    let Some(configuration) = configuration else { return Ok(Next::After(WAIT)) };
    if !context.hosts.is_complete() {
        return Ok(Next::After(WAIT));
    }
    let open = note_claims(context, &inside, open).await?;
    // Who becomes free while hosts are chosen is not missed.
    context.hosts.wait(agents, &place, true);
    let claims = Claims { pool: &pool, inside: &inside, agents, configuration: &configuration };
    let lacking = claim(context, &claims, open, &slots).await?;
    if !lacking.is_empty() {
        return Ok(Next::After(explain(context, &place, agents, &lacking).await?));
    }
    context.hosts.wait(agents, &place, false);
    Ok(Next::Settled)
}

/// An AgentMachine and the host that it has.
fn slot<R>(context: &Context<R>, machine: &Value) -> Slot {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let reference = &machine["status"]["agentRef"];
    let agent = text(&reference["name"]).map(|name| (text(&reference["namespace"]).unwrap_or_default(), name));
    Slot {
        name: text(&machine["metadata"]["name"]).unwrap_or_default(),
        created: text(&machine["metadata"]["creationTimestamp"]).unwrap_or_default(),
        is_deleting: is_deleting(machine),
        is_chosen: machine["metadata"]["annotations"]["cluster.x-k8s.io/delete-machine"].is_string(),
        host: agent.as_ref().and_then(|agent| context.hosts.find(agent)),
        has_agent: agent.is_some(),
    }
}

/// Makes and deletes AgentMachines.
async fn apply<R: Runtime>(
    context: &Arc<Context<R>>,
    pool: &Value,
    cluster: &Value,
    inside: &str,
    plan: &Plan,
) -> Result<(), ReconcileError> {
    let text = |field: &str| pool["metadata"][field].as_str().unwrap_or_default();
    let documents = (0..plan.create).map(|_| {
        let digits = uuid::Uuid::new_v4().simple().to_string();
        let document = json!({
            "apiVersion": Kind::AgentMachine.api_version(), "kind": Kind::AgentMachine.name(),
            "metadata": {
                "name": format!("{}-{}", text("name"), &digits[..5]), "namespace": inside,
                "labels": {
                    (POOL_LABEL): pool_label(text("namespace"), text("name")),
                    (NODE_POOL_LABEL): pool["metadata"]["name"],
                    (CLUSTER_NAME): cluster["spec"]["infraID"],
                    (label::BACKUP): "true",
                },
                "annotations": {(NODE_POOL): format!("{}/{}", text("namespace"), text("name"))},
                "finalizers": [AGENT_MACHINE],
            },
            "spec": {"agentLabelSelector": pool["spec"]["platform"]["agent"]["agentLabelSelector"]},
        });
        without_nulls(document)
    });
    let creates: Vec<_> =
        documents.map(|document| async move { context.objects.create(&document).await.map(drop) }).collect();
    let _: Vec<()> = stream::iter(creates).buffer_unordered(AT_ONCE).try_collect().await?;
    let deletes: Vec<_> = plan
        .delete
        .iter()
        .map(|name| async move { context.objects.delete(&Reference::new(Kind::AgentMachine, inside, name)).await })
        .collect();
    let _: Vec<_> = stream::iter(deletes).buffer_unordered(AT_ONCE).try_collect().await?;
    Ok(())
}

fn without_nulls(mut document: Value) -> Value {
    if document["spec"]["agentLabelSelector"].is_null() {
        document["spec"] = json!({});
    }
    document
}

/// What a host of the pool is installed with.
struct Configuration {
    /// The Secret with the token.
    secret: Place,
    headers: Value,
}

/// The pool's configuration, with the token in a Secret of its own, as upstream has it; none while there is none.
async fn configuration(
    objects: &Objects,
    inside: &str,
    selector: &str,
) -> Result<Option<Configuration>, ReconcileError> {
    let secrets = objects.list_labelled(Kind::Secret, inside, selector).await?;
    let is_user_data = |secret: &&Value| {
        secret["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("user-data-")) && !is_deleting(secret)
    };
    let Some(secret) = secrets
        .iter()
        .filter(is_user_data)
        .max_by_key(|secret| secret["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned())
    else {
        return Ok(None);
    };
    let pointer = secret["data"]["value"].as_str().and_then(|value| STANDARD.decode(value).ok());
    let Some(pointer) = pointer.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) else { return Ok(None) };
    let headers = pointer["ignition"]["config"]["merge"][0]["httpHeaders"].as_array().cloned().unwrap_or_default();
    let mut token = String::new();
    let mut others = serde_json::Map::new();
    for header in &headers {
        let (name, value) = (header["name"].as_str().unwrap_or_default(), header["value"].as_str().unwrap_or_default());
        match value.strip_prefix("Bearer ").filter(|_| name == "Authorization") {
            Some(bearer) => bearer.clone_into(&mut token),
            None => {
                others.insert(name.to_owned(), value.into());
            }
        }
    }
    let name = format!("{TOKEN_PREFIX}{}", secret["metadata"]["name"].as_str().unwrap_or_default());
    let encoded = STANDARD.encode(&token);
    let live = objects.find(Kind::Secret, inside, &name).await?;
    if live.is_none_or(|live| live["data"][key::IGNITION_TOKEN] != encoded.as_str()) {
        let document = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": name, "namespace": inside,
                "labels": {(label::WATCH): "true", (label::BACKUP): "true"},
                // It goes with the configuration that it belongs to.
                "ownerReferences": [{
                    "apiVersion": "v1", "kind": "Secret",
                    "name": secret["metadata"]["name"], "uid": secret["metadata"]["uid"],
                }],
            },
            "data": {(key::IGNITION_TOKEN): encoded},
        });
        objects.apply(&document).await?;
    }
    Ok(Some(Configuration { secret: (inside.to_owned(), name), headers: others.into() }))
}

/// Keeps hosts that have not begun yet at the pool's newest configuration.
async fn keep<R>(
    objects: &Objects,
    context: &Context<R>,
    slots: &[Slot],
    configuration: &Configuration,
) -> Result<(), ReconcileError> {
    for host in slots.iter().filter_map(|slot| slot.host.as_ref()) {
        let has_not_begun = host.state.is_unbound()
            || matches!(
                host.state,
                HostState::Binding
                    | HostState::Discovering
                    | HostState::Known
                    | HostState::Insufficient
                    | HostState::Disconnected
            );
        if !has_not_begun || host.cluster.is_none() || host.configuration.as_ref() == Some(&configuration.secret.1) {
            continue;
        }
        let Some(agent) = objects.find(Kind::Agent, &host.place.0, &host.place.1).await? else { continue };
        let reference = &agent["spec"]["ignitionEndpointTokenReference"];
        if reference["name"] == configuration.secret.1.as_str() || reference["name"].is_null() {
            continue;
        }
        let change = json!({
            "metadata": {"resourceVersion": agent["metadata"]["resourceVersion"]},
            "spec": binding(configuration),
        });
        let changed = objects.merge(&Reference::of(&agent), &change).await?;
        context.hosts.learn(&changed);
    }
    Ok(())
}

fn binding(configuration: &Configuration) -> Value {
    let (namespace, name) = &configuration.secret;
    json!({
        "machineConfigPool": CONFIG_POOL,
        "ignitionEndpointTokenReference": {"name": name, "namespace": namespace},
        "ignitionEndpointHTTPHeaders": configuration.headers,
    })
}

/// Takes hosts for AgentMachines that have none. Returns those that got none.
async fn claim<'a, R: Runtime>(
    context: &Arc<Context<R>>,
    claims: &Claims<'_>,
    open: Vec<&'a Value>,
    slots: &[Slot],
) -> Result<Vec<&'a Value>, ReconcileError> {
    let selector = choose::selector(&claims.pool["spec"]["platform"]["agent"]["agentLabelSelector"]);
    let Ok(selector) = selector else { return Ok(open) };
    let free = context.hosts.free(claims.agents, choose::enough(open.len()), |host| selector.matches(&host.labels));
    let taken: Vec<Arc<Host>> = slots.iter().filter_map(|slot| slot.host.clone()).collect();
    let chosen = Mutex::new(choose::choose(open.len(), &free, &taken).into_iter());
    let takes: Vec<_> = open.into_iter().map(|machine| take(context, claims, machine, &chosen)).collect();
    let outcomes: Vec<Option<&Value>> = stream::iter(takes).buffer_unordered(AT_ONCE).try_collect().await?;
    Ok(outcomes.into_iter().flatten().collect())
}

/// Notes on AgentMachines the hosts that were claimed for them by somebody who ended before saying so. Returns the others.
async fn note_claims<'a, R: Runtime>(
    context: &Arc<Context<R>>,
    inside: &str,
    open: Vec<&'a Value>,
) -> Result<Vec<&'a Value>, ReconcileError> {
    let mut left = Vec::new();
    for machine in open {
        let name = machine["metadata"]["name"].as_str().unwrap_or_default();
        match context.hosts.claimed(&(inside.to_owned(), name.to_owned())) {
            Some(place) => {
                crate::agent_machine::reserve(&context.objects, machine, &place).await?;
                context.queue.add(Key::new(Controller::AgentMachine, inside, name));
            }
            None => left.push(machine),
        }
    }
    Ok(left)
}

/// What claims of one pass have in common.
struct Claims<'a> {
    pool: &'a Value,
    inside: &'a str,
    /// Where the hosts are.
    agents: &'a str,
    configuration: &'a Configuration,
}

/// Takes the first of the chosen hosts that is still free. Returns the AgentMachine when there is none.
async fn take<'a, R: Runtime>(
    context: &Arc<Context<R>>,
    claims: &Claims<'_>,
    machine: &'a Value,
    chosen: &Mutex<std::vec::IntoIter<Arc<Host>>>,
) -> Result<Option<&'a Value>, ReconcileError> {
    let objects = &context.objects;
    let text = |field: &str| claims.pool["metadata"][field].as_str().unwrap_or_default();
    let name = machine["metadata"]["name"].as_str().unwrap_or_default();
    loop {
        let Some(host) = chosen.lock().next() else { return Ok(Some(machine)) };
        let Some(agent) = objects.find(Kind::Agent, &host.place.0, &host.place.1).await? else { continue };
        if !Host::of(&agent).is_some_and(|host| host.is_free()) {
            continue;
        }
        let mut spec = binding(claims.configuration);
        spec["clusterDeploymentName"] = json!({"name": claims.pool["spec"]["clusterName"], "namespace": claims.inside});
        let change = json!({
            "metadata": {
                "resourceVersion": agent["metadata"]["resourceVersion"],
                "labels": {(label::AGENT_MACHINE): name, (label::CLUSTER_NAMESPACE): claims.inside},
                "annotations": {
                    (names::AGENT_MACHINE_NAMESPACE): claims.inside,
                    (NODE_POOL): format!("{}/{}", text("namespace"), text("name")),
                },
            },
            "spec": spec,
        });
        match objects.merge(&Reference::of(&agent), &change).await {
            Ok(changed) => {
                context.hosts.learn(&changed);
                context.queue.add(Key::new(Controller::Agent, &host.place.0, &host.place.1));
            }
            // Somebody else was quicker.
            Err(error) if error.is_race() => continue,
            Err(error) => return Err(error.into()),
        }
        crate::agent_machine::reserve(objects, machine, &host.place).await?;
        context.queue.add(Key::new(Controller::AgentMachine, claims.inside, name));
        return Ok(None);
    }
}

/// Says of AgentMachines without a host why that is: at once of new ones, else not with every host that changes.
/// Returns how soon the pool is looked at again.
async fn explain<R: Runtime>(
    context: &Arc<Context<R>>,
    place: &Place,
    agents: &str,
    lacking: &[&Value],
) -> Result<Duration, ReconcileError> {
    let due = context.hosts.words_due(place, EXPLAIN);
    let is_told = |machine: &Value| condition::find(machine, AGENT_RESERVED).is_some();
    let busy = context.hosts.busy(agents);
    let told = lacking.iter().filter(|machine| due.is_zero() || !is_told(machine));
    let writes: Vec<_> =
        told.map(|machine| crate::agent_machine::wait(&context.objects, machine, &busy, agents)).collect();
    let _: Vec<()> = stream::iter(writes).buffer_unordered(AT_ONCE).try_collect().await?;
    Ok(if due.is_zero() { LACKING } else { due })
}
