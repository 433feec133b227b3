//! Configuration of image registries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hypershift::reference::ConfigMapNameReference;
use crate::rules::{ItemRules, Rule, Rules};

/// Configuration of image registries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageConfiguration {
    /// Registries that users may import images from; all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub allowed_registries_for_import: Vec<RegistryLocation>,
    /// Names by which the cluster's own registry is reached from outside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub external_registry_hostnames: Vec<String>,
    /// The `ConfigMap` with certificate authorities of registries, by their names.
    #[serde(rename = "additionalTrustedCA", skip_serializing_if = "Option::is_none")]
    pub additional_trusted_ca: Option<ConfigMapNameReference>,
    /// How nodes and builds treat registries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registry_sources: Option<RegistrySources>,
}

/// A registry that images may be imported from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryLocation {
    /// The registry's host name, with a port if it has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain_name: Option<String>,
    /// Whether it is reached over plain HTTP too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
}

/// How nodes and builds treat registries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = Rules([
    Rule::new(
        "has(self.blockedRegistries) ? !has(self.allowedRegistries) : true",
        "Only one of blockedRegistries or allowedRegistries may be set",
    ),
]))]
pub struct RegistrySources {
    /// Registries without valid certificates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), inner(length(min = 1, max = 256)), extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(transform = ItemRules([REGISTRY_RULE]))]
    pub insecure_registries: Vec<String>,
    /// Registries that nothing is pulled from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), inner(length(min = 1, max = 256)), extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(transform = ItemRules([REGISTRY_RULE]))]
    pub blocked_registries: Vec<String>,
    /// The only registries that anything is pulled from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), inner(length(min = 1, max = 256)), extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(transform = ItemRules([REGISTRY_RULE]))]
    pub allowed_registries: Vec<String>,
    /// Registries to look in for images that name none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1), extend("format" = "hostname"), extend("x-kubernetes-list-type" = "set"))]
    pub container_runtime_search_registries: Vec<String>,
}

/// The form of a registry: a host, a port, a path, or a wildcard for hosts.
const REGISTRY_RULE: Rule = Rule::new(
    r"self.matches('^\\*(?:\\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+$|^((?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:(?:\\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))+)?(?::[0-9]+)?)(?:(?:/[a-z0-9]+(?:(?:(?:[._]|__|[-]*)[a-z0-9]+)+)?)+)?$')",
    "each registry must be a valid hostname[:port][/path] or wildcard *.hostname format without tags or digests",
);
