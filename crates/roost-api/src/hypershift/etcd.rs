//! Where a hosted cluster's etcd runs and what it stores on.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::LocalObjectReference;
use crate::rules::{QUANTITY_PATTERN, Rule, Rules};

/// Where a cluster's state is stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "self.managementType == 'Managed' ? has(self.managed) : !has(self.managed)",
        "Only managed configuration must be set when managementType is Managed",
    ),
    Rule::new(
        "self.managementType == 'Unmanaged' ? has(self.unmanaged) : !has(self.unmanaged)",
        "Only unmanaged configuration must be set when managementType is Unmanaged",
    ),
]))]
pub struct EtcdSpec {
    /// Who runs etcd. Immutable.
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "managementType is immutable")]))]
    pub management_type: EtcdManagementType,
    /// Settings of an etcd that runs beside the control plane. Needed if Managed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed: Option<ManagedEtcdSpec>,
    /// The address of an etcd that the user runs. Needed if Unmanaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmanaged: Option<UnmanagedEtcdSpec>,
}

/// Who runs etcd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum EtcdManagementType {
    /// It is part of the control plane.
    #[default]
    Managed,
    /// The user runs it.
    Unmanaged,
}

/// Settings of an etcd that is part of the control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedEtcdSpec {
    /// What it stores on.
    pub storage: ManagedEtcdStorage,
}

/// What etcd stores on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "has(self.restoreSnapshotURL) == has(oldSelf.restoreSnapshotURL)",
        "restoreSnapshotURL cannot be added or removed after creation",
    ),
]))]
pub struct ManagedEtcdStorage {
    /// The kind of storage.
    pub r#type: EtcdStorageType,
    /// The volume of each member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_volume: Option<EtcdPersistentVolume>,
    /// A snapshot to start from. Immutable.
    #[serde(rename = "restoreSnapshotURL", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1), inner(length(max = 1024)), extend("x-kubernetes-list-type" = "set"))]
    #[schemars(transform = Rules([
        Rule::new("self.size() <= 1", "RestoreSnapshotURL shouldn't contain more than 1 entry"),
        Rule::new("self == oldSelf", "restoreSnapshotURL is immutable"),
        Rule::new(
            "self.size() == 0 || self[0].matches('^(https|s3)://.*')",
            "restoreSnapshotURL must be a valid URL with scheme https or s3",
        ),
    ]))]
    pub restore_snapshot_url: Vec<String>,
}

/// A kind of storage for etcd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum EtcdStorageType {
    /// A volume of its own for each member.
    #[default]
    PersistentVolume,
}

/// The volume of a member of etcd.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdPersistentVolume {
    /// How large the volume is at least. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = QUANTITY_PATTERN), extend("default" = "8Gi"))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "Etcd PV storage size is immutable")]))]
    pub size: Option<Quantity>,
    /// The storage class of the volume; the default one when absent. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "storageClassName is immutable")]))]
    pub storage_class_name: Option<String>,
}

/// An etcd that the user runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnmanagedEtcdSpec {
    /// Its URL, with https.
    #[schemars(length(max = 255), regex(pattern = "^https://"))]
    pub endpoint: String,
    /// How to prove to it who we are.
    pub tls: EtcdTls,
}

/// How to prove to a user's etcd who we are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdTls {
    /// The Secret of the same namespace with the keys `etcd-client.crt`, `etcd-client.key` and `etcd-client-ca.crt`.
    pub client_secret: LocalObjectReference,
}
