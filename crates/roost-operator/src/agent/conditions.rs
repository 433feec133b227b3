//! The conditions of an Agent, by the state of its host: upstream's types, reasons and words. Pure.

use roost_api::agent_install::HostState;
use roost_api::agent_install::condition::agent as kinds;
use roost_api::agent_install::condition::agent::reason;

use crate::condition::{Condition, Truth};

/// That checks were waived. Ours: upstream shows waivers nowhere.
const VALIDATIONS_WAIVED: &str = "ValidationsWaived";

/// What conditions depend on.
pub(super) struct Facts<'a> {
    pub(super) state: &'a HostState,
    pub(super) info: &'a str,
    pub(super) is_approved: bool,
    pub(super) has_validations: bool,
    /// What keeps the host from being used.
    pub(super) problems: &'a str,
    pub(super) waived: &'a [&'static str],
    /// What in the Agent's spec cannot be.
    pub(super) input_error: Option<String>,
}

/// All conditions of an Agent.
pub(super) fn conditions(facts: &Facts<'_>) -> Vec<Condition> {
    let mut all = vec![
        spec_synced(facts),
        connected(facts.state),
        requirements(facts),
        validated(facts),
        installed(facts),
        bound(facts.state),
    ];
    if !facts.waived.is_empty() {
        let message = format!("Failing validations that were waived: {}", facts.waived.join(", "));
        all.push(Condition::new(VALIDATIONS_WAIVED, Truth::True, "Waived", message));
    }
    all
}

fn spec_synced(facts: &Facts<'_>) -> Condition {
    match &facts.input_error {
        None => {
            Condition::new(kinds::SPEC_SYNCED, Truth::True, reason::SYNC_OK, "The Spec has been successfully applied")
        }
        Some(problem) => Condition::bad(
            kinds::SPEC_SYNCED,
            reason::INPUT_ERROR,
            format!("The Spec could not be synced due to an input error: {problem}"),
        ),
    }
}

fn connected(state: &HostState) -> Condition {
    match state {
        HostState::Disconnected | HostState::DisconnectedUnbound => Condition::bad(
            kinds::CONNECTED,
            reason::AGENT_IS_DISCONNECTED,
            "The agent has not contacted the installation service in some time, user action should be taken",
        ),
        _ => Condition::new(
            kinds::CONNECTED,
            Truth::True,
            reason::AGENT_IS_CONNECTED,
            "The agent's connection to the installation service is unimpaired",
        ),
    }
}

fn binding(kind: &'static str) -> Condition {
    Condition::bad(kind, reason::BINDING, "The agent is currently binding to a cluster deployment")
}

fn unbinding(kind: &'static str) -> Condition {
    Condition::bad(kind, reason::UNBINDING, "The agent is currently unbinding from a cluster deployment")
}

fn is_unbinding(state: &HostState) -> bool {
    matches!(
        state,
        HostState::Unbinding
            | HostState::UnbindingPendingUserAction
            | HostState::Reclaiming
            | HostState::ReclaimingRebooting
    )
}

fn requirements(facts: &Facts<'_>) -> Condition {
    let kind = kinds::REQUIREMENTS_MET;
    let good = |reason: &str, message: &str| Condition::new(kind, Truth::True, reason, message);
    match facts.state {
        HostState::Known | HostState::KnownUnbound if !facts.is_approved => {
            Condition::bad(kind, reason::AGENT_IS_NOT_APPROVED, "The agent is not approved")
        }
        HostState::Known | HostState::KnownUnbound => {
            good(reason::AGENT_IS_READY, "The agent is ready to begin the installation")
        }
        state if state.is_installing() => {
            good(reason::AGENT_ALREADY_INSTALLING, "Installation already started and is in progress")
        }
        HostState::Installed | HostState::AddedToExistingCluster | HostState::Error => {
            good(reason::AGENT_INSTALLATION_STOPPED, "The agent installation stopped")
        }
        HostState::Binding => binding(kind),
        state if is_unbinding(state) => unbinding(kind),
        _ => Condition::bad(kind, reason::AGENT_NOT_READY, "The agent is not ready to begin the installation"),
    }
}

fn validated(facts: &Facts<'_>) -> Condition {
    let kind = kinds::VALIDATED;
    match facts.state {
        HostState::Binding => binding(kind),
        state if is_unbinding(state) => unbinding(kind),
        HostState::Insufficient | HostState::InsufficientUnbound => Condition::bad(
            kind,
            reason::VALIDATIONS_FAILING,
            format!("The agent's validations are failing: {}", facts.problems),
        ),
        _ if !facts.has_validations => Condition::new(
            kind,
            Truth::Unknown,
            reason::VALIDATIONS_UNKNOWN,
            "The agent's validations have not yet been calculated",
        ),
        _ => Condition::new(kind, Truth::True, reason::VALIDATIONS_PASSING, "The agent's validations are passing"),
    }
}

fn installed(facts: &Facts<'_>) -> Condition {
    let kind = kinds::INSTALLED;
    match facts.state {
        HostState::Installed | HostState::AddedToExistingCluster => Condition::new(
            kind,
            Truth::True,
            reason::INSTALLATION_COMPLETED,
            format!("The installation has completed: {}", facts.info),
        ),
        HostState::Error => {
            Condition::bad(kind, reason::INSTALLATION_FAILED, format!("The installation has failed: {}", facts.info))
        }
        state if state.is_installing() => Condition::bad(
            kind,
            reason::INSTALLATION_IN_PROGRESS,
            format!("The installation is in progress: {}", facts.info),
        ),
        HostState::Binding => binding(kind),
        state if is_unbinding(state) => unbinding(kind),
        _ => Condition::bad(kind, reason::INSTALLATION_NOT_STARTED, "The installation has not yet started"),
    }
}

fn bound(state: &HostState) -> Condition {
    let kind = kinds::BOUND;
    match state {
        state if state.is_unbound() => {
            Condition::bad(kind, reason::UNBOUND, "The agent is not bound to any cluster deployment")
        }
        HostState::Binding => binding(kind),
        HostState::UnbindingPendingUserAction => Condition::bad(
            kind,
            reason::UNBINDING_PENDING_USER_ACTION,
            "The agent is currently unbinding; Pending host reboot from infraenv image",
        ),
        state if is_unbinding(state) => unbinding(kind),
        _ => Condition::new(kind, Truth::True, reason::BOUND, "The agent is bound to a cluster deployment"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reasons(state: &HostState, is_approved: bool) -> Vec<(&'static str, String)> {
        let facts =
            Facts { state, info: "", is_approved, has_validations: true, problems: "", waived: &[], input_error: None };
        conditions(&facts).into_iter().map(|condition| (condition.truth.text(), condition.reason)).collect()
    }

    #[test]
    fn reasons_are_upstreams() {
        let table = [
            (
                HostState::KnownUnbound,
                true,
                ["AgentIsConnected", "AgentIsReady", "ValidationsPassing", "InstallationNotStarted", "Unbound"],
            ),
            (
                HostState::KnownUnbound,
                false,
                ["AgentIsConnected", "AgentIsNotApproved", "ValidationsPassing", "InstallationNotStarted", "Unbound"],
            ),
            (
                HostState::DisconnectedUnbound,
                true,
                ["AgentIsDisconnected", "AgentNotReady", "ValidationsPassing", "InstallationNotStarted", "Unbound"],
            ),
            (HostState::Binding, true, ["AgentIsConnected", "Binding", "Binding", "Binding", "Binding"]),
            (
                HostState::Insufficient,
                true,
                ["AgentIsConnected", "AgentNotReady", "ValidationsFailing", "InstallationNotStarted", "Bound"],
            ),
            (
                HostState::InstallingInProgress,
                true,
                ["AgentIsConnected", "AgentAlreadyInstalling", "ValidationsPassing", "InstallationInProgress", "Bound"],
            ),
            (
                HostState::AddedToExistingCluster,
                true,
                [
                    "AgentIsConnected",
                    "AgentInstallationStopped",
                    "ValidationsPassing",
                    "InstallationCompleted",
                    "Bound",
                ],
            ),
            (
                HostState::Error,
                true,
                ["AgentIsConnected", "AgentInstallationStopped", "ValidationsPassing", "InstallationFailed", "Bound"],
            ),
            (
                HostState::UnbindingPendingUserAction,
                true,
                ["AgentIsConnected", "Unbinding", "Unbinding", "Unbinding", "UnbindingPendingUserAction"],
            ),
            (HostState::Reclaiming, true, ["AgentIsConnected", "Unbinding", "Unbinding", "Unbinding", "Unbinding"]),
        ];
        for (state, is_approved, expected) in table {
            let found = reasons(&state, is_approved);
            assert_eq!(found[0], ("True", "SyncOK".to_owned()));
            let found: Vec<&str> = found[1..].iter().map(|(_, reason)| reason.as_str()).collect();
            assert_eq!(found, expected, "{state}");
        }
    }

    #[test]
    fn every_state_has_all_conditions_with_words() {
        for state in HostState::KNOWN {
            let facts = Facts {
                state,
                info: "i",
                is_approved: true,
                has_validations: false,
                problems: "p",
                waived: &["has-min-memory"],
                input_error: Some("bad".to_owned()),
            };
            let all = conditions(&facts);
            assert_eq!(all.len(), 7);
            assert!(all.iter().all(|condition| !condition.reason.is_empty() && !condition.message.is_empty()));
        }
    }
}
