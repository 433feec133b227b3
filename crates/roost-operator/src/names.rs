//! Names that objects carry, and that users and other controllers know.

pub(crate) use roost_api::hypershift::names::annotation::{
    CLUSTER, HAS_BEEN_AVAILABLE, SKIP_DELETE_CONTROL_PLANE_NAMESPACE as KEEP_NAMESPACE,
};
pub(crate) use roost_api::hypershift::names::finalizer::RESOURCE as FINALIZER;
pub(crate) use roost_api::hypershift::names::label::HOSTED_CONTROL_PLANE as CONTROL_PLANE_LABEL;

/// On a HostedCluster: sleep until somebody calls.
pub(crate) const HIBERNATE: &str = "roost.dev/hibernate";
/// On a HostedCluster: replace certificate authorities, as `<authority or all>@<time>`.
pub(crate) const ROTATE: &str = "roost.dev/rotate-ca";
/// On a HostedCluster: by what its Secrets at rest are sealed, as a fingerprint of the key.
pub(crate) const SEALED_BY: &str = "roost.dev/sealed-by";
/// The prefixes of annotations that a control plane takes over from its HostedCluster.
pub(crate) const INHERITED: [&str; 3] =
    ["hypershift.openshift.io/", "roost.dev/", "resource-request-override.hypershift.openshift.io/"];

/// On a HostedControlPlane: it has node pools, so machines have to be able to reach it.
pub(crate) const JOINS_NODES: &str = "roost.dev/joins-nodes";
/// On a NodePool: its cluster has been opened for its machines, so there is something to clear away.
pub(crate) const OPENED: &str = "roost.dev/opened";
/// On a HostedControlPlane: where its machines fetch their configuration, as host and port.
pub(crate) const IGNITION_ENDPOINT: &str = "roost.dev/ignition-endpoint";
/// On what belongs to a node pool: a digest of its namespace and name, to be found by.
pub(crate) const POOL_LABEL: &str = "roost.dev/node-pool";
