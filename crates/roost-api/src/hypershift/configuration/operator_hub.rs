//! Configuration of the default operator catalogs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Configuration of the default operator catalogs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorHubConfiguration {
    /// Whether none of the default catalogs is there, unless `sources` says otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_all_default_sources: Option<bool>,
    /// Single default catalogs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<HubSource>,
}

/// One default catalog.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HubSource {
    /// The catalog.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// Whether it is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
}
