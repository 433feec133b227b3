//! Virtual machines of `KubeVirt` as nodes.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{QUANTITY_PATTERN, any_width};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtNodePoolPlatform {
    #[schemars(extend("default" = {"persistent": {"size": "32Gi"}, "type": "Persistent"}))]
    pub root_volume: KubeVirtRootVolume,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 20))]
    pub additional_networks: Vec<KubeVirtNetwork>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub attach_default_network: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {"cores": 2, "memory": "8Gi"}))]
    pub compute: Option<KubeVirtCompute>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub host_devices: Vec<KubeVirtHostDevice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Enable"))]
    pub network_interface_multiqueue: Option<Multiqueue>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtNetwork {
    #[schemars(length(max = 255))]
    pub name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtCompute {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub cores: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = QUANTITY_PATTERN), extend("default" = "8Gi"))]
    pub memory: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Burstable"))]
    pub qos_class: Option<KubeVirtQosClass>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KubeVirtQosClass {
    #[default]
    Burstable,
    Guaranteed,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtHostDevice {
    #[schemars(length(max = 255))]
    pub device_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647), extend("default" = 1))]
    #[schemars(transform = any_width)]
    pub count: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Multiqueue {
    #[default]
    Enable,
    Disable,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtRootVolume {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_strategy: Option<KubeVirtCachingStrategy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_image: Option<KubeVirtDiskImage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persistent: Option<KubeVirtPersistentVolume>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Persistent"))]
    pub r#type: Option<KubeVirtVolumeType>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtCachingStrategy {
    #[schemars(extend("default" = "None"))]
    pub r#type: KubeVirtCachingStrategyType,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KubeVirtCachingStrategyType {
    #[default]
    None,
    #[serde(rename = "PVC")]
    Pvc,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtDiskImage {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub container_disk_image: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtPersistentVolume {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub access_modes: Vec<PersistentVolumeAccessMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("pattern" = QUANTITY_PATTERN), extend("default" = "32Gi"))]
    pub size: Option<Quantity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub storage_class: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_mode: Option<PersistentVolumeMode>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PersistentVolumeAccessMode {
    ReadWriteOnce,
    ReadWriteMany,
    ReadOnly,
    ReadWriteOncePod,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PersistentVolumeMode {
    Filesystem,
    Block,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum KubeVirtVolumeType {
    #[default]
    Persistent,
}
