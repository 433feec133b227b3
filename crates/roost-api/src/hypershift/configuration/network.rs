//! Configuration of the cluster network.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Toleration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

/// Configuration of the cluster network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "!has(self.networkDiagnostics) || !has(self.networkDiagnostics.mode) \
         || self.networkDiagnostics.mode!='Disabled' || !has(self.networkDiagnostics.sourcePlacement) \
         && !has(self.networkDiagnostics.targetPlacement)",
        "cannot set networkDiagnostics.sourcePlacement and networkDiagnostics.targetPlacement when networkDiagnostics.mode is Disabled",
    ),
]))]
pub struct NetworkConfiguration {
    /// The addresses of pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub cluster_network: Vec<NetworkConfigurationEntry>,
    /// The addresses of Services.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub service_network: Vec<String>,
    /// The network plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_type: Option<String>,
    /// External addresses of Services.
    #[serde(rename = "externalIP", skip_serializing_if = "Option::is_none")]
    pub external_ip: Option<ExternalIpConfiguration>,
    /// The ports for Services of type `NodePort`, as two numbers with a dash between.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(
        pattern = "^([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])-([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$"
    ))]
    pub service_node_port_range: Option<String>,
    /// Checks of the network between nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_diagnostics: Option<NetworkDiagnostics>,
}

/// A range of pod addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkConfigurationEntry {
    /// The range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cidr: Option<String>,
    /// The length of the prefix of each node's part of the range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub host_prefix: Option<i32>,
}

/// External addresses of Services.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalIpConfiguration {
    /// Which addresses users may ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<ExternalIpPolicy>,
    /// The range that Services of type `LoadBalancer` get addresses from.
    #[serde(rename = "autoAssignCIDRs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub auto_assign_cidrs: Vec<String>,
}

/// Which external addresses users may ask for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalIpPolicy {
    /// Ranges that may be asked for.
    #[serde(rename = "allowedCIDRs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub allowed_cidrs: Vec<String>,
    /// Ranges that may not, and win over the others.
    #[serde(rename = "rejectedCIDRs", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub rejected_cidrs: Vec<String>,
}

/// Checks of the network between nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkDiagnostics {
    /// Whether the network is checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<NetworkDiagnosticsMode>,
    /// The nodes that check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_placement: Option<NetworkDiagnosticsPlacement>,
    /// The nodes that are checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_placement: Option<NetworkDiagnosticsPlacement>,
}

/// Whether the network is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum NetworkDiagnosticsMode {
    /// Not chosen: it is.
    #[serde(rename = "")]
    Unset,
    /// It is.
    All,
    /// It is not.
    Disabled,
}

/// The nodes that take part in checks of the network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkDiagnosticsPlacement {
    /// The labels of the nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub node_selector: BTreeMap<String, String>,
    /// The taints that pods put up with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub tolerations: Vec<Toleration>,
}
