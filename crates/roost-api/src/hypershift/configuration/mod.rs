//! The configuration objects of OpenShift that a hosted cluster takes over from its `HostedCluster`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

pub use api_server::{
    ApiServerConfiguration, ApiServerEncryption, ApiServerEncryptionType, ApiServerServingCertificates, Audit,
    AuditCustomRule, AuditProfile, CustomTlsProfile, NamedCertificate, PredefinedTlsProfile, TlsProfileType,
    TlsSecurityProfile, TlsVersion,
};
pub use authentication::{
    AuthenticationConfiguration, AuthenticationStatus, AuthenticationType, DeprecatedWebhookTokenAuthenticator,
    OidcClientReference, OidcClientStatus, WebhookTokenAuthenticator,
};
pub use feature_gate::{CustomFeatureGates, FeatureGateConfiguration, FeatureSet};
pub use identity_provider::{
    BasicAuthIdentityProvider, GithubIdentityProvider, GitlabIdentityProvider, GoogleIdentityProvider,
    HtpasswdIdentityProvider, IdentityProvider, KeystoneIdentityProvider, LdapAttributeMapping, LdapIdentityProvider,
    OpenIdClaims, OpenIdIdentityProvider, RequestHeaderIdentityProvider,
};
pub use image::{ImageConfiguration, RegistryLocation, RegistrySources};
pub use ingress::{
    AwsIngress, AwsIngressType, ComponentRoute, IncludeSubDomainsPolicy, IngressConfiguration, IngressLoadBalancer,
    IngressPlatform, IngressPlatformType, MaxAgePolicy, PreloadPolicy, RequiredHstsPolicy,
};
pub use network::{
    ExternalIpConfiguration, ExternalIpPolicy, NetworkConfiguration, NetworkConfigurationEntry, NetworkDiagnostics,
    NetworkDiagnosticsMode, NetworkDiagnosticsPlacement,
};
pub use oauth::{OauthConfiguration, OauthTemplates, TokenConfiguration};
pub use oidc::{
    ExtraMapping, GroupsClaimMapping, OidcClientConfiguration, OidcProvider, TokenClaimMappings,
    TokenClaimValidationCelRule, TokenClaimValidationRule, TokenClaimValidationRuleType, TokenIssuer,
    TokenRequiredClaim, TokenUserValidationRule, UidClaimMapping, UsernameClaimMapping, UsernamePrefix,
    UsernamePrefixPolicy,
};
pub use operator_hub::{HubSource, OperatorHubConfiguration};
pub use proxy::ProxyConfiguration;
pub use scheduler::{DynamicResourceAllocation, ProfileCustomizations, SchedulerConfiguration, SchedulerProfile};

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
