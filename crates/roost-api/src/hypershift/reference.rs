//! How objects name Secrets and `ConfigMaps`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An object of the same namespace, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct LocalObjectReference {
    /// The name of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(extend("default" = ""))]
    pub name: String,
}

/// A `ConfigMap`, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapNameReference {
    /// The name of the `ConfigMap`.
    pub name: String,
}

/// A Secret, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretNameReference {
    /// The name of the Secret.
    pub name: String,
}

/// A kubeconfig in a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubeconfigSecretReference {
    /// The name of the Secret.
    #[schemars(length(max = 255))]
    pub name: String,
    /// The key that holds the kubeconfig.
    #[schemars(length(max = 255))]
    pub key: String,
}
