//! Configuration of image registries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::ConfigMapNameReference;
use crate::rules::{ItemRules, Rule, Rules};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageConfiguration {
    #[serde(rename = "additionalTrustedCA", skip_serializing_if = "Option::is_none")]
    pub additional_trusted_ca: Option<ConfigMapNameReference>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub allowed_registries_for_import: Vec<RegistryLocation>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub external_registry_hostnames: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_sources: Option<RegistrySources>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryLocation {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "has(self.blockedRegistries) ? !has(self.allowedRegistries) : true",
        "Only one of blockedRegistries or allowedRegistries may be set",
    ),
]))]
pub struct RegistrySources {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), inner(length(min = 1, max = 256)), extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(transform = ItemRules([
        Rule::new(
            r"self.matches('^\\*(?:\\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+$|^((?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:(?:\\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+)?(?::[0-9]+)?)(?:(?:/[a-z0-9]+(?:(?:(?:[._]|__|[-]*)[a-z0-9]+)+)?)+)?$')",
            "each registry must be a valid hostname[:port][/path] or wildcard *.hostname format without tags or digests",
        ),
    ]))]
    pub allowed_registries: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), inner(length(min = 1, max = 256)), extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(transform = ItemRules([
        Rule::new(
            r"self.matches('^\\*(?:\\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+$|^((?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:(?:\\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+)?(?::[0-9]+)?)(?:(?:/[a-z0-9]+(?:(?:(?:[._]|__|[-]*)[a-z0-9]+)+)?)+)?$')",
            "each registry must be a valid hostname[:port][/path] or wildcard *.hostname format without tags or digests",
        ),
    ]))]
    pub blocked_registries: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1), extend("format" = "hostname"), extend("x-kubernetes-list-type" = "set"))]
    pub container_runtime_search_registries: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), inner(length(min = 1, max = 256)), extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(transform = ItemRules([
        Rule::new(
            r"self.matches('^\\*(?:\\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+$|^((?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:(?:\\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+)?(?::[0-9]+)?)(?:(?:/[a-z0-9]+(?:(?:(?:[._]|__|[-]*)[a-z0-9]+)+)?)+)?$')",
            "each registry must be a valid hostname[:port][/path] or wildcard *.hostname format without tags or digests",
        ),
    ]))]
    pub insecure_registries: Vec<String>,
}
