//! What a host is told to do, by its state.

use std::fmt::Write as _;

use roost_api::agent_install::{HostStage, HostState};

use crate::measurement::{DiskOrder, NameOrder, NamesOrder, RemoteHost};
use crate::wire::{InstallRequest, PostStepAction, ReachRequest, Step, Steps};

/// How often a host asks while nothing is expected of it. Upstream's value.
const CALM: i64 = 60;
/// How often it asks while something is about to be decided.
const LIVELY: i64 = 5;
/// How often it asks when it can do nothing. Upstream's value.
const SLOW: i64 = 120;

/// The seconds that a measurement of a disk may take, as upstream writes them.
const DISK_PATIENCE: &str = "480.00";

/// What steps are made of.
#[derive(Clone, Debug, Default)]
pub struct Material {
    /// Who the host is.
    pub host_id: String,
    /// Distinguishes steps of the same type.
    pub number: u64,
    /// Time servers to try.
    pub time_sources: Vec<String>,
    /// Where its configuration is, once it belongs to a cluster.
    pub reach: Option<ReachRequest>,
    /// What to install.
    pub install: Option<InstallRequest>,
    /// Names that it is to resolve.
    pub names: Vec<String>,
    /// The disk that it is to measure.
    pub disk: Option<String>,
    /// Other hosts that it is to reach.
    pub peers: Vec<RemoteHost>,
    /// Whether the host already runs its installation.
    pub stage: Option<HostStage>,
}

/// The steps of a host.
pub fn steps(state: &HostState, material: &Material) -> Steps {
    let mut list = List { material, steps: Vec::new() };
    let mut action = PostStepAction::Continue;
    let seconds = match state {
        HostState::DiscoveringUnbound | HostState::InsufficientUnbound | HostState::KnownUnbound => {
            list.inventory();
            list.time();
            if *state != HostState::DiscoveringUnbound {
                list.disk();
                list.peers();
            }
            if *state == HostState::KnownUnbound { CALM } else { LIVELY }
        }
        HostState::Discovering | HostState::Insufficient | HostState::Known | HostState::PendingForInput => {
            list.inventory();
            list.reach();
            list.time();
            list.names();
            list.disk();
            if *state != HostState::Discovering {
                list.peers();
            }
            LIVELY
        }
        HostState::Installing if material.stage.is_none() => {
            // Most hosts are wanted before they were told to measure anything.
            list.disk();
            list.install();
            LIVELY
        }
        HostState::Installing
        | HostState::InstallingInProgress
        | HostState::InstallingPendingUserAction
        | HostState::AddedToExistingCluster
        | HostState::Installed => CALM,
        HostState::Binding | HostState::Unbinding | HostState::UnbindingPendingUserAction => {
            action = PostStepAction::Exit;
            0
        }
        // Who still asks has not restarted, whatever became of its word that it would.
        HostState::Reclaiming | HostState::ReclaimingRebooting => {
            list.add("reboot-for-reclaim", vec![r#"{"host_fs_mount_dir":"/host"}"#.to_owned()]);
            LIVELY
        }
        HostState::Disconnected | HostState::DisconnectedUnbound => {
            // It is back, which its next report says.
            list.inventory();
            LIVELY
        }
        _ => SLOW,
    };
    Steps { next_instruction_seconds: seconds, post_step_action: action, instructions: list.steps }
}

struct List<'a> {
    material: &'a Material,
    steps: Vec<Step>,
}

impl List<'_> {
    fn add(&mut self, kind: &str, args: Vec<String>) {
        let mut id = format!("{kind}-");
        let _ = write!(id, "{:08x}", (self.material.number ^ (self.steps.len() as u64) << 28) & 0xffff_ffff);
        self.steps.push(Step { step_type: kind.to_owned(), step_id: id, args });
    }

    fn inventory(&mut self) {
        self.add("inventory", vec![self.material.host_id.clone()]);
    }

    fn time(&mut self) {
        let sources = serde_json::json!({"ntp_source": self.material.time_sources.join(",")});
        self.add("ntp-synchronizer", vec![sources.to_string()]);
    }

    fn reach(&mut self) {
        if let Some(reach) = &self.material.reach {
            self.add("api-vip-connectivity-check", vec![serde_json::to_string(reach).unwrap_or_default()]);
        }
    }

    fn names(&mut self) {
        if !self.material.names.is_empty() {
            let domains = self.material.names.iter().map(|name| NameOrder { domain_name: name.clone() }).collect();
            self.add("domain-resolution", vec![serde_json::to_string(&NamesOrder { domains }).unwrap_or_default()]);
        }
    }

    fn disk(&mut self) {
        if let Some(path) = &self.material.disk {
            let order = serde_json::to_string(&DiskOrder { path: path.clone() }).unwrap_or_default();
            self.add("installation-disk-speed-check", vec![order, DISK_PATIENCE.to_owned()]);
        }
    }

    fn peers(&mut self) {
        if !self.material.peers.is_empty() {
            let order = serde_json::to_string(&self.material.peers).unwrap_or_default();
            self.add("connectivity-check", vec![order]);
        }
    }

    fn install(&mut self) {
        if let Some(install) = &self.material.install {
            self.add("install", vec![serde_json::to_string(install).unwrap_or_default()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(state: &HostState, material: &Material) -> (Vec<String>, PostStepAction) {
        let steps = steps(state, material);
        (steps.instructions.into_iter().map(|step| step.step_type).collect(), steps.post_step_action)
    }

    #[test]
    fn each_state_has_its_steps() {
        let material = Material {
            host_id: "h".to_owned(),
            reach: Some(ReachRequest::default()),
            install: Some(InstallRequest::default()),
            ..Material::default()
        };
        assert_eq!(types(&HostState::KnownUnbound, &material).0, ["inventory", "ntp-synchronizer"]);
        assert_eq!(
            types(&HostState::Known, &material).0,
            ["inventory", "api-vip-connectivity-check", "ntp-synchronizer"]
        );
        let more = Material {
            names: vec!["api.example.test".to_owned()],
            disk: Some("/dev/sda".to_owned()),
            peers: vec![RemoteHost::default()],
            ..material.clone()
        };
        let (disk, peers) = ("installation-disk-speed-check", "connectivity-check");
        assert_eq!(types(&HostState::DiscoveringUnbound, &more).0, ["inventory", "ntp-synchronizer"]);
        assert_eq!(types(&HostState::KnownUnbound, &more).0, ["inventory", "ntp-synchronizer", disk, peers]);
        let bound = ["inventory", "api-vip-connectivity-check", "ntp-synchronizer", "domain-resolution", disk, peers];
        assert_eq!(types(&HostState::Insufficient, &more).0, bound);
        assert_eq!(types(&HostState::Discovering, &more).0, bound[..5]);
        assert_eq!(types(&HostState::Installing, &material).0, ["install"]);
        assert_eq!(types(&HostState::Installing, &more).0, [disk, "install"]);
        let begun = Material { stage: Some(HostStage::Installing), ..material.clone() };
        assert!(types(&HostState::Installing, &begun).0.is_empty(), "an installation is ordered once");
        assert_eq!(types(&HostState::Binding, &material), (Vec::new(), PostStepAction::Exit));
        for state in [HostState::Reclaiming, HostState::ReclaimingRebooting] {
            assert_eq!(types(&state, &material).0, ["reboot-for-reclaim"]);
        }
    }

    #[test]
    fn steps_of_one_answer_have_ids_of_their_own() {
        let answer = steps(&HostState::KnownUnbound, &Material { number: 0xdead_beef_0042, ..Material::default() });
        assert!(answer.instructions[0].step_id.starts_with("inventory-"));
        assert_eq!(answer.instructions[0].step_id.len(), "inventory-".len() + 8);
    }
}
