//! How the default ingress controller of a hosted cluster is reached.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::hypershift::operator_configuration::load_balancer::ProviderLoadBalancerParameters;
use crate::rules::{Rule, Rules};

/// How an ingress controller is reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndpointPublishingStrategy {
    /// The way.
    pub r#type: EndpointPublishingType,
    /// Settings of a load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancerStrategy>,
    /// Settings of ports on the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_network: Option<HostNetworkStrategy>,
    /// Settings of an ingress controller that is not published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private: Option<PrivateStrategy>,
    /// Settings of a Service of type `NodePort`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_port: Option<NodePortStrategy>,
    /// What is not named above, kept as it was written.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A way to reach an ingress controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum EndpointPublishingType {
    /// Through a load balancer.
    LoadBalancerService,
    /// Through ports of the nodes that it runs on.
    HostNetwork,
    /// From inside the cluster only.
    Private,
    /// Through a port that every node has.
    NodePortService,
}

/// Ports on the nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostNetworkStrategy {
    /// The port for HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 65535), extend("default" = 80))]
    pub http_port: Option<i32>,
    /// The port for HTTPS.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 65535), extend("default" = 443))]
    pub https_port: Option<i32>,
    /// The port for metrics and health.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 65535), extend("default" = 1936))]
    pub stats_port: Option<i32>,
    /// Whether clients come through a proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<IngressProtocol>,
}

/// What connections begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum IngressProtocol {
    /// Not chosen: as with TCP.
    #[serde(rename = "")]
    Unset,
    /// The request itself.
    #[serde(rename = "TCP")]
    Tcp,
    /// A header of the PROXY protocol with the client's address.
    #[serde(rename = "PROXY")]
    Proxy,
}

/// Settings of a Service of type `NodePort`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePortStrategy {
    /// Whether clients come through a proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<IngressProtocol>,
}

/// Settings of an ingress controller that is not published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PrivateStrategy {
    /// Whether clients come through a proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<IngressProtocol>,
}

/// Settings of a load balancer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "!has(self.scope) || self.scope != 'Internal' || !has(self.providerParameters) \
         || !has(self.providerParameters.aws) || !has(self.providerParameters.aws.networkLoadBalancer) \
         || !has(self.providerParameters.aws.networkLoadBalancer.eipAllocations)",
        "eipAllocations are forbidden when the scope is Internal.",
    ),
    Rule::new(
        "!has(self.scope) || self.scope != 'Internal' || !has(self.providerParameters) \
         || !has(self.providerParameters.openstack) || !has(self.providerParameters.openstack.floatingIP) \
         || self.providerParameters.openstack.floatingIP == \"\"",
        "cannot specify a floating ip when scope is internal",
    ),
]))]
pub struct LoadBalancerStrategy {
    /// Who can reach it.
    pub scope: LoadBalancerScope,
    /// Whether its names in DNS are looked after.
    #[schemars(extend("default" = "Managed"))]
    pub dns_management_policy: DnsManagementPolicy,
    /// The networks that may reach it; everyone when empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        inner(regex(pattern = r"(^(([0-9]|[0-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])\.){3}([0-9]|[0-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])/([0-9]|[12][0-9]|3[0-2])$)|(^s*((([0-9A-Fa-f]{1,4}:){7}([0-9A-Fa-f]{1,4}|:))|(([0-9A-Fa-f]{1,4}:){6}(:[0-9A-Fa-f]{1,4}|((25[0-5]|2[0-4]d|1dd|[1-9]?d)(.(25[0-5]|2[0-4]d|1dd|[1-9]?d)){3})|:))|(([0-9A-Fa-f]{1,4}:){5}(((:[0-9A-Fa-f]{1,4}){1,2})|:((25[0-5]|2[0-4]d|1dd|[1-9]?d)(.(25[0-5]|2[0-4]d|1dd|[1-9]?d)){3})|:))|(([0-9A-Fa-f]{1,4}:){4}(((:[0-9A-Fa-f]{1,4}){1,3})|((:[0-9A-Fa-f]{1,4})?:((25[0-5]|2[0-4]d|1dd|[1-9]?d)(.(25[0-5]|2[0-4]d|1dd|[1-9]?d)){3}))|:))|(([0-9A-Fa-f]{1,4}:){3}(((:[0-9A-Fa-f]{1,4}){1,4})|((:[0-9A-Fa-f]{1,4}){0,2}:((25[0-5]|2[0-4]d|1dd|[1-9]?d)(.(25[0-5]|2[0-4]d|1dd|[1-9]?d)){3}))|:))|(([0-9A-Fa-f]{1,4}:){2}(((:[0-9A-Fa-f]{1,4}){1,5})|((:[0-9A-Fa-f]{1,4}){0,3}:((25[0-5]|2[0-4]d|1dd|[1-9]?d)(.(25[0-5]|2[0-4]d|1dd|[1-9]?d)){3}))|:))|(([0-9A-Fa-f]{1,4}:){1}(((:[0-9A-Fa-f]{1,4}){1,6})|((:[0-9A-Fa-f]{1,4}){0,4}:((25[0-5]|2[0-4]d|1dd|[1-9]?d)(.(25[0-5]|2[0-4]d|1dd|[1-9]?d)){3}))|:))|(:(((:[0-9A-Fa-f]{1,4}){1,7})|((:[0-9A-Fa-f]{1,4}){0,5}:((25[0-5]|2[0-4]d|1dd|[1-9]?d)(.(25[0-5]|2[0-4]d|1dd|[1-9]?d)){3}))|:)))(%.+)?s*(\/(12[0-8]|1[0-1][0-9]|[1-9][0-9]|[0-9]))$)")),
        extend("nullable" = true),
        extend("x-kubernetes-list-type" = "atomic"),
    )]
    pub allowed_source_ranges: Option<Vec<String>>,
    /// Settings that differ by provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_parameters: Option<ProviderLoadBalancerParameters>,
}

/// Whether names in DNS are looked after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum DnsManagementPolicy {
    /// They are made and kept up to date.
    #[default]
    Managed,
    /// The user does it.
    Unmanaged,
}

/// Who can reach a load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum LoadBalancerScope {
    /// The private network of the cluster.
    Internal,
    /// Everyone.
    External,
}
