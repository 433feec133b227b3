//! The configuration objects of OpenShift that a hosted cluster takes over from its `HostedCluster`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::configuration::api_server::ApiServerConfiguration;
use crate::hypershift::configuration::authentication::{AuthenticationConfiguration, AuthenticationStatus};
use crate::hypershift::configuration::feature_gate::FeatureGateConfiguration;
use crate::hypershift::configuration::image::ImageConfiguration;
use crate::hypershift::configuration::ingress::IngressConfiguration;
use crate::hypershift::configuration::network::NetworkConfiguration;
use crate::hypershift::configuration::oauth::OauthConfiguration;
use crate::hypershift::configuration::operator_hub::OperatorHubConfiguration;
use crate::hypershift::configuration::proxy::ProxyConfiguration;
use crate::hypershift::configuration::scheduler::SchedulerConfiguration;

pub mod api_server;
pub mod authentication;
pub mod feature_gate;
pub mod identity_provider;
pub mod image;
pub mod ingress;
pub mod network;
pub mod oauth;
pub mod oidc;
pub mod operator_hub;
pub mod proxy;
pub mod scheduler;

/// Configuration objects of OpenShift, by kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterConfiguration {
    /// Of the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_server: Option<ApiServerConfiguration>,
    /// Of authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationConfiguration>,
    /// Of feature gates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature_gate: Option<FeatureGateConfiguration>,
    /// Of image registries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageConfiguration>,
    /// Of ingress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress: Option<IngressConfiguration>,
    /// Of the cluster network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkConfiguration>,
    /// Of the integrated OAuth server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth: Option<OauthConfiguration>,
    /// Of the default operator catalogs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operatorhub: Option<OperatorHubConfiguration>,
    /// Of the cluster-wide proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxyConfiguration>,
    /// Of the scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<SchedulerConfiguration>,
}

/// What is observed of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationStatus {
    /// Of authentication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationStatus>,
}
