//! Configuration of authentication, and what is observed of it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::configuration::oidc::OidcProvider;
use crate::hypershift::reference::{ConfigMapNameReference, SecretNameReference};
use crate::rules::conditions;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationConfiguration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth_metadata: Option<ConfigMapNameReference>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 1),
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["name"]),
    )]
    pub oidc_providers: Vec<OidcProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_account_issuer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<AuthenticationType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_token_authenticator: Option<WebhookTokenAuthenticator>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub webhook_token_authenticators: Vec<DeprecatedWebhookTokenAuthenticator>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum AuthenticationType {
    #[serde(rename = "")]
    Unset,
    None,
    #[serde(rename = "IntegratedOAuth")]
    IntegratedOauth,
    #[serde(rename = "OIDC")]
    Oidc,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookTokenAuthenticator {
    pub kube_config: SecretNameReference,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeprecatedWebhookTokenAuthenticator {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_config: Option<SecretNameReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationStatus {
    #[serde(rename = "integratedOAuthMetadata", skip_serializing_if = "Option::is_none")]
    pub integrated_oauth_metadata: Option<ConfigMapNameReference>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 20),
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["componentNamespace", "componentName"]),
    )]
    pub oidc_clients: Vec<OidcClientStatus>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcClientStatus {
    #[schemars(length(min = 1, max = 256))]
    pub component_name: String,
    #[schemars(length(min = 1, max = 63))]
    pub component_namespace: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = conditions)]
    pub conditions: Vec<Condition>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 5),
        inner(length(min = 1, max = 512), regex(pattern = r"^system:serviceaccount:[a-z0-9]([-a-z0-9]*[a-z0-9])?:[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")),
        extend("x-kubernetes-list-type" = "set"),
    )]
    pub consuming_users: Vec<String>,
    #[serde(rename = "currentOIDCClients", default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["issuerURL", "clientID"]),
    )]
    pub current_oidc_clients: Vec<OidcClientReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcClientReference {
    #[serde(rename = "clientID")]
    #[schemars(length(min = 1))]
    pub client_id: String,
    #[serde(rename = "issuerURL")]
    #[schemars(regex(pattern = r"^https:\/\/[^\s]"))]
    pub issuer_url: String,
    #[schemars(length(min = 1))]
    pub oidc_provider_name: String,
}
