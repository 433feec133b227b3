//! How the services of a hosted control plane are published, and where they are reached.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

/// How one service is published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServicePublishingStrategyMapping {
    /// The service.
    pub service: ServiceType,
    /// How it is published.
    pub service_publishing_strategy: ServicePublishingStrategy,
}

/// A service of a hosted control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ServiceType {
    /// The Kubernetes API.
    #[serde(rename = "APIServer")]
    ApiServer,
    /// The login.
    #[serde(rename = "OAuthServer")]
    OauthServer,
    /// No longer used, and still accepted.
    #[serde(rename = "OIDC")]
    Oidc,
    /// The tunnel from nodes to the control plane.
    Konnectivity,
    /// The server of node configurations.
    Ignition,
    /// No longer used, and still accepted.
    #[serde(rename = "OVNSbDb")]
    OvnSbDb,
}

/// How a service is published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "self.type == 'NodePort' ? has(self.nodePort) : !has(self.nodePort)",
        "nodePort is required when type is NodePort, and forbidden otherwise",
    ),
    Rule::new(
        "self.type == 'Route' ? !has(self.nodePort) && !has(self.loadBalancer) : !has(self.route)",
        "only route is allowed when type is Route, and forbidden otherwise",
    ),
    Rule::new(
        "self.type == 'LoadBalancer' ? !has(self.nodePort) && !has(self.route) : !has(self.loadBalancer)",
        "only loadBalancer is required when type is LoadBalancer, and forbidden otherwise",
    ),
    Rule::new(
        "self.type == 'None' ? !has(self.nodePort) && !has(self.route) && !has(self.loadBalancer) : true",
        "None does not allowed any configuration for loadBalancer, nodePort, or route",
    ),
    Rule::new(
        "self.type == 'S3' ? !has(self.nodePort) && !has(self.route) && !has(self.loadBalancer) : true",
        "S3 does not allowed any configuration for loadBalancer, nodePort, or route",
    ),
]))]
pub struct ServicePublishingStrategy {
    /// The way.
    pub r#type: PublishingStrategyType,
    /// Where nodes are reached. Needed if the type is NodePort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_port: Option<NodePortPublishing>,
    /// The name of the load balancer. Only if the type is `LoadBalancer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancerPublishing>,
    /// The name of the route. Only if the type is Route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<RoutePublishing>,
}

/// A way to publish a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PublishingStrategyType {
    /// A load balancer of its own.
    LoadBalancer,
    /// A port on the management plane's machines.
    NodePort,
    /// A route of the management plane's ingress.
    Route,
    /// Not at all.
    None,
    /// A bucket.
    S3,
}

/// A service behind a load balancer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerPublishing {
    /// The name by which the service is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[schemars(transform = Rules([DOMAIN_NAME_RULE]))]
    pub hostname: Option<String>,
}

/// A service on a port of machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePortPublishing {
    /// The host name or address of the machines.
    #[schemars(length(min = 1, max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            "self.matches('^(([a-zA-Z0-9][-a-zA-Z0-9]*\\\\.)+[a-zA-Z]{2,}|localhost)$') \
             || self.matches('^((\\\\d{1,3}\\\\.){3}\\\\d{1,3})$') \
             || self.matches('^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$')",
            "address must be a valid hostname, IPv4, or IPv6 address",
        ),
    ]))]
    pub address: String,
    /// The port; chosen when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
}

/// A service behind a route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoutePublishing {
    /// The name by which the service is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[schemars(transform = Rules([DOMAIN_NAME_RULE]))]
    pub hostname: Option<String>,
}

/// Where an API server is reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiEndpoint {
    /// A host name or an IP address.
    #[schemars(length(max = 255))]
    pub host: String,
    /// A TCP port.
    pub port: i32,
}

/// The form of a name in DNS.
const DOMAIN_NAME_RULE: Rule = Rule::new(
    r"self.matches('^(?:[a-zA-Z0-9-]+\\.)+[a-zA-Z]{2,}$')",
    "hostname must be a valid domain name (e.g., example.com)",
);
