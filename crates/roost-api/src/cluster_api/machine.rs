//! `Machine`: what becomes a node.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::address::MachineAddress;
use super::condition::Condition;
use crate::open_string::open_string;
use crate::variation::absent_is_default;

/// What the machine is made of.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta1",
    kind = "Machine",
    namespaced,
    shortname = "ma",
    category = "cluster-api",
    status = "MachineStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "A machine that is, or becomes, a node of a cluster.",
    crates(kube_core = "::kube_core"),
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".spec.clusterName",
        "description": "The cluster that the machine belongs to."}"#,
    printcolumn = r#"{"name": "NodeName", "type": "string", "jsonPath": ".status.nodeRef.name",
        "description": "The node that the machine became."}"#,
    printcolumn = r#"{"name": "ProviderID", "type": "string", "jsonPath": ".spec.providerID",
        "description": "What the provider knows the machine by."}"#,
    printcolumn = r#"{"name": "Phase", "type": "string", "jsonPath": ".status.phase",
        "description": "How far the machine is."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
        "description": "How long the machine has existed."}"#,
    printcolumn = r#"{"name": "Version", "type": "string", "jsonPath": ".spec.version",
        "description": "The version of Kubernetes."}"#
)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct MachineSpec {
    /// What the machine boots with.
    pub bootstrap: Bootstrap,
    /// The cluster that the machine belongs to.
    #[schemars(length(min = 1))]
    pub cluster_name: String,
    /// The part of the infrastructure that the machine is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// The object that stands for the host.
    pub infrastructure_ref: ObjectReference,
    /// How long to wait for the node to go after its host went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_deletion_timeout: Option<String>,
    /// How long the node may be drained. Without it, as long as it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_drain_timeout: Option<String>,
    /// How long to wait for volumes to be detached. Without it, as long as it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_volume_detach_timeout: Option<String>,
    /// What the provider knows the machine by; the node says the same.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// The version of Kubernetes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What is not used here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

absent_is_default!(MachineSpec);

/// What a machine boots with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Bootstrap {
    /// The object that makes the secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_ref: Option<ObjectReference>,
    /// The secret with what the machine boots with. The machine waits until it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_secret_name: Option<String>,
}

/// A machine to make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineTemplate {
    /// Labels and annotations of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// What the machine is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<MachineSpec>,
}

/// Labels and annotations of what is made from a template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TemplateMetadata {
    /// The annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// An object of any kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ObjectReference {
    /// The group and version of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// The part of the object that is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_path: Option<String>,
    /// The kind of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The name of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The namespace that the object is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The version of the object that is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    /// The object's identity; a later one of the same name has another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// How far the machine is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineStatus {
    /// The names and addresses of the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// Whether the secret that the machine boots with is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap_ready: Option<bool>,
    /// The aspects of the machine's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// What went wrong for good, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// What went wrong for good, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Whether the host is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub infrastructure_ready: Option<bool>,
    /// When the phase changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<Time>,
    /// The node that the machine became.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_ref: Option<ObjectReference>,
    /// The generation of the spec that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How far the machine is, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<MachinePhase>,
    /// What is not used here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

open_string! {
    /// How far a machine is.
    pub enum MachinePhase {
        /// Nothing happened yet.
        Pending = "Pending",
        /// Its host is being made.
        Provisioning = "Provisioning",
        /// Its host is there.
        Provisioned = "Provisioned",
        /// It is a node.
        Running = "Running",
        /// It goes.
        Deleting = "Deleting",
        /// It went.
        Deleted = "Deleted",
        /// Somebody must act.
        Failed = "Failed",
        /// Nobody can say.
        Unknown = "Unknown",
    }
}
