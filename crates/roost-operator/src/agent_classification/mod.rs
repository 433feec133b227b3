//! AgentClassification: a label for hosts whose inventory answers a question with yes.
//!
//! The labels of an Agent are put on by that Agent's pass ([`label`]); the classification's own pass asks for those, counts
//! who has the label, and takes it from all before it goes.

mod decide;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use roost_api::agent_install::names::finalizer;
use roost_runtime::Runtime;
use serde_json::{Value, json};

use crate::context::{Context, Next, ReconcileError};
use crate::discovery::Place;
use crate::hosts::Hosts;
use crate::object::{Kind, Objects, Reference, is_deleting, with_finalizer};
use crate::queue::{Controller, Key, Queue};

/// How long a count may lag behind the labels: of a thousand hosts that appear, each is counted once.
const REPORT: Duration = Duration::from_millis(500);

/// Brings one classification nearer to what is wanted.
pub(crate) async fn reconcile<R: Runtime>(
    context: &Arc<Context<R>>,
    namespace: &str,
    name: &str,
) -> Result<Next, ReconcileError> {
    let objects = &context.objects;
    let Some(mut classification) = objects.find(Kind::AgentClassification, namespace, name).await? else {
        return Ok(Next::Settled);
    };
    let is_going = is_deleting(&classification);
    let reference = Reference::new(Kind::AgentClassification, namespace, name);
    if let Some(all) = with_finalizer(&classification, finalizer::AGENT_CLASSIFICATION) {
        if is_going {
            return Ok(Next::Settled);
        }
        let version = &classification["metadata"]["resourceVersion"];
        let change = json!({"metadata": {"finalizers": all, "resourceVersion": version}});
        classification = objects.merge(&reference, &change).await?;
    }
    let key = decide::label_key(&classification);
    let Some(labelled) = context.hosts.labelled(namespace, &key) else { return Ok(Next::After(REPORT)) };
    let counts = decide::count(&classification, labelled.iter().map(|(_, value)| value.as_str()));
    // The index follows; before it goes, what there is is asked for.
    if is_going
        && counts == decide::Counts::default()
        && decide::count(&classification, labels(&objects.list_labelled(Kind::Agent, namespace, &key).await?, &key))
            == counts
    {
        return Ok(Next::after_release(objects.release(&classification, finalizer::AGENT_CLASSIFICATION).await?));
    }
    let example = match decide::problem(&classification) {
        Some(problem) => Some(problem),
        None => example(objects, &classification, &labelled).await?,
    };
    let status = decide::status(&classification, counts, example.as_deref(), Timestamp::now());
    if status != classification["status"] {
        objects.set_status(&reference, &status).await?;
    }
    Ok(if is_going { Next::After(REPORT) } else { Next::Settled })
}

/// The values of a label.
fn labels<'a>(agents: &'a [Value], key: &'a str) -> impl Iterator<Item = &'a str> {
    agents.iter().filter_map(move |agent| agent["metadata"]["labels"][key].as_str())
}

/// Why the question could not be asked of one of the hosts.
async fn example(
    objects: &Objects,
    classification: &Value,
    labelled: &[(Place, String)],
) -> Result<Option<String>, ReconcileError> {
    let Some((place, _)) = labelled.iter().filter(|(_, value)| decide::is_error(value)).min() else { return Ok(None) };
    let Some(agent) = objects.find(Kind::Agent, &place.0, &place.1).await? else { return Ok(None) };
    Ok(decide::answer(classification, &agent).err().map(|error| format!("the host {}: {error}", place.1)))
}

/// Puts the labels on an Agent that classifications give, and has them counted.
pub(crate) async fn label(
    objects: &Objects,
    queue: &Queue,
    hosts: &Hosts,
    agent: &Value,
) -> Result<(), ReconcileError> {
    let namespace = agent["metadata"]["namespace"].as_str().unwrap_or_default();
    let classifications = objects.list(Kind::AgentClassification, namespace).await?;
    let changes = decide::changes(agent, &classifications);
    if changes.is_empty() {
        return Ok(());
    }
    let changed = objects.merge(&Reference::of(agent), &json!({"metadata": {"labels": changes}})).await?;
    for (space, pool) in hosts.learn(&changed) {
        queue.add(Key::new(Controller::AgentPool, &space, &pool));
    }
    count(queue, namespace, &classifications);
    Ok(())
}

/// Has the labels of a namespace counted, after an Agent of it went.
pub(crate) async fn recount(objects: &Objects, queue: &Queue, namespace: &str) -> Result<(), ReconcileError> {
    count(queue, namespace, &objects.list(Kind::AgentClassification, namespace).await?);
    Ok(())
}

fn count(queue: &Queue, namespace: &str, classifications: &[Value]) {
    for name in classifications.iter().filter_map(|classification| classification["metadata"]["name"].as_str()) {
        queue.add_within(Key::new(Controller::AgentClassification, namespace, name), REPORT);
    }
}
