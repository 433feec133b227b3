//! Load balancer settings that differ by provider.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::operator_configuration::ingress::IngressProtocol;
use crate::rules::{ItemRules, Rule, Rules};

/// Load balancer settings that differ by provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "has(self.type) && self.type == 'OpenStack' ? true : !has(self.openstack)",
        "openstack is not permitted when type is not OpenStack",
    ),
]))]
pub struct ProviderLoadBalancerParameters {
    /// The provider.
    pub r#type: LoadBalancerProvider,
    /// Settings for AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<AwsLoadBalancerParameters>,
    /// Settings for Google Cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gcp: Option<GcpLoadBalancerParameters>,
    /// Settings for IBM Cloud.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ibm: Option<IbmLoadBalancerParameters>,
    /// Settings for `OpenStack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openstack: Option<OpenStackLoadBalancerParameters>,
}

/// Who provides a load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum LoadBalancerProvider {
    /// Amazon Web Services.
    #[serde(rename = "AWS")]
    Aws,
    /// Microsoft Azure.
    Azure,
    /// Bare metal.
    BareMetal,
    /// Google Cloud.
    #[serde(rename = "GCP")]
    Gcp,
    /// Nutanix.
    Nutanix,
    /// `OpenStack`.
    OpenStack,
    /// `vSphere` of `VMware`.
    #[serde(rename = "VSphere")]
    Vsphere,
    /// IBM Cloud.
    #[serde(rename = "IBM")]
    Ibm,
}

/// Load balancer settings for AWS.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsLoadBalancerParameters {
    /// The kind of load balancer.
    pub r#type: AwsLoadBalancerType,
    /// Settings of a classic load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classic_load_balancer: Option<AwsClassicLoadBalancerParameters>,
    /// Settings of a network load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_load_balancer: Option<AwsNetworkLoadBalancerParameters>,
}

/// A kind of load balancer of AWS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AwsLoadBalancerType {
    /// A classic load balancer.
    Classic,
    /// A network load balancer.
    #[serde(rename = "NLB")]
    Nlb,
}

/// Settings of a classic load balancer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AwsClassicLoadBalancerParameters {
    /// How long a connection may be idle.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "duration"))]
    pub connection_idle_timeout: Option<String>,
    /// The subnets that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnets: Option<AwsSubnets>,
}

/// Subnets of AWS.
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
    /// Subnets by id.
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
    /// Subnets by name.
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

/// Settings of a network load balancer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "has(self.subnets) && has(self.subnets.ids) && has(self.subnets.names) && has(self.eipAllocations) \
         ? size(self.subnets.ids + self.subnets.names) == size(self.eipAllocations) : true",
        "number of subnets must be equal to number of eipAllocations",
    ),
    Rule::new(
        "has(self.subnets) && has(self.subnets.ids) && !has(self.subnets.names) && has(self.eipAllocations) \
         ? size(self.subnets.ids) == size(self.eipAllocations) : true",
        "number of subnets must be equal to number of eipAllocations",
    ),
    Rule::new(
        "has(self.subnets) && has(self.subnets.names) && !has(self.subnets.ids) && has(self.eipAllocations) \
         ? size(self.subnets.names) == size(self.eipAllocations) : true",
        "number of subnets must be equal to number of eipAllocations",
    ),
]))]
pub struct AwsNetworkLoadBalancerParameters {
    /// The subnets that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnets: Option<AwsSubnets>,
    /// The elastic addresses that it has, one for each subnet.
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
    /// What connections begin with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<AwsNetworkLoadBalancerProtocol>,
}

/// What connections of a network load balancer begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AwsNetworkLoadBalancerProtocol {
    /// The request itself.
    #[serde(rename = "TCP")]
    Tcp,
    /// A header of the PROXY protocol with the client's address.
    #[serde(rename = "PROXY")]
    Proxy,
}

/// Load balancer settings for Google Cloud.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GcpLoadBalancerParameters {
    /// Who may reach an internal load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_access: Option<GcpClientAccess>,
}

/// Who may reach an internal load balancer of Google Cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum GcpClientAccess {
    /// Clients of every region.
    Global,
    /// Clients of the same region.
    Local,
}

/// Load balancer settings for IBM Cloud.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IbmLoadBalancerParameters {
    /// What connections begin with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<IngressProtocol>,
}

/// Load balancer settings for `OpenStack`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenStackLoadBalancerParameters {
    /// The floating address that it has.
    #[serde(rename = "floatingIP", skip_serializing_if = "Option::is_none")]
    #[schemars(transform = Rules([Rule::new("isIP(self)", "floatingIP must be a valid IPv4 or IPv6 address")]))]
    pub floating_ip: Option<String>,
}
