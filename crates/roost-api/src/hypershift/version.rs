//! The versions that a hosted cluster runs, ran and could run.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules, conditions};

/// The versions that a cluster runs, ran and could run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterVersionStatus {
    /// The version that the cluster is at, or on its way to.
    pub desired: ReleaseUpdate,
    /// The versions that the cluster was at, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<UpdateHistory>,
    /// The generation of the version object that this tells of.
    pub observed_generation: i64,
    /// Versions that the cluster may go to; null when nobody was asked.
    #[schemars(required, length(max = 100), extend("nullable" = true))]
    pub available_updates: Option<Vec<ReleaseUpdate>>,
    /// Versions that the cluster may go to at some risk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub conditional_updates: Vec<ConditionalUpdate>,
}

/// A release that a cluster is at or may go to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseUpdate {
    /// The release's version.
    pub version: String,
    /// The release's pull specification.
    pub image: String,
    /// A page about the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The update channels that the release is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub channels: Vec<String>,
}

/// A release that a cluster may go to at some risk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionalUpdate {
    /// The release.
    pub release: ReleaseUpdate,
    /// What could go wrong.
    #[schemars(
        length(min = 1, max = 200),
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["name"]),
    )]
    pub risks: Vec<ConditionalUpdateRisk>,
    /// Whether the release is recommended for this cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = conditions)]
    pub conditions: Vec<Condition>,
}

/// What could go wrong with a release.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionalUpdateRisk {
    /// A name for the risk.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What a user should know about it.
    #[schemars(length(min = 1))]
    pub message: String,
    /// A page about the risk.
    #[schemars(length(min = 1), extend("format" = "uri"))]
    pub url: String,
    /// Which clusters are at risk; the first rule that can be evaluated decides.
    #[schemars(length(min = 1), extend("x-kubernetes-list-type" = "atomic"))]
    pub matching_rules: Vec<ClusterCondition>,
}

/// Which clusters are meant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCondition {
    /// How clusters are told apart.
    pub r#type: ClusterConditionType,
    /// The query. Needed if the type is `PromQL`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promql: Option<PromqlClusterCondition>,
}

/// How clusters are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ClusterConditionType {
    /// All are meant.
    Always,
    /// By a query over their metrics.
    #[serde(rename = "PromQL")]
    PromQl,
}

/// A query over metrics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromqlClusterCondition {
    /// The query: 1 if the cluster is meant, 0 if not.
    pub promql: String,
}

/// A version that a cluster was at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateHistory {
    /// Whether the cluster got there: Completed or Partial.
    pub state: String,
    /// The version, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The release's pull specification.
    pub image: String,
    /// When the update began.
    pub started_time: Time,
    /// When the update ended; null while it has not.
    #[schemars(required, extend("nullable" = true))]
    pub completion_time: Option<Time>,
    /// Whether the release's signature was checked.
    pub verified: bool,
    /// The risks that were taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_risks: Option<String>,
}

/// The versions that a control plane runs and ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneVersionStatus {
    /// The version that the control plane is at, or on its way to.
    pub desired: ReleaseUpdate,
    /// The versions that the control plane was at, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 100), extend("x-kubernetes-list-type" = "atomic"))]
    pub history: Vec<ControlPlaneUpdateHistory>,
    /// The generation of the `HostedControlPlane` that this tells of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 9_007_199_254_740_992_i64))]
    pub observed_generation: Option<i64>,
}

/// A version that a control plane was at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneUpdateHistory {
    /// Whether the control plane got there.
    pub state: UpdateState,
    /// The version.
    #[schemars(length(min = 1, max = 64))]
    #[schemars(transform = Rules([
        Rule::new(r"self.matches('^\\d+\\.\\d+\\.\\d+.*')", "version must start with semantic version prefix x.y.z"),
    ]))]
    pub version: String,
    /// The release's pull specification.
    #[schemars(length(min = 1, max = 447))]
    pub image: String,
    /// When the update began.
    pub started_time: Time,
    /// When the update ended; absent while it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion_time: Option<Time>,
}

/// Whether an update is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum UpdateState {
    /// Every part is at the version.
    Completed,
    /// Some parts are not.
    Partial,
}
