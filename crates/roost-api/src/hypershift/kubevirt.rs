//! Hosted clusters whose nodes are virtual machines of `KubeVirt`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::KubeconfigSecretReference;
use crate::rules::{Rule, Rules};

/// Settings for virtual machines of `KubeVirt`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new("!has(oldSelf.generateID) || has(self.generateID)", "Kubevirt GenerateID is required once set"),
]))]
pub struct KubeVirtPlatformSpec {
    /// Whether the cluster's names lie under the management cluster's own ingress domain. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "baseDomainPassthrough is immutable")]))]
    pub base_domain_passthrough: Option<bool>,
    /// Another cluster for the virtual machines to run in; the management cluster when absent. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<KubeVirtCredentials>,
    /// How storage of the infrastructure reaches the hosted cluster. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_driver: Option<KubeVirtStorageDriver>,
    /// What makes the cluster's names unique in the infrastructure. Made when absent; immutable.
    #[serde(rename = "generateID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 11))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "Kubevirt GenerateID is immutable once set")]))]
    pub generate_id: Option<String>,
}

/// Another cluster for virtual machines to run in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtCredentials {
    /// The kubeconfig for that cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "infraKubeConfigSecret is immutable")]))]
    pub infra_kube_config_secret: Option<KubeconfigSecretReference>,
    /// The namespace there for the virtual machines. Immutable.
    #[schemars(length(max = 255))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "infraNamespace is immutable")]))]
    pub infra_namespace: String,
}

/// How storage of the infrastructure reaches the hosted cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([Rule::new("self == oldSelf", "storageDriver is immutable")]))]
pub struct KubeVirtStorageDriver {
    /// How storage classes are chosen. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Default"))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "storageDriver.Type is immutable")]))]
    pub r#type: Option<KubeVirtStorageDriverType>,
    /// The storage classes that are chosen by hand. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub manual: Option<KubeVirtManualStorage>,
}

/// How storage classes are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KubeVirtStorageDriverType {
    /// None reach the hosted cluster.
    None,
    /// The default one of the infrastructure.
    #[default]
    Default,
    /// Those that `manual` names.
    Manual,
}

/// Storage classes that are chosen by hand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([Rule::new("self == oldSelf", "storageDriver.Manual is immutable")]))]
pub struct KubeVirtManualStorage {
    /// Storage classes of the infrastructure, and their names in the hosted cluster. Immutable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "storageClassMapping is immutable")]))]
    pub storage_class_mapping: Vec<StorageClassMapping>,
    /// Snapshot classes of the infrastructure, and their names in the hosted cluster. Immutable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "volumeSnapshotClassMapping is immutable")]))]
    pub volume_snapshot_class_mapping: Vec<VolumeSnapshotClassMapping>,
}

/// A storage class of the infrastructure in the hosted cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageClassMapping {
    /// Its name in the infrastructure.
    #[schemars(length(max = 255))]
    pub infra_storage_class_name: String,
    /// Its name in the hosted cluster.
    #[schemars(length(max = 255))]
    pub guest_storage_class_name: String,
    /// Storage and snapshot classes of the same group work together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub group: Option<String>,
}

/// A snapshot class of the infrastructure in the hosted cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeSnapshotClassMapping {
    /// Its name in the infrastructure.
    #[schemars(length(max = 255))]
    pub infra_volume_snapshot_class_name: String,
    /// Its name in the hosted cluster.
    #[schemars(length(max = 255))]
    pub guest_volume_snapshot_class_name: String,
    /// Storage and snapshot classes of the same group work together.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub group: Option<String>,
}
