//! The kinds of `hypershift.openshift.io/v1beta1`: hosted clusters, their control planes, node pools and components.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::definition::definition;
use crate::rules::Rule;
use crate::variation::with_optional_spec;

pub mod auto_node;
pub mod autoscaling;
pub mod availability;
pub mod capabilities;
pub mod conditions;
pub mod configuration;
pub mod control_plane_component;
pub mod dns;
pub mod etcd;
pub mod hosted_cluster;
pub mod hosted_control_plane;
pub mod kubevirt;
pub mod monitoring;
pub mod names;
pub mod networking;
pub mod node_pool;
pub mod operator_configuration;
pub mod platform;
pub mod reference;
pub mod release;
pub mod secret_encryption;
pub mod services;
pub mod version;

pub use auto_node::{
    AutoNode, AutoNodeStatus, KarpenterAwsConfig, KarpenterConfig, KarpenterPlatform, Provisioner, ProvisionerConfig,
};
pub use autoscaling::{ClusterAutoscaling, Expander, ScaleDown, ScalingDirection};
pub use availability::{AvailabilityPolicy, OlmCatalogPlacement};
pub use capabilities::{Capabilities, Capability};
pub use configuration::{ClusterConfiguration, ConfigurationStatus};
pub use control_plane_component::{
    ComponentResource, ControlPlaneComponent, ControlPlaneComponentSpec, ControlPlaneComponentStatus,
};
pub use dns::DnsSpec;
pub use etcd::{
    EtcdManagementType, EtcdPersistentVolume, EtcdSpec, EtcdStorageType, EtcdTls, ManagedEtcdSpec, ManagedEtcdStorage,
    UnmanagedEtcdSpec,
};
pub use hosted_cluster::{HostedCluster, HostedClusterSpec, HostedClusterStatus};
pub use hosted_control_plane::{HostedControlPlane, HostedControlPlaneSpec, HostedControlPlaneStatus};
pub use kubevirt::{
    KubeVirtCredentials, KubeVirtManualStorage, KubeVirtPlatformSpec, KubeVirtStorageDriver, KubeVirtStorageDriverType,
    StorageClassMapping, VolumeSnapshotClassMapping,
};
pub use monitoring::{MetricsForwarding, MetricsForwardingMode, MetricsSet, Monitoring};
pub use networking::{
    ApiServerNetworking, ClusterNetworkEntry, ClusterNetworking, MachineNetworkEntry, NetworkType, NodeCidrAllocation,
    ServiceNetworkEntry,
};
pub use node_pool::kubevirt::{
    KubeVirtCachingStrategy, KubeVirtCachingStrategyType, KubeVirtCompute, KubeVirtDiskImage, KubeVirtHostDevice,
    KubeVirtNetwork, KubeVirtNodePoolPlatform, KubeVirtPersistentVolume, KubeVirtQosClass, KubeVirtRootVolume,
    KubeVirtVolumeType, Multiqueue, PersistentVolumeAccessMode, PersistentVolumeMode,
};
pub use node_pool::management::{
    InPlaceUpgrade, NodePoolManagement, ReplaceStrategy, ReplaceUpgrade, RollingUpdate, UpgradeType,
};
pub use node_pool::platform::{AgentNodePoolPlatform, NodePoolPlatform};
pub use node_pool::status::{
    KubeVirtNodePoolStatus, NodePoolCondition, NodePoolPlatformStatus, NodePoolStatus, NodeVersion, NodesInfo,
};
pub use node_pool::{Architecture, NodePool, NodePoolAutoscaling, NodePoolSpec, NodePoolTaint, TaintEffect};
pub use operator_configuration::{ClusterNetworkOperatorSpec, IngressOperatorSpec, OperatorConfiguration};
pub use platform::{AgentPlatformSpec, PlatformSpec, PlatformStatus, PlatformType};
pub use reference::{ConfigMapNameReference, KubeconfigSecretReference, LocalObjectReference, SecretNameReference};
pub use release::{ImageContentSource, PayloadArchitecture, Release};
pub use secret_encryption::status::{
    AescbcKeyStatus, EncryptionKeyFingerprint, EncryptionKeyStatus, EncryptionMigration, EncryptionMigrationState,
    EncryptionProvider, EncryptionSecretReference, SecretEncryptionStatus,
};
pub use secret_encryption::{AescbcSpec, SecretEncryptionSpec, SecretEncryptionType};
pub use services::{
    ApiEndpoint, LoadBalancerPublishing, NodePortPublishing, PublishingStrategyType, RoutePublishing,
    ServicePublishingStrategy, ServicePublishingStrategyMapping, ServiceType,
};
pub use version::{
    ClusterCondition, ClusterConditionType, ClusterVersionStatus, ConditionalUpdate, ConditionalUpdateRisk,
    ControlPlaneUpdateHistory, ControlPlaneVersionStatus, PromqlClusterCondition, ReleaseUpdate, UpdateHistory,
    UpdateState,
};

/// The API group of these kinds.
pub const GROUP: &str = "hypershift.openshift.io";

/// The version of these kinds.
pub const VERSION: &str = "v1beta1";

/// The definitions of the kinds of this group.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    let kinds = vec![
        definition::<HostedCluster>(
            "A Kubernetes or OpenShift cluster whose control plane runs here.",
            &HOSTED_CLUSTER_RULES,
        ),
        definition::<HostedControlPlane>("The control plane of one hosted cluster, in its own namespace.", &[]),
        definition::<NodePool>("Nodes of one hosted cluster that are alike.", &[]),
        definition::<ControlPlaneComponent>("One part of a hosted control plane, and how far it has come.", &[]),
    ];
    kinds.into_iter().map(with_optional_spec).collect()
}

const HOSTED_CLUSTER_RULES: [Rule; 2] = [
    Rule::new(
        "!has(oldSelf.spec) || !has(oldSelf.spec.infraID) || (has(self.spec) && has(self.spec.infraID))",
        "infraID cannot be removed once set",
    ),
    Rule::new(
        "!has(oldSelf.spec) || !has(oldSelf.spec.clusterID) || (has(self.spec) && has(self.spec.clusterID))",
        "clusterID cannot be removed once set",
    ),
];

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::definitions;

    #[test]
    fn the_schemas_are_structural_and_their_rules_cheap() {
        for definition in definitions() {
            let mut definition = serde_json::to_value(definition).unwrap();
            roost_schema::default_definition(&mut definition);
            let errors = roost_schema::validate_definition(&definition);
            assert!(errors.is_empty(), "{}: {errors:#?}", definition["metadata"]["name"]);
        }
    }

    #[test]
    fn every_field_is_described() {
        fn visit(schema: &Value, path: &str, silent: &mut Vec<String>) {
            for (name, field) in schema["properties"].as_object().into_iter().flatten() {
                let path = format!("{path}.{name}");
                if field["description"].as_str().is_none_or(str::is_empty) && path != ".metadata" {
                    silent.push(path.clone());
                }
                visit(field, &path, silent);
                visit(&field["items"], &path, silent);
            }
        }
        for definition in definitions() {
            let definition = serde_json::to_value(definition).unwrap();
            let mut silent = Vec::new();
            visit(&definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "", &mut silent);
            assert_eq!(silent, Vec::<String>::new(), "{}", definition["metadata"]["name"]);
        }
    }
}
