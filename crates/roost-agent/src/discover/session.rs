//! From one registration to the next: asking, doing, and saying what came of it.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_host::wire::{
    BASE, PostStepAction, ProgressReport, ReachReply, ReachRequest, Registered, Registration, Step, StepReply, Steps,
};
use serde_json::json;

use super::service::{CallError, Service, version};
use super::{DiscoverError, Settings, hardware};
use crate::https::{self, Address, Request, Trust};
use crate::ignition_client::Target;
use crate::join::{self, JoinError, Leaving, Patience};
use crate::kept::JoinRequest;
use crate::root::Root;
use crate::words::with_causes;

/// How long the host waits for something to do. Less than the time after which a silent connection is given up.
const WAIT: Duration = Duration::from_secs(20);
/// How long pods may take to leave a host that is given back.
const DRAIN: Duration = Duration::from_mins(5);
/// What a join may take on a slow line.
const PATIENCE: Patience = Patience { payload: Duration::from_mins(10), ready: Duration::from_mins(20) };

/// A host and the service that it speaks with.
pub struct Session<'a> {
    root: &'a Root,
    service: Service,
    hosts: String,
    infra_env: String,
    id: String,
}

/// What to do after a step.
#[derive(PartialEq)]
enum Then {
    Go,
    Register,
}

impl<'a> Session<'a> {
    /// A host that has not been shown yet.
    pub fn new(root: &'a Root, settings: &Settings) -> Result<Self, DiscoverError> {
        Ok(Self {
            root,
            service: Service::new(settings)?,
            hosts: format!("{BASE}/infra-envs/{}/hosts", settings.infra_env_id),
            infra_env: settings.infra_env_id.clone(),
            id: hardware::identity(root).id(),
        })
    }

    /// Registers, unless the host is a node already, and does what it is told until it has to register again.
    pub fn run(&mut self, tell: &mut dyn FnMut(&str)) -> Result<(), CallError> {
        if !self.root.exists(crate::journal::DIRECTORY) {
            let body = json!(Registration { host_id: self.id.clone(), discovery_agent_version: version() });
            let registered: Registered = self.service.call("POST", &self.hosts, Some(&body), Duration::ZERO)?;
            tell(&format!("registered as {}: {}", self.id, registered.status));
        }
        let instructions = format!("{}/{}/instructions", self.hosts, self.id);
        loop {
            let now = jiff::Timestamp::now().as_second();
            let steps: Steps = self.service.call("GET", &format!("{instructions}?timestamp={now}"), None, WAIT)?;
            for step in &steps.instructions {
                if self.step(&instructions, step, tell)? == Then::Register {
                    return Ok(());
                }
            }
            if steps.post_step_action == PostStepAction::Exit {
                return Ok(());
            }
        }
    }

    fn step(&mut self, instructions: &str, step: &Step, tell: &mut dyn FnMut(&str)) -> Result<Then, CallError> {
        let output = match step.step_type.as_str() {
            "inventory" => json!(hardware::inventory(self.root)),
            "api-vip-connectivity-check" => json!(reach(step)),
            "install" => {
                self.install(tell)?;
                return Ok(Then::Go);
            }
            "reboot-for-reclaim" => {
                let outcome = self.leave(tell);
                let error = outcome.as_ref().err().map(|error| with_causes(error)).unwrap_or_default();
                self.reply(instructions, step, i64::from(outcome.is_err()), String::new(), error)?;
                return Ok(if outcome.is_ok() { Then::Register } else { Then::Go });
            }
            // What this agent does not measure, it does not answer.
            _ => return Ok(Then::Go),
        };
        self.reply(instructions, step, 0, output.to_string(), String::new())?;
        Ok(Then::Go)
    }

    fn reply(
        &mut self,
        instructions: &str,
        step: &Step,
        exit_code: i64,
        output: String,
        error: String,
    ) -> Result<(), CallError> {
        let (step_type, step_id) = (step.step_type.clone(), step.step_id.clone());
        let body = json!(StepReply { step_type, step_id, exit_code, output, error });
        self.service.send("POST", instructions, Some(&body), Duration::ZERO).map(drop)
    }

    fn progress(&mut self, stage: &str, info: &str) -> Result<(), CallError> {
        let body = json!(ProgressReport { current_stage: stage.to_owned(), progress_info: info.to_owned() });
        self.service.send("PUT", &format!("{}/{}/progress", self.hosts, self.id), Some(&body), Duration::ZERO).map(drop)
    }

    /// Makes this host a node; the system that runs stays. Writing a disk is for hosts that run from an image.
    fn install(&mut self, tell: &mut dyn FnMut(&str)) -> Result<(), CallError> {
        if self.root.exists(crate::journal::DIRECTORY) {
            return Ok(());
        }
        if hardware::inventory(self.root).boot.device_type == "ephemeral" {
            tell("this host runs from memory, and this agent cannot write a disk yet");
            let why = "the host runs from memory, and its agent cannot write a system to a disk yet; install one and run hcp-agent discover there";
            return self.progress("Failed", why);
        }
        self.progress("Starting installation", "")?;
        self.progress("Installing", "")?;
        let path = format!("{BASE}/infra-env/{}/hosts/{}/downloads/ignition", self.infra_env, self.id);
        let user_data = self.service.send("GET", &path, None, Duration::ZERO)?;
        self.progress("Rebooting", "the running system stays; nothing is written to a disk")?;
        let target = match Target::from_user_data(&user_data) {
            Ok(target) => target,
            Err(error) => return self.progress("Failed", &with_causes(&error)),
        };
        let named = target.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("roost-host-name"));
        let node_name = named.map(|(_, name)| name.clone());
        let request = JoinRequest { target, node_name, waived: Vec::new(), no_packages: false, kubelet: None };
        match join::join(self.root, &request, PATIENCE, tell) {
            Ok(node) => {
                tell(&format!("this host is the node {node}"));
                Ok(())
            }
            Err(error) => self.progress("Failed", &with_causes(&error)),
        }
    }

    fn leave(&mut self, tell: &mut dyn FnMut(&str)) -> Result<(), JoinError> {
        let leaving = Leaving { drain: DRAIN, kubeconfig: None };
        match join::leave(self.root, &leaving, tell) {
            Ok(_) | Err(JoinError::NotJoined) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Tries whether this host's configuration can be reached.
fn reach(step: &Step) -> ReachReply {
    let Some(request) = step.args.first().and_then(|text| serde_json::from_str::<ReachRequest>(text).ok()) else {
        return ReachReply { download_error: "the step cannot be read".to_owned(), ..ReachReply::default() };
    };
    let outcome = try_reach(&request);
    ReachReply { is_success: outcome.is_ok(), url: request.url, download_error: outcome.err().unwrap_or_default() }
}

fn try_reach(request: &ReachRequest) -> Result<(), String> {
    let address = Address::parse(&request.url).map_err(|error| with_causes(&error))?;
    let trust = if request.ca_certificate.is_empty() {
        Trust::System
    } else {
        let pem = STANDARD.decode(&request.ca_certificate).map_err(|error| error.to_string())?;
        Trust::from_pem(&pem).map_err(|error| with_causes(&error))?
    };
    let request = Request { method: "GET", address: &address, headers: &[], body: b"", largest: 1 << 20 };
    let answer = https::send(&request, &trust, None).map_err(|error| with_causes(&error))?;
    if answer.status == 200 { Ok(()) } else { Err(format!("it answers {}", answer.status)) }
}
