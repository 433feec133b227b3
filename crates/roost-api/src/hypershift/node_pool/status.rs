//! What is observed of a node pool.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::kubevirt::KubeVirtCredentials;
use crate::rules::{Rule, Rules};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolStatus {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub conditions: Vec<NodePoolCondition>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes_info: Option<NodesInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<NodePoolPlatformStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub version: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolCondition {
    pub last_transition_time: Time,
    pub status: String,
    #[schemars(length(max = 316))]
    pub r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32768))]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub severity: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodesInfo {
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub node_versions: Vec<NodeVersion>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeVersion {
    #[schemars(length(min = 1, max = 64))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.matches('^v?\\d+\\.\\d+\\.\\d+.*$')",
            "kubeletVersion must start with semantic version prefix x.y.z (optional leading 'v')",
        ),
    ]))]
    pub kubelet_version: String,
    #[schemars(length(min = 1, max = 64))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.matches('^\\d+\\.\\d+\\.\\d+.*$')",
            "ocpVersion must start with semantic version prefix x.y.z",
        ),
    ]))]
    pub ocp_version: String,
    #[schemars(range(min = 0))]
    pub ready_node_count: i32,
    #[schemars(range(min = 0))]
    pub unready_node_count: i32,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePoolPlatformStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_virt: Option<KubeVirtNodePoolStatus>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeVirtNodePoolStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    pub cache_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<KubeVirtCredentials>,
}
