//! `ManagedCluster` of `cluster.open-cluster-management.io/v1`: a cluster that a hub knows.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube_derive::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::definition::definition;
use crate::rules::{QUANTITY_PATTERN, conditions};
use crate::variation::{absent_is_default, with_optional_spec};

/// The group of this kind.
pub const GROUP: &str = "cluster.open-cluster-management.io";

/// Types of conditions.
pub mod condition {
    /// The hub accepted the cluster.
    pub const HUB_ACCEPTED: &str = "HubAcceptedManagedCluster";
    /// The cluster joined.
    pub const JOINED: &str = "ManagedClusterJoined";
    /// The cluster's API answers.
    pub const AVAILABLE: &str = "ManagedClusterConditionAvailable";
}

/// Names of claims that every cluster makes.
pub mod claim {
    /// The cluster's identity.
    pub const ID: &str = "id.k8s.io";
    /// The version of Kubernetes.
    pub const KUBERNETES_VERSION: &str = "kubeversion.open-cluster-management.io";
    /// What the cluster runs on.
    pub const PLATFORM: &str = "platform.open-cluster-management.io";
    /// Who made the cluster.
    pub const PRODUCT: &str = "product.open-cluster-management.io";
}

/// Whether the hub accepts the cluster, and how it reaches it.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.open-cluster-management.io",
    version = "v1",
    kind = "ManagedCluster",
    status = "ManagedClusterStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "A cluster that a hub knows.",
    crates(kube_core = "::kube_core"),
    printcolumn = r#"{"name": "Hub Accepted", "type": "boolean", "jsonPath": ".spec.hubAcceptsClient"}"#,
    printcolumn = r#"{"name": "Managed Cluster URLs", "type": "string",
        "jsonPath": ".spec.managedClusterClientConfigs[*].url"}"#,
    printcolumn = r#"{"name": "Joined", "type": "string",
        "jsonPath": ".status.conditions[?(@.type==\"ManagedClusterJoined\")].status"}"#,
    printcolumn = r#"{"name": "Available", "type": "string",
        "jsonPath": ".status.conditions[?(@.type==\"ManagedClusterConditionAvailable\")].status"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct ManagedClusterSpec {
    /// Whether the hub accepts the cluster. Who sets it must be allowed to update `managedclusters/accept`.
    pub hub_accepts_client: bool,
    /// How often the cluster says that it lives, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 60))]
    pub lease_duration_seconds: Option<i32>,
    /// Where the cluster's API is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managed_cluster_client_configs: Vec<ClientConfig>,
    /// What keeps placements away from the cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<Taint>,
    /// What is not used here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

absent_is_default!(ManagedClusterSpec);

/// Where a cluster's API is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientConfig {
    /// Whom to trust there. Without it, those whom the system trusts.
    #[serde(rename = "caBundle", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "bytes")]
    pub ca_bundle: Option<ByteString>,
    /// The address.
    pub url: String,
}

/// What the cluster said about itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManagedClusterStatus {
    /// What pods could use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = quantities)]
    pub allocatable: BTreeMap<String, Quantity>,
    /// What there is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(transform = quantities)]
    pub capacity: BTreeMap<String, Quantity>,
    /// What the cluster says about itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cluster_claims: Vec<ClusterClaim>,
    /// The aspects of the cluster's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = conditions)]
    pub conditions: Vec<Condition>,
    /// The version of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<ManagedClusterVersion>,
    /// What is not used here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Something that a cluster says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterClaim {
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub name: Option<String>,
    /// What is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub value: Option<String>,
}

/// The version of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ManagedClusterVersion {
    /// The version of Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<String>,
}

/// Bytes are written in base64.
fn bytes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "byte"})
}

/// Gives the amounts of a map their form.
fn quantities(schema: &mut Schema) {
    if let Some(Value::Object(amount)) = schema.get_mut("additionalProperties") {
        amount.insert("pattern".to_owned(), json!(QUANTITY_PATTERN));
    }
}

/// The definition of this kind.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    vec![with_optional_spec(definition::<ManagedCluster>("A cluster that a hub knows.", &[]))]
}
