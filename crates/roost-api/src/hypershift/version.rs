//! The versions that a hosted cluster runs, ran and could run.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules, conditions};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterVersionStatus {
    #[schemars(required, length(max = 100), extend("nullable" = true))]
    pub available_updates: Option<Vec<ReleaseUpdate>>,
    pub desired: ReleaseUpdate,
    pub observed_generation: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub conditional_updates: Vec<ConditionalUpdate>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<UpdateHistory>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseUpdate {
    pub image: String,
    pub version: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub channels: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionalUpdate {
    pub release: ReleaseUpdate,
    #[schemars(
        length(min = 1, max = 200),
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["name"]),
    )]
    pub risks: Vec<ConditionalUpdateRisk>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = conditions)]
    pub conditions: Vec<Condition>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionalUpdateRisk {
    #[schemars(length(min = 1), extend("x-kubernetes-list-type" = "atomic"))]
    pub matching_rules: Vec<ClusterCondition>,
    #[schemars(length(min = 1))]
    pub message: String,
    #[schemars(length(min = 1))]
    pub name: String,
    #[schemars(length(min = 1), extend("format" = "uri"))]
    pub url: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCondition {
    pub r#type: ClusterConditionType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promql: Option<PromqlClusterCondition>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ClusterConditionType {
    Always,
    #[serde(rename = "PromQL")]
    PromQl,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromqlClusterCondition {
    pub promql: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateHistory {
    #[schemars(required, extend("nullable" = true))]
    pub completion_time: Option<Time>,
    pub image: String,
    pub started_time: Time,
    pub state: String,
    pub verified: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_risks: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneVersionStatus {
    pub desired: ReleaseUpdate,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub history: Vec<ControlPlaneUpdateHistory>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 9_007_199_254_740_992_i64))]
    pub observed_generation: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneUpdateHistory {
    #[schemars(length(min = 1, max = 447))]
    pub image: String,
    pub started_time: Time,
    pub state: UpdateState,
    #[schemars(length(min = 1, max = 64))]
    #[schemars(transform = Rules([
        Rule::new(r"self.matches('^\\d+\\.\\d+\\.\\d+.*')", "version must start with semantic version prefix x.y.z"),
    ]))]
    pub version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum UpdateState {
    Completed,
    Partial,
}
