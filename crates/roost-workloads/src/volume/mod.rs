//! Persistent volumes and the claims on them: who gets which, and what becomes of both.
//!
//! Volumes are made by people or by somebody else's provisioner; nothing here makes one.

mod bind;
mod claim;
mod fit;
mod protect;
mod reclaim;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::value;

pub use bind::bind;
pub use claim::{Classes, plan_claim};
pub use fit::{best, delays, wanted};
pub use protect::{release_claim, release_volume};
pub use reclaim::plan_volume;

/// Who the events are from.
pub const COMPONENT: &str = "persistentvolume-controller";
/// Says that a claim has its volume for good.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// Says that it was not people who brought a claim and a volume together.
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// Names the node for which a volume is wanted.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// Who made a volume.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// Who is to make a volume, under its old and its new name.
const PROVISIONER: [&str; 2] =
    ["volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner"];
/// The class of claims and volumes before there was a field for it.
const OLD_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
/// The provisioner of classes whose volumes only people make.
pub const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// The class of a claim or a volume; empty when it has none.
pub fn class_of(object: &Value) -> &str {
    match value::annotation(object, OLD_CLASS) {
        "" => value::text(object, &["spec", "storageClassName"]),
        old => old,
    }
}

/// Whether a claim has its volume.
pub fn is_bound(claim: &Value) -> bool {
    !value::text(claim, &["spec", "volumeName"]).is_empty() && has(claim, BIND_COMPLETED)
}

fn has(object: &Value, annotation: &str) -> bool {
    !value::at(object, &["metadata", "annotations", annotation]).is_null()
}

fn is_going(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Whether a volume is kept for a claim: by name, and where it has one by uid.
fn is_kept_for(volume: &Value, claim: &Value) -> bool {
    let reference = &volume["spec"]["claimRef"];
    let same = |field: &str| reference[field] == claim["metadata"][field];
    let uid = value::text(reference, &["uid"]);
    reference.is_object() && same("name") && same("namespace") && (uid.is_empty() || same("uid"))
}
