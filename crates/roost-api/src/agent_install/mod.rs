//! The kinds of `agent-install.openshift.io/v1beta1`: discovered hosts and what is needed to discover them.

mod agent;
mod agent_classification;
mod agent_service_config;
mod agent_status;
pub mod condition;
mod host;
mod infra_env;
mod inventory;
pub mod names;
mod network_config;
mod reference;
pub mod validation;

pub use agent::{Agent, AgentSpec};
pub use agent_classification::{
    AgentClassification, AgentClassificationSpec, AgentClassificationStatus, QUERY_ERROR_PREFIX,
};
pub use agent_service_config::{
    AGENT_SERVICE_CONFIG_NAME, AgentServiceConfig, AgentServiceConfigSpec, AgentServiceConfigStatus, HttpRoute,
    Ingress, MustGatherImage, MustGatherImageArchitecture, OsImage,
};
pub use agent_status::{
    AgentDebugInfo, AgentStatus, ApprovedRequest, DeprovisionInfo, Progress, RequestStatus, RequestType, TimeSource,
    TimeSourceState, ValidationResult, ValidationStatus,
};
pub use condition::{Condition, ConditionStatus};
pub use host::{HostKind, HostRole, HostStage, HostState};
pub use infra_env::{
    AgentApproval, BootArtifacts, CpuArchitecture, ImageType, InfraEnv, InfraEnvDebugInfo, InfraEnvSpec,
    InfraEnvStatus, IpxeScriptType, KernelArgument, KernelArgumentOperation, Proxy,
};
pub use inventory::{
    Boot, BootMode, Cpu, Disk, DiskPerformance, DriveType, Gpu, InstallationEligibility, Interface, Inventory, Memory,
    SystemVendor,
};
pub use network_config::{NMStateConfig, NMStateConfigSpec, NetworkInterface};
pub use reference::{ClusterReference, LocalReference, NamespacedReference};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::definition::definition;
use crate::variation::{definition_without_status, with_optional_spec, with_status_subresource};

/// The group of these kinds.
pub const GROUP: &str = "agent-install.openshift.io";

/// The definitions of the kinds of this group.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    vec![
        with_optional_spec(definition::<Agent>("A host that was discovered and can become a node.", &[])),
        with_optional_spec(definition::<AgentClassification>(
            "A label that agents get when a question about their inventory is answered with yes.",
            &[],
        )),
        with_optional_spec(definition::<AgentServiceConfig>(
            "How the discovery service runs. There is one, and it is named agent.",
            &[],
        )),
        with_optional_spec(definition::<InfraEnv>(
            "An environment that hosts are discovered in: it describes the image that they boot.",
            &[],
        )),
        with_status_subresource(definition_without_status::<NMStateConfig>(
            "The network configuration of one host, applied when it boots the discovery image.",
        )),
    ]
}
