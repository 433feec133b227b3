//! AgentMachine: a machine of a pool that is, or waits for, a discovered host; and the way back of that host.

mod status;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use roost_api::agent_install::HostState;
use roost_api::agent_install::names::{annotation as names, label};
use roost_api::capi_provider::names::finalizer::AGENT_MACHINE;
use roost_api::hypershift::names::annotation::NODE_POOL;
use roost_runtime::Runtime;
use serde_json::{Value, json};

use crate::agent;
use crate::context::{Context, Next, ReconcileError};
use crate::discovery::Place;
use crate::event::{self, Tone};
use crate::hosts::FAILURES;
use crate::machine::{self, HOST_ID, machine_name};
use crate::object::{Kind, ObjectError, Objects, Reference, annotation, has_finalizer, is_deleting};
use crate::queue::{Controller, Key};

/// How soon a machine whose host is on its way back is looked at again, beside when that changes.
const WAIT: Duration = Duration::from_secs(1);
/// The digits of a host's identity in the name of its Machine, and those for one whose first another host has.
const DIGITS: [usize; 2] = [8, 16];
/// On an AgentMachine: its host joined, so a Machine that is gone was deleted.
const JOINED: &str = "roost.dev/joined";

/// Notes which host an AgentMachine has.
pub(crate) async fn reserve(objects: &Objects, machine: &Value, agent: &Place) -> Result<(), ObjectError> {
    let status = status::reserved(machine, agent, Timestamp::now());
    objects.set_status(&Reference::of(machine), &status).await?;
    let change = json!({"spec": {"providerID": format!("agent://{}", agent.1)}});
    objects.merge(&Reference::of(machine), &change).await?;
    Ok(())
}

/// Notes that there is no host for an AgentMachine, and why.
pub(crate) async fn wait(
    objects: &Objects,
    machine: &Value,
    busy: &BTreeMap<&'static str, usize>,
    agents: &str,
) -> Result<(), ObjectError> {
    let status = status::waiting(machine, busy, agents, Timestamp::now());
    if status != machine["status"] {
        objects.set_status(&Reference::of(machine), &status).await?;
    }
    Ok(())
}

/// Brings one AgentMachine nearer to what is wanted.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let Some(machine) = objects.find(Kind::AgentMachine, namespace, name).await? else { return Ok(Next::Settled) };
    let pool = machine::pool_of(&machine).map(|(space, pool)| (space.to_owned(), pool.to_owned()));
    let reference = &machine["status"]["agentRef"];
    let is_ours = |agent: &Value| {
        agent["metadata"]["labels"][label::AGENT_MACHINE] == name
            && annotation(agent, names::AGENT_MACHINE_NAMESPACE) == namespace
    };
    let place = reference["name"]
        .as_str()
        .map(|agent| (reference["namespace"].as_str().unwrap_or_default().to_owned(), agent.to_owned()));
    let agent = match &place {
        Some((space, agent)) => objects.find(Kind::Agent, space, agent).await?,
        // Whoever claimed a host for it may have ended before that was noted here; the host must not stay behind.
        None if is_deleting(&machine) => {
            let selector = format!("{}={name}", label::AGENT_MACHINE);
            objects.list_labelled(Kind::Agent, "", &selector).await?.into_iter().find(|agent| is_ours(agent))
        }
        None => None,
    };
    let place = place.or_else(|| {
        let text = |field: &str| agent.as_ref()?["metadata"][field].as_str().map(str::to_owned);
        Some((text("namespace")?, text("name")?))
    });
    let pool_name = pool.as_ref().map_or("", |(_, pool)| pool.as_str());
    let joined = match &place {
        Some((_, agent)) => joined_machine(objects, namespace, pool_name, agent).await?,
        None => None,
    };
    if is_deleting(&machine) {
        let done = give_back(context, &machine, agent.as_ref(), joined.as_ref(), is_ours).await?;
        if let Some((space, pool)) = &pool {
            context.queue.add(Key::new(Controller::AgentPool, space, pool));
        }
        return Ok(done);
    }
    if place.is_none() {
        return Ok(Next::Settled);
    }
    let lost = match &agent {
        None => Some("its Agent was deleted"),
        Some(agent) if is_deleting(agent) => Some("its Agent is being deleted"),
        Some(agent) if !is_ours(agent) => Some("its Agent was given to another machine"),
        Some(agent) if agent::state_of(agent) == HostState::Error => Some("the installation of its host failed"),
        Some(_) if joined.as_ref().is_some_and(is_deleting) => Some("its Machine is being deleted"),
        Some(_) if joined.is_none() && !annotation(&machine, JOINED).is_empty() => Some("its Machine was deleted"),
        Some(_) => None,
    };
    if let Some(why) = lost {
        if let Some(agent) = agent.as_ref().filter(|agent| agent::state_of(agent) == HostState::Error) {
            let failures: u32 = annotation(agent, FAILURES).parse().unwrap_or_default();
            let change = json!({"metadata": {"annotations": {(FAILURES): failures.saturating_add(1).to_string()}}});
            objects.merge(&Reference::of(agent), &change).await?;
        }
        let about = Reference::of(&machine);
        let uid = machine["metadata"]["uid"].as_str().unwrap_or_default();
        let words = format!("{name} is replaced: {why}");
        event::record(objects, &about, uid, Tone::Warning, "Replaced", &words).await;
        objects.delete(&about).await?;
        return Ok(Next::Settled);
    }
    if joined.is_some() && annotation(&machine, JOINED).is_empty() {
        let change = json!({"metadata": {"annotations": {(JOINED): "true"}}});
        objects.merge(&Reference::of(&machine), &change).await?;
    }
    if let Some(agent) = agent {
        let status = status::status(&machine, &agent, Timestamp::now());
        if status != machine["status"] {
            objects.set_status(&Reference::of(&machine), &status).await?;
        }
    }
    Ok(Next::Settled)
}

/// The Machine that a host became.
pub(crate) async fn joined_machine(
    objects: &Objects,
    namespace: &str,
    pool: &str,
    agent: &str,
) -> Result<Option<Value>, ObjectError> {
    for digits in DIGITS {
        match objects.find(Kind::Machine, namespace, &machine_name(pool, agent, digits)).await? {
            Some(found) if annotation(&found, HOST_ID) == agent => return Ok(Some(found)),
            Some(_) => {}
            None => break,
        }
    }
    Ok(None)
}

/// Takes a host out of its cluster and back to the free ones: first its Node, then its binding, then it is let go.
async fn give_back<R: Runtime>(
    context: &Arc<Context<R>>,
    machine: &Value,
    agent: Option<&Value>,
    joined: Option<&Value>,
    is_ours: impl Fn(&Value) -> bool,
) -> Result<Next, ReconcileError> {
    if !has_finalizer(machine, AGENT_MACHINE) {
        return Ok(Next::Settled);
    }
    let objects = &context.objects;
    if let Some(joined) = joined {
        if !is_deleting(joined) {
            objects.delete(&Reference::of(joined)).await?;
        }
        return Ok(Next::After(WAIT));
    }
    let Some(agent) = agent else {
        return Ok(Next::after_release(objects.release(machine, AGENT_MACHINE).await?));
    };
    let reference = Reference::of(agent);
    if is_ours(agent) {
        if agent["spec"]["clusterDeploymentName"]["name"].is_string() {
            let change = json!({
                "metadata": {"resourceVersion": agent["metadata"]["resourceVersion"]},
                "spec": {
                    "clusterDeploymentName": null, "machineConfigPool": null,
                    "ignitionEndpointTokenReference": null, "ignitionEndpointHTTPHeaders": null,
                },
            });
            let changed = objects.merge(&reference, &change).await?;
            context.hosts.learn(&changed);
            context.queue.add(Key::new(Controller::Agent, &reference.namespace, &reference.name));
            return Ok(Next::After(WAIT));
        }
        let state = agent::state_of(agent);
        if !state.is_released() || state == HostState::Error {
            return Ok(Next::After(WAIT));
        }
        // Only now may another machine take it.
        let change = json!({"metadata": {
            "resourceVersion": agent["metadata"]["resourceVersion"],
            "labels": {(label::AGENT_MACHINE): null},
            "annotations": {(names::AGENT_MACHINE_NAMESPACE): null, (NODE_POOL): null},
        }});
        let changed = objects.merge(&reference, &change).await?;
        for (space, pool) in context.hosts.learn(&changed) {
            context.queue.add(Key::new(Controller::AgentPool, &space, &pool));
        }
        // Until this moment its host may have become a Machine; the next look finds it. Later ones find a free host.
        return Ok(Next::After(Duration::ZERO));
    }
    Ok(Next::after_release(objects.release(machine, AGENT_MACHINE).await?))
}
