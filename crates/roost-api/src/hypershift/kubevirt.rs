//! Hosted clusters whose nodes are virtual machines of `KubeVirt`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::KubeconfigSecretReference;
use crate::rules::{Rule, Rules};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new("!has(oldSelf.generateID) || has(self.generateID)", "Kubevirt GenerateID is required once set"),
]))]
pub struct KubeVirtPlatformSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "baseDomainPassthrough is immutable")]))]
    pub base_domain_passthrough: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<KubeVirtCredentials>,
    #[serde(rename = "generateID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 11))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "Kubevirt GenerateID is immutable once set")]))]
    pub generate_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_driver: Option<KubeVirtStorageDriver>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtCredentials {
    #[schemars(length(max = 255))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "infraNamespace is immutable")]))]
    pub infra_namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "infraKubeConfigSecret is immutable")]))]
    pub infra_kube_config_secret: Option<KubeconfigSecretReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([Rule::new("self == oldSelf", "storageDriver is immutable")]))]
pub struct KubeVirtStorageDriver {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manual: Option<KubeVirtManualStorage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Default"))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "storageDriver.Type is immutable")]))]
    pub r#type: Option<KubeVirtStorageDriverType>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KubeVirtStorageDriverType {
    None,
    #[default]
    Default,
    Manual,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([Rule::new("self == oldSelf", "storageDriver.Manual is immutable")]))]
pub struct KubeVirtManualStorage {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "storageClassMapping is immutable")]))]
    pub storage_class_mapping: Vec<StorageClassMapping>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "volumeSnapshotClassMapping is immutable")]))]
    pub volume_snapshot_class_mapping: Vec<VolumeSnapshotClassMapping>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageClassMapping {
    #[schemars(length(max = 255))]
    pub guest_storage_class_name: String,
    #[schemars(length(max = 255))]
    pub infra_storage_class_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub group: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSnapshotClassMapping {
    #[schemars(length(max = 255))]
    pub guest_volume_snapshot_class_name: String,
    #[schemars(length(max = 255))]
    pub infra_volume_snapshot_class_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub group: Option<String>,
}
