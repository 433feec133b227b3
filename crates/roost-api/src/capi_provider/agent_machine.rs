//! `AgentMachine`: a machine that is, or wants to be, a discovered host.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plain_conditions;
use crate::cluster_api::MachineAddress;
use crate::rules::label_selector;
use crate::variation::absent_is_default;

/// Which host the machine wants.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "capi-provider.agent-install.openshift.io",
    version = "v1beta1",
    kind = "AgentMachine",
    namespaced,
    status = "AgentMachineStatus",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "A machine of a cluster that is a discovered host.",
    crates(kube_core = "::kube_core")
)]
#[serde(remote = "Self", rename_all = "camelCase")]
pub struct AgentMachineSpec {
    /// Selects the agents that the machine may take. Without it, any will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = label_selector)]
    pub agent_label_selector: Option<LabelSelector>,
    /// What the node says that it is: `agent://` and the name of the agent.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
}

absent_is_default!(AgentMachineSpec);

/// Which host the machine has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentMachineStatus {
    /// The names and addresses of the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<MachineAddress>,
    /// The agent that the machine took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_ref: Option<AgentReference>,
    /// The aspects of the machine's state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = plain_conditions)]
    pub conditions: Vec<Condition>,
    /// What went wrong for good, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_message: Option<String>,
    /// What went wrong for good, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Whether the host is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
}

/// An agent in any namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentReference {
    /// The name of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The namespace that the agent is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}
