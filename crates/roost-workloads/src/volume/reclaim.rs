//! What becomes of a volume.

use serde_json::Value;

use super::{COMPONENT, PROVISIONED_BY, bind, fit, has, is_going};
use crate::action::Reference;
use crate::{Action, Event, value};

/// The only folder that volumes on a host may be removed from.
const HOST_PATH_ROOT: &str = "/tmp/";

/// The next steps for a volume, whose claim is the one that it names.
pub fn plan_volume(volume: &Value, claim: Option<&Value>) -> Vec<Action> {
    let reference = &volume["spec"]["claimRef"];
    let uid = value::text(reference, &["uid"]);
    if !reference.is_object() || uid.is_empty() {
        return in_phase(volume, "Available", None).into_iter().collect();
    }
    let Some(claim) = claim.filter(|claim| claim["metadata"]["uid"] == uid) else {
        return released(volume);
    };
    match value::text(claim, &["spec", "volumeName"]) {
        "" if fit::mode(claim) != fit::mode(volume) => mismatched(volume, claim),
        "" => Vec::new(),
        name if volume["metadata"]["name"] == name => in_phase(volume, "Bound", None).into_iter().collect(),
        _ if has(volume, PROVISIONED_BY) && policy(volume) == "Delete" => released(volume),
        _ => vec![bind::unbind(volume)],
    }
}

fn mismatched(volume: &Value, claim: &Value) -> Vec<Action> {
    let (own, other) = (value::text(volume, &["metadata", "name"]), value::text(claim, &["metadata", "name"]));
    let to_volume = format!(
        "Cannot bind PersistentVolume to requested PersistentVolumeClaim {other:?} due to incompatible volumeMode."
    );
    let to_claim = format!(
        "Cannot bind PersistentVolume {own:?} to requested PersistentVolumeClaim due to incompatible volumeMode."
    );
    vec![
        Event::warning(volume, COMPONENT, "VolumeMismatch", to_volume),
        Event::warning(claim, COMPONENT, "VolumeMismatch", to_claim),
    ]
}

fn policy(volume: &Value) -> &str {
    value::text(volume, &["spec", "persistentVolumeReclaimPolicy"])
}

/// A volume whose claim is gone.
fn released(volume: &Value) -> Vec<Action> {
    let phase = value::text(volume, &["status", "phase"]);
    let first = (phase != "Failed").then(|| in_phase(volume, "Released", None)).flatten();
    let mut actions: Vec<Action> = first.into_iter().collect();
    match policy(volume) {
        "Delete" if has(volume, PROVISIONED_BY) || is_going(volume) => {}
        "Delete" => match deletion(volume) {
            Ok(action) => actions.push(action),
            Err(why) if phase != "Failed" => actions.extend(failed(volume, "VolumeFailedDelete", why)),
            Err(_) => {}
        },
        "Recycle" if phase != "Failed" => {
            actions.extend(failed(
                volume,
                "VolumeFailedRecycle",
                "No recycler plugin found for the volume!".to_owned(),
            ));
        }
        _ => {}
    }
    actions
}

/// Nothing here reaches into a node, so only the object can go, and only where stock lets it go.
fn deletion(volume: &Value) -> Result<Action, String> {
    let name = value::text(volume, &["metadata", "name"]);
    if !volume["spec"]["hostPath"].is_object() {
        return Err(format!(
            "error getting deleter volume plugin for volume {name:?}: no deletable volume plugin matched"
        ));
    }
    let path = value::text(volume, &["spec", "hostPath", "path"]);
    if path.len() > HOST_PATH_ROOT.len() && path.starts_with(HOST_PATH_ROOT) {
        let object = Reference::of(volume);
        return Ok(Action::Delete { object, propagation: None, grace_seconds: None });
    }
    Err(format!("host_path deleter only supports /tmp/.+ but received provided {path}"))
}

fn failed(volume: &Value, reason: &'static str, why: String) -> Vec<Action> {
    let update = in_phase(volume, "Failed", Some(&why));
    update.into_iter().chain([Event::warning(volume, COMPONENT, reason, why)]).collect()
}

/// The volume in a phase; none when it is in it.
fn in_phase(volume: &Value, phase: &str, message: Option<&str>) -> Option<Action> {
    if volume["status"]["phase"] == phase {
        return None;
    }
    let mut next = volume.clone();
    value::set(&mut next, &["status", "phase"], phase);
    match message {
        Some(message) => value::set(&mut next, &["status", "message"], message),
        None => value::remove(&mut next, &["status", "message"]),
    }
    Some(Action::UpdateStatus(next))
}
