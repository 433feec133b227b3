//! How the services of a hosted control plane are published.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::{Rule, Rules};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServicePublishingStrategyMapping {
    pub service: ServiceType,
    pub service_publishing_strategy: ServicePublishingStrategy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ServiceType {
    #[serde(rename = "APIServer")]
    ApiServer,
    #[serde(rename = "OAuthServer")]
    OauthServer,
    #[serde(rename = "OIDC")]
    Oidc,
    Konnectivity,
    Ignition,
    #[serde(rename = "OVNSbDb")]
    OvnSbDb,
}

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
    pub r#type: PublishingStrategyType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancerPublishing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_port: Option<NodePortPublishing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route: Option<RoutePublishing>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum PublishingStrategyType {
    LoadBalancer,
    NodePort,
    Route,
    None,
    S3,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancerPublishing {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.matches('^(?:[a-zA-Z0-9-]+\\.)+[a-zA-Z]{2,}$')",
            "hostname must be a valid domain name (e.g., example.com)",
        ),
    ]))]
    pub hostname: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodePortPublishing {
    #[schemars(length(min = 1, max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.matches('^(([a-zA-Z0-9][-a-zA-Z0-9]*\\.)+[a-zA-Z]{2,}|localhost)$') || self.matches('^((\\d{1,3}\\.){3}\\d{1,3})$') || self.matches('^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$')",
            "address must be a valid hostname, IPv4, or IPv6 address",
        ),
    ]))]
    pub address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RoutePublishing {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[schemars(transform = Rules([
        Rule::new(
            r"self.matches('^(?:[a-zA-Z0-9-]+\\.)+[a-zA-Z]{2,}$')",
            "hostname must be a valid domain name (e.g., example.com)",
        ),
    ]))]
    pub hostname: Option<String>,
}
