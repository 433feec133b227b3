//! Where a hosted cluster's etcd runs and what it stores on.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::LocalObjectReference;
use crate::rules::{QUANTITY_PATTERN, Rule, Rules};

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
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "managementType is immutable")]))]
    pub management_type: EtcdManagementType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed: Option<ManagedEtcdSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unmanaged: Option<UnmanagedEtcdSpec>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum EtcdManagementType {
    #[default]
    Managed,
    Unmanaged,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedEtcdSpec {
    pub storage: ManagedEtcdStorage,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "has(self.restoreSnapshotURL) == has(oldSelf.restoreSnapshotURL)",
        "restoreSnapshotURL cannot be added or removed after creation",
    ),
]))]
pub struct ManagedEtcdStorage {
    pub r#type: EtcdStorageType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent_volume: Option<EtcdPersistentVolume>,
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum EtcdStorageType {
    #[default]
    PersistentVolume,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdPersistentVolume {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = QUANTITY_PATTERN), extend("default" = "8Gi"))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "Etcd PV storage size is immutable")]))]
    pub size: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "storageClassName is immutable")]))]
    pub storage_class_name: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnmanagedEtcdSpec {
    #[schemars(length(max = 255), regex(pattern = "^https://"))]
    pub endpoint: String,
    pub tls: EtcdTls,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdTls {
    pub client_secret: LocalObjectReference,
}
