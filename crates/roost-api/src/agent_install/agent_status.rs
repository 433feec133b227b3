//! What is known about a discovered host beside its inventory.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::condition::Condition;
use super::host::{HostKind, HostRole, HostStage, HostState};
use super::inventory::Inventory;
use crate::open_string::open_string;

/// What is known about the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStatus {
    /// Whether the host starts the control plane for the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<bool>,
    /// The aspects of the host's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The certificate requests of the host's node that were approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csr_status: Option<RequestStatus>,
    /// What helps to find out why something does not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debug_info: Option<AgentDebugInfo>,
    /// The node that remains to be removed after the host left its cluster.
    #[serde(rename = "deprovision_info", skip_serializing_if = "Option::is_none")]
    pub deprovision_info: Option<DeprovisionInfo>,
    /// The disk that is or will be installed to.
    #[serde(rename = "installation_disk_id", skip_serializing_if = "Option::is_none")]
    pub installation_disk_id: Option<String>,
    /// What the host consists of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// How the host comes into its cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<HostKind>,
    /// The time servers that the host knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ntp_sources: Vec<TimeSource>,
    /// How far the installation is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// What the host does in its cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<HostRole>,
    /// What was checked, by category.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub validations_info: BTreeMap<String, Vec<ValidationResult>>,
}

/// What helps to find out why something does not work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentDebugInfo {
    /// Where the host's events can be downloaded.
    #[serde(rename = "eventsURL", skip_serializing_if = "Option::is_none")]
    pub events_url: Option<String>,
    /// Where the host's logs can be downloaded.
    #[serde(rename = "logsURL", skip_serializing_if = "Option::is_none")]
    pub logs_url: Option<String>,
    /// The state that the host is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<HostState>,
    /// Why it is in that state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_info: Option<String>,
}

/// A node that remains to be removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeprovisionInfo {
    /// The cluster that the node is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// The namespace of that cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_namespace: Option<String>,
    /// Why the node is still there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
}

/// How far the installation of a host is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The stage that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_stage: Option<HostStage>,
    /// How much of it is done, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installation_percentage: Option<i64>,
    /// What the installer says about the stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_info: Option<String>,
    /// All stages that the host goes through, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub progress_stages: Vec<HostStage>,
    /// When the stage began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage_start_time: Option<Time>,
    /// When the stage was heard of last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage_update_time: Option<Time>,
}

/// A time server, as the host sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimeSource {
    /// The server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_name: Option<String>,
    /// Whether the host takes its time from there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_state: Option<TimeSourceState>,
}

open_string! {
    /// What a host makes of a time server.
    pub enum TimeSourceState {
        /// It takes its time from there.
        Synced = "synced",
        /// It may mix its time with others.
        Combined = "combined",
        /// It could take its time from there, and does not.
        NotCombined = "not_combined",
        /// The server is wrong.
        Error = "error",
        /// The server's time varies too much.
        Variable = "variable",
        /// The server does not answer.
        Unreachable = "unreachable",
    }
}

/// The result of one validation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationResult {
    /// What was checked.
    pub id: String,
    /// What was found.
    pub message: String,
    /// How it went.
    pub status: ValidationStatus,
}

open_string! {
    /// How a validation went.
    pub enum ValidationStatus {
        /// It passed.
        Success = "success",
        /// It passed, and nobody needs to know.
        SuccessSuppressOutput = "success-suppress-output",
        /// It failed.
        Failure = "failure",
        /// It cannot be said yet.
        Pending = "pending",
        /// It could not be carried out.
        Error = "error",
        /// It was turned off.
        Disabled = "disabled",
    }
}

/// The certificate requests of a node that were approved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestStatus {
    /// The requests.
    #[serde(rename = "approvedCSRs", default, skip_serializing_if = "Vec::is_empty")]
    pub approved_requests: Vec<ApprovedRequest>,
    /// When somebody looked for requests last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_approval_attempt: Option<Time>,
}

/// A certificate request that was approved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovedRequest {
    /// When it was approved.
    pub approved_at: Time,
    /// Its name in the hosted cluster.
    pub name: String,
    /// What the certificate is for.
    #[serde(rename = "type")]
    pub type_: RequestType,
}

open_string! {
    /// What a node's certificate is for.
    pub enum RequestType {
        /// The kubelet shows it to the API server.
        Client = "client",
        /// The kubelet serves with it.
        Serving = "serving",
    }
}
