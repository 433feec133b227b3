//! Labels, annotations and finalizers of these kinds.

/// Labels.
pub mod label {
    /// The cluster that an object belongs to.
    pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
    /// The machine deployment that a machine or a machine set belongs to.
    pub const DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
    /// The machine set that a machine belongs to.
    pub const SET_NAME: &str = "cluster.x-k8s.io/set-name";
    /// The hash of the template that a machine set was made from.
    pub const TEMPLATE_HASH: &str = "machine-template-hash";
}

/// Annotations.
pub mod annotation {
    /// Nobody acts on the object.
    pub const PAUSED: &str = "cluster.x-k8s.io/paused";
    /// Somebody else looks after the object.
    pub const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";
    /// The fewest machines that the autoscaler may leave.
    pub const AUTOSCALER_MINIMUM: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size";
    /// The most machines that the autoscaler may make.
    pub const AUTOSCALER_MAXIMUM: &str = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size";
    /// When a machine goes, its node is not drained.
    pub const EXCLUDE_NODE_DRAINING: &str = "machine.cluster.x-k8s.io/exclude-node-draining";
    /// Of all machines of a set, this one goes first.
    pub const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
    /// On a machine set: which of a deployment's templates it stands for.
    pub const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";
    /// What the annotations begin with that hold up the termination of a machine.
    pub const PRE_TERMINATE_HOOK_PREFIX: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
    /// What the annotations begin with that hold up the draining of a machine.
    pub const PRE_DRAIN_HOOK_PREFIX: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
}

/// Finalizers.
pub mod finalizer {
    /// On a machine: its node and its host go first.
    pub const MACHINE: &str = "machine.cluster.x-k8s.io";
    /// On a cluster: its machines go first.
    pub const CLUSTER: &str = "cluster.cluster.x-k8s.io";
    /// On a machine set: its machines go first.
    pub const MACHINE_SET: &str = "cluster.x-k8s.io/machineset";
    /// On a machine deployment: its machine sets go first.
    pub const MACHINE_DEPLOYMENT: &str = "cluster.x-k8s.io/machinedeployment";
}

/// Types of conditions.
pub mod condition {
    /// All is well.
    pub const READY: &str = "Ready";
    /// The secret that the machine boots with is there.
    pub const BOOTSTRAP_READY: &str = "BootstrapReady";
    /// The machine's host is there.
    pub const INFRASTRUCTURE_READY: &str = "InfrastructureReady";
    /// The machine's node is healthy.
    pub const NODE_HEALTHY: &str = "NodeHealthy";
    /// The machine's node was drained.
    pub const DRAINING_SUCCEEDED: &str = "DrainingSucceeded";
    /// Nothing holds up the termination of the machine.
    pub const PRE_TERMINATE_DELETE_HOOK_SUCCEEDED: &str = "PreTerminateDeleteHookSucceeded";
    /// As many machines are available as must be.
    pub const AVAILABLE: &str = "Available";
}
