//! How the nodes of a pool are upgraded and repaired.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

/// How nodes are upgraded and repaired.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "!has(self.inPlace) || self.upgradeType == 'InPlace'",
        "The 'inPlace' field can only be set when 'upgradeType' is 'InPlace'",
    ),
]))]
pub struct NodePoolManagement {
    /// How nodes get a new version or configuration. Immutable.
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "UpgradeType is immutable")]))]
    pub upgrade_type: UpgradeType,
    /// Settings for nodes that are replaced. Only if the type is Replace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = {
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
        "strategy": "RollingUpdate",
    }))]
    pub replace: Option<ReplaceUpgrade>,
    /// Settings for nodes that are changed in place. Only if the type is `InPlace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place: Option<InPlaceUpgrade>,
    /// Whether unhealthy nodes are replaced by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub auto_repair: Option<bool>,
}

/// How nodes are changed in place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InPlaceUpgrade {
    /// How many nodes may be away at once: a number or a percentage; 1 when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
}

/// How nodes are replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "!has(self.rollingUpdate) || self.strategy == 'RollingUpdate'",
        "The 'rollingUpdate' field can only be set when 'strategy' is 'RollingUpdate'",
    ),
]))]
pub struct ReplaceUpgrade {
    /// When old nodes go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<ReplaceStrategy>,
    /// How many nodes change at once. Only if the strategy is `RollingUpdate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
}

/// How many nodes change at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollingUpdate {
    /// How many nodes may be missing: a number or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// How many nodes may be too many: a number or a percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
}

/// When old nodes go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ReplaceStrategy {
    /// One after the other, as new ones come.
    #[default]
    RollingUpdate,
    /// When the user deletes them.
    OnDelete,
}

/// How nodes get a new version or configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum UpgradeType {
    /// New machines take their place.
    #[default]
    Replace,
    /// The machines stay, and restart.
    InPlace,
}
