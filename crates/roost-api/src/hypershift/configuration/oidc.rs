//! External OIDC providers: issuers, claims and clients.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::{ConfigMapNameReference, SecretNameReference};
use crate::rules::{Rule, Rules};

/// An OIDC provider that users log in with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcProvider {
    /// A name for the provider.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Who issues tokens, and for whom.
    pub issuer: TokenIssuer,
    /// How components log users in with the provider.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 20),
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["componentNamespace", "componentName"]),
    )]
    pub oidc_clients: Vec<OidcClientConfiguration>,
    /// What a token's claims say about its user.
    pub claim_mappings: TokenClaimMappings,
    /// What a token's claims must be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub claim_validation_rules: Vec<TokenClaimValidationRule>,
    /// What must hold of a user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 64),
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["expression"]),
    )]
    pub user_validation_rules: Vec<TokenUserValidationRule>,
}

/// What a token's claims say about its user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenClaimMappings {
    /// Which claim is the user's name.
    pub username: UsernameClaimMapping,
    /// Which claim is the user's groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupsClaimMapping>,
    /// Which claim is the user's UID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<UidClaimMapping>,
    /// Further attributes of the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 32),
        extend("x-kubernetes-list-type" = "map"),
        extend("x-kubernetes-list-map-keys" = ["key"]),
    )]
    pub extra: Vec<ExtraMapping>,
}

/// A further attribute of a user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtraMapping {
    /// The attribute, with a domain before it.
    #[schemars(length(min = 1, max = 510))]
    #[schemars(transform = Rules([
        Rule::new("self.contains('/')", "key must contain the '/' character"),
        Rule::new(
            r#"self.split('/', 2)[0].matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")"#,
            "the domain of the key must consist of only lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        ),
        Rule::new(
            "self.split('/', 2)[0].size() <= 253",
            "the domain of the key must not exceed 253 characters in length",
        ),
        Rule::new(
            "self.split('/', 2)[0] != 'kubernetes.io'",
            "the domain 'kubernetes.io' is reserved for Kubernetes use",
        ),
        Rule::new(
            "!self.split('/', 2)[0].endsWith('.kubernetes.io')",
            "the subdomains '*.kubernetes.io' are reserved for Kubernetes use",
        ),
        Rule::new("self.split('/', 2)[0] != 'k8s.io'", "the domain 'k8s.io' is reserved for Kubernetes use"),
        Rule::new(
            "!self.split('/', 2)[0].endsWith('.k8s.io')",
            "the subdomains '*.k8s.io' are reserved for Kubernetes use",
        ),
        Rule::new("self.split('/', 2)[0] != 'openshift.io'", "the domain 'openshift.io' is reserved for OpenShift use"),
        Rule::new(
            "!self.split('/', 2)[0].endsWith('.openshift.io')",
            "the subdomains '*.openshift.io' are reserved for OpenShift use",
        ),
        Rule::new(
            r"self.split('/', 2)[1].matches('[A-Za-z0-9/\\-._~%!$&\'()*+;=:]+')",
            "the path of the key must not be empty and must consist of at least one alphanumeric character, percent-encoded octets, apostrophe, '-', '.', '_', '~', '!', '$', '&', '(', ')', '*', '+', ',', ';', '=', and ':'",
        ),
        Rule::new(
            "self.split('/', 2)[1].size() <= 256",
            "the path of the key must not exceed 256 characters in length",
        ),
    ]))]
    pub key: String,
    /// A CEL expression over the claims that gives the value.
    #[schemars(length(min = 1, max = 1024))]
    pub value_expression: String,
}

/// Which claim is a user's groups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "has(self.expression) && size(self.expression) > 0 ? (!has(self.prefix) || size(self.prefix) == 0) : true",
        "prefix must not be set to a non-empty value when expression is set",
    ),
    Rule::new(
        r#"(size(self.?claim.orValue("")) > 0) ? !has(self.expression) : true"#,
        "expression must not be set if claim is specified and is not an empty string",
    ),
]))]
pub struct GroupsClaimMapping {
    /// The claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub claim: Option<String>,
    /// A CEL expression over the claims, instead of a claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub expression: Option<String>,
    /// What is put before each group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
}

/// Which claim is a user's UID.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "has(self.claim) ? !has(self.expression) : has(self.expression)",
        "precisely one of claim or expression must be set",
    ),
]))]
pub struct UidClaimMapping {
    /// The claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub claim: Option<String>,
    /// A CEL expression over the claims, instead of a claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub expression: Option<String>,
}

/// Which claim is a user's name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "has(self.claim) ? !has(self.expression) : has(self.expression)",
        "precisely one of claim or expression must be set",
    ),
    Rule::new(
        "has(self.expression) && size(self.expression) > 0 ? !has(self.prefixPolicy) \
         || self.prefixPolicy != 'Prefix' : true",
        "prefixPolicy must not be set to 'Prefix' when expression is set",
    ),
    Rule::new(
        "has(self.prefixPolicy) && self.prefixPolicy == 'Prefix' ? (has(self.prefix) \
         && size(self.prefix.prefixString) > 0) : !has(self.prefix)",
        "prefix must be set if prefixPolicy is 'Prefix', but must remain unset otherwise",
    ),
]))]
pub struct UsernameClaimMapping {
    /// The claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub claim: Option<String>,
    /// A CEL expression over the claims, instead of a claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub expression: Option<String>,
    /// Whether something is put before the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_policy: Option<UsernamePrefixPolicy>,
    /// What is put before the name. Needed if the policy is Prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<UsernamePrefix>,
}

/// What is put before users' names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsernamePrefix {
    /// The prefix.
    #[schemars(length(min = 1))]
    pub prefix_string: String,
}

/// Whether something is put before users' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum UsernamePrefixPolicy {
    /// Not chosen: the issuer, unless the claim is the email address.
    #[serde(rename = "")]
    Unset,
    /// Nothing.
    NoPrefix,
    /// What `prefix` says.
    Prefix,
}

/// What a token's claims must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "has(self.type) && self.type == 'CEL' ? has(self.cel) : !has(self.cel)",
        "cel must be set when type is 'CEL', and forbidden otherwise",
    ),
    Rule::new(
        "has(self.type) && self.type == 'RequiredClaim' ? has(self.requiredClaim) : !has(self.requiredClaim)",
        "requiredClaim must be set when type is 'RequiredClaim', and forbidden otherwise",
    ),
]))]
pub struct TokenClaimValidationRule {
    /// The kind of rule.
    pub r#type: TokenClaimValidationRuleType,
    /// A claim with its value. Needed if the type is `RequiredClaim`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_claim: Option<TokenRequiredClaim>,
    /// A CEL expression. Needed if the type is CEL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cel: Option<TokenClaimValidationCelRule>,
}

/// A kind of rule about claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TokenClaimValidationRuleType {
    /// A claim must have a value.
    RequiredClaim,
    /// An expression must hold.
    #[serde(rename = "CEL")]
    Cel,
}

/// An expression over claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenClaimValidationCelRule {
    /// The CEL expression that must be true.
    #[schemars(length(min = 1, max = 1024))]
    pub expression: String,
    /// What the user reads when it is not.
    #[schemars(length(min = 1, max = 256))]
    pub message: String,
}

/// A claim that must have a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenRequiredClaim {
    /// The claim.
    #[schemars(length(min = 1))]
    pub claim: String,
    /// The value.
    #[schemars(length(min = 1))]
    pub required_value: String,
}

/// Who issues tokens, and for whom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "self.?discoveryURL.orValue(\"\").size() > 0 ? (self.issuerURL.size() == 0 \
         || self.discoveryURL.find('^.+[^/]') != self.issuerURL.find('^.+[^/]')) : true",
        "discoveryURL must be different from issuerURL",
    ),
]))]
pub struct TokenIssuer {
    /// The issuer, as tokens name it.
    #[serde(rename = "issuerURL")]
    #[schemars(length(min = 1, max = 512))]
    #[schemars(transform = Rules([
        Rule::new("isURL(self)", "must be a valid URL"),
        Rule::new("isURL(self) && url(self).getScheme() == 'https'", "must use the 'https' scheme"),
        Rule::new("isURL(self) && url(self).getQuery() == {}", "must not have a query"),
        Rule::new("self.find('#(.+)$') == ''", "must not have a fragment"),
        Rule::new("self.find('@') == ''", "must not have user info"),
    ]))]
    pub issuer_url: String,
    /// For whom tokens may be; one of these must be in the token.
    #[schemars(length(min = 1, max = 10), inner(length(min = 1)), extend("x-kubernetes-list-type" = "set"))]
    pub audiences: Vec<String>,
    /// The `ConfigMap` with the certificate authorities of the issuer, in its key `ca-bundle.crt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer_certificate_authority: Option<ConfigMapNameReference>,
    /// Where the issuer's configuration is fetched, if not under its own URL.
    #[serde(rename = "discoveryURL", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    #[schemars(transform = Rules([
        Rule::new("isURL(self)", "discoveryURL must be a valid URL"),
        Rule::new("url(self).getScheme() == 'https'", "discoveryURL must be a valid https URL"),
        Rule::new("url(self).getQuery().size() == 0", "discoveryURL must not contain query parameters"),
        Rule::new("self.matches('^[^#]*$')", "discoveryURL must not contain fragments"),
        Rule::new("!self.matches('^https://.+:.+@.+/.*$')", "discoveryURL must not contain user info"),
    ]))]
    pub discovery_url: Option<String>,
}

/// How a component logs users in with an OIDC provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OidcClientConfiguration {
    /// The component.
    #[schemars(length(min = 1, max = 256))]
    pub component_name: String,
    /// The component's namespace.
    #[schemars(length(min = 1, max = 63))]
    pub component_namespace: String,
    /// The component's id at the provider.
    #[serde(rename = "clientID")]
    #[schemars(length(min = 1))]
    pub client_id: String,
    /// The Secret with the component's password at the provider, in its key `clientSecret`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<SecretNameReference>,
    /// Further scopes to ask for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub extra_scopes: Vec<String>,
}

/// What must hold of a user.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenUserValidationRule {
    /// The CEL expression over the user that must be true.
    #[schemars(length(min = 1, max = 1024))]
    pub expression: String,
    /// What the user reads when it is not.
    #[schemars(length(min = 1, max = 256))]
    pub message: String,
}
