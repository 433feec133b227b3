//! One look at a Deployment: what it has, and what was decided so far.

use jiff::Timestamp;
use serde_json::Value;

use super::{COMPONENT, DESIRED_REPLICAS, HASH_LABEL, MAX_REPLICAS};
use crate::{Action, Event, value};

/// What is known and decided in one look.
pub(super) struct Pass<'a> {
    pub(super) original: &'a Value,
    pub(super) deployment: Value,
    /// `ReplicaSets` of other templates, the oldest first.
    pub(super) old: Vec<Value>,
    /// The `ReplicaSet` of the template.
    pub(super) new: Option<Value>,
    pub(super) now: Timestamp,
    pub(super) actions: Vec<Action>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(deployment: &'a Value, mut sets: Vec<Value>, now: Timestamp) -> Pass<'a> {
        sets.sort_by(|one, other| age(one).cmp(&age(other)));
        let template = without_hash(&deployment["spec"]["template"]);
        let new = sets.iter().position(|set| without_hash(&set["spec"]["template"]) == template);
        let new = new.map(|index| sets.remove(index));
        let mut own = deployment.clone();
        value::object_mut(&mut own, &["status"]);
        Pass { original: deployment, deployment: own, old: sets, new, now, actions: Vec::new() }
    }

    /// How many pods are wanted.
    pub(super) fn wanted(&self) -> i64 {
        value::number(&self.deployment, &["spec", "replicas"])
    }

    pub(super) fn is_rolling(&self) -> bool {
        value::text(&self.deployment, &["spec", "strategy", "type"]) == "RollingUpdate"
    }

    /// All `ReplicaSets`, the new one last.
    pub(super) fn sets(&self) -> impl Iterator<Item = &Value> {
        self.old.iter().chain(&self.new)
    }

    /// How many pods there may be beyond those wanted, and how many of those wanted may be missing.
    fn fenceposts(&self) -> (i64, i64) {
        let strategy = &self.deployment["spec"]["strategy"]["rollingUpdate"];
        let surge = value::scaled(&strategy["maxSurge"], self.wanted(), true).unwrap_or_default();
        let unavailable = value::scaled(&strategy["maxUnavailable"], self.wanted(), false).unwrap_or_default();
        // Nothing could ever move.
        if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
    }

    pub(super) fn max_surge(&self) -> i64 {
        if self.is_rolling() { self.fenceposts().0 } else { 0 }
    }

    pub(super) fn max_unavailable(&self) -> i64 {
        if !self.is_rolling() || self.wanted() == 0 { 0 } else { self.fenceposts().1.min(self.wanted()) }
    }

    /// Gives a `ReplicaSet` another size; true when it is another one. The annotations that say how large the Deployment
    /// was are only brought up to date with the size, unless forced.
    pub(super) fn resize(&mut self, which: Which, size: i64, force: bool) -> bool {
        let (wanted, most) = (self.wanted(), self.wanted() + self.max_surge());
        let set = match which {
            Which::New => self.new.as_mut(),
            Which::Old(index) => self.old.get_mut(index),
        };
        let Some(set) = set else { return false };
        let before = replicas(set);
        if !force && before == size {
            return false;
        }
        let mut next = set.clone();
        value::set(&mut next, &["spec", "replicas"], size);
        set_size_annotations(&mut next, wanted, most);
        if next == *set {
            return false;
        }
        *set = next.clone();
        let name = value::text(&next, &["metadata", "name"]).to_owned();
        self.actions.push(Action::Update(next));
        if before == size {
            return false;
        }
        let direction = if before < size { "up" } else { "down" };
        self.tell(format!("Scaled {direction} replica set {name} from {before} to {size}"));
        true
    }

    /// Tells that a `ReplicaSet` was scaled.
    pub(super) fn tell(&mut self, message: String) {
        self.actions.push(Event::normal(self.original, COMPONENT, "ScalingReplicaSet", message));
    }
}

/// A `ReplicaSet` of a pass.
#[derive(Clone, Copy)]
pub(super) enum Which {
    New,
    Old(usize),
}

/// Writes down how large the Deployment is to be.
pub(super) fn set_size_annotations(set: &mut Value, wanted: i64, most: i64) {
    let annotations = value::object_mut(set, &["metadata", "annotations"]);
    annotations.insert(DESIRED_REPLICAS.to_owned(), wanted.to_string().into());
    annotations.insert(MAX_REPLICAS.to_owned(), most.to_string().into());
}

/// The order of age: by time of creation, then by name.
pub(super) fn age(set: &Value) -> (&str, &str) {
    (value::text(set, &["metadata", "creationTimestamp"]), value::text(set, &["metadata", "name"]))
}

pub(super) fn replicas(set: &Value) -> i64 {
    value::number(set, &["spec", "replicas"])
}

pub(super) fn available(set: &Value) -> i64 {
    value::number(set, &["status", "availableReplicas"])
}

/// A template without the label that only `ReplicaSets` have.
pub(super) fn without_hash(template: &Value) -> Value {
    let mut template = template.clone();
    value::remove(&mut template, &["metadata", "labels", HASH_LABEL]);
    if template["metadata"]["labels"].as_object().is_some_and(serde_json::Map::is_empty) {
        value::remove(&mut template, &["metadata", "labels"]);
    }
    template
}
