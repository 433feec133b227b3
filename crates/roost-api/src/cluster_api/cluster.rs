//! `Cluster`: what belongs together.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::condition::Condition;
use super::machine::ObjectReference;
use crate::open_string::open_string;
use crate::variation::absent_is_default;

/// What the cluster consists of.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta1",
    kind = "Cluster",
    namespaced,
    shortname = "cl",
    category = "cluster-api",
    status = "ClusterStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "A cluster: its control plane and the infrastructure that its machines are on.",
    crates(kube_core = "::kube_core"),
    printcolumn = r#"{"name": "ClusterClass", "type": "string", "jsonPath": ".spec.topology.class",
        "description": "The class that the cluster was made from."}"#,
    printcolumn = r#"{"name": "Phase", "type": "string", "jsonPath": ".status.phase",
        "description": "How far the cluster is."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
        "description": "How long the cluster has existed."}"#,
    printcolumn = r#"{"name": "Version", "type": "string", "jsonPath": ".spec.topology.version",
        "description": "The version of Kubernetes."}"#
)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct ClusterSpec {
    /// The networks within the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_network: Option<ClusterNetwork>,
    /// Where the API is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ApiEndpoint>,
    /// The object that stands for the control plane.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_ref: Option<ObjectReference>,
    /// The object that stands for the infrastructure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_ref: Option<ObjectReference>,
    /// Nobody acts on the cluster or what belongs to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// What is not used here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

absent_is_default!(ClusterSpec);

/// The networks within a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterNetwork {
    /// The port of the API server on its machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_server_port: Option<i32>,
    /// The addresses of pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<NetworkRanges>,
    /// What the names of services end with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_domain: Option<String>,
    /// The addresses of services.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<NetworkRanges>,
}

/// Ranges of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRanges {
    /// The ranges, each as an address and the length of its prefix.
    pub cidr_blocks: Vec<String>,
}

/// Where a cluster's API is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApiEndpoint {
    /// The name or address of the API server.
    pub host: String,
    /// The port of the API server.
    pub port: i32,
}

/// How far the cluster is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterStatus {
    /// The aspects of the cluster's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Whether the control plane can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_ready: Option<bool>,
    /// Whether the infrastructure can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_ready: Option<bool>,
    /// The generation of the spec that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How far the cluster is, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<ClusterPhase>,
    /// What is not used here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

open_string! {
    /// How far a cluster is.
    pub enum ClusterPhase {
        /// Nothing happened yet.
        Pending = "Pending",
        /// The infrastructure is being made.
        Provisioning = "Provisioning",
        /// The infrastructure is there.
        Provisioned = "Provisioned",
        /// It goes.
        Deleting = "Deleting",
        /// Somebody must act.
        Failed = "Failed",
        /// Nobody can say.
        Unknown = "Unknown",
    }
}
