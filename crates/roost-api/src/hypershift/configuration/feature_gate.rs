//! Configuration of feature gates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FeatureGateConfiguration {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("nullable" = true))]
    pub custom_no_upgrade: Option<CustomFeatureGates>,
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
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomFeatureGates {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = r"^([A-Za-z0-9-]+\.)*[A-Za-z0-9-]+\.?$")))]
    pub disabled: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = r"^([A-Za-z0-9-]+\.)*[A-Za-z0-9-]+\.?$")))]
    pub enabled: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum FeatureSet {
    CustomNoUpgrade,
    DevPreviewNoUpgrade,
    TechPreviewNoUpgrade,
    #[serde(rename = "OKD")]
    Okd,
    #[serde(rename = "")]
    Unset,
}
