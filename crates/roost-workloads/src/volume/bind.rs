//! Bringing a claim and a volume together: the volume first, so that nobody else takes it.

use serde_json::{Value, json};

use super::{BIND_COMPLETED, BOUND_BY_CONTROLLER, has, is_kept_for};
use crate::{Action, value};

/// The steps that are left until both are bound to each other; none when they are.
pub fn bind(volume: &Value, claim: &Value) -> Vec<Action> {
    let mut actions = Vec::new();
    let mut volume = volume.clone();
    let reference = &volume["spec"]["claimRef"];
    if !is_kept_for(&volume, claim) || reference["uid"] != claim["metadata"]["uid"] {
        if !is_kept_for(&volume, claim) {
            value::set(&mut volume, &["metadata", "annotations", BOUND_BY_CONTROLLER], "yes");
        }
        let about = &claim["metadata"];
        let reference = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": about["namespace"], "name": about["name"],
            "uid": about["uid"], "resourceVersion": about["resourceVersion"],
        });
        value::set(&mut volume, &["spec", "claimRef"], reference);
        actions.push(Action::Update(volume.clone()));
    }
    if volume["status"]["phase"] != "Bound" {
        value::set(&mut volume, &["status", "phase"], "Bound");
        value::remove(&mut volume, &["status", "message"]);
        actions.push(Action::UpdateStatus(volume.clone()));
    }
    let mut claim = claim.clone();
    let named = claim["spec"]["volumeName"] == volume["metadata"]["name"];
    if !named || !has(&claim, BIND_COMPLETED) {
        if !named {
            value::set(&mut claim, &["spec", "volumeName"], volume["metadata"]["name"].clone());
            value::set(&mut claim, &["metadata", "annotations", BOUND_BY_CONTROLLER], "yes");
        }
        value::set(&mut claim, &["metadata", "annotations", BIND_COMPLETED], "yes");
        actions.push(Action::Update(claim.clone()));
    }
    let status = claim["status"].clone();
    let becomes_bound = claim["status"]["phase"] != "Bound";
    value::set(&mut claim, &["status", "phase"], "Bound");
    value::set(&mut claim, &["status", "accessModes"], volume["spec"]["accessModes"].clone());
    if becomes_bound {
        let storage = volume["spec"]["capacity"]["storage"].clone();
        value::set(&mut claim, &["status", "capacity"], json!({"storage": storage}));
    }
    if claim["status"] != status {
        actions.push(Action::UpdateStatus(claim));
    }
    actions
}

/// The volume as it was before a claim that went elsewhere.
pub(super) fn unbind(volume: &Value) -> Action {
    let mut next = volume.clone();
    if has(volume, BOUND_BY_CONTROLLER) {
        value::remove(&mut next, &["spec", "claimRef"]);
        value::remove(&mut next, &["metadata", "annotations", BOUND_BY_CONTROLLER]);
    } else {
        value::remove(&mut next, &["spec", "claimRef", "uid"]);
    }
    Action::Update(next)
}
