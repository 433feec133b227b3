//! Kubelets: what they may read and write by themselves, and what admission keeps them from.

mod authorize;
mod graph;
mod label;
mod reference;
mod restriction;
mod service_account_audience;

pub use authorize::{NodeAuthorizer, NodeGraph, RelatedKind, node_rules};
pub use graph::{NodeIndex, NodeIndexKind};
pub use reference::PodReferences;
pub use restriction::{AdmissionRequest, NodeObjects, Operation, restrict};

const MIRROR_POD: &str = "kubernetes.io/config.mirror";
const NODE_LEASES: &str = "kube-node-lease";
