//! What is observed of a node pool.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::kubevirt::KubeVirtCredentials;
use crate::rules::{Rule, Rules};

/// What is observed of a node pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolStatus {
    /// How many nodes are available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The version that all nodes run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// What holds of the pool, with reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub conditions: Vec<NodePoolCondition>,
    /// The versions of the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes_info: Option<NodesInfo>,
    /// What is observed of the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<NodePoolPlatformStatus>,
}

/// What holds of a node pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolCondition {
    /// What it is about.
    #[schemars(length(max = 316))]
    pub r#type: String,
    /// True, False or Unknown.
    pub status: String,
    /// How bad it is when False: Error, Warning or Info.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub severity: Option<String>,
    /// Why, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub reason: Option<String>,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32768))]
    pub message: Option<String>,
    /// When the status last changed.
    pub last_transition_time: Time,
    /// The generation of the pool that this tells of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
}

/// What the nodes of a pool run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodesInfo {
    /// The versions that nodes run, and how many run each.
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub node_versions: Vec<NodeVersion>,
}

/// Nodes of one version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeVersion {
    /// The release's version.
    #[schemars(length(min = 1, max = 64))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.matches('^\\d+\\.\\d+\\.\\d+.*$')",
            "ocpVersion must start with semantic version prefix x.y.z",
        ),
    ]))]
    pub ocp_version: String,
    /// The kubelet's version.
    #[schemars(length(min = 1, max = 64))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.matches('^v?\\d+\\.\\d+\\.\\d+.*$')",
            "kubeletVersion must start with semantic version prefix x.y.z (optional leading 'v')",
        ),
    ]))]
    pub kubelet_version: String,
    /// How many of them are ready.
    #[schemars(range(min = 0))]
    pub ready_node_count: i32,
    /// How many of them are not ready.
    #[schemars(range(min = 0))]
    pub unready_node_count: i32,
}

/// What is observed of the platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolPlatformStatus {
    /// Of `KubeVirt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_virt: Option<KubeVirtNodePoolStatus>,
}

/// What is observed of `KubeVirt`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtNodePoolStatus {
    /// The volume with the image that machines clone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub cache_name: Option<String>,
    /// The cluster that the machines run in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<KubeVirtCredentials>,
}
