//! How the nodes of a pool are upgraded and repaired.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "!has(self.inPlace) || self.upgradeType == 'InPlace'",
        "The 'inPlace' field can only be set when 'upgradeType' is 'InPlace'",
    ),
]))]
pub struct NodePoolManagement {
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "UpgradeType is immutable")]))]
    pub upgrade_type: UpgradeType,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub auto_repair: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place: Option<InPlaceUpgrade>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        extend("default" = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}, "strategy": "RollingUpdate"}),
    )]
    pub replace: Option<ReplaceUpgrade>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InPlaceUpgrade {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "!has(self.rollingUpdate) || self.strategy == 'RollingUpdate'",
        "The 'rollingUpdate' field can only be set when 'strategy' is 'RollingUpdate'",
    ),
]))]
pub struct ReplaceUpgrade {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<ReplaceStrategy>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollingUpdate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ReplaceStrategy {
    #[default]
    RollingUpdate,
    OnDelete,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum UpgradeType {
    #[default]
    Replace,
    InPlace,
}
