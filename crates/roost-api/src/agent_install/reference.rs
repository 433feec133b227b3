//! References from these kinds to other objects.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A cluster in any namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterReference {
    /// The name of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The namespace that the cluster is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// An object in any namespace, named in full.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamespacedReference {
    /// The name of the object.
    pub name: String,
    /// The namespace that the object is in.
    pub namespace: String,
}

/// An object in the same namespace, or in the service's own namespace when the referrer has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = json!("atomic")))]
pub struct LocalReference {
    /// The name of the object.
    #[serde(default)]
    pub name: String,
}
