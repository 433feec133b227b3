//! What a decision leads to: writes and words, in the order in which they are to be done.

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::metadata::{self, OwnerReference};
use crate::value;

/// One step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Make an object.
    Create(Value),
    /// Replace an object, unless someone changed it since it was read.
    Update(Value),
    /// Replace an object's status, unless someone changed it since it was read.
    UpdateStatus(Value),
    /// Merge a patch into an object as it is, if it still has the uid.
    Patch {
        /// Which object.
        object: Reference,
        /// The subresource; empty for the object itself.
        subresource: &'static str,
        /// A JSON merge patch.
        patch: Value,
    },
    /// Take in an object that nobody cares for, unless its new owner is going by now.
    Adopt {
        /// Which object.
        object: Reference,
        /// Whose it becomes.
        owner: Reference,
        /// A JSON merge patch.
        patch: Value,
    },
    /// Delete an object, if it still has the uid.
    Delete {
        /// Which object.
        object: Reference,
        /// What becomes of its dependents; the kind's own way where none is said.
        propagation: Option<&'static str>,
        /// How long it may take its leave; its own time where none is said.
        grace_seconds: Option<i64>,
    },
    /// Set a condition of a pod; the time goes with its status.
    SetCondition {
        /// Which pod.
        object: Reference,
        /// The condition.
        condition: Value,
    },
    /// Tell people.
    Tell(Event),
    /// Look at it again after a while.
    LookAgain(SignedDuration),
}

impl Action {
    /// An owner takes in an object that has these owners, none of which controls it.
    pub fn adopt(owner: &Value, object: Reference, owners: &[OwnerReference]) -> Action {
        let mut references: Vec<Value> = owners.iter().map(OwnerReference::to_value).collect();
        references.push(metadata::controller_reference(owner));
        let patch = json!({"metadata": {"ownerReferences": references}});
        Action::Adopt { object, owner: Reference::of(owner), patch }
    }
}

/// Which object is meant, and that it is this one and not a later one of the same name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// Its API version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for objects outside namespaces.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

impl Reference {
    /// The object itself, as it says of itself.
    pub fn of(object: &Value) -> Reference {
        Reference {
            api_version: value::text(object, &["apiVersion"]).to_owned(),
            kind: value::text(object, &["kind"]).to_owned(),
            namespace: value::text(object, &["metadata", "namespace"]).to_owned(),
            name: value::text(object, &["metadata", "name"]).to_owned(),
            uid: value::text(object, &["metadata", "uid"]).to_owned(),
        }
    }

    /// A pod.
    pub fn of_pod(pod: &crate::Pod) -> Reference {
        Reference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            namespace: pod.metadata.namespace.clone(),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
        }
    }
}

/// Something that people should know about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The object.
    pub regarding: Reference,
    /// Whether it is something to look at rather than just to know.
    pub warning: bool,
    /// Why, in one word.
    pub reason: &'static str,
    /// What happened.
    pub message: String,
    /// Who says so.
    pub component: &'static str,
    /// What was being done, for those who report in that way; empty for those who do not.
    pub action: &'static str,
}

impl Event {
    /// Something to know.
    pub fn normal(
        regarding: &Value,
        component: &'static str,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Action {
        Event::about(Reference::of(regarding), component, false, reason, message)
    }

    /// Something to look at.
    pub fn warning(
        regarding: &Value,
        component: &'static str,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Action {
        Event::about(Reference::of(regarding), component, true, reason, message)
    }

    /// An event about an object that is only known by reference.
    pub fn about(
        regarding: Reference,
        component: &'static str,
        warning: bool,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Action {
        Action::Tell(Event { regarding, warning, reason, message: message.into(), component, action: "" })
    }
}
