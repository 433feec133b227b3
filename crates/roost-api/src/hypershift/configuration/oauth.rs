//! Configuration of the integrated OAuth server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::configuration::identity_provider::IdentityProvider;
use crate::hypershift::reference::SecretNameReference;
use crate::rules::{Rule, Rules};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "!has(self.tokenConfig) || !has(self.tokenConfig.accessTokenInactivityTimeout) || duration(self.tokenConfig.accessTokenInactivityTimeout).getSeconds() >= 300",
        "spec.configuration.oauth.tokenConfig.accessTokenInactivityTimeout minimum acceptable token timeout value is 300 seconds",
    ),
]))]
pub struct OauthConfiguration {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub identity_providers: Vec<IdentityProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub templates: Option<OauthTemplates>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_config: Option<TokenConfiguration>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OauthTemplates {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<SecretNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<SecretNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_selection: Option<SecretNameReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenConfiguration {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_token_inactivity_timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_token_inactivity_timeout_seconds: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_token_max_age_seconds: Option<i32>,
}
