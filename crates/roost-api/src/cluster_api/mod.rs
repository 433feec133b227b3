//! The kinds of `cluster.x-k8s.io/v1beta1` that a hosted cluster is made of, with the fields that are used here.
//!
//! Every other field is kept as it was written, so that objects of other controllers survive.

mod address;
mod cluster;
mod condition;
mod machine;
mod machine_deployment;
mod machine_set;
pub mod names;

pub use address::{MachineAddress, MachineAddressType};
pub use cluster::{ApiEndpoint, Cluster, ClusterNetwork, ClusterPhase, ClusterSpec, ClusterStatus, NetworkRanges};
pub use condition::{Condition, ConditionSeverity, ConditionStatus};
pub use machine::{
    Bootstrap, Machine, MachinePhase, MachineSpec, MachineStatus, MachineTemplate, ObjectReference, TemplateMetadata,
};
pub use machine_deployment::{
    MachineDeployment, MachineDeploymentPhase, MachineDeploymentSpec, MachineDeploymentStatus,
    MachineDeploymentStrategy, RollingUpdate, StrategyType,
};
pub use machine_set::{DeletePolicy, MachineSet, MachineSetSpec, MachineSetStatus};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::definition::definition;
use crate::variation::with_optional_spec;

/// The group of these kinds.
pub const GROUP: &str = "cluster.x-k8s.io";

/// The definitions of the kinds of this group.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    [
        definition::<Cluster>("A cluster: its control plane and the infrastructure that its machines are on.", &[]),
        definition::<MachineDeployment>("Machines that are alike, replaced step by step when they change.", &[]),
        definition::<MachineSet>("A number of machines that are alike.", &[]),
        definition::<Machine>("A machine that is, or becomes, a node of a cluster.", &[]),
    ]
    .map(with_optional_spec)
    .into()
}
