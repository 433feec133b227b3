//! Configuration of feature gates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

/// Configuration of feature gates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeatureGateConfiguration {
    /// Which features there are beyond the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([
        Rule::new(
            "oldSelf == 'CustomNoUpgrade' ? self == 'CustomNoUpgrade' : true",
            "CustomNoUpgrade may not be changed",
        ),
        Rule::new(
            "oldSelf == 'TechPreviewNoUpgrade' ? self == 'TechPreviewNoUpgrade' : true",
            "TechPreviewNoUpgrade may not be changed",
        ),
        Rule::new(
            "oldSelf == 'DevPreviewNoUpgrade' ? self == 'DevPreviewNoUpgrade' : true",
            "DevPreviewNoUpgrade may not be changed",
        ),
        Rule::new("oldSelf == 'OKD' ? self != '' : true", "OKD cannot transition to Default"),
    ]))]
    pub feature_set: Option<FeatureSet>,
    /// Single features. Only if the set is `CustomNoUpgrade`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub custom_no_upgrade: Option<CustomFeatureGates>,
}

/// Single features that are switched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomFeatureGates {
    /// Features to switch on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = r"^([A-Za-z0-9-]+\.)*[A-Za-z0-9-]+\.?$")))]
    pub enabled: Vec<String>,
    /// Features to switch off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = r"^([A-Za-z0-9-]+\.)*[A-Za-z0-9-]+\.?$")))]
    pub disabled: Vec<String>,
}

/// A choice of features beyond the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum FeatureSet {
    /// Single ones. The cluster cannot be upgraded any more.
    CustomNoUpgrade,
    /// Those for developers. The cluster cannot be upgraded any more.
    DevPreviewNoUpgrade,
    /// Those to try. The cluster cannot be upgraded any more.
    TechPreviewNoUpgrade,
    /// Those of OKD.
    #[serde(rename = "OKD")]
    Okd,
    /// None.
    #[serde(rename = "")]
    Unset,
}
