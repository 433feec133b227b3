//! Virtual machines of `KubeVirt` as nodes.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{QUANTITY_PATTERN, any_width};

/// Virtual machines of `KubeVirt`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtNodePoolPlatform {
    /// The volume that a machine boots from.
    #[schemars(extend("default" = {"persistent": {"size": "32Gi"}, "type": "Persistent"}))]
    pub root_volume: KubeVirtRootVolume,
    /// The processors and memory of a machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {"cores": 2, "memory": "8Gi"}))]
    pub compute: Option<KubeVirtCompute>,
    /// Whether a machine's network uses a queue for each processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Enable"))]
    pub network_interface_multiqueue: Option<Multiqueue>,
    /// Whether a machine is on the pod network of the infrastructure.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub attach_default_network: Option<bool>,
    /// Further networks that a machine is on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub additional_networks: Vec<KubeVirtNetwork>,
    /// The infrastructure's nodes that machines may run on, by their labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// Devices of the infrastructure's nodes that a machine gets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub host_devices: Vec<KubeVirtHostDevice>,
}

/// A further network of a virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtNetwork {
    /// The namespace and name of the network's attachment definition, with a slash between.
    #[schemars(length(max = 255))]
    pub name: String,
}

/// The processors and memory of a virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtCompute {
    /// How many processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub cores: Option<i32>,
    /// How much memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = QUANTITY_PATTERN), extend("default" = "8Gi"))]
    pub memory: Option<Quantity>,
    /// Whether the machine has these for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Burstable"))]
    pub qos_class: Option<KubeVirtQosClass>,
}

/// Whether a virtual machine has its processors and memory for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KubeVirtQosClass {
    /// It shares them.
    #[default]
    Burstable,
    /// It has them for itself.
    Guaranteed,
}

/// Devices of the infrastructure's node that a virtual machine gets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtHostDevice {
    /// The resource name of the device.
    #[schemars(length(max = 255))]
    pub device_name: String,
    /// How many of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647), extend("default" = 1))]
    #[schemars(transform = any_width)]
    pub count: Option<i64>,
}

/// Whether the network of a virtual machine uses a queue for each processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Multiqueue {
    /// It does.
    #[default]
    Enable,
    /// It does not.
    Disable,
}

/// The volume that a virtual machine boots from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtRootVolume {
    /// The kind of volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Persistent"))]
    pub r#type: Option<KubeVirtVolumeType>,
    /// Settings of a persistent volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent: Option<KubeVirtPersistentVolume>,
    /// Another image to boot from; that of the release when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_image: Option<KubeVirtDiskImage>,
    /// Whether the image is kept in the infrastructure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_strategy: Option<KubeVirtCachingStrategy>,
}

/// Whether the image is kept in the infrastructure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtCachingStrategy {
    /// How it is kept.
    #[schemars(extend("default" = "None"))]
    pub r#type: KubeVirtCachingStrategyType,
}

/// How an image is kept in the infrastructure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KubeVirtCachingStrategyType {
    /// Not at all: each machine fetches it.
    #[default]
    None,
    /// In a volume that machines clone.
    #[serde(rename = "PVC")]
    Pvc,
}

/// An image that virtual machines boot from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtDiskImage {
    /// The container image that holds the disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub container_disk_image: Option<String>,
}

/// A persistent volume of a virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtPersistentVolume {
    /// How large the volume is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = QUANTITY_PATTERN), extend("default" = "32Gi"))]
    pub size: Option<Quantity>,
    /// The storage class; the default one when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub storage_class: Option<String>,
    /// How the volume may be mounted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub access_modes: Vec<PersistentVolumeAccessMode>,
    /// Whether the volume has a file system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_mode: Option<PersistentVolumeMode>,
}

/// How a volume may be mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PersistentVolumeAccessMode {
    /// For reading and writing, by one node.
    ReadWriteOnce,
    /// For reading and writing, by many nodes.
    ReadWriteMany,
    /// For reading.
    ReadOnly,
    /// For reading and writing, by one pod.
    ReadWriteOncePod,
}

/// Whether a volume has a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PersistentVolumeMode {
    /// It has.
    Filesystem,
    /// It has not.
    Block,
}

/// A kind of volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KubeVirtVolumeType {
    /// A volume that outlives restarts.
    #[default]
    Persistent,
}
