//! Configuration of the cluster-wide proxy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::ConfigMapNameReference;

/// Configuration of the cluster-wide proxy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProxyConfiguration {
    /// The proxy for HTTP, as a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_proxy: Option<String>,
    /// The proxy for HTTPS, as a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub https_proxy: Option<String>,
    /// Hosts, domains and networks that are reached without a proxy, with commas between.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_proxy: Option<String>,
    /// URLs that must be reachable through the proxy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readiness_endpoints: Vec<String>,
    /// The `ConfigMap` with certificate authorities to trust, in its key `ca-bundle.crt`.
    #[serde(rename = "trustedCA", skip_serializing_if = "Option::is_none")]
    pub trusted_ca: Option<ConfigMapNameReference>,
}
