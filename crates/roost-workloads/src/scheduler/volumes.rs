//! Volumes: where those of a pod are, and which it could have where it may run.

use serde::Deserialize as _;
use serde_json::Value;

use super::filter::any_term;
use super::node::Node;
use super::outcome::Rejection;
use crate::pod::NodeSelector;
use crate::{value, volume};

/// The claims of a pod, and what there is for them.
#[derive(Clone, Debug, Default)]
pub struct Volumes {
    /// Where each volume is that a claim has already.
    bound: Vec<NodeSelector>,
    /// Claims that wait for the pod, the smallest first, and whether somebody would make a volume for each.
    waiting: Vec<(Value, bool)>,
    /// The volumes that they could have.
    available: Vec<Value>,
}

/// What a pod's claims come to on a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bindings {
    /// Volumes and the claims that get them.
    pub bound: Vec<(Value, Value)>,
    /// Claims for which somebody has to make a volume.
    pub provisioned: Vec<Value>,
}

/// A claim of a pod as the scheduler finds it.
pub struct Found {
    /// Its name.
    pub name: String,
    /// The claim, if there is one.
    pub claim: Option<Value>,
    /// Its class, if there is one.
    pub class: Option<Value>,
}

impl Volumes {
    /// Looks at the claims of a pod; what keeps it from any node is an error.
    pub fn new(claims: Vec<Found>, available: Vec<Value>) -> Result<Volumes, String> {
        let mut volumes = Volumes { available, ..Volumes::default() };
        let mut unbound = false;
        for Found { name, claim, class } in claims {
            let Some(claim) = claim else { return Err(format!("persistentvolumeclaim {name:?} not found")) };
            let volume = value::text(&claim, &["spec", "volumeName"]).to_owned();
            if claim["status"]["phase"] == "Lost" {
                return Err(format!(
                    "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {volume:?}"
                ));
            }
            if !claim["metadata"]["deletionTimestamp"].is_null() {
                return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
            }
            if volume::is_bound(&claim) {
                let found = volumes.available.iter().find(|found| found["metadata"]["name"] == *volume);
                let required = found.map(|found| &found["spec"]["nodeAffinity"]["required"]);
                let selector = required.filter(|required| required.is_object()).map(NodeSelector::deserialize);
                volumes.bound.extend(selector.and_then(Result::ok));
            } else if volume::delays(class.as_ref()) && volume.is_empty() {
                let provisioner = class.as_ref().map(|class| value::text(class, &["provisioner"]).to_owned());
                volumes.waiting.push((claim, provisioner.is_some_and(|name| name != volume::NO_PROVISIONER)));
            } else {
                unbound = true;
            }
        }
        if unbound {
            return Err("pod has unbound immediate PersistentVolumeClaims".to_owned());
        }
        volumes.waiting.sort_by_key(|(claim, _)| volume::wanted(claim));
        Ok(volumes)
    }

    pub(super) fn filter(&self, node: &Node) -> Option<Rejection> {
        if !self.bound.iter().all(|selector| any_term(selector, node)) {
            return Some(Rejection::unresolvable("node(s) didn't match PersistentVolume's node affinity"));
        }
        let words = "node(s) didn't find available persistent volumes to bind";
        self.on(node).is_none().then(|| Rejection::unresolvable(words))
    }

    /// What the claims that wait would get on a node; none when one of them would get nothing.
    pub fn on(&self, node: &Node) -> Option<Bindings> {
        let mut bindings = Bindings::default();
        for (claim, can_be_made) in &self.waiting {
            let here = |volume: &Value| {
                let chosen = |(taken, _): &(Value, Value)| taken["metadata"]["name"] == volume["metadata"]["name"];
                let required = &volume["spec"]["nodeAffinity"]["required"];
                let reaches = required.is_null()
                    || NodeSelector::deserialize(required).is_ok_and(|selector| any_term(&selector, node));
                reaches && !bindings.bound.iter().any(chosen)
            };
            match volume::best(&self.available, claim, true, Some(&here)).cloned() {
                Some(volume) => bindings.bound.push((volume, claim.clone())),
                None if *can_be_made => bindings.provisioned.push(claim.clone()),
                None => return None,
            }
        }
        Some(bindings)
    }
}
