//! Configuration of the integrated OAuth server.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::configuration::identity_provider::IdentityProvider;
use crate::hypershift::reference::SecretNameReference;
use crate::rules::{Rule, Rules};

/// Configuration of the integrated OAuth server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "!has(self.tokenConfig) || !has(self.tokenConfig.accessTokenInactivityTimeout) \
         || duration(self.tokenConfig.accessTokenInactivityTimeout).getSeconds() >= 300",
        "spec.configuration.oauth.tokenConfig.accessTokenInactivityTimeout minimum acceptable token timeout value is 300 seconds",
    ),
]))]
pub struct OauthConfiguration {
    /// Who users log in with, in the order in which they are offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub identity_providers: Vec<IdentityProvider>,
    /// How long tokens live.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_config: Option<TokenConfiguration>,
    /// Pages in place of the built-in ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub templates: Option<OauthTemplates>,
}

/// Pages in place of the built-in ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OauthTemplates {
    /// The Secret with the login page, in its key `login.html`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<SecretNameReference>,
    /// The Secret with the page to choose a provider, in its key `providers.html`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_selection: Option<SecretNameReference>,
    /// The Secret with the page for errors, in its key `errors.html`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<SecretNameReference>,
}

/// How long tokens live.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenConfiguration {
    /// How many seconds a token lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_token_max_age_seconds: Option<i32>,
    /// How long a token lives without being used; at least five minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_token_inactivity_timeout: Option<String>,
    /// The same in seconds; no longer used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_token_inactivity_timeout_seconds: Option<i32>,
}
