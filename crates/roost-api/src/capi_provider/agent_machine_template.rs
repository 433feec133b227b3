//! `AgentMachineTemplate`: what agent machines are made from.

use kube_derive::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::agent_machine::AgentMachineSpec;
use crate::variation::absent_is_default;

/// What machines are made from.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "capi-provider.agent-install.openshift.io",
    version = "v1beta1",
    kind = "AgentMachineTemplate",
    namespaced,
    shortname = "agentmt",
    category = "cluster-api",
    schema = "disabled",
    derive = "Default",
    derive = "PartialEq",
    doc = "What machines are made from.",
    crates(kube_core = "::kube_core")
)]
#[serde(remote = "Self")]
pub struct AgentMachineTemplateSpec {
    /// The machine to make.
    pub template: AgentMachineTemplateResource,
}

absent_is_default!(AgentMachineTemplateSpec);

/// A machine to make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentMachineTemplateResource {
    /// What the machine wants.
    pub spec: AgentMachineSpec,
}
