//! Which webhooks a write concerns.

use roost_admission::matching::{Match, Selection, find};
use roost_admission::policy::Verdict;
use roost_object::{GroupResource, Status, Value};

use super::super::policy::{Caller, Objects};
use super::super::request::Invocation;
use super::super::{Attributes, Verb};
use super::Hook;

/// Whether a webhook is asked, and how.
pub(super) async fn select(
    attributes: &Attributes<'_>,
    webhook: &Hook,
    object: &Value,
) -> Result<Option<Invocation>, Status> {
    let in_namespace = matches_namespace(attributes, &webhook.namespaces, object);
    if matches!(in_namespace, Ok(false)) {
        return Ok(None);
    }
    let by_labels = matches_labels(attributes, &webhook.objects, object);
    if matches!(by_labels, Ok(false)) {
        return Ok(None);
    }
    let subject = attributes.subject();
    let equivalents = webhook.equivalent.then(|| attributes.equivalents());
    let Some(found) = find(&webhook.rules, &subject, equivalents.as_deref()) else { return Ok(None) };
    in_namespace?;
    by_labels?;
    let place = match found {
        Match::Exact => None,
        Match::As(place) => equivalents.as_deref().and_then(|all| all.get(place)),
    };
    let invocation = attributes.invocation(place);
    if webhook.webhook.conditions.is_empty() {
        return Ok(Some(invocation));
    }
    let objects = Objects::of(attributes, object, &invocation).await?;
    match webhook.conditions().match_webhook(&objects.input(&Caller(attributes.target.call), &Value::Null)) {
        Verdict::Match => Ok(Some(invocation)),
        Verdict::NoMatch => Ok(None),
        Verdict::Failed(why) => {
            let resource = attributes.target.resource.group_resource();
            Err(Status::forbidden(&resource, attributes.target.name, &why))
        }
    }
}

/// What is outside of namespaces is in all of them, but for a namespace, which is chosen by its own labels.
pub(in super::super) fn matches_namespace(
    attributes: &Attributes<'_>,
    selection: &Selection,
    object: &Value,
) -> Result<bool, Status> {
    let scope = attributes.scope();
    let is_namespace = attributes.target.resource.plural == "namespaces";
    if selection.is_everything() || scope.is_empty() && !is_namespace {
        return Ok(true);
    }
    let unreadable = |why: &str| Status::internal(why);
    if attributes.is("", "namespaces") && attributes.verb != Verb::Delete {
        return selection.matches(&object["metadata"]["labels"]).map_err(unreadable);
    }
    let Some(namespace) = attributes.target.call.cluster.namespace(scope) else {
        return Err(Status::not_found(&GroupResource::new("", "namespaces"), scope));
    };
    selection.matches(&namespace.object["metadata"]["labels"]).map_err(unreadable)
}

/// An object is chosen by its labels as they were or as they will be.
pub(in super::super) fn matches_labels(
    attributes: &Attributes<'_>,
    selection: &Selection,
    object: &Value,
) -> Result<bool, Status> {
    if selection.is_everything() {
        return Ok(true);
    }
    let objects = [object, attributes.old.unwrap_or(&Value::Null)];
    for object in objects.into_iter().filter(|object| object.is_object()) {
        if selection.matches(&object["metadata"]["labels"]).map_err(Status::internal)? {
            return Ok(true);
        }
    }
    Ok(false)
}
