//! What becomes of a claim.

use serde_json::{Value, json};

use super::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, COMPONENT, NO_PROVISIONER, PROVISIONER, SELECTED_NODE, bind, class_of, fit,
    has, is_kept_for,
};
use crate::{Action, Event, value};

/// The classes that matter to a claim.
#[derive(Clone, Copy, Debug, Default)]
pub struct Classes<'a> {
    /// Its own, where there is one of that name.
    pub own: Option<&'a Value>,
    /// The one for claims that name none.
    pub default: Option<&'a str>,
}

/// The next steps for a claim. `pods` are those that want it and have no node yet.
pub fn plan_claim(claim: &Value, classes: Classes<'_>, volumes: &[Value], pods: &[String]) -> Vec<Action> {
    if has(claim, BIND_COMPLETED) {
        return of_bound(claim, volumes);
    }
    match value::text(claim, &["spec", "volumeName"]) {
        "" => of_open(claim, classes, volumes, pods),
        name => of_named(claim, volumes.iter().find(|volume| volume["metadata"]["name"] == name)),
    }
}

/// A claim that takes any volume that suits it.
fn of_open(claim: &Value, classes: Classes<'_>, volumes: &[Value], pods: &[String]) -> Vec<Action> {
    let waits = fit::delays(classes.own) && value::annotation(claim, SELECTED_NODE).is_empty();
    if let Some(volume) = fit::best(volumes, claim, fit::delays(classes.own), None) {
        return bind(volume, claim);
    }
    let nameless = claim["spec"]["storageClassName"].is_null() && class_of(claim).is_empty();
    if let Some(default) = classes.default.filter(|_| nameless) {
        let mut next = claim.clone();
        value::set(&mut next, &["spec", "storageClassName"], default);
        return vec![Action::Update(next)];
    }
    let mut actions = if waits {
        vec![waiting(claim, pods)]
    } else if class_of(claim).is_empty() {
        let message = "no persistent volumes available for this claim and no storage class is set";
        vec![Event::normal(claim, COMPONENT, "FailedBinding", message)]
    } else {
        return provision(claim, classes.own);
    };
    actions.extend(pending(claim));
    actions
}

fn waiting(claim: &Value, pods: &[String]) -> Action {
    let (reason, message) = match pods {
        [] => ("WaitForFirstConsumer", "waiting for first consumer to be created before binding".to_owned()),
        [pod] => ("WaitForPodScheduled", format!("waiting for pod {pod} to be scheduled")),
        pods => ("WaitForPodScheduled", format!("waiting for pods {} to be scheduled", pods.join(","))),
    };
    Event::normal(claim, COMPONENT, reason, message)
}

/// A volume that somebody else has to make.
fn provision(claim: &Value, class: Option<&Value>) -> Vec<Action> {
    let Some(class) = class else {
        let message = format!("storageclass.storage.k8s.io {:?} not found", class_of(claim));
        return vec![Event::warning(claim, COMPONENT, "ProvisioningFailed", message)];
    };
    let provisioner = value::text(class, &["provisioner"]);
    if provisioner == NO_PROVISIONER {
        let message = format!("no volume plugin matched name: {provisioner}");
        return vec![Event::warning(claim, COMPONENT, "ProvisioningFailed", message)];
    }
    let mut actions = Vec::new();
    if PROVISIONER.iter().any(|name| value::annotation(claim, name) != provisioner) {
        let mut next = claim.clone();
        for name in PROVISIONER {
            value::set(&mut next, &["metadata", "annotations", name], provisioner);
        }
        actions.push(Action::Update(next));
    }
    let message = format!(
        "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered."
    );
    actions.push(Event::normal(claim, COMPONENT, "ExternalProvisioning", message));
    actions
}

/// A claim that asks for one volume by name.
fn of_named(claim: &Value, volume: Option<&Value>) -> Vec<Action> {
    let Some(volume) = volume else { return pending(claim).into_iter().collect() };
    let name = value::text(volume, &["metadata", "name"]);
    if is_kept_for(volume, claim) {
        return bind(volume, claim);
    }
    let told = if volume["spec"]["claimRef"].is_object() {
        let message = format!("volume {name:?} already bound to a different claim.");
        Event::warning(claim, COMPONENT, "FailedBinding", message)
    } else if let Some(why) = fit::mismatch(volume, claim) {
        let message = format!("Cannot bind to requested volume {name:?}: {why}");
        Event::warning(claim, COMPONENT, "VolumeMismatch", message)
    } else {
        return bind(volume, claim);
    };
    let kept = has(claim, BOUND_BY_CONTROLLER);
    [told].into_iter().chain(pending(claim).filter(|_| !kept)).collect()
}

/// A claim that had its volume.
fn of_bound(claim: &Value, volumes: &[Value]) -> Vec<Action> {
    let name = value::text(claim, &["spec", "volumeName"]);
    if name.is_empty() {
        let message = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!";
        return lost(claim, "ClaimLost", message);
    }
    let Some(volume) = volumes.iter().find(|volume| volume["metadata"]["name"] == name) else {
        return lost(claim, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
    };
    let reference = &volume["spec"]["claimRef"];
    if !reference.is_object() || reference["uid"] == claim["metadata"]["uid"] {
        return bind(volume, claim);
    }
    let message = "Two claims are bound to the same volume, this one is bound incorrectly";
    lost(claim, "ClaimMisbound", message)
}

fn lost(claim: &Value, reason: &'static str, message: &str) -> Vec<Action> {
    let Some(update) = in_phase(claim, "Lost") else { return Vec::new() };
    vec![update, Event::warning(claim, COMPONENT, reason, message)]
}

fn pending(claim: &Value) -> Option<Action> {
    in_phase(claim, "Pending")
}

/// The claim in a phase in which it has no volume; none when it is in it.
fn in_phase(claim: &Value, phase: &str) -> Option<Action> {
    let status = json!({"phase": phase});
    if claim["status"] == status {
        return None;
    }
    let mut next = claim.clone();
    value::set(&mut next, &["status"], status);
    Some(Action::UpdateStatus(next))
}
