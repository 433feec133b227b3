//! Load balancer settings that differ by provider.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::operator_configuration::ingress::IngressProtocol;
use crate::rules::{ItemRules, Rule, Rules};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "has(self.type) && self.type == 'OpenStack' ? true : !has(self.openstack)",
        "openstack is not permitted when type is not OpenStack",
    ),
]))]
pub struct ProviderLoadBalancerParameters {
    pub r#type: LoadBalancerProvider,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<AwsLoadBalancerParameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gcp: Option<GcpLoadBalancerParameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ibm: Option<IbmLoadBalancerParameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openstack: Option<OpenStackLoadBalancerParameters>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum LoadBalancerProvider {
    #[serde(rename = "AWS")]
    Aws,
    Azure,
    BareMetal,
    #[serde(rename = "GCP")]
    Gcp,
    Nutanix,
    OpenStack,
    #[serde(rename = "VSphere")]
    Vsphere,
    #[serde(rename = "IBM")]
    Ibm,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsLoadBalancerParameters {
    pub r#type: AwsLoadBalancerType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classic_load_balancer: Option<AwsClassicLoadBalancerParameters>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_load_balancer: Option<AwsNetworkLoadBalancerParameters>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AwsLoadBalancerType {
    Classic,
    #[serde(rename = "NLB")]
    Nlb,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsClassicLoadBalancerParameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "duration"))]
    pub connection_idle_timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnets: Option<AwsSubnets>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "has(self.ids) && has(self.names) ? size(self.ids + self.names) <= 10 : true",
        "the total number of subnets cannot exceed 10",
    ),
    Rule::new(
        "has(self.ids) && self.ids.size() > 0 || has(self.names) && self.names.size() > 0",
        "must specify at least 1 subnet name or id",
    ),
]))]
pub struct AwsSubnets {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 10),
        inner(length(equal = 24), regex(pattern = "^subnet-[0-9A-Za-z]+$")),
        extend("x-kubernetes-list-type" = "atomic"),
    )]
    #[schemars(transform = Rules([
        Rule::new("self.all(x, self.exists_one(y, x == y))", "subnet ids cannot contain duplicates"),
    ]))]
    pub ids: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10), inner(length(min = 1, max = 256)), extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(transform = ItemRules([
        Rule::new("!self.contains(',')", "subnet name cannot contain a comma"),
        Rule::new("!self.startsWith('subnet-')", "subnet name cannot start with 'subnet-'"),
    ]))]
    #[schemars(transform = Rules([
        Rule::new("self.all(x, self.exists_one(y, x == y))", "subnet names cannot contain duplicates"),
    ]))]
    pub names: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "has(self.subnets) && has(self.subnets.ids) && has(self.subnets.names) && has(self.eipAllocations) ? size(self.subnets.ids + self.subnets.names) == size(self.eipAllocations) : true",
        "number of subnets must be equal to number of eipAllocations",
    ),
    Rule::new(
        "has(self.subnets) && has(self.subnets.ids) && !has(self.subnets.names) && has(self.eipAllocations) ? size(self.subnets.ids) == size(self.eipAllocations) : true",
        "number of subnets must be equal to number of eipAllocations",
    ),
    Rule::new(
        "has(self.subnets) && has(self.subnets.names) && !has(self.subnets.ids) && has(self.eipAllocations) ? size(self.subnets.names) == size(self.eipAllocations) : true",
        "number of subnets must be equal to number of eipAllocations",
    ),
]))]
pub struct AwsNetworkLoadBalancerParameters {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10), inner(length(equal = 26)), extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(transform = ItemRules([
        Rule::new("self.startsWith('eipalloc-')", "eipAllocations should start with 'eipalloc-'"),
        Rule::new(
            r#"self.split("-", 2)[1].matches('[0-9a-fA-F]{17}$')"#,
            "eipAllocations must be 'eipalloc-' followed by exactly 17 hexadecimal characters (0-9, a-f, A-F)",
        ),
    ]))]
    #[schemars(transform = Rules([
        Rule::new("self.all(x, self.exists_one(y, x == y))", "eipAllocations cannot contain duplicates"),
    ]))]
    pub eip_allocations: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<AwsNetworkLoadBalancerProtocol>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnets: Option<AwsSubnets>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AwsNetworkLoadBalancerProtocol {
    #[serde(rename = "TCP")]
    Tcp,
    #[serde(rename = "PROXY")]
    Proxy,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcpLoadBalancerParameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_access: Option<GcpClientAccess>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum GcpClientAccess {
    Global,
    Local,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IbmLoadBalancerParameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<IngressProtocol>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenStackLoadBalancerParameters {
    #[serde(rename = "floatingIP", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([Rule::new("isIP(self)", "floatingIP must be a valid IPv4 or IPv6 address")]))]
    pub floating_ip: Option<String>,
}
