//! The few fields of an object that the inside controllers go by, read without building the whole tree.

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

impl Metadata {
    /// Reads the metadata of stored bytes; none for what is not an object.
    pub(crate) fn read(cluster: &Cluster, id: &ObjectId, bytes: &Bytes) -> Option<Metadata> {
        let sealed = id.collection.group().is_empty() && id.collection.resource() == "secrets";
        let stored = if sealed {
            let secrets = cluster.storage_resource("", "secrets")?;
            cluster.open_bytes(&secrets, &id.name, bytes).ok()?
        } else {
            Stored::new(bytes.clone()).ok()?
        };
        serde_json::from_slice::<Object>(stored.json()).ok().map(|object| object.metadata)
    }
}
