//! The subnets that OVN-Kubernetes keeps for itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

/// Settings of OVN-Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
#[schemars(transform = Rules([
    Rule::new(
        "!has(self.ipv4) || !has(self.ipv4.internalJoinSubnet) || !has(self.ipv4.internalTransitSwitchSubnet) \
         || self.ipv4.internalJoinSubnet != self.ipv4.internalTransitSwitchSubnet",
        "internalJoinSubnet and internalTransitSwitchSubnet must not be the same",
    ),
    Rule::new(
        "!has(self.ipv6) || !has(self.ipv6.internalJoinSubnet) || !has(self.ipv6.internalTransitSwitchSubnet) \
         || self.ipv6.internalJoinSubnet != self.ipv6.internalTransitSwitchSubnet",
        "ipv6 internalJoinSubnet and internalTransitSwitchSubnet must not be the same",
    ),
    Rule::new("!has(oldSelf.mtu) || has(self.mtu)", "mtu is immutable once set and cannot be removed"),
    Rule::new("!has(oldSelf.ipv6) || has(self.ipv6)", "ipv6 is immutable once set and cannot be removed"),
    Rule::new(
        "!has(oldSelf.ipv6) || !has(oldSelf.ipv6.internalJoinSubnet) || (has(self.ipv6) \
         && has(self.ipv6.internalJoinSubnet))",
        "ipv6.internalJoinSubnet cannot be removed once set",
    ),
    Rule::new(
        "!has(oldSelf.ipv6) || !has(oldSelf.ipv6.internalTransitSwitchSubnet) || (has(self.ipv6) \
         && has(self.ipv6.internalTransitSwitchSubnet))",
        "ipv6.internalTransitSwitchSubnet cannot be removed once set",
    ),
    Rule::new(
        "!has(oldSelf.v4InternalSubnet) || has(self.v4InternalSubnet)",
        "v4InternalSubnet is immutable once set and cannot be removed",
    ),
    Rule::new(
        "!has(oldSelf.v6InternalSubnet) || has(self.v6InternalSubnet)",
        "v6InternalSubnet is immutable once set and cannot be removed",
    ),
]))]
pub struct OvnKubernetesConfig {
    /// IPv4 subnets that it keeps for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<OvnIpv4Config>,
    /// IPv6 subnets that it keeps for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<OvnIpv6Config>,
    /// The largest packet of the pod network, in bytes. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 576, max = 9216))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "mtu is immutable once set")]))]
    pub mtu: Option<i32>,
    /// The IPv4 subnet between its routers. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 9, max = 18))]
    #[schemars(transform = Rules([
        Rule::new("self == oldSelf", "v4InternalSubnet is immutable once set"),
        Rule::new("isCIDR(self) && cidr(self).ip().family() == 4", "Subnet must be in a valid IPv4 CIDR format"),
        Rule::new("isCIDR(self) && cidr(self).prefixLength() <= 30", "subnet must be in the range /0 to /30 inclusive"),
        Rule::new(
            "isCIDR(self) && cidr(self).ip().family() == 4 && int(self.split('.')[0]) > 0",
            "first IP address octet must not be 0",
        ),
    ]))]
    pub v4_internal_subnet: Option<String>,
    /// The IPv6 subnet between its routers. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 4, max = 48))]
    #[schemars(transform = Rules([
        Rule::new("self == oldSelf", "v6InternalSubnet is immutable once set"),
        Rule::new("isCIDR(self) && cidr(self).ip().family() == 6", "Subnet must be in valid IPv6 CIDR format"),
        Rule::new(
            "isCIDR(self) && cidr(self).prefixLength() <= 125",
            "subnet must be in the range /0 to /125 inclusive",
        ),
    ]))]
    pub v6_internal_subnet: Option<String>,
}

/// IPv4 subnets that OVN-Kubernetes keeps for itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct OvnIpv4Config {
    /// The subnet between its routers on a node. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 9, max = 18))]
    #[schemars(transform = Rules([
        Rule::new(
            "self.matches('^([0-9]{1,3}\\\\.){3}[0-9]{1,3}/([0-9]|[1-2][0-9]|3[0-2])$') \
             && self.split('/')[0].split('.').all(oct, int(oct) >= 0 && int(oct) <= 255)",
            "Subnet must be in a valid IPv4 CIDR format (e.g., 192.168.1.1/24)",
        ),
        Rule::new(
            "self.matches('^.*/[0-9]+$') && int(self.split('/')[1]) <= 30",
            "subnet must be in the range /0 to /30 inclusive",
        ),
        Rule::new(
            r"self.matches('^[0-9]{1,3}\\..*') && int(self.split('/')[0].split('.')[0]) > 0",
            "first IP address octet must not be 0",
        ),
    ]))]
    pub internal_join_subnet: Option<String>,
    /// The subnet between nodes. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 9, max = 18))]
    #[schemars(transform = Rules([
        Rule::new(
            "self.matches('^([0-9]{1,3}\\\\.){3}[0-9]{1,3}/([0-9]|[1-2][0-9]|3[0-2])$') \
             && self.split('/')[0].split('.').all(oct, int(oct) >= 0 && int(oct) <= 255)",
            "Subnet must be in a valid IPv4 CIDR format",
        ),
        Rule::new(
            "self.matches('^.*/[0-9]+$') && int(self.split('/')[1]) <= 30",
            "subnet must be in the range /0 to /30 inclusive",
        ),
        Rule::new(
            r"self.matches('^[0-9]{1,3}\\..*') && int(self.split('/')[0].split('.')[0]) > 0",
            "first IP address octet must not be 0",
        ),
    ]))]
    pub internal_transit_switch_subnet: Option<String>,
}

/// IPv6 subnets that OVN-Kubernetes keeps for itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("minProperties" = 1))]
pub struct OvnIpv6Config {
    /// The subnet between its routers on a node. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 3, max = 48))]
    #[schemars(transform = Rules([
        Rule::new(
            "isCIDR(self) && cidr(self).ip().family() == 6",
            "Subnet must be in valid IPv6 CIDR format (e.g., fd98::/64)",
        ),
        Rule::new(
            "isCIDR(self) && cidr(self).prefixLength() <= 125",
            "subnet must be in the range /0 to /125 inclusive",
        ),
        Rule::new("self == oldSelf", "internalJoinSubnet is immutable"),
    ]))]
    pub internal_join_subnet: Option<String>,
    /// The subnet between nodes. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 3, max = 48))]
    #[schemars(transform = Rules([
        Rule::new(
            "isCIDR(self) && cidr(self).ip().family() == 6",
            "Subnet must be in valid IPv6 CIDR format (e.g., fd97::/64)",
        ),
        Rule::new(
            "isCIDR(self) && cidr(self).prefixLength() <= 125",
            "subnet must be in the range /0 to /125 inclusive",
        ),
        Rule::new("self == oldSelf", "internalTransitSwitchSubnet is immutable"),
    ]))]
    pub internal_transit_switch_subnet: Option<String>,
}
