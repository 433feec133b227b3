//! Labels, annotations and finalizers of these kinds.

/// Labels.
pub mod label {
    /// On a cluster deployment: the agent cluster that it was made for.
    pub const AGENT_CLUSTER: &str = "agentClusterRef";
}

/// Annotations.
pub mod annotation {
    /// On a machine: it is not terminated before its agent was given back.
    pub const PRE_TERMINATE_HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/agentmachine";
}

/// Finalizers.
pub mod finalizer {
    /// On an agent cluster. The missing dot is how clients know it.
    pub const AGENT_CLUSTER: &str = "agentclustercapi-provider.agent-install.openshift.io/deprovision";
    /// On an agent machine: its agent is given back first.
    pub const AGENT_MACHINE: &str = "agentmachine.agent-install.openshift.io/deprovision";
}
