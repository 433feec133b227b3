//! The few fields of an object that the inside controllers go by, read without building the whole tree.

use std::collections::HashMap;

use bytes::Bytes;
use serde::Deserialize;

use super::graph::ObjectId;
use crate::cluster::Cluster;
use crate::stored::Stored;

/// An object's metadata.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) uid: String,
    pub(crate) deletion_timestamp: Option<String>,
    pub(crate) finalizers: Vec<String>,
    pub(crate) owner_references: Vec<OwnerReference>,
}

/// A reference to an owner.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OwnerReference {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) block_owner_deletion: Option<bool>,
}

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
}

/// What a Secret is for.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Purpose {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    metadata: Annotated,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Annotated {
    annotations: HashMap<String, String>,
}

impl Purpose {
    /// Reads what a stored Secret is for.
    pub(crate) fn read(cluster: &Cluster, id: &ObjectId, bytes: &Bytes) -> Option<Purpose> {
        serde_json::from_slice(open(cluster, id, bytes)?.json()).ok()
    }

    /// An annotation; empty when it is not there.
    pub(crate) fn annotation(&self, name: &str) -> &str {
        self.metadata.annotations.get(name).map_or("", String::as_str)
    }
}

fn open(cluster: &Cluster, id: &ObjectId, bytes: &Bytes) -> Option<Stored> {
    if id.collection.group().is_empty() && id.collection.resource() == "secrets" {
        let secrets = cluster.storage_resource("", "secrets")?;
        return cluster.open_bytes(&secrets, &id.name, bytes).ok();
    }
    Stored::new(bytes.clone()).ok()
}

impl Metadata {
    /// Reads the metadata of stored bytes; none for what is not an object.
    pub(crate) fn read(cluster: &Cluster, id: &ObjectId, bytes: &Bytes) -> Option<Metadata> {
        serde_json::from_slice::<Object>(open(cluster, id, bytes)?.json()).ok().map(|object| object.metadata)
    }
}
