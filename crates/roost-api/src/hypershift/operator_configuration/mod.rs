//! Settings of the operators inside a hosted cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

pub mod ingress;
pub mod load_balancer;
pub mod ovn_kubernetes;

pub use ingress::{
    DnsManagementPolicy, EndpointPublishingStrategy, EndpointPublishingType, HostNetworkStrategy, IngressProtocol,
    LoadBalancerScope, LoadBalancerStrategy, NodePortStrategy, PrivateStrategy,
};
pub use load_balancer::{
    AwsClassicLoadBalancerParameters, AwsLoadBalancerParameters, AwsLoadBalancerType, AwsNetworkLoadBalancerParameters,
    AwsNetworkLoadBalancerProtocol, AwsSubnets, GcpClientAccess, GcpLoadBalancerParameters, IbmLoadBalancerParameters,
    LoadBalancerProvider, OpenStackLoadBalancerParameters, ProviderLoadBalancerParameters,
};
pub use ovn_kubernetes::{OvnIpv4Config, OvnIpv6Config, OvnKubernetesConfig};

/// Settings of the operators inside a hosted cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorConfiguration {
    /// Settings of the network operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_network_operator: Option<ClusterNetworkOperatorSpec>,
    /// Settings of the ingress operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress_operator: Option<IngressOperatorSpec>,
}

/// Settings of the network operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "!has(oldSelf.ovnKubernetesConfig) || has(self.ovnKubernetesConfig)",
        "ovnKubernetesConfig is immutable once set and cannot be removed",
    ),
]))]
pub struct ClusterNetworkOperatorSpec {
    /// Whether pods can have one network only. Can be true only with the network type Other; immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    #[schemars(transform = Rules([Rule::new("self == oldSelf", "disableMultiNetwork is immutable")]))]
    pub disable_multi_network: Option<bool>,
    /// Settings of OVN-Kubernetes. Only if it is the network plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ovn_kubernetes_config: Option<OvnKubernetesConfig>,
}

/// Settings of the ingress operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IngressOperatorSpec {
    /// How the default ingress controller is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint_publishing_strategy: Option<EndpointPublishingStrategy>,
}
