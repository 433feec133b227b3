//! What controllers go by in any object: names, labels, owners, times.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// An object's metadata.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its uid.
    pub uid: String,
    /// How often what is wanted of it has changed.
    pub generation: i64,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// When it was made.
    #[serde(deserialize_with = "moment")]
    pub creation_timestamp: Option<Timestamp>,
    /// When it was asked to go.
    #[serde(deserialize_with = "moment")]
    pub deletion_timestamp: Option<Timestamp>,
    /// How long it may take to go.
    pub deletion_grace_period_seconds: Option<i64>,
    /// Its owners.
    pub owner_references: Vec<OwnerReference>,
    /// What it waits for before it goes.
    pub finalizers: Vec<String>,
}

/// A reference to an owner.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// The owner's API version.
    pub api_version: String,
    /// The owner's kind.
    pub kind: String,
    /// The owner's name.
    pub name: String,
    /// The owner's uid.
    pub uid: String,
    /// Whether it is the one owner that cares for the object.
    pub controller: Option<bool>,
    /// Whether the owner waits for the object when it goes.
    pub block_owner_deletion: Option<bool>,
}

impl OwnerReference {
    /// The reference as objects have it.
    pub fn to_value(&self) -> Value {
        let mut reference =
            json!({"apiVersion": self.api_version, "kind": self.kind, "name": self.name, "uid": self.uid});
        for (name, value) in [("controller", self.controller), ("blockOwnerDeletion", self.block_owner_deletion)] {
            if let Some(value) = value {
                reference[name] = value.into();
            }
        }
        reference
    }
}

impl Metadata {
    /// The metadata of an object.
    pub fn read(object: &Value) -> Metadata {
        Metadata::deserialize(&object["metadata"]).unwrap_or_default()
    }

    /// The owner that cares for the object.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller == Some(true))
    }

    /// Whether the owner with the uid cares for the object.
    pub fn is_controlled_by(&self, uid: &str) -> bool {
        self.controller().is_some_and(|owner| owner.uid == uid)
    }

    /// Whether it was asked to go.
    pub fn is_going(&self) -> bool {
        self.deletion_timestamp.is_some()
    }
}

/// Reads a time, if there is one that can be read.
pub(crate) fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.parse().ok()))
}

/// The reference that makes an object the one that cares for another.
pub fn controller_reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    })
}

/// The patch with which an owner lets go of an object that it no longer selects.
pub fn release(owner_uid: &str, owners: &[OwnerReference]) -> Value {
    let kept: Vec<Value> = owners.iter().filter(|owner| owner.uid != owner_uid).map(OwnerReference::to_value).collect();
    json!({"metadata": {"ownerReferences": if kept.is_empty() { Value::Null } else { kept.into() }}})
}
