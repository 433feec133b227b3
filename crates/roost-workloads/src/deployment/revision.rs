//! Revisions: the `ReplicaSet` of the template, its number, and the way back to an earlier one.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::pass::{Pass, replicas, set_size_annotations, without_hash};
use super::{
    COMPONENT, DESIRED_REPLICAS, HASH_LABEL, LAST_APPLIED, MAX_REPLICAS, PROGRESSING, REVISION, REVISION_HISTORY,
    ROLLBACK_TO, has_deadline, set_condition,
};
use crate::{Action, Event, condition, hash, metadata, value};

/// The longest list of earlier revisions of one `ReplicaSet`.
const HISTORY_CHARACTERS: usize = 2000;
/// The longest name of an object.
const LONGEST_NAME: usize = 253;
/// Annotations that a Deployment and its `ReplicaSets` do not share.
const OWN: &[&str] = &[LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO];

impl Pass<'_> {
    /// Gives the `ReplicaSet` of the template its number, and makes it where it is missing and wanted.
    pub(super) fn sync_revision(&mut self, create: bool) {
        let revision = self.old.iter().filter_map(revision_of).max().unwrap_or_default() + 1;
        match self.new.take() {
            Some(set) => {
                let mut next = set.clone();
                self.annotate(&mut next, revision);
                let min_ready = value::number(&self.deployment, &["spec", "minReadySeconds"]);
                if value::number(&next, &["spec", "minReadySeconds"]) != min_ready {
                    value::set_count(&mut next, &["spec", "minReadySeconds"], min_ready);
                }
                if next != set {
                    self.actions.push(Action::Update(next.clone()));
                }
                let own = value::annotation(&next, REVISION).to_owned();
                self.set_revision(&own);
                if has_deadline(&self.deployment) && condition::find(&self.deployment, PROGRESSING).is_none() {
                    let message = format!("Found new replica set \"{}\"", value::text(&next, &["metadata", "name"]));
                    let now = self.now;
                    set_condition(&mut self.deployment, PROGRESSING, "True", "FoundNewReplicaSet", &message, now);
                }
                self.new = Some(next);
            }
            None if create => self.create(revision),
            None => {}
        }
    }

    fn create(&mut self, revision: i64) {
        let set = self.make(revision);
        let (name, size) = (value::text(&set, &["metadata", "name"]).to_owned(), replicas(&set));
        self.actions.push(Action::Create(set.clone()));
        if size > 0 {
            self.tell(format!("Scaled up replica set {name} from 0 to {size}"));
        }
        self.new = Some(set);
        self.set_revision(&revision.to_string());
        if has_deadline(&self.deployment) {
            let (now, message) = (self.now, format!("Created new replica set \"{name}\""));
            set_condition(&mut self.deployment, PROGRESSING, "True", "NewReplicaSetCreated", &message, now);
        }
    }

    /// The `ReplicaSet` of the template.
    fn make(&self, revision: i64) -> Value {
        let mut template = self.deployment["spec"]["template"].clone();
        let collisions = value::number_given(&self.deployment, &["status", "collisionCount"]);
        let hash = hash::of_template(&template, collisions);
        value::set(&mut template, &["metadata", "labels", HASH_LABEL], hash.as_str());
        let mut selector = self.deployment["spec"]["selector"].clone();
        value::set(&mut selector, &["matchLabels", HASH_LABEL], hash.as_str());
        let name = value::text(&self.deployment, &["metadata", "name"]);
        let stem: String = name.chars().take(LONGEST_NAME - 1 - hash.len()).collect();
        let mut set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "name": format!("{stem}-{hash}"), "namespace": self.deployment["metadata"]["namespace"],
                "ownerReferences": [metadata::controller_reference(&self.deployment)],
                "labels": template["metadata"]["labels"],
            },
            "spec": {"replicas": 0, "selector": selector, "template": template},
        });
        let min_ready = value::number(&self.deployment, &["spec", "minReadySeconds"]);
        value::set_count(&mut set, &["spec", "minReadySeconds"], min_ready);
        let size = self.size_of_new(&set);
        value::set(&mut set, &["spec", "replicas"], size);
        self.annotate(&mut set, revision);
        set_size_annotations(&mut set, self.wanted(), self.wanted() + self.max_surge());
        set
    }

    /// Copies the Deployment's annotations to a `ReplicaSet` and gives it a number, if that is a later one.
    fn annotate(&self, set: &mut Value, revision: i64) {
        let copied = self.deployment["metadata"]["annotations"].as_object().into_iter().flatten();
        let copied: Vec<_> = copied.filter(|(name, _)| !OWN.contains(&name.as_str())).collect();
        let annotations = value::object_mut(set, &["metadata", "annotations"]);
        for (name, value) in copied {
            annotations.insert(name.clone(), value.clone());
        }
        let before = annotations.get(REVISION).and_then(Value::as_str).map(str::to_owned);
        let Ok(number) = before.as_deref().map_or(Ok(0), str::parse::<i64>) else { return };
        if number >= revision {
            return;
        }
        annotations.insert(REVISION.to_owned(), revision.to_string().into());
        let Some(before) = before else { return };
        let history = annotations.get(REVISION_HISTORY).and_then(Value::as_str).unwrap_or_default();
        if let Some(history) = extended(history, &before) {
            annotations.insert(REVISION_HISTORY.to_owned(), history.into());
        }
    }

    fn set_revision(&mut self, revision: &str) {
        if value::annotation(&self.deployment, REVISION) != revision {
            value::set(&mut self.deployment, &["metadata", "annotations", REVISION], revision);
        }
    }

    /// Goes back to an earlier template, as the annotation of old clients asks.
    pub(super) fn roll_back(mut self) -> Vec<Action> {
        self.sync_revision(true);
        let wanted: i64 = value::annotation(&self.deployment, ROLLBACK_TO).parse().unwrap_or_default();
        let mut revisions: Vec<i64> = self.sets().filter_map(revision_of).collect();
        revisions.sort_unstable();
        let wanted = match wanted {
            0 if revisions.len() >= 2 => revisions[revisions.len() - 2],
            other => other,
        };
        let mut next = self.original.clone();
        value::remove(&mut next, &["metadata", "annotations", ROLLBACK_TO]);
        let found = self.sets().find(|set| wanted != 0 && revision_of(set) == Some(wanted)).cloned();
        let name = value::text(self.original, &["metadata", "name"]);
        let event = match found {
            None if wanted == 0 => Event::warning(
                self.original,
                COMPONENT,
                "DeploymentRollbackRevisionNotFound",
                "Unable to find last revision.",
            ),
            None => Event::warning(
                self.original,
                COMPONENT,
                "DeploymentRollbackRevisionNotFound",
                "Unable to find the revision to rollback to.",
            ),
            Some(set) if without_hash(&set["spec"]["template"]) == next["spec"]["template"] => Event::warning(
                self.original,
                COMPONENT,
                "DeploymentRollbackTemplateUnchanged",
                format!("The rollback revision contains the same template as current deployment \"{name}\""),
            ),
            Some(set) => {
                next["spec"]["template"] = without_hash(&set["spec"]["template"]);
                let annotations = value::object_mut(&mut next, &["metadata", "annotations"]);
                annotations.retain(|name, _| OWN.contains(&name.as_str()));
                for (name, value) in set["metadata"]["annotations"].as_object().into_iter().flatten() {
                    if !OWN.contains(&name.as_str()) {
                        annotations.insert(name.clone(), value.clone());
                    }
                }
                let message = format!("Rolled back deployment \"{name}\" to revision {wanted}");
                Event::normal(self.original, COMPONENT, "DeploymentRollback", message)
            }
        };
        self.actions.extend([Action::Update(next), event, Action::LookAgain(SignedDuration::ZERO)]);
        self.actions
    }
}

/// A list of revisions with one more, without the first ones where it would be too long.
fn extended(history: &str, revision: &str) -> Option<String> {
    if history.is_empty() {
        return Some(revision.to_owned());
    }
    let mut kept = history;
    while kept.len() + revision.len() + 1 > HISTORY_CHARACTERS {
        kept = kept.split_once(',')?.1;
    }
    Some(format!("{kept},{revision}"))
}

/// A `ReplicaSet`'s number; zero when it has none, nothing when it is not a number.
pub(super) fn revision_of(set: &Value) -> Option<i64> {
    match value::annotation(set, REVISION) {
        "" => Some(0),
        text => text.parse().ok(),
    }
}
