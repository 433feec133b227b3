//! Claims and volumes that are in use stay until they are not.

use serde_json::{Value, json};

use super::is_going;
use crate::Action;
use crate::action::Reference;
use crate::value;

const CLAIM: &str = "kubernetes.io/pvc-protection";
const VOLUME: &str = "kubernetes.io/pv-protection";

/// Lets a claim go that nobody uses.
pub fn release_claim(claim: &Value, in_use: bool) -> Option<Action> {
    (is_going(claim) && !in_use).then(|| without(claim, CLAIM)).flatten()
}

/// Lets a volume go that is not bound.
pub fn release_volume(volume: &Value) -> Option<Action> {
    (is_going(volume) && volume["status"]["phase"] != "Bound").then(|| without(volume, VOLUME)).flatten()
}

fn without(object: &Value, finalizer: &str) -> Option<Action> {
    let all = value::list(object, &["metadata", "finalizers"]);
    let kept: Vec<&Value> = all.iter().filter(|one| *one != finalizer).collect();
    (kept.len() < all.len()).then(|| Action::Patch {
        object: Reference::of(object),
        subresource: "",
        patch: json!({"metadata": {"finalizers": if kept.is_empty() { Value::Null } else { json!(kept) }}}),
    })
}
