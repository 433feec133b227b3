//! The identity providers of the integrated OAuth server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::{ConfigMapNameReference, SecretNameReference};

/// Who users log in with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IdentityProvider {
    /// A name for the provider, which becomes part of identities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How identities become users: claim, lookup, generate or add.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mapping_method: Option<String>,
    /// The kind of provider: `BasicAuth`, GitHub, GitLab, Google, `HTPasswd`, Keystone, LDAP, OpenID or
    /// `RequestHeader`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// Settings of a server that checks names and passwords.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<BasicAuthIdentityProvider>,
    /// Settings of GitHub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub github: Option<GithubIdentityProvider>,
    /// Settings of GitLab.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gitlab: Option<GitlabIdentityProvider>,
    /// Settings of Google.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub google: Option<GoogleIdentityProvider>,
    /// Settings of a file of names and passwords.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub htpasswd: Option<HtpasswdIdentityProvider>,
    /// Settings of Keystone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keystone: Option<KeystoneIdentityProvider>,
    /// Settings of an LDAP directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ldap: Option<LdapIdentityProvider>,
    /// Settings of an OpenID provider.
    #[serde(rename = "openID", skip_serializing_if = "Option::is_none")]
    pub open_id: Option<OpenIdIdentityProvider>,
    /// Settings of a proxy that logs users in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_header: Option<RequestHeaderIdentityProvider>,
}

/// A server that checks names and passwords.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BasicAuthIdentityProvider {
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The `ConfigMap` with the server's certificate authorities, in its key `ca.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
    /// The Secret with the certificate to show to the server, in its key `tls.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_cert: Option<SecretNameReference>,
    /// The Secret with the key of that certificate, in its key `tls.key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_key: Option<SecretNameReference>,
}

/// GitHub.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GithubIdentityProvider {
    /// Our id at GitHub.
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The Secret with our password at GitHub, in its key `clientSecret`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretNameReference>,
    /// Only members of these organizations may log in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub organizations: Vec<String>,
    /// Only members of these teams may log in, each as organization and team with a slash between.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teams: Vec<String>,
    /// The host of GitHub Enterprise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// The `ConfigMap` with the host's certificate authorities, in its key `ca.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
}

/// GitLab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitlabIdentityProvider {
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Our id at GitLab.
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The Secret with our password at GitLab, in its key `clientSecret`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretNameReference>,
    /// The `ConfigMap` with the server's certificate authorities, in its key `ca.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
}

/// Google.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GoogleIdentityProvider {
    /// Our id at Google.
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The Secret with our password at Google, in its key `clientSecret`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretNameReference>,
    /// Only users of this domain may log in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosted_domain: Option<String>,
}

/// A file of names and passwords.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HtpasswdIdentityProvider {
    /// The Secret with the file, in its key `htpasswd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_data: Option<SecretNameReference>,
}

/// Keystone of `OpenStack`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeystoneIdentityProvider {
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The domain that users are in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain_name: Option<String>,
    /// The `ConfigMap` with the server's certificate authorities, in its key `ca.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
    /// The Secret with the certificate to show to the server, in its key `tls.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_cert: Option<SecretNameReference>,
    /// The Secret with the key of that certificate, in its key `tls.key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_client_key: Option<SecretNameReference>,
}

/// An LDAP directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LdapIdentityProvider {
    /// The directory, with what to search for, as in RFC 2255.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The name to search the directory as.
    #[serde(rename = "bindDN", skip_serializing_if = "Option::is_none")]
    pub bind_dn: Option<String>,
    /// The Secret with the password of that name, in its key `bindPassword`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bind_password: Option<SecretNameReference>,
    /// Whether the connection is not encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
    /// The `ConfigMap` with the directory's certificate authorities, in its key `ca.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
    /// What attributes of an entry say about its user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributes: Option<LdapAttributeMapping>,
}

/// What attributes of an entry say about its user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LdapAttributeMapping {
    /// Attributes with the identity; the first that is there counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub id: Vec<String>,
    /// Attributes with the user's name; the first that is there counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preferred_username: Vec<String>,
    /// Attributes with the name to show; the first that is there counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub name: Vec<String>,
    /// Attributes with the email address; the first that is there counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub email: Vec<String>,
}

/// An OpenID provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenIdIdentityProvider {
    /// The provider, with https.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// Our id at the provider.
    #[serde(rename = "clientID", skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The Secret with our password at the provider, in its key `clientSecret`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretNameReference>,
    /// The `ConfigMap` with the provider's certificate authorities, in its key `ca.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
    /// Further scopes to ask for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_scopes: Vec<String>,
    /// Further parameters of the request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_authorize_parameters: BTreeMap<String, String>,
    /// What claims say about a user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claims: Option<OpenIdClaims>,
}

/// What claims say about a user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenIdClaims {
    /// Claims with the user's name; the first that is there counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub preferred_username: Vec<String>,
    /// Claims with the name to show; the first that is there counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub name: Vec<String>,
    /// Claims with the email address; the first that is there counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub email: Vec<String>,
    /// Claims with the user's groups; the first that is there counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)), extend("x-kubernetes-list-type" = "atomic"))]
    pub groups: Vec<String>,
}

/// A proxy that logs users in and says in headers who they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestHeaderIdentityProvider {
    /// Where browsers are sent to log in.
    #[serde(rename = "loginURL", skip_serializing_if = "Option::is_none")]
    pub login_url: Option<String>,
    /// Where programs are sent to log in.
    #[serde(rename = "challengeURL", skip_serializing_if = "Option::is_none")]
    pub challenge_url: Option<String>,
    /// The `ConfigMap` with the proxy's certificate authorities, in its key `ca.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<ConfigMapNameReference>,
    /// The common names that the proxy's certificate may have; any when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_common_names: Vec<String>,
    /// Headers with the identity; the first that is there counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// Headers with the user's name; the first that is there counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preferred_username_headers: Vec<String>,
    /// Headers with the name to show; the first that is there counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub name_headers: Vec<String>,
    /// Headers with the email address; the first that is there counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub email_headers: Vec<String>,
}
