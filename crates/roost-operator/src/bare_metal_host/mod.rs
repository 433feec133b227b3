//! BareMetalHost: a computer whose management controller starts it from its environment's image, and from its disk once
//! that is written.

mod attempts;
mod decide;
mod link;
mod status;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use roost_api::agent_install::names::annotation::bare_metal_host as wishes;
use roost_api::agent_install::names::{finalizer, label};
use roost_api::metal3::names::annotation as names;
use roost_redfish::{Controller as ManagementController, Patience};
use roost_runtime::Runtime;
use serde_json::{Value, json};

pub(crate) use attempts::Attempts;
use attempts::{Known, Request};
use decide::{Block, Observed, Purpose};
use status::{Pass, status};

use crate::context::{Context, Next, ReconcileError};
use crate::event::{self, Tone};
use crate::object::{Kind, ObjectError, Objects, Reference, annotation, is_deleting, with_finalizer};
use crate::queue::{Controller, Key};

/// How soon a host is looked at again that waits for its image or its Agent, neither of which tells.
const WAIT: Duration = Duration::from_secs(10);
/// A controller that is gone for good does not keep its host's object: after so many failures it goes without a word to it.
const MOST_FAREWELLS: u32 = 3;

/// Brings one host nearer to what is wanted.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let place = (namespace.to_owned(), name.to_owned());
    let Some(mut host) = objects.find(Kind::BareMetalHost, namespace, name).await? else {
        context.attempts.forget(&place);
        return Ok(Next::Settled);
    };
    let reference = Reference::new(Kind::BareMetalHost, namespace, name);
    let is_going = is_deleting(&host);
    let annotations = &host["metadata"]["annotations"];
    let is_ours = host["metadata"]["labels"][label::INFRA_ENV].is_string();
    if !annotations[names::PAUSED].is_null() || (!is_ours && !is_going) {
        return Ok(Next::Settled);
    }
    // A finalizer of our own: that of upstream's operator is not ours to take off.
    if let Some(finalizers) = with_finalizer(&host, finalizer::BARE_METAL_HOST) {
        if is_going {
            return Ok(Next::Settled);
        }
        let version = &host["metadata"]["resourceVersion"];
        host = objects
            .merge(&reference, &json!({"metadata": {"finalizers": finalizers, "resourceVersion": version}}))
            .await?;
    }
    if !is_ours || !host["metadata"]["annotations"][names::DETACHED].is_null() {
        return if is_going { leave(context, &host).await } else { Ok(Next::Settled) };
    }
    let observed = dereference(context, host).await?;
    if let Some(agent) = &observed.agent
        && !is_going
        && let Some(change) = link::changes(&observed.host, agent)
    {
        objects.merge(&Reference::of(agent), &change).await?;
    }
    let now = Timestamp::now();
    let purpose = observed.purpose(now);
    let (pass, next, is_over) = ask(context, &place, &observed, &purpose);
    if is_going && is_over {
        if let Pass::Ended(outcome, _) = &pass
            && let Some(problem) = &outcome.problem
        {
            let uid = observed.host["metadata"]["uid"].as_str().unwrap_or_default();
            let words = format!("the host goes although its controller was not told: {problem}");
            event::record(objects, &reference, uid, Tone::Warning, "NotTurnedOff", &words).await;
        }
        return leave(context, &observed.host).await;
    }
    let wanted = status(&observed, &purpose, &pass, now);
    if wanted != observed.host["status"] {
        objects.set_status(&reference, &wanted).await?;
        // What was just written decides what is wanted next.
        return Ok(Next::After(Duration::from_millis(100)));
    }
    Ok(Next::After(next))
}

/// Has the controller asked if it is time; says what is known, when to look again, and whether there is nothing more to do.
fn ask<R: Runtime>(
    context: &Arc<Context<R>>,
    place: &(String, String),
    observed: &Observed,
    purpose: &Purpose,
) -> (Pass, Duration, bool) {
    let door = match observed.door() {
        Ok(door) => door,
        Err(block) => return (Pass::Blocked(block), WAIT, true),
    };
    let request = Request { door: door.mark.clone(), wanted: observed.wanted(purpose) };
    match context.attempts.look(place, &request) {
        Known::Running => (Pass::Asking, WAIT, false),
        Known::Ended(ended, rest) => {
            let is_over = ended.outcome.problem.is_none() || ended.failures >= MOST_FAREWELLS;
            (Pass::Ended(ended.outcome, ended.failures), rest.min(WAIT), is_over)
        }
        Known::Due => {
            let made =
                ManagementController::new(door.address, &door.credentials, &door.verification, Patience::default());
            match made {
                Err(error) => (Pass::Blocked(Block::Unusable(error.to_string())), WAIT, true),
                Ok(controller) => {
                    let key = Key::new(Controller::BareMetalHost, &place.0, &place.1);
                    context.attempts.begin(&context.queue, key, place.clone(), controller, request);
                    (Pass::Asking, WAIT, false)
                }
            }
        }
    }
}

async fn dereference<R: Runtime>(context: &Arc<Context<R>>, host: Value) -> Result<Observed, ReconcileError> {
    let objects = &context.objects;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let namespace = text(&host["metadata"]["namespace"]);
    let secret = text(&host["spec"]["bmc"]["credentialsName"]);
    let secret = if secret.is_empty() { None } else { objects.find(Kind::Secret, &namespace, &secret).await? };
    let environment = text(&host["metadata"]["labels"][label::INFRA_ENV]);
    let environment =
        if environment.is_empty() { None } else { objects.find(Kind::InfraEnv, &namespace, &environment).await? };
    let mut agent: Option<Value> = None;
    for place in context.hosts.with_card(&namespace, &text(&host["spec"]["bootMACAddress"])) {
        let found = objects.find(Kind::Agent, &place.0, &place.1).await?;
        // The newest wins, as upstream has it.
        let made = |agent: &Value| agent["metadata"]["creationTimestamp"].as_str().map(str::to_owned);
        if agent.as_ref().and_then(made) <= found.as_ref().and_then(made) {
            agent = found;
        }
    }
    if agent.is_none() {
        // Who introduces itself anew has not said yet which cards it has, and the index may not have heard of it; it would
        // be started from the image for that.
        agent = linked(objects, &Reference::of(&host)).await?.pop();
    }
    Ok(Observed { host, secret, environment, agent })
}

/// The Agents that took over what a host says.
async fn linked(objects: &Objects, host: &Reference) -> Result<Vec<Value>, ObjectError> {
    let selector = format!("{}={}", label::BARE_METAL_HOST, host.name);
    objects.list_labelled(Kind::Agent, &host.namespace, &selector).await
}

/// Lets a host's object go, and its Agent if that is wanted.
async fn leave<R: Runtime>(context: &Arc<Context<R>>, host: &Value) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let reference = Reference::of(host);
    if annotation(host, wishes::REMOVE_AGENT_AND_NODE_ON_DELETE) == "true" {
        for agent in linked(objects, &reference).await? {
            objects.delete(&Reference::of(&agent)).await?;
        }
    }
    Ok(Next::after_release(objects.release(host, finalizer::BARE_METAL_HOST).await?))
}
