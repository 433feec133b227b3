//! The kinds of `capi-provider.agent-install.openshift.io/v1beta1`: machines that are discovered hosts.

mod agent_cluster;
mod agent_machine;
mod agent_machine_template;
pub mod condition;
pub mod names;

pub use agent_cluster::{
    AgentCluster, AgentClusterSpec, AgentClusterStatus, CertificateReference, ControlPlaneEndpoint, FailureDomain,
    IgnitionEndpoint,
};
pub use agent_machine::{AgentMachine, AgentMachineSpec, AgentMachineStatus, AgentReference};
pub use agent_machine_template::{AgentMachineTemplate, AgentMachineTemplateResource, AgentMachineTemplateSpec};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use schemars::Schema;

use crate::definition::definition;
use crate::variation::{definition_without_status, with_deprecated_version, with_optional_spec};

/// The group of these kinds.
pub const GROUP: &str = "capi-provider.agent-install.openshift.io";

/// What a provider id begins with; the name of the agent follows.
pub const PROVIDER_ID_PREFIX: &str = "agent://";

/// The version that these kinds had before. It means the same.
const OLDER_VERSION: &str = "v1alpha1";

/// The definitions of the kinds of this group.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    [
        with_optional_spec(definition::<AgentCluster>("A cluster whose machines are discovered hosts.", &[])),
        with_optional_spec(definition::<AgentMachine>("A machine of a cluster that is a discovered host.", &[])),
        definition_without_status::<AgentMachineTemplate>("What machines are made from."),
    ]
    .map(|definition| with_deprecated_version(definition, OLDER_VERSION))
    .into()
}

/// Bounds the fields of conditions, whose list is a plain one here.
fn plain_conditions(schema: &mut Schema) {
    crate::rules::conditions(schema);
    schema.remove("x-kubernetes-list-type");
    schema.remove("x-kubernetes-list-map-keys");
}
