//! The conditions of an `AgentMachine`, and the reasons in them.

/// All of the others hold.
pub const READY: &str = "Ready";
/// An agent was found and claimed.
pub const AGENT_RESERVED: &str = "AgentReserved";
/// The agent took over what it was told.
pub const AGENT_SPEC_SYNCED: &str = "AgentSpecSynced";
/// The agent's validations pass.
pub const AGENT_VALIDATED: &str = "AgentValidated";
/// The agent can be installed.
pub const AGENT_REQUIREMENTS_MET: &str = "AgentRequirementsMet";
/// The agent was installed.
pub const INSTALLED: &str = "Installed";

/// Why a condition has its status.
pub mod reason {
    /// No agent fits.
    pub const NO_SUITABLE_AGENTS: &str = "NoSuitableAgents";
    /// Nobody looked for an agent yet.
    pub const AGENT_NOT_YET_FOUND: &str = "AgentNotYetFound";
    /// An agent is claimed.
    pub const AGENT_RESERVED: &str = "AgentReserved";
    /// The agent's condition of that name holds.
    pub const AGENT_CONDITION_TRUE: &str = "AgentConditionTrue";
    /// The agent has no condition of that name.
    pub const CONDITION_NOT_FOUND: &str = "ConditionNotFound";
}
