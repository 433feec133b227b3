//! Configuration of authentication, and what is observed of it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::configuration::oidc::OidcProvider;
use crate::hypershift::reference::{ConfigMapNameReference, SecretNameReference};
use crate::rules::conditions;

/// Configuration of authentication.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationConfiguration {
    /// Who users log in with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<AuthenticationType>,
    /// The `ConfigMap` with metadata of another OAuth server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth_metadata: Option<ConfigMapNameReference>,
    /// A webhook that says whose a token is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_token_authenticator: Option<WebhookTokenAuthenticator>,
    /// Webhooks as they were once configured; no longer used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub webhook_token_authenticators: Vec<DeprecatedWebhookTokenAuthenticator>,
    /// The issuer of service account tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_issuer: Option<String>,
    /// OIDC providers that users log in with. Only if the type is OIDC.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 1),
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["name"]),
    )]
    pub oidc_providers: Vec<OidcProvider>,
}

/// Who users log in with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AuthenticationType {
    /// Not chosen: the integrated OAuth server.
    #[serde(rename = "")]
    Unset,
    /// Nobody: the user brings an authenticator.
    None,
    /// The integrated OAuth server.
    #[serde(rename = "IntegratedOAuth")]
    IntegratedOauth,
    /// An OIDC provider.
    #[serde(rename = "OIDC")]
    Oidc,
}

/// A webhook that says whose a token is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookTokenAuthenticator {
    /// The Secret with a kubeconfig for the webhook, in its key `kubeConfig`.
    pub kube_config: SecretNameReference,
}

/// A webhook as it was once configured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecatedWebhookTokenAuthenticator {
    /// The Secret with a kubeconfig for the webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<SecretNameReference>,
}

/// What is observed of authentication.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationStatus {
    /// The `ConfigMap` with the metadata of the integrated OAuth server.
    #[serde(rename = "integratedOAuthMetadata", skip_serializing_if = "Option::is_none")]
    pub integrated_oauth_metadata: Option<ConfigMapNameReference>,
    /// How components log users in with an OIDC provider.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 20),
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["componentNamespace", "componentName"]),
    )]
    pub oidc_clients: Vec<OidcClientStatus>,
}

/// How a component logs users in with an OIDC provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcClientStatus {
    /// The component.
    #[schemars(length(min = 1, max = 256))]
    pub component_name: String,
    /// The component's namespace.
    #[schemars(length(min = 1, max = 63))]
    pub component_namespace: String,
    /// The clients that the component is now.
    #[serde(rename = "currentOIDCClients", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["issuerURL", "clientID"]),
    )]
    pub current_oidc_clients: Vec<OidcClientReference>,
    /// The service accounts that may read the client's secret.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 5),
        inner(length(min = 1, max = 512), regex(pattern = r"^system:serviceaccount:[a-z0-9]([-a-z0-9]*[a-z0-9])?:[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")),
        extend("x-kubernetes-list-type" = "set"),
    )]
    pub consuming_users: Vec<String>,
    /// Whether the component's login works.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = conditions)]
    pub conditions: Vec<Condition>,
}

/// A client of an OIDC provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcClientReference {
    /// The provider.
    #[schemars(length(min = 1))]
    pub oidc_provider_name: String,
    /// The provider's issuer.
    #[serde(rename = "issuerURL")]
    #[schemars(regex(pattern = r"^https:\/\/[^\s]"))]
    pub issuer_url: String,
    /// The client's id.
    #[serde(rename = "clientID")]
    #[schemars(length(min = 1))]
    pub client_id: String,
}
