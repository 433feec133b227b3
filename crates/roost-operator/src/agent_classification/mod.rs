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
    let labelled = objects.list_labelled(Kind::Agent, namespace, &decide::label_key(&classification)).await?;
    let counts = decide::count(&classification, &labelled);
    if is_going && counts == decide::Counts::default() {
        return Ok(Next::after_release(objects.release(&classification, finalizer::AGENT_CLASSIFICATION).await?));
    }
    let example = decide::problem(&classification).or_else(|| example(&classification, &labelled));
    let status = decide::status(&classification, counts, example.as_deref(), Timestamp::now());
    if status != classification["status"] {
        objects.set_status(&reference, &status).await?;
    }
    Ok(if is_going { Next::After(REPORT) } else { Next::Settled })
}

/// Why the question could not be asked of one of the hosts.
fn example(classification: &Value, agents: &[Value]) -> Option<String> {
    agents.iter().find_map(|agent| {
        let error = decide::answer(classification, agent).err()?;
        Some(format!("the host {}: {error}", agent["metadata"]["name"].as_str().unwrap_or_default()))
    })
}

/// Puts the labels on an Agent that classifications give, and has them counted.
pub(crate) async fn label(objects: &Objects, queue: &Queue, agent: &Value) -> Result<(), ReconcileError> {
    let namespace = agent["metadata"]["namespace"].as_str().unwrap_or_default();
    let classifications = objects.list(Kind::AgentClassification, namespace).await?;
    let changes = decide::changes(agent, &classifications);
    if changes.is_empty() {
        return Ok(());
    }
    objects.merge(&Reference::of(agent), &json!({"metadata": {"labels": changes}})).await?;
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
