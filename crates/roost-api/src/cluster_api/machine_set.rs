//! `MachineSet`: a number of machines that are alike.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::condition::Condition;
use super::machine::MachineTemplate;
use crate::rules::label_selector;
use crate::variation::absent_is_default;

/// How many machines there shall be, and what they are made from.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta1",
    kind = "MachineSet",
    namespaced,
    shortname = "ms",
    category = "cluster-api",
    status = "MachineSetStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "A number of machines that are alike.",
    crates(kube_core = "::kube_core"),
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn = r#"{"name": "Cluster", "type": "string", "jsonPath": ".spec.clusterName",
        "description": "The cluster that the machines belong to."}"#,
    printcolumn = r#"{"name": "Desired", "type": "integer", "priority": 10, "jsonPath": ".spec.replicas",
        "description": "How many machines there shall be."}"#,
    printcolumn = r#"{"name": "Replicas", "type": "integer", "jsonPath": ".status.replicas",
        "description": "How many machines there are."}"#,
    printcolumn = r#"{"name": "Ready", "type": "integer", "jsonPath": ".status.readyReplicas",
        "description": "How many of them are ready nodes."}"#,
    printcolumn = r#"{"name": "Available", "type": "integer", "jsonPath": ".status.availableReplicas",
        "description": "How many of them have been ready for long enough."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
        "description": "How long the set has existed."}"#,
    printcolumn = r#"{"name": "Version", "type": "string", "jsonPath": ".spec.template.spec.version",
        "description": "The version of Kubernetes."}"#
)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct MachineSetSpec {
    /// The cluster that the machines belong to.
    #[schemars(length(min = 1))]
    pub cluster_name: String,
    /// Which machines go first when there are too many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_policy: Option<DeletePolicy>,
    /// How many seconds a machine must have been ready to count as available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,
    /// How many machines there shall be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 1))]
    pub replicas: Option<i32>,
    /// Selects the machines; the template's labels fit it.
    #[schemars(transform = label_selector)]
    pub selector: LabelSelector,
    /// What machines are made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<MachineTemplate>,
    /// What is not used here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

absent_is_default!(MachineSetSpec);

/// Which machines go first when there are too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletePolicy {
    /// Any.
    Random,
    /// The youngest.
    Newest,
    /// The oldest.
    Oldest,
}

/// How many machines there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineSetStatus {
    /// How many have been ready for long enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// The aspects of the set's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// How many have the labels of the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fully_labeled_replicas: Option<i32>,
    /// The generation of the spec that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How many are ready nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// How many there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The selector, as a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// What is not used here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
