//! Deployments: `ReplicaSets` by revision, rolled from one to the next.

mod pass;
mod revision;
mod roll;
mod scale;
mod status;

use jiff::Timestamp;
use roost_object::Status;
use serde_json::{Value, json};

use crate::action::Reference;
use crate::metadata::Metadata;
use crate::{Action, Event, Pod, condition, metadata, selector, value};
use pass::Pass;

/// Who the events are from.
pub const COMPONENT: &str = "deployment-controller";
/// The label that tells the pods of revisions apart.
pub const HASH_LABEL: &str = "pod-template-hash";

const REVISION: &str = "deployment.kubernetes.io/revision";
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";

const AVAILABLE: &str = "Available";
const PROGRESSING: &str = "Progressing";
const REPLICA_FAILURE: &str = "ReplicaFailure";
const NEW_SET_AVAILABLE: &str = "NewReplicaSetAvailable";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
const PAUSED: &str = "DeploymentPaused";

/// What to do about a Deployment, its `ReplicaSets` and those that nobody cares for. The pods are all that belong to one
/// of its `ReplicaSets`.
pub fn plan(deployment: &Value, sets: Vec<Value>, pods: &[&Pod], now: Timestamp) -> Vec<Action> {
    if deployment["spec"]["selector"] == json!({}) {
        return selecting_all(deployment);
    }
    let (sets, claims) = claim(deployment, sets);
    if !claims.is_empty() {
        // The owners are part of what the next look goes by.
        return claims;
    }
    let mut pass = Pass::new(deployment, sets, now);
    if !deployment["metadata"]["deletionTimestamp"].is_null() {
        pass.sync_revision(false);
        return pass.finish(false);
    }
    pass.note_pause();
    if deployment["spec"]["paused"] == true {
        return pass.scale_only(true);
    }
    if !value::annotation(deployment, ROLLBACK_TO).is_empty() {
        return pass.roll_back();
    }
    pass.sync_revision(false);
    if pass.is_scaling() {
        return pass.scale_only(false);
    }
    match value::text(deployment, &["spec", "strategy", "type"]) {
        "Recreate" => pass.recreate(pods),
        _ => pass.roll(),
    }
}

fn selecting_all(deployment: &Value) -> Vec<Action> {
    let message = "This deployment is selecting all pods. A non-empty selector is required.";
    let mut actions = vec![Event::warning(deployment, COMPONENT, "SelectingAll", message)];
    let generation = value::number(deployment, &["metadata", "generation"]);
    if value::number(deployment, &["status", "observedGeneration"]) < generation {
        let mut next = deployment.clone();
        value::set(&mut next, &["status", "observedGeneration"], generation);
        actions.push(Action::UpdateStatus(next));
    }
    actions
}

/// The `ReplicaSets` of a Deployment, and what must change for that.
fn claim(deployment: &Value, sets: Vec<Value>) -> (Vec<Value>, Vec<Action>) {
    let selector = selector::read(&deployment["spec"]["selector"]);
    let own = Reference::of(deployment);
    let goes = !deployment["metadata"]["deletionTimestamp"].is_null();
    let (mut claimed, mut actions) = (Vec::new(), Vec::new());
    for set in sets {
        let about = Metadata::read(&set);
        let selected = selector.matches(&about.labels);
        match about.controller() {
            Some(controller) if controller.uid != own.uid => {}
            Some(_) if selected => claimed.push(set),
            Some(_) if goes => {}
            Some(_) => actions.push(Action::Patch {
                object: Reference::of(&set),
                subresource: "",
                patch: metadata::release(&own.uid, &about.owner_references),
            }),
            None if selected && !goes && !about.is_going() => {
                actions.push(Action::adopt(deployment, Reference::of(&set), &about.owner_references));
            }
            None => {}
        }
    }
    (claimed, actions)
}

/// What to do when a new `ReplicaSet` could not be made.
pub fn creation_failed(deployment: &Value, set: &Value, error: &Status, now: Timestamp) -> Vec<Action> {
    if error.reason == "AlreadyExists" {
        // Another template has the same hash; the count makes the next try another name.
        let mut next = deployment.clone();
        let collisions = value::number(deployment, &["status", "collisionCount"]);
        value::set(&mut next, &["status", "collisionCount"], collisions + 1);
        return vec![Action::UpdateStatus(next)];
    }
    let name = value::text(set, &["metadata", "name"]);
    let message = format!("Failed to create new replica set \"{name}\": {}", error.message);
    let mut actions = Vec::new();
    if has_deadline(deployment) {
        let mut next = deployment.clone();
        set_condition(&mut next, PROGRESSING, "False", "ReplicaSetCreateError", &message, now);
        if next != *deployment {
            actions.push(Action::UpdateStatus(next));
        }
    }
    actions.push(Event::warning(deployment, COMPONENT, "ReplicaSetCreateError", message));
    actions
}

fn has_deadline(deployment: &Value) -> bool {
    value::number_given(deployment, &["spec", "progressDeadlineSeconds"])
        .is_some_and(|seconds| seconds != i64::from(i32::MAX))
}

/// Sets a condition of a Deployment, unless it already says the same for the same reason.
fn set_condition(deployment: &mut Value, kind: &str, status: &str, reason: &str, message: &str, now: Timestamp) {
    let current = condition::find(deployment, kind);
    if current.is_some_and(|current| current["status"] == status && current["reason"] == reason) {
        return;
    }
    let since = match current {
        Some(current) if current["status"] == status => current["lastTransitionTime"].clone(),
        _ => value::seconds(now).into(),
    };
    let next = json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": since, "lastUpdateTime": value::seconds(now),
    });
    condition::replace(&mut deployment["status"], next);
}

#[cfg(test)]
mod tests;
