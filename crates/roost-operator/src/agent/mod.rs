//! Agent: how a discovered host is, whether it can be used, and how far its installation is.

mod conditions;
mod status;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use roost_api::agent_install::names::{annotation as names, finalizer, label};
use roost_api::agent_install::{HostStage, HostState};
use roost_host::disk::choose;
use roost_host::validation::{Requirements, checks};
use roost_host::wire::InstallRequest;
use roost_runtime::{PlaneId, Runtime};
use serde_json::{Value, json};

pub(crate) use status::set_stage;
use status::{Observed, status};

use crate::agent_classification;
use crate::agent_machine::joined_machine;
use crate::condition;
use crate::context::{Context, Next, ReconcileError};
use crate::discovery::measuring;
use crate::hosts::{FAILURES, Host};
use crate::machine::{self, NODE_NAME};
use crate::object::{Kind, Objects, Reference, annotation, has_finalizer, is_deleting};
use crate::queue::{Controller, Key};

/// How soon a host that is being installed is looked at again, for its patience.
const LOOK_AGAIN: Duration = Duration::from_mins(1);

/// On a NodePool: checks that its hosts have to pass although they could be used without, by name.
const REQUIRED_VALIDATIONS: &str = "roost.dev/required-host-validations";

/// Checks by name, each with who said so.
type Named = BTreeMap<String, String>;

/// The state that an Agent is in.
pub(crate) fn state_of(agent: &Value) -> HostState {
    agent["status"]["debugInfo"]["state"].as_str().map_or(HostState::DiscoveringUnbound, HostState::from)
}

/// The name that a host has as a node.
pub(crate) fn hostname(agent: &Value) -> String {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let wanted = text(&agent["spec"]["hostname"]);
    let inventory = &agent["status"]["inventory"];
    let own = text(&inventory["hostname"]).map(|name| name.to_ascii_lowercase());
    let own = own.filter(|name| !name.starts_with("localhost"));
    let from_card = || {
        let cards = inventory["interfaces"].as_array()?;
        let card = cards.iter().find(|card| card["ipV4Addresses"].as_array().is_some_and(|list| !list.is_empty()))?;
        text(&card["macAddress"]).map(|address| address.to_ascii_lowercase().replace(':', "-"))
    };
    wanted.or(own).or_else(from_card).unwrap_or_default()
}

/// The addresses of a host, without prefix lengths.
pub(crate) fn addresses(agent: &Value) -> Vec<String> {
    let cards = agent["status"]["inventory"]["interfaces"].as_array().into_iter().flatten();
    let lists = cards.flat_map(|card| [&card["ipV4Addresses"], &card["ipV6Addresses"]]);
    let texts = lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str);
    let plain = texts.map(|text| text.split('/').next().unwrap_or_default().to_owned());
    plain.filter(|text| !text.starts_with("fe80") && !text.starts_with("127.")).take(32).collect()
}

/// What a host is told to install.
pub(crate) fn install_request(agent: &Value, infra_env_id: &str) -> InstallRequest {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let reference = &agent["spec"]["clusterDeploymentName"];
    InstallRequest {
        cluster_id: format!("{}/{}", text(&reference["namespace"]), text(&reference["name"])),
        infra_env_id: infra_env_id.to_owned(),
        host_id: text(&agent["metadata"]["name"]),
        role: "worker".to_owned(),
        boot_device: installation_disk(agent).unwrap_or_default(),
        disks_to_format: Vec::new(),
        installer_args: text(&agent["spec"]["installerArgs"]),
        is_disk_named: chosen_disk(agent).is_some(),
        disk_image: None,
    }
}

/// The disk that is written: the one that a person chose, or the best that may be.
pub(crate) fn installation_disk(agent: &Value) -> Option<String> {
    chosen_disk(agent).map(str::to_owned).or_else(|| {
        let inventory = serde_json::from_value(agent["status"]["inventory"].clone()).ok()?;
        let smallest = Requirements::WORKER.disk_gigabytes.saturating_mul(1_000_000_000);
        choose(&inventory, smallest, None).ok().map(|disk| disk.id.clone())
    })
}

fn chosen_disk(agent: &Value) -> Option<&str> {
    let spec = &agent["spec"];
    let text = |name: &str| spec[name].as_str().filter(|text| !text.is_empty());
    text("installation_disk_id").or_else(|| text("installation_disk_path"))
}

/// Puts the conditions of an Agent's state into a status whose checks are not known yet.
pub(crate) fn set_conditions(status: &mut Value, agent: &Value, now: Timestamp) {
    let state = status["debugInfo"]["state"].as_str().map_or(HostState::DiscoveringUnbound, HostState::from);
    let facts = conditions::Facts {
        state: &state,
        info: status["debugInfo"]["stateInfo"].as_str().unwrap_or_default(),
        is_approved: agent["spec"]["approved"] == true,
        has_validations: false,
        problems: "",
        waived: &[],
        input_error: None,
    };
    let conditions = conditions::conditions(&facts);
    status["conditions"] = condition::merge_plain(&agent["status"]["conditions"], now, &conditions);
}

/// Brings one Agent nearer to what is wanted.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let discovery = &context.discovery;
    let place = (namespace.to_owned(), name.to_owned());
    let Some(agent) = objects.find(Kind::Agent, namespace, name).await? else {
        discovery.presence.forget(&place);
        agent_classification::recount(objects, &context.queue, namespace).await?;
        return Ok(Next::Settled);
    };
    if is_deleting(&agent) {
        if !has_finalizer(&agent, finalizer::AGENT) {
            return Ok(Next::Settled);
        }
        // Its machine sees that it is gone, and takes the Node along.
        return Ok(Next::after_release(objects.release(&agent, finalizer::AGENT).await?));
    }
    let now = Timestamp::now();
    let machine = machine_of(objects, &agent).await?;
    let connected_for = discovery.presence.connected_for(&place);
    let twin = discovery.presence.twin(&place);
    let hostname_twin = Host::of(&agent).and_then(|host| context.hosts.hostname_twin(&host));
    let (waived, required) = expectations(context, &agent).await?;
    let names = measuring::needed_names(objects, &agent).await?;
    let observed = Observed {
        agent: &agent,
        is_connected: connected_for.is_some(),
        clock_ahead: discovery.presence.clock_ahead(&place),
        twin: twin.as_deref(),
        hostname_twin: hostname_twin.as_deref(),
        has_peers: !context.hosts.peers(&place).is_empty(),
        names: &names,
        machine: machine.as_ref(),
        waived: &waived,
        required: &required,
        now,
    };
    let wanted = status(&observed);
    let (before, after) = (state_of(&agent), state_of(&json!({"status": wanted})));
    if wanted != agent["status"] {
        let written = objects.replace_status(&agent, wanted).await?;
        for (space, pool) in context.hosts.learn(&written) {
            context.queue.add(Key::new(Controller::AgentPool, &space, &pool));
        }
        discovery.presence.wake(&place);
    }
    if before != after && after == HostState::AddedToExistingCluster {
        joined(context, &agent, machine.as_ref()).await?;
    }
    keep_labels(objects, &agent).await?;
    agent_classification::label(objects, &context.queue, &context.hosts, &agent).await?;
    let soon = if after.is_installing() || after == HostState::Reclaiming { Some(LOOK_AGAIN) } else { None };
    // A host that stops asking is looked at when its time is over.
    let next = [soon, connected_for].into_iter().flatten().min();
    Ok(next.map_or(Next::Settled, |wait| Next::After(wait + Duration::from_millis(50))))
}

/// The Machine that a host became in its cluster.
async fn machine_of(objects: &Objects, agent: &Value) -> Result<Option<Value>, ReconcileError> {
    let Some(namespace) = agent["spec"]["clusterDeploymentName"]["namespace"].as_str() else { return Ok(None) };
    let name = agent["metadata"]["name"].as_str().unwrap_or_default();
    let Some((_, pool)) = machine::pool_of(agent) else { return Ok(None) };
    Ok(joined_machine(objects, namespace, pool, name).await?)
}

/// The checks that do not matter for a host, and those that matter more than elsewhere.
async fn expectations<R: Runtime>(context: &Arc<Context<R>>, agent: &Value) -> Result<(Named, Named), ReconcileError> {
    let objects = &context.objects;
    let namespace = agent["metadata"]["namespace"].as_str().unwrap_or_default();
    let (mut all, mut required) = (Named::new(), Named::new());
    let mut add = |object: &Value, who: String| {
        for id in checks(annotation(object, names::IGNORED_HOST_VALIDATIONS)) {
            all.insert(id, who.clone());
        }
    };
    if let Some(environment) = agent["metadata"]["labels"][label::INFRA_ENV].as_str()
        && let Some(found) = objects.find(Kind::InfraEnv, namespace, environment).await?
    {
        add(&found, format!("the InfraEnv {environment}"));
    }
    if let Some((space, pool)) = machine::pool_of(agent)
        && let Some(found) = objects.find(Kind::NodePool, space, pool).await?
    {
        let who = format!("the NodePool {space}/{pool}");
        required.extend(checks(annotation(&found, REQUIRED_VALIDATIONS)).into_iter().map(|id| (id, who.clone())));
        add(&found, who);
    }
    add(agent, "the Agent itself".to_owned());
    for id in context.discovery.waived() {
        all.entry(id).or_insert_with(|| "the ConfigMap of the AgentServiceConfig".to_owned());
    }
    Ok((all, required))
}

/// What follows when a host became a node.
async fn joined<R: Runtime>(
    context: &Arc<Context<R>>,
    agent: &Value,
    machine: Option<&Value>,
) -> Result<(), ReconcileError> {
    if !annotation(agent, FAILURES).is_empty() {
        let change = json!({"metadata": {"annotations": {(FAILURES): null}}});
        context.objects.merge(&Reference::of(agent), &change).await?;
    }
    match machine {
        Some(machine) => label_node(context, agent, machine).await,
        None => Ok(()),
    }
}

/// Puts the labels on a Node that its Agent asks for.
async fn label_node<R: Runtime>(
    context: &Arc<Context<R>>,
    agent: &Value,
    machine: &Value,
) -> Result<(), ReconcileError> {
    let labels = &agent["spec"]["nodeLabels"];
    if labels.as_object().is_none_or(serde_json::Map::is_empty) {
        return Ok(());
    }
    let plane = machine["spec"]["providerID"].as_str().and_then(|id| id.strip_prefix("roost://")?.split('/').next());
    let Some(plane) = plane.and_then(|plane| plane.parse::<PlaneId>().ok()) else { return Ok(()) };
    if let Some(client) = context.runtime.client(&plane) {
        let node = Reference::new(Kind::Node, "", annotation(machine, NODE_NAME));
        Objects::new(client).merge(&node, &json!({"metadata": {"labels": labels}})).await?;
    }
    Ok(())
}

/// The label that says where an Agent's cluster is.
async fn keep_labels(objects: &Objects, agent: &Value) -> Result<(), ReconcileError> {
    let wanted = agent["spec"]["clusterDeploymentName"]["namespace"].as_str().unwrap_or_default();
    if agent["metadata"]["labels"][label::CLUSTER_NAMESPACE].as_str().unwrap_or_default() != wanted {
        let change = json!({"metadata": {"labels": {(label::CLUSTER_NAMESPACE): wanted}}});
        objects.merge(&Reference::of(agent), &change).await?;
    }
    Ok(())
}

/// How far an Agent's installation is.
pub(crate) fn stage_of(agent: &Value) -> Option<HostStage> {
    agent["status"]["progress"]["currentStage"].as_str().map(HostStage::from)
}
