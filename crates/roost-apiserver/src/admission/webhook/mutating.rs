//! Webhooks that change objects: one after the other, and some once more when a later one changed the object.

use std::collections::BTreeSet;

use roost_admission::webhook::Webhook;
use roost_object::{Status, Value, json};

use super::super::Attributes;
use super::super::request::Invocation;
use super::call::{Objects, Refusal, ask};
use super::select::select;
use super::{MUTATING, Webhooks};

/// What the first round of mutations left to do.
#[derive(Default)]
pub(in super::super) struct Rounds {
    called: BTreeSet<String>,
    again: BTreeSet<String>,
    last: Option<Value>,
}

impl Rounds {
    /// Those that were called and want to know of later changes are called again.
    fn call_again(&mut self) {
        self.again.append(&mut self.called);
    }
}

/// Has all webhooks that a write concerns change the object; says whether one did. For a delete there is none to change.
pub(in super::super) async fn mutate(
    attributes: &Attributes<'_>,
    object: &mut Value,
    rounds: &mut Rounds,
    second: bool,
) -> Result<bool, Status> {
    let cluster = &attributes.target.call.cluster;
    let Some(webhooks) = cluster.policies.webhooks.read(&cluster.store, |hooks: &mut Webhooks| hooks.list(MUTATING))
    else {
        return Ok(false);
    };
    let mut any = false;
    if second && rounds.last.as_ref() != Some(object) {
        rounds.call_again();
    }
    for (index, webhook) in webhooks.iter().enumerate() {
        let Some(invocation) = select(attributes, webhook, object).await? else { continue };
        if second && !rounds.again.contains(&webhook.id) {
            continue;
        }
        let outcome = apply(attributes, webhook, &invocation, object).await;
        let changed = matches!(outcome, Ok(true));
        annotate(attributes, webhook, second, index, changed);
        if changed {
            rounds.call_again();
            any = true;
        }
        if webhook.reinvoked {
            rounds.called.insert(webhook.id.clone());
        }
        match outcome {
            Ok(_) => {}
            Err(Refusal::Call(why)) if webhook.fails_open => {
                tracing::warn!(webhook = webhook.name, why, "a webhook could not be asked; the write goes on");
                let round = i32::from(second);
                let key = format!("failed-open.mutation.webhook.admission.k8s.io/round_{round}_index_{index}");
                attributes.target.call.annotations.add(key, webhook.name.as_str());
            }
            Err(refusal) => return Err(refusal.into_status(webhook)),
        }
    }
    rounds.last = Some(object.clone());
    Ok(any)
}

fn annotate(attributes: &Attributes<'_>, webhook: &Webhook, second: bool, index: usize, mutated: bool) {
    let key = format!("mutation.webhook.admission.k8s.io/round_{}_index_{index}", i32::from(second));
    let value =
        serde_json::json!({"configuration": webhook.configuration, "webhook": webhook.name, "mutated": mutated});
    attributes.target.call.annotations.add(key, value.to_string());
}

/// Asks a webhook and applies its patch; says whether that changed the object.
async fn apply(
    attributes: &Attributes<'_>,
    webhook: &Webhook,
    invocation: &Invocation,
    object: &mut Value,
) -> Result<bool, Refusal> {
    let objects = Objects::of(attributes, object, invocation).await.map_err(Refusal::Status)?;
    let before = objects.object.clone();
    let answer = ask(attributes, webhook, invocation, objects, true).await?;
    if answer.patch.is_empty() {
        return Ok(false);
    }
    let undecodable = |why: String| Refusal::Call(format!("received undecodable patch in webhook response: {why}"));
    let operations = json::read(&answer.patch).map_err(|error| undecodable(error.to_string()))?.value;
    if operations.is_null() || operations.as_array().is_some_and(Vec::is_empty) {
        return Ok(false);
    }
    if before.is_null() {
        return Err(Refusal::Status(Status::internal(format!(
            "admission webhook \"{}\" attempted to modify the object, which is not supported for this operation",
            webhook.name
        ))));
    }
    if answer.patch_type != "JSONPatch" {
        return Err(Refusal::Call(format!("unsupported patch type \"{}\"", answer.patch_type)));
    }
    let patched = roost_merge::json_patch::apply(&before, &answer.patch)
        .map_err(|error| Refusal::Status(Status::internal(error.to_string())))?;
    let patched = attributes.convert_back(patched, &invocation.kind, object).await.map_err(Refusal::Status)?;
    let changed = patched != *object;
    *object = patched;
    Ok(changed)
}
