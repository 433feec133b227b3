//! `MachineDeployment`: machines that are replaced step by step when they change.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::condition::Condition;
use super::machine::MachineTemplate;
use super::machine_set::DeletePolicy;
use crate::open_string::open_string;
use crate::rules::label_selector;
use crate::variation::absent_is_default;

/// How many machines there shall be, what they are made from, and how they change.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "cluster.x-k8s.io",
    version = "v1beta1",
    kind = "MachineDeployment",
    namespaced,
    shortname = "md",
    category = "cluster-api",
    status = "MachineDeploymentStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "Machines that are alike, replaced step by step when they change.",
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
    printcolumn = r#"{"name": "Updated", "type": "integer", "jsonPath": ".status.updatedReplicas",
        "description": "How many of them are made from the newest template."}"#,
    printcolumn = r#"{"name": "Unavailable", "type": "integer", "jsonPath": ".status.unavailableReplicas",
        "description": "How many are missing."}"#,
    printcolumn = r#"{"name": "Phase", "type": "string", "jsonPath": ".status.phase",
        "description": "What happens with the machines."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
        "description": "How long the deployment has existed."}"#,
    printcolumn = r#"{"name": "Version", "type": "string", "jsonPath": ".spec.template.spec.version",
        "description": "The version of Kubernetes."}"#
)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct MachineDeploymentSpec {
    /// The cluster that the machines belong to.
    #[schemars(length(min = 1))]
    pub cluster_name: String,
    /// How many seconds a machine must have been ready to count as available.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,
    /// Nothing changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// After how many seconds without progress a change counts as failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_deadline_seconds: Option<i32>,
    /// How many machines there shall be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// How many old machine sets are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_history_limit: Option<i32>,
    /// Selects the machines; the template's labels fit it.
    #[schemars(transform = label_selector)]
    pub selector: LabelSelector,
    /// How machines change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<MachineDeploymentStrategy>,
    /// What machines are made from.
    pub template: MachineTemplate,
    /// What is not used here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

absent_is_default!(MachineDeploymentSpec);

/// How machines change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeploymentStrategy {
    /// How many machines may be missing or too many meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
    /// Who replaces machines.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<StrategyType>,
    /// What is not used here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Who replaces machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StrategyType {
    /// The deployment, step by step.
    RollingUpdate,
    /// Whoever deletes them.
    OnDelete,
}

/// How many machines may be missing or too many while they change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollingUpdate {
    /// Which machines go first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_policy: Option<DeletePolicy>,
    /// How many may be too many, as a number or in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    /// How many may be missing, as a number or in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
}

/// How many machines there are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineDeploymentStatus {
    /// How many have been ready for long enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// The aspects of the deployment's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The generation of the spec that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What happens with the machines, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<MachineDeploymentPhase>,
    /// How many are ready nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// How many there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// The selector, as a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// How many are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable_replicas: Option<i32>,
    /// How many are made from the newest template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_replicas: Option<i32>,
    /// What is not used here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

open_string! {
    /// What happens with the machines of a deployment.
    pub enum MachineDeploymentPhase {
        /// More are being made.
        ScalingUp = "ScalingUp",
        /// Some go.
        ScalingDown = "ScalingDown",
        /// There are as many as there shall be.
        Running = "Running",
        /// Somebody must act.
        Failed = "Failed",
        /// Nobody can say.
        Unknown = "Unknown",
    }
}
