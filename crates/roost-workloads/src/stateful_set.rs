//! StatefulSets: pods with a name and storage of their own, in their order.

mod identity;
mod retention;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::action::Reference;
use crate::metadata::Metadata;
use crate::{Action, Pod, history, replica_set, selector, value};

pub use identity::{claim_name, claims, ordinal};
pub use retention::{is_in_range, owners_of_claim};

/// Who the events are from.
pub const COMPONENT: &str = "statefulset-controller";

/// One thing to do about a pod.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Make a pod, and the claims that it needs first.
    Create {
        /// The pod.
        pod: Value,
        /// The claims.
        claims: Vec<Value>,
    },
    /// Delete a pod.
    Delete(Reference),
}

/// What to do about a StatefulSet.
#[derive(Debug, Default)]
pub struct Plan {
    /// What comes before pods: revisions and adoptions.
    pub before: Vec<Action>,
    /// What to do about pods, in this order.
    pub steps: Vec<Step>,
    /// What comes after: the status, revisions that are no longer needed.
    pub after: Vec<Action>,
}

struct Revisions {
    current: Value,
    update: Value,
    all: Vec<Value>,
    collisions: i64,
}

/// What to do about a StatefulSet, its revisions and its pods.
pub fn plan(set: &Value, revisions: Vec<Value>, pods: Vec<Arc<Pod>>, now: Timestamp) -> Plan {
    let mut plan = Plan::default();
    let is_going = !set["metadata"]["deletionTimestamp"].is_null();
    if is_going && revisions.iter().any(|revision| Metadata::read(revision).controller().is_none()) {
        // It is about to leave behind what it has, and this revision was left already.
        return plan;
    }
    let revisions = revise(set, revisions, &mut plan.before);
    let named = pods.into_iter().filter(|pod| ordinal(set, pod).is_some() || pod.metadata.controller().is_some());
    let (mut pods, claims) = replica_set::claim(set, &selector::read(&set["spec"]["selector"]), named);
    plan.before.extend(claims);
    pods.retain(|pod| ordinal(set, pod).is_some());
    let look = Look { set, revisions, now };
    let mut status = look.status(&pods);
    if !is_going {
        look.steps(&pods, &mut status, &mut plan.steps);
    }
    look.finish(&pods, status, &mut plan.after);
    plan
}

/// The revision that pods have and the one that they get.
fn revise(set: &Value, mut revisions: Vec<Value>, actions: &mut Vec<Action>) -> Revisions {
    let uid = value::text(set, &["metadata", "uid"]);
    revisions.retain(|revision| {
        let about = Metadata::read(revision);
        if let Some(owner) = about.controller() {
            owner.uid == uid
        } else {
            actions.push(Action::adopt(set, Reference::of(revision), &about.owner_references));
            true
        }
    });
    history::sort(&mut revisions);
    let collisions = value::number(set, &["status", "collisionCount"]);
    let next = revisions.last().map_or(0, history::number) + 1;
    let equal = revisions.iter().rposition(|revision| history::is_current(revision, set));
    let update = match equal {
        Some(index) if index + 1 == revisions.len() => revisions[index].clone(),
        Some(index) => {
            let mut again = revisions.remove(index);
            again["revision"] = next.into();
            actions.push(Action::Update(again.clone()));
            revisions.push(again.clone());
            again
        }
        None => {
            let hash = history::hash(&history::data(set), collisions);
            let name = format!("{}-{hash}", value::text(set, &["metadata", "name"]));
            let made = history::new(set, &name, &[(history::HASH, &hash)], next);
            actions.push(Action::Create(made.clone()));
            revisions.push(made.clone());
            made
        }
    };
    let current = value::text(set, &["status", "currentRevision"]);
    let current = revisions.iter().find(|revision| revision["metadata"]["name"] == current).unwrap_or(&update).clone();
    Revisions { current, update, all: revisions, collisions }
}

#[derive(Clone, Debug, Default)]
struct Status {
    replicas: i64,
    ready: i64,
    available: i64,
    current: i64,
    updated: i64,
}

struct Look<'a> {
    set: &'a Value,
    revisions: Revisions,
    now: Timestamp,
}

/// A revision's name.
fn name(revision: &Value) -> &str {
    value::text(revision, &["metadata", "name"])
}

/// Whether a pod runs and is ready.
fn is_ready(pod: &Pod) -> bool {
    pod.status.phase == "Running" && pod.is_ready()
}

/// The revision that a pod is of.
fn revision_of(pod: &Pod) -> &str {
    pod.metadata.labels.get(history::POD_REVISION).map_or("", String::as_str)
}

/// A place in the order: the pod that has it, or the one that will.
enum Slot {
    Taken(Arc<Pod>),
    Empty(i64),
}

impl Look<'_> {
    fn min_ready(&self) -> i64 {
        value::number(self.set, &["spec", "minReadySeconds"])
    }

    fn wanted(&self) -> i64 {
        value::number(self.set, &["spec", "replicas"])
    }

    fn start(&self) -> i64 {
        value::number(self.set, &["spec", "ordinals", "start"])
    }

    fn is_available(&self, pod: &Pod) -> bool {
        is_ready(pod) && pod.is_available(self.min_ready(), self.now)
    }

    fn status(&self, pods: &[Arc<Pod>]) -> Status {
        let mut status = Status::default();
        for pod in pods {
            status.replicas += 1;
            status.ready += i64::from(is_ready(pod));
            status.available += i64::from(self.is_available(pod));
            if !pod.metadata.is_going() {
                status.current += i64::from(revision_of(pod) == name(&self.revisions.current));
                status.updated += i64::from(revision_of(pod) == name(&self.revisions.update));
            }
        }
        status
    }

    fn steps(&self, pods: &[Arc<Pod>], status: &mut Status, steps: &mut Vec<Step>) {
        let (first, end) = (self.start(), self.start() + self.wanted());
        let ordinal_of = |pod: &Pod| ordinal(self.set, pod).unwrap_or(-1);
        let slots: Vec<Slot> = (first..end)
            .map(|number| match pods.iter().find(|pod| ordinal_of(pod) == number) {
                Some(pod) => Slot::Taken(Arc::clone(pod)),
                None => Slot::Empty(number),
            })
            .collect();
        let mut condemned: Vec<&Arc<Pod>> =
            pods.iter().filter(|pod| !(first..end).contains(&ordinal_of(pod))).collect();
        condemned.sort_by_key(|pod| std::cmp::Reverse(ordinal_of(pod)));
        let ordered = self.set["spec"]["podManagementPolicy"] != "Parallel";
        if self.fill(&slots, ordered, status, steps) || self.condemn(&slots, &condemned, ordered, steps) {
            return;
        }
        if self.set["spec"]["updateStrategy"]["type"] != "OnDelete" {
            self.update(&slots, status, steps);
        }
    }

    /// Fills empty places and replaces what has ended; true when the rest has to wait.
    fn fill(&self, slots: &[Slot], ordered: bool, status: &mut Status, steps: &mut Vec<Step>) -> bool {
        for slot in slots {
            match slot {
                Slot::Taken(pod) if pod.has_ended() => {
                    if !pod.metadata.is_going() {
                        steps.push(Step::Delete(Reference::of_pod(pod)));
                    }
                    if ordered {
                        return true;
                    }
                }
                Slot::Taken(pod) => {
                    if ordered && (pod.metadata.is_going() || !self.is_available(pod)) {
                        return true;
                    }
                }
                Slot::Empty(number) => {
                    let (pod, of_current) = self.make(*number);
                    let claims = claims(self.set, *number);
                    steps.push(Step::Create { pod, claims });
                    status.replicas += 1;
                    let same = name(&self.revisions.current) == name(&self.revisions.update);
                    status.current += i64::from(of_current || same);
                    status.updated += i64::from(!of_current || same);
                    if ordered {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Removes pods beyond those wanted, the last first; true when the rest has to wait.
    fn condemn(&self, slots: &[Slot], condemned: &[&Arc<Pod>], ordered: bool, steps: &mut Vec<Step>) -> bool {
        let taken = slots.iter().filter_map(|slot| match slot {
            Slot::Taken(pod) => Some(pod),
            Slot::Empty(_) => None,
        });
        let first_unavailable =
            taken.chain(condemned.iter().rev().copied()).find(|pod| pod.metadata.is_going() || !self.is_available(pod));
        for pod in condemned {
            if pod.metadata.is_going() {
                if ordered {
                    return true;
                }
                continue;
            }
            let is_first = first_unavailable.is_some_and(|first| first.metadata.uid == pod.metadata.uid);
            if ordered && !self.is_available(pod) && !is_first {
                return true;
            }
            steps.push(Step::Delete(Reference::of_pod(pod)));
            if ordered {
                return true;
            }
        }
        !condemned.is_empty()
    }

    /// Replaces pods of earlier revisions, the last first, each only when those after it are available.
    fn update(&self, slots: &[Slot], status: &mut Status, steps: &mut Vec<Step>) {
        let partition = value::number(self.set, &["spec", "updateStrategy", "rollingUpdate", "partition"]);
        for slot in slots.iter().skip(usize::try_from(partition).unwrap_or_default()).rev() {
            let Slot::Taken(pod) = slot else { return };
            if revision_of(pod) != name(&self.revisions.update) && !pod.metadata.is_going() {
                steps.push(Step::Delete(Reference::of_pod(pod)));
                status.current -= 1;
                return;
            }
            if pod.metadata.is_going() || !self.is_available(pod) {
                return;
            }
        }
    }

    /// The pod of a place, and whether it is of the revision that pods have rather than of the one that they get.
    fn make(&self, number: i64) -> (Value, bool) {
        let strategy = &self.set["spec"]["updateStrategy"];
        let kept = match (strategy["type"].as_str(), strategy.get("rollingUpdate")) {
            (Some("RollingUpdate"), None) => value::number(self.set, &["status", "currentReplicas"]),
            (_, Some(rolling)) => value::number(rolling, &["partition"]),
            _ => 0,
        };
        let of_current = number < self.start() + kept;
        let revision = if of_current { &self.revisions.current } else { &self.revisions.update };
        (identity::pod(self.set, &history::template(revision), name(revision), number), of_current)
    }

    fn finish(&self, pods: &[Arc<Pod>], mut status: Status, actions: &mut Vec<Action>) {
        let (update, mut current) = (name(&self.revisions.update), name(&self.revisions.current));
        let wanted = self.wanted();
        let rolling = self.set["spec"]["updateStrategy"]["type"] == "RollingUpdate";
        if rolling && status.updated == wanted && status.ready == wanted && status.replicas == wanted {
            status.current = status.updated;
            current = update;
        }
        let mut next = self.set.clone();
        let fields = value::object_mut(&mut next, &["status"]);
        fields.insert("replicas".into(), status.replicas.into());
        fields.insert("availableReplicas".into(), status.available.into());
        fields.insert("currentRevision".into(), current.into());
        fields.insert("updateRevision".into(), update.into());
        fields.insert("collisionCount".into(), self.revisions.collisions.into());
        fields.insert("observedGeneration".into(), self.set["metadata"]["generation"].clone());
        for (name, count) in
            [("readyReplicas", status.ready), ("currentReplicas", status.current), ("updatedReplicas", status.updated)]
        {
            value::set_count(&mut next["status"], &[name], count);
        }
        if next != *self.set {
            actions.push(Action::UpdateStatus(next));
        }
        if self.min_ready() > 0 && status.ready != status.available {
            let soonest = pods.iter().filter_map(|pod| pod.until_available(self.min_ready(), self.now)).min();
            actions.push(Action::LookAgain(soonest.unwrap_or(SignedDuration::from_secs(self.min_ready()))));
        }
        self.forget_history(pods, actions);
    }

    fn forget_history(&self, pods: &[Arc<Pod>], actions: &mut Vec<Action>) {
        let limit = usize::try_from(value::number(self.set, &["spec", "revisionHistoryLimit"])).unwrap_or(usize::MAX);
        let live = |revision: &Value| {
            let own = name(revision);
            [&self.revisions.current, &self.revisions.update].iter().any(|kept| name(kept) == own)
                || pods.iter().any(|pod| revision_of(pod) == own)
        };
        let dead: Vec<&Value> = self.revisions.all.iter().filter(|revision| !live(revision)).collect();
        let surplus = dead.len().saturating_sub(limit);
        actions.extend(dead.into_iter().take(surplus).map(|revision| Action::Delete {
            object: Reference::of(revision),
            propagation: None,
            grace_seconds: None,
        }));
    }
}

/// The status field that a name that is taken leads to.
pub fn collided(set: &Value) -> Action {
    let mut next = set.clone();
    let collisions = value::number(set, &["status", "collisionCount"]) + 1;
    value::set(&mut next, &["status", "collisionCount"], json!(collisions));
    if next["status"].get("replicas").is_none() {
        value::set(&mut next, &["status", "replicas"], 0);
    }
    Action::UpdateStatus(next)
}

#[cfg(test)]
mod tests;
