//! The networks of a hosted cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{ItemRules, Rule, Rules};

/// The networks of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "(!has(self.machineNetwork) \
         && self.clusterNetwork.all(c, self.serviceNetwork.all(s, c.cidr != s.cidr)) \
         || (has(self.machineNetwork) \
         && (self.machineNetwork.all(m, self.clusterNetwork.all(c, m.cidr != c.cidr)) \
         && self.machineNetwork.all(m, self.serviceNetwork.all(s, m.cidr != s.cidr)) \
         && self.clusterNetwork.all(c, self.serviceNetwork.all(s, c.cidr != s.cidr)))))",
        "CIDR ranges in machineNetwork, clusterNetwork, and serviceNetwork must be unique and non-overlapping",
    ),
    Rule::new(
        "has(self.allocateNodeCIDRs) && self.allocateNodeCIDRs == 'Enabled' ? self.networkType == 'Other' : true",
        "allocateNodeCIDRs can only be set to Enabled when networkType is 'Other'",
    ),
]))]
pub struct ClusterNetworking {
    /// The network plugin. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "OVNKubernetes"))]
    pub network_type: Option<NetworkType>,
    /// The addresses of pods; one range for each IP family. Immutable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 2), extend("default" = [{"cidr": "10.132.0.0/14"}]))]
    #[schemars(transform = Rules([
        Rule::new("self == oldSelf", "clusterNetwork is immutable and cannot be modified once set."),
    ]))]
    pub cluster_network: Vec<ClusterNetworkEntry>,
    /// The addresses of Services; one range for each IP family. Immutable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 2), extend("default" = [{"cidr": "172.31.0.0/16"}]))]
    #[schemars(transform = Rules([
        Rule::new("self == oldSelf", "serviceNetwork is immutable and cannot be modified once set."),
    ]))]
    pub service_network: Vec<ServiceNetworkEntry>,
    /// The addresses of nodes; one range for each IP family. Immutable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 2))]
    #[schemars(transform = Rules([
        Rule::new("self == oldSelf", "machineNetwork is immutable and cannot be modified once set."),
    ]))]
    pub machine_network: Vec<MachineNetworkEntry>,
    /// How nodes and others reach the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_server: Option<ApiServerNetworking>,
    /// Whether kube-controller-manager gives each node a range of pod addresses. Only with the network type Other.
    #[serde(rename = "allocateNodeCIDRs", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([
        Rule::new("self == oldSelf", "allocateNodeCIDRs is immutable and cannot be modified once set."),
    ]))]
    pub allocate_node_cidrs: Option<NodeCidrAllocation>,
}

/// Whether nodes get a range of pod addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum NodeCidrAllocation {
    /// They do.
    Enabled,
    /// They do not.
    Disabled,
}

/// How nodes and others reach the API server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiServerNetworking {
    /// The address that the proxy on each node listens on. It must lie in none of the cluster's networks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 255))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "advertiseAddress is immutable")]))]
    pub advertise_address: Option<String>,
    /// The port that the proxy on each node listens on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "port is immutable")]))]
    pub port: Option<i32>,
    /// The networks that may reach the API server; everyone when empty.
    #[serde(rename = "allowedCIDRBlocks", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 500), inner(length(max = 43)), extend("x-kubernetes-list-type" = "set"))]
    #[schemars(transform = ItemRules([CIDR_RULE]))]
    pub allowed_cidr_blocks: Vec<String>,
}

/// A range of pod addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterNetworkEntry {
    /// The range.
    #[schemars(length(max = 43))]
    #[schemars(transform = Rules([CIDR_RULE]))]
    pub cidr: String,
    /// The length of the prefix of each node's part of the range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_prefix: Option<i32>,
}

/// A range of node addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineNetworkEntry {
    /// The range.
    #[schemars(length(max = 43))]
    #[schemars(transform = Rules([CIDR_RULE]))]
    pub cidr: String,
}

/// A range of Service addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceNetworkEntry {
    /// The range.
    #[schemars(length(max = 43))]
    #[schemars(transform = Rules([CIDR_RULE]))]
    pub cidr: String,
}

/// A network plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum NetworkType {
    /// OpenShift SDN.
    #[serde(rename = "OpenShiftSDN")]
    OpenshiftSdn,
    /// Calico.
    Calico,
    /// OVN-Kubernetes.
    #[default]
    #[serde(rename = "OVNKubernetes")]
    OvnKubernetes,
    /// One that the user brings.
    Other,
}

/// The form of a range of addresses.
const CIDR_RULE: Rule = Rule::new(
    "self.matches('^((\\\\d{1,3}\\\\.){3}\\\\d{1,3}/\\\\d{1,2})$') \
     || self.matches('^([0-9a-fA-F]{0,4}:){2,7}([0-9a-fA-F]{0,4})?/[0-9]{1,3}$')",
    "cidr must be a valid IPv4 or IPv6 CIDR notation (e.g., 192.168.1.0/24 or 2001:db8::/64)",
);
