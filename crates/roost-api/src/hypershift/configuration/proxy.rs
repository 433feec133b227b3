//! Configuration of the cluster-wide proxy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::ConfigMapNameReference;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxyConfiguration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_proxy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub https_proxy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_proxy: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readiness_endpoints: Vec<String>,
    #[serde(rename = "trustedCA", skip_serializing_if = "Option::is_none")]
    pub trusted_ca: Option<ConfigMapNameReference>,
}
