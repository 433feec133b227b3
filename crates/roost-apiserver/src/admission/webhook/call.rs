//! Asking one webhook about one write.

use std::time::Duration;

use roost_admission::webhook::{Answer, Review, Webhook, denied, dry_run_unsupported, failed, review};
use roost_object::{Status, Value};

use super::super::Attributes;
use super::super::request::Invocation;
use super::decode_base64;
use crate::outgoing::{post, read_object};

/// How long a webhook may take that does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a webhook lets a write not go on.
pub(super) enum Refusal {
    /// It could not be asked: what happens then is up to its failure policy.
    Call(String),
    /// It was asked, or should not have been.
    Status(Status),
}

impl Refusal {
    pub(super) fn into_status(self, webhook: &Webhook) -> Status {
        match self {
            Refusal::Call(why) => failed(&webhook.name, &why),
            Refusal::Status(status) => status,
        }
    }
}

/// The objects of a write in the version that a webhook reads.
pub(super) struct Objects {
    /// As it will be; null for a delete.
    pub(super) object: Value,
    /// As it is; null for a create.
    pub(super) old: Value,
}

impl Objects {
    pub(super) async fn of(
        attributes: &Attributes<'_>,
        object: &Value,
        invocation: &Invocation,
    ) -> Result<Self, Status> {
        let [object, old] = attributes.objects(object, invocation).await?;
        Ok(Self { object, old })
    }
}

/// Asks, and passes on what the webhook warns of.
pub(super) async fn ask(
    attributes: &Attributes<'_>,
    webhook: &Webhook,
    invocation: &Invocation,
    objects: Objects,
    mutating: bool,
) -> Result<Answer, Refusal> {
    if attributes.dry_run {
        match webhook.dry_run {
            Some(true) => {}
            Some(false) => return Err(Refusal::Status(dry_run_unsupported(&webhook.name))),
            None => return Err(Refusal::Call("Webhook SideEffects is nil".into())),
        }
    }
    let Some(version) = webhook.version else {
        let why =
            "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)";
        return Err(Refusal::Call(why.into()));
    };
    let call = attributes.target.call;
    let subject = attributes.subject();
    let uid = uuid::Uuid::new_v4().to_string();
    let kind = attributes.kind();
    let body = review(Review {
        version,
        uid: &uid,
        kind: invocation.kind.each_ref().map(String::as_str),
        resource: invocation.resource.each_ref().map(String::as_str),
        subresource: subject.subresource,
        request_kind: kind.each_ref().map(String::as_str),
        request_resource: [subject.group, subject.version, subject.resource],
        name: subject.name,
        namespace: subject.namespace,
        operation: subject.operation,
        user: call.user.to_object(),
        object: objects.object,
        old_object: objects.old,
        dry_run: attributes.dry_run,
        options: attributes.options(),
    });
    let bytes = serde_json::to_vec(&body).map_err(|error| Refusal::Call(error.to_string()))?;
    let timeout = webhook.timeout_seconds.map_or(DEFAULT_TIMEOUT, Duration::from_secs);
    let answer = post(&call.cluster, &webhook.client, timeout, bytes.into())
        .await
        .map_err(|error| Refusal::Call(error.to_string()))?;
    let unreadable = |why: String| Refusal::Call(format!("failed to call webhook: {why}"));
    let versions = ["v1", "v1beta1"];
    let body = read_object(&answer, "admission.k8s.io", &versions, "AdmissionReview").map_err(unreadable)?;
    let answer = Answer::read(&body, version, &uid, mutating, decode_base64)
        .map_err(|invalid| Refusal::Call(format!("received invalid webhook response: {}", invalid.0)))?;
    for (key, value) in &answer.annotations {
        call.annotations.add(format!("{}/{key}", webhook.name), value.as_str());
    }
    for warning in &answer.warnings {
        call.warnings.add(warning.as_str());
    }
    if answer.allowed { Ok(answer) } else { Err(Refusal::Status(denied(&webhook.name, answer.status))) }
}
