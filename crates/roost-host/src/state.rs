//! The states of a host and what leads from one to the next. Pure: time is how long something has been so.
//!
//! ```text
//!  register ─► discovering-unbound ─► known-unbound ─(a pool takes it)─► binding ─(registers again)─► discovering
//!                     ▲   insufficient-unbound                                                             │
//!                     │   disconnected-unbound                                              known ◄────────┘
//!   (registers again) │                                                        (approved)     │
//!      unbinding · unbinding-pending-user-action · reclaiming ◄─(given back)─ installing ◄────┘
//!                                                       ▲                        │ stages
//!                                        added-to-existing-cluster ◄─(Done)──────┘
//! ```

use std::time::Duration;

use roost_api::agent_install::{HostStage, HostState};

/// A host that did not ask for that long is not there, however seldom it asks. Upstream's value.
pub const CONNECTED_WITHIN: Duration = Duration::from_mins(3);
/// No host is missed sooner: it may be busy with what it was told to do.
const BUSY_WITHIN: Duration = Duration::from_mins(1);
/// An installation that was ordered and never began.
const START_PATIENCE: Duration = Duration::from_mins(20);
/// How long a given-back host may take to leave its cluster.
const RECLAIM_PATIENCE: Duration = Duration::from_mins(15);

/// How long a host that says something at this interval may be quiet: three times that.
pub fn connected_within(interval: Duration) -> Duration {
    interval.saturating_mul(3).clamp(BUSY_WITHIN, CONNECTED_WITHIN)
}

/// What a decision depends on.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The state that it is in.
    pub state: HostState,
    /// Whether its Agent names a cluster.
    pub is_wanted: bool,
    /// Whether a person approved it.
    pub is_approved: bool,
    /// Whether it asked for instructions lately.
    pub is_connected: bool,
    /// Whether it said what it consists of.
    pub has_inventory: bool,
    /// What keeps it from being used, in words; empty when nothing does.
    pub problems: String,
    /// How far its installation is.
    pub stage: Option<HostStage>,
    /// Since when nothing was heard of its installation, or since when it is in its state.
    pub quiet_for: Duration,
    /// Whether its cluster has a configuration for it.
    pub has_configuration: bool,
}

/// A state and why it is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The state.
    pub state: HostState,
    /// Why, and what to do.
    pub info: String,
}

impl Decision {
    fn new(state: HostState, info: impl Into<String>) -> Self {
        Self { state, info: info.into() }
    }
}

/// How long a stage may be quiet.
pub fn patience(stage: &HostStage) -> Duration {
    let minutes = match stage {
        HostStage::StartingInstallation | HostStage::WritingImageToDisk => 30,
        HostStage::CopyingRegistryData => 90,
        HostStage::Rebooting => 40,
        HostStage::WaitingForIgnition => 24 * 60,
        _ => 60,
    };
    Duration::from_mins(minutes)
}

/// Whether a host has written its disk and is on its way to its cluster, where its own word is no longer needed.
pub fn is_beyond_reboot(stage: Option<&HostStage>) -> bool {
    matches!(
        stage,
        Some(
            HostStage::Rebooting
                | HostStage::WaitingForIgnition
                | HostStage::Configuring
                | HostStage::Joined
                | HostStage::Done
        )
    )
}

/// The state of a host that introduces itself.
pub fn on_register(state: Option<&HostState>, stage: Option<&HostStage>, is_wanted: bool) -> Decision {
    let fresh = if is_wanted { HostState::Discovering } else { HostState::DiscoveringUnbound };
    let fresh = || Decision::new(fresh.clone(), "Waiting for host to send hardware details");
    let Some(state) = state else { return fresh() };
    match state {
        HostState::Error if is_wanted => Decision::new(
            HostState::Error,
            "The installation failed; it is given back as soon as its machine is deleted or replaced",
        ),
        HostState::PreparingForInstallation | HostState::PreparingFailed | HostState::PreparingSuccessful
            if is_wanted =>
        {
            fresh()
        }
        HostState::Installing
        | HostState::InstallingInProgress
        | HostState::InstallingPendingUserAction
        | HostState::AddedToExistingCluster
        | HostState::Installed
            if is_wanted =>
        {
            if is_beyond_reboot(stage) {
                Decision::new(
                    HostState::InstallingPendingUserAction,
                    "The host booted the discovery image again instead of its disk; put the disk first in the boot order and restart it, or delete its machine to give it back",
                )
            } else if *state == HostState::Installing && stage.is_none() {
                // It was told to install and had not begun: nothing is lost.
                fresh()
            } else {
                Decision::new(
                    HostState::Error,
                    format!(
                        "The host started again while it was at the stage {}; another host takes its place",
                        stage.map_or("unknown", HostStage::as_str)
                    ),
                )
            }
        }
        _ => fresh(),
    }
}

/// Where a host stands now.
pub fn refresh(observed: &Observed) -> Decision {
    let state = &observed.state;
    match state {
        state if state.is_unbound() => unbound(observed),
        HostState::Binding => {
            if observed.is_wanted {
                Decision::new(HostState::Binding, "Host is waiting to be bound to the cluster")
            } else {
                unbound(observed)
            }
        }
        HostState::Discovering
        | HostState::Known
        | HostState::Disconnected
        | HostState::Insufficient
        | HostState::Disabled
        | HostState::PendingForInput
        | HostState::PreparingForInstallation
        | HostState::PreparingFailed
        | HostState::PreparingSuccessful => bound(observed),
        HostState::Installing | HostState::InstallingInProgress | HostState::InstallingPendingUserAction => {
            installing(observed)
        }
        HostState::AddedToExistingCluster | HostState::Installed => {
            if observed.is_wanted {
                Decision::new(HostState::AddedToExistingCluster, "Done")
            } else if observed.is_connected {
                Decision::new(HostState::Reclaiming, "Host is leaving its cluster")
            } else {
                pending_user_action()
            }
        }
        HostState::Reclaiming | HostState::ReclaimingRebooting => {
            if observed.is_connected && observed.quiet_for < RECLAIM_PATIENCE {
                Decision::new(state.clone(), "Host is leaving its cluster")
            } else {
                pending_user_action()
            }
        }
        HostState::Unbinding => {
            if observed.is_connected {
                Decision::new(HostState::Unbinding, "Host is waiting to be unbound from the cluster")
            } else {
                Decision::new(
                    HostState::DisconnectedUnbound,
                    "Host is no longer connected; boot the discovery image again",
                )
            }
        }
        HostState::UnbindingPendingUserAction => pending_user_action(),
        HostState::Error | HostState::Cancelled => {
            if observed.is_wanted {
                Decision::new(state.clone(), &observed.problems)
            } else {
                pending_user_action()
            }
        }
        other => Decision::new(other.clone(), ""),
    }
}

fn pending_user_action() -> Decision {
    Decision::new(
        HostState::UnbindingPendingUserAction,
        "Host is given back and does not answer; boot the discovery image on it to use it again",
    )
}

fn disconnected(state: HostState) -> Decision {
    Decision::new(state, "Host has stopped asking for instructions; check its power, its network and its agent's log")
}

fn unbound(observed: &Observed) -> Decision {
    if !observed.is_connected {
        disconnected(HostState::DisconnectedUnbound)
    } else if !observed.has_inventory {
        Decision::new(HostState::DiscoveringUnbound, "Waiting for host to send hardware details")
    } else if !observed.problems.is_empty() {
        Decision::new(HostState::InsufficientUnbound, &observed.problems)
    } else if observed.is_wanted {
        Decision::new(HostState::Binding, "Host is waiting to be bound to the cluster")
    } else if observed.is_approved {
        Decision::new(HostState::KnownUnbound, "Host is ready to be bound to a cluster")
    } else {
        Decision::new(HostState::KnownUnbound, "Host is ready to be bound to a cluster once it is approved")
    }
}

fn bound(observed: &Observed) -> Decision {
    if !observed.is_wanted {
        return Decision::new(HostState::Unbinding, "Host is waiting to be unbound from the cluster");
    }
    if !observed.is_connected {
        disconnected(HostState::Disconnected)
    } else if !observed.has_inventory {
        Decision::new(HostState::Discovering, "Waiting for host to send hardware details")
    } else if !observed.problems.is_empty() {
        Decision::new(HostState::Insufficient, &observed.problems)
    } else if !observed.is_approved {
        Decision::new(HostState::Known, "Host is ready to be installed once it is approved")
    } else if !observed.has_configuration {
        Decision::new(HostState::Known, "Host is ready to be installed once its node pool has a configuration")
    } else {
        Decision::new(HostState::Installing, "Installation is in progress")
    }
}

fn installing(observed: &Observed) -> Decision {
    let state = &observed.state;
    if !observed.is_wanted {
        return pending_user_action();
    }
    let Some(stage) = &observed.stage else {
        return if observed.quiet_for > START_PATIENCE {
            Decision::new(HostState::Error, "Host did not begin its installation within 20 minutes")
        } else {
            Decision::new(HostState::Installing, "Installation is in progress")
        };
    };
    if *stage == HostStage::Done {
        return Decision::new(HostState::AddedToExistingCluster, "Done");
    }
    if *stage == HostStage::Failed {
        return Decision::new(HostState::Error, &observed.problems);
    }
    if observed.quiet_for > patience(stage) {
        let minutes = patience(stage).as_secs() / 60;
        return if is_beyond_reboot(Some(stage)) {
            Decision::new(
                HostState::InstallingPendingUserAction,
                format!(
                    "Host has been at the stage {stage} for more than {minutes} minutes; look at its console, check that it boots from its disk and reaches the ignition endpoint"
                ),
            )
        } else {
            Decision::new(
                HostState::Error,
                format!(
                    "Host has been at the stage {stage} for more than {minutes} minutes; another host takes its place"
                ),
            )
        };
    }
    if *state == HostState::InstallingPendingUserAction && *stage == HostStage::Rebooting {
        return Decision::new(state.clone(), &observed.problems);
    }
    Decision::new(HostState::InstallingInProgress, stage.as_str())
}

/// How far a host is that has left for its cluster, by how its Machine is; none when that says nothing new.
pub fn stage_in_cluster(
    stage: Option<&HostStage>,
    has_fetched: bool,
    has_node: bool,
    is_ready: bool,
) -> Option<HostStage> {
    if !is_beyond_reboot(stage) {
        return None;
    }
    let reached = if is_ready {
        HostStage::Done
    } else if has_node {
        HostStage::Joined
    } else if has_fetched {
        HostStage::Configuring
    } else {
        return None;
    };
    // A node that is not Ready for a while has joined all the same.
    (place(&reached) > stage.map_or(0, place)).then_some(reached)
}

fn place(stage: &HostStage) -> usize {
    HostStage::OF_WORKERS.iter().position(|known| known == stage).map_or(0, |place| place + 1)
}

/// How much of an installation is done at a stage.
pub fn percentage(stage: &HostStage) -> i64 {
    if *stage == HostStage::Done {
        return 100;
    }
    i64::try_from(place(stage) * 100 / HostStage::OF_WORKERS.len()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn observed(state: HostState) -> Observed {
        Observed {
            state,
            is_wanted: false,
            is_approved: false,
            is_connected: true,
            has_inventory: true,
            problems: String::new(),
            stage: None,
            quiet_for: Duration::ZERO,
            has_configuration: true,
        }
    }

    fn next(observed: &Observed) -> &'static str {
        let state = refresh(observed).state;
        HostState::KNOWN.iter().find(|known| **known == state).map_or("", |known| known.as_str())
    }

    #[test]
    fn the_way_of_a_host_into_a_cluster_and_back() {
        let mut host = observed(on_register(None, None, false).state);
        assert_eq!(host.state.as_str(), "discovering-unbound");
        host.has_inventory = false;
        assert_eq!(next(&host), "discovering-unbound");
        host.has_inventory = true;
        assert_eq!(next(&host), "known-unbound");
        host.state = HostState::KnownUnbound;
        (host.is_wanted, host.is_approved) = (true, true);
        assert_eq!(next(&host), "binding");
        host.state = on_register(Some(&HostState::Binding), None, true).state;
        assert_eq!(host.state.as_str(), "discovering");
        assert_eq!(next(&host), "installing");
        host.state = HostState::Installing;
        host.stage = Some(HostStage::WritingImageToDisk);
        assert_eq!(next(&host), "installing-in-progress");
        host.state = HostState::InstallingInProgress;
        host.stage = stage_in_cluster(Some(&HostStage::Rebooting), true, true, true);
        assert_eq!(next(&host), "added-to-existing-cluster");
        host.state = HostState::AddedToExistingCluster;
        host.is_wanted = false;
        assert_eq!(next(&host), "reclaiming");
        host.is_connected = false;
        assert_eq!(next(&host), "unbinding-pending-user-action");
        assert_eq!(on_register(Some(&HostState::Reclaiming), None, false).state.as_str(), "discovering-unbound");
    }

    #[test]
    fn a_host_that_stops_answering_is_named() {
        for (state, expected) in [
            (HostState::KnownUnbound, "disconnected-unbound"),
            (HostState::Unbinding, "disconnected-unbound"),
            (HostState::Reclaiming, "unbinding-pending-user-action"),
        ] {
            assert_eq!(next(&Observed { is_connected: false, ..observed(state) }), expected);
        }
        let lost = Observed { is_connected: false, is_wanted: true, ..observed(HostState::Known) };
        assert_eq!(next(&lost), "disconnected");
    }

    #[test]
    fn a_host_is_missed_after_three_times_its_interval() {
        for (interval, within) in [(0, 60), (5, 60), (20, 60), (30, 90), (60, 180), (120, 180), (u64::MAX, 180)] {
            assert_eq!(connected_within(Duration::from_secs(interval)), Duration::from_secs(within), "{interval}");
        }
    }

    #[test]
    fn each_stage_has_its_patience() {
        let mut host = Observed { is_wanted: true, ..observed(HostState::InstallingInProgress) };
        for stage in HostStage::OF_WORKERS.iter().filter(|stage| **stage != HostStage::Done) {
            host.stage = Some(stage.clone());
            host.quiet_for = patience(stage);
            assert_eq!(next(&host), "installing-in-progress", "{stage}");
            host.quiet_for = patience(stage) + Duration::from_secs(1);
            let expected = if is_beyond_reboot(Some(stage)) { "installing-pending-user-action" } else { "error" };
            assert_eq!(next(&host), expected, "{stage}");
            assert!(!refresh(&host).info.is_empty());
        }
    }

    #[test]
    fn a_host_that_starts_again_in_the_middle_is_replaced_and_one_that_was_done_is_named() {
        let register = |state: HostState, stage: HostStage| on_register(Some(&state), Some(&stage), true).state;
        assert_eq!(register(HostState::InstallingInProgress, HostStage::WritingImageToDisk), HostState::Error);
        assert_eq!(
            register(HostState::InstallingInProgress, HostStage::Rebooting),
            HostState::InstallingPendingUserAction
        );
        assert_eq!(
            register(HostState::AddedToExistingCluster, HostStage::Done),
            HostState::InstallingPendingUserAction
        );
        assert_eq!(on_register(Some(&HostState::Installing), None, true).state, HostState::Discovering);
        assert_eq!(on_register(Some(&HostState::Error), None, false).state, HostState::DiscoveringUnbound);
    }

    fn any_state() -> impl Strategy<Value = HostState> {
        prop::sample::select(HostState::KNOWN.to_vec())
    }

    fn any_stage() -> impl Strategy<Value = Option<HostStage>> {
        prop::option::of(prop::sample::select(HostStage::KNOWN.to_vec()))
    }

    proptest! {
        /// Whoever nobody wants gets to a state from which it can be taken again, by registering at the latest.
        #[test]
        fn a_host_that_nobody_wants_is_free_after_it_registers(state in any_state(), stage in any_stage()) {
            let decision = on_register(Some(&state), stage.as_ref(), false);
            prop_assert_eq!(decision.state, HostState::DiscoveringUnbound);
        }

        /// Looking again without news changes nothing, so that a status is written once.
        #[test]
        fn a_decision_stands(
            state in any_state(), stage in any_stage(), is_wanted: bool, is_approved: bool, is_connected: bool,
            has_inventory: bool, has_problem: bool, seconds in 0u64..200_000, has_configuration: bool,
        ) {
            let problems = if has_problem { "a problem".to_owned() } else { String::new() };
            let mut host = Observed {
                state, is_wanted, is_approved, is_connected, has_inventory, problems, stage, has_configuration,
                quiet_for: Duration::from_secs(seconds),
            };
            let mut seen = Vec::new();
            for _ in 0..6 {
                let decision = refresh(&host);
                if decision.state == host.state {
                    return Ok(());
                }
                prop_assert!(!seen.contains(&decision.state), "{:?} comes again after {:?}", decision.state, seen);
                seen.push(host.state.clone());
                host.state = decision.state;
            }
            prop_assert!(false, "no state stands: {:?}", seen);
        }
    }
}
