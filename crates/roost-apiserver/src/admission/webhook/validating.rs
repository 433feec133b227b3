//! Webhooks that only say yes or no: all at once.

use std::sync::Arc;

use futures::future::join_all;
use roost_object::{Status, Value};

use super::super::Attributes;
use super::super::request::Invocation;
use super::call::{Objects, Refusal, ask};
use super::select::select;
use super::{Hook, VALIDATING, Webhooks};

/// Asks all webhooks that a write concerns.
pub(in super::super) async fn validate(attributes: &Attributes<'_>, object: &Value) -> Result<(), Status> {
    let cluster = &attributes.target.call.cluster;
    let Some(webhooks) = cluster.policies.webhooks.read(&cluster.store, |hooks: &mut Webhooks| hooks.list(VALIDATING))
    else {
        return Ok(());
    };
    let mut concerned: Vec<(&Arc<Hook>, Invocation)> = Vec::new();
    for webhook in webhooks.iter() {
        if let Some(invocation) = select(attributes, webhook, object).await? {
            concerned.push((webhook, invocation));
        }
    }
    let asked = concerned.iter().map(|(webhook, invocation)| async move {
        let objects = Objects::of(attributes, object, invocation).await.map_err(Refusal::Status)?;
        ask(attributes, webhook, invocation, objects, false).await
    });
    let answers = join_all(asked).await;
    for (index, ((webhook, _), answer)) in concerned.iter().zip(answers).enumerate() {
        match answer {
            Ok(_) => {}
            Err(Refusal::Call(why)) if webhook.fails_open => {
                tracing::warn!(webhook = webhook.name, why, "a webhook could not be asked; the write goes on");
                let key = format!("failed-open.validating.webhook.admission.k8s.io/round_0_index_{index}");
                attributes.target.call.annotations.add(key, webhook.name.as_str());
            }
            Err(refusal) => return Err(refusal.into_status(webhook)),
        }
    }
    Ok(())
}
