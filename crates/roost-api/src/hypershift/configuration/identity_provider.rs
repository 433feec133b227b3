//! The identity providers of the integrated OAuth server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::{ConfigMapNameReference, SecretNameReference};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityProvider {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<BasicAuthIdentityProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub github: Option<GithubIdentityProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitlab: Option<GitlabIdentityProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub google: Option<GoogleIdentityProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub htpasswd: Option<HtpasswdIdentityProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keystone: Option<KeystoneIdentityProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ldap: Option<LdapIdentityProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapping_method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(rename = "openID", skip_serializing_if = "Option::is_none")]
    pub open_id: Option<OpenIdIdentityProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_header: Option<RequestHeaderIdentityProvider>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BasicAuthIdentityProvider {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_cert: Option<SecretNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_key: Option<SecretNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GithubIdentityProvider {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub organizations: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitlabIdentityProvider {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GoogleIdentityProvider {
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosted_domain: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HtpasswdIdentityProvider {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_data: Option<SecretNameReference>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeystoneIdentityProvider {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_cert: Option<SecretNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_key: Option<SecretNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LdapIdentityProvider {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributes: Option<LdapAttributeMapping>,
    #[serde(rename = "bindDN", skip_serializing_if = "Option::is_none")]
    pub bind_dn: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind_password: Option<SecretNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LdapAttributeMapping {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub email: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub id: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub name: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preferred_username: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenIdIdentityProvider {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<OpenIdClaims>,
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretNameReference>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_authorize_parameters: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_scopes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenIdClaims {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub email: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)), extend("x-kubernetes-list-type" = "atomic"))]
    pub groups: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub name: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub preferred_username: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestHeaderIdentityProvider {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
    #[serde(rename = "challengeURL", skip_serializing_if = "Option::is_none")]
    pub challenge_url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_common_names: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub email_headers: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    #[serde(rename = "loginURL", skip_serializing_if = "Option::is_none")]
    pub login_url: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub name_headers: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preferred_username_headers: Vec<String>,
}
