//! From one registration to the next: asking, doing, and saying what came of it.

use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use roost_host::measurement::{DiskOrder, DiskReply, RemoteHost};
use roost_host::wire::{
    BASE, PostStepAction, ProgressReport, ReachReply, ReachRequest, Registered, Registration, Step, StepReply, Steps,
};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::install::{self, InstallError};
use super::installed::Handover;
use super::logs::{self, Diary};
use super::measure::{self, DiskError};
use super::newcomer::{Arrival, Newcomer};
use super::service::{CallError, Service, version};
use super::{DiscoverError, Settings, hardware};
use crate::https::{self, Address, Request, Trust};
use crate::ignition_client::Target;
use crate::join::{self, JoinError, Leaving};
use crate::kept::JoinRequest;
use crate::root::Root;
use crate::words::with_causes;

/// How long the host waits for something to do. Less than the time after which a silent connection is given up.
const WAIT: Duration = Duration::from_secs(20);
/// The same while its node is on the way and looked at in between.
const SHORT_WAIT: Duration = Duration::from_secs(3);
/// How long pods may take to leave a host that is given back.
const DRAIN: Duration = Duration::from_mins(5);
/// How long a host in the middle of its installation calls a service that does not answer.
const UNHEARD: Duration = Duration::from_mins(30);
/// The service knows which cluster a host is in.
const CLUSTER: &str = "own";
/// What fetching a configuration may take on a slow line.
const PATIENCE: Duration = Duration::from_mins(10);

/// A host and the service that it speaks with.
pub struct Session<'a> {
    root: &'a Root,
    service: Service,
    hosts: String,
    infra_env: String,
    id: String,
    url: String,
    authority: Option<PathBuf>,
    user_data: Option<PathBuf>,
    /// Where the token is kept, and which one stands there.
    kept: Option<(PathBuf, String)>,
    newcomer: Option<Newcomer>,
    diary: Diary,
}

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The host introduces itself again.
    Register,
    /// The host starts from the disk that was written.
    Restart,
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
            url: settings.url.clone(),
            authority: settings.certificate_authority.clone(),
            user_data: settings.user_data.clone(),
            kept: settings.file.clone().map(|file| (file, settings.token.clone())),
            newcomer: None,
            diary: Diary::default(),
        })
    }

    /// Joins if that was left to do, registers unless the host is a node already, and does what it is told until it has
    /// to register again.
    pub fn run(&mut self, tell: &mut dyn FnMut(&str)) -> Result<End, CallError> {
        let diary = self.diary.clone();
        let tell = &mut |words: &str| {
            diary.note(words);
            tell(words);
        };
        self.join_as_installed(tell)?;
        if !self.root.exists(crate::journal::DIRECTORY) {
            let body = json!(Registration { host_id: self.id.clone(), discovery_agent_version: version() });
            let registered: Registered = self.service.call("POST", &self.hosts, Some(&body), Duration::ZERO)?;
            tell(&format!("registered as {}: {}", self.id, registered.status));
        }
        let instructions = format!("{}/{}/instructions", self.hosts, self.id);
        loop {
            match self.newcomer.as_mut().map(|newcomer| newcomer.look(self.root, tell)) {
                Some(Arrival::Lost(words)) => {
                    self.fail(&words, tell)?;
                    return Ok(End::Register);
                }
                Some(Arrival::Ready) => self.newcomer = None,
                Some(Arrival::Awaited) | None => {}
            }
            let wait = if self.newcomer.is_some() { SHORT_WAIT } else { WAIT };
            let now = jiff::Timestamp::now().as_second();
            let steps: Steps = self.service.call("GET", &format!("{instructions}?timestamp={now}"), None, wait)?;
            self.keep_token(tell);
            for step in &steps.instructions {
                if let Some(end) = self.step(&instructions, step, tell)? {
                    return Ok(end);
                }
            }
            if steps.post_step_action == PostStepAction::Exit {
                self.leave_if_joined(tell);
                return Ok(End::Register);
            }
        }
    }

    fn step(&mut self, instructions: &str, step: &Step, tell: &mut dyn FnMut(&str)) -> Result<Option<End>, CallError> {
        let output = match step.step_type.as_str() {
            "inventory" => json!(hardware::inventory(self.root)),
            "api-vip-connectivity-check" => json!(reach(step)),
            "domain-resolution" => json!(measure::names(&order(step))),
            "connectivity-check" => match measure::peers(self.root, &order::<Vec<RemoteHost>>(step)) {
                Ok(reached) => json!(reached),
                Err(error) => {
                    self.reply(instructions, step, 1, String::new(), with_causes(&error))?;
                    return Ok(None);
                }
            },
            "installation-disk-speed-check" => {
                return self.measure_disk(instructions, step);
            }
            "install" => {
                return self.install(step, tell);
            }
            "reboot-for-reclaim" => {
                let outcome = self.leave_aloud(instructions, tell);
                let error = outcome.as_ref().err().map(|error| with_causes(error)).unwrap_or_default();
                self.reply(instructions, step, i64::from(outcome.is_err()), String::new(), error)?;
                return Ok(outcome.is_ok().then_some(End::Register));
            }
            // What this agent does not measure, it does not answer.
            _ => return Ok(None),
        };
        self.reply(instructions, step, 0, output.to_string(), String::new())?;
        Ok(None)
    }

    /// A token that was given in exchange is kept: without it, a host that restarts when the first one is over is not heard.
    fn keep_token(&mut self, tell: &mut dyn FnMut(&str)) {
        let Some((file, known)) = self.kept.as_mut().filter(|(_, known)| known.as_str() != self.service.token()) else {
            return;
        };
        self.service.token().clone_into(known);
        match Settings::keep_token(file, known) {
            Ok(()) => tell("the discovery service gave this host another token, which is kept"),
            Err(error) => tell(&format!("the new token cannot be kept in {}: {error}", file.display())),
        }
    }

    fn measure_disk(&mut self, instructions: &str, step: &Step) -> Result<Option<End>, CallError> {
        let path = order::<DiskOrder>(step).path;
        match measure::disk(self.root, &path) {
            Ok(measured) => self.reply(instructions, step, 0, json!(measured).to_string(), String::new())?,
            // What may hold data is no worse for that.
            Err(DiskError::Disk(_)) => {}
            Err(error) => {
                let nothing = json!(DiskReply { io_sync_duration: 0, path }).to_string();
                self.reply(instructions, step, 1, nothing, with_causes(&error))?;
            }
        }
        Ok(None)
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
        let path = format!("{}/{}/progress", self.hosts, self.id);
        self.service.insist("PUT", &path, Some(&body), UNHEARD).map(drop)
    }

    /// Makes this host a node: a system that runs from an image writes another to a disk, any other stays.
    fn install(&mut self, step: &Step, tell: &mut dyn FnMut(&str)) -> Result<Option<End>, CallError> {
        if self.root.exists(crate::journal::DIRECTORY) {
            return Ok(None);
        }
        self.progress("Starting installation", "")?;
        if hardware::inventory(self.root).boot.device_type == "ephemeral" {
            return match self.write_disk(step, tell)? {
                Ok(()) => {
                    self.progress("Rebooting", "")?;
                    Ok(Some(End::Restart))
                }
                Err(error) => {
                    tell(&with_causes(&error));
                    self.send_logs(tell);
                    self.progress("Failed", &with_causes(&error)).map(|()| None)
                }
            };
        }
        self.progress("Installing", "")?;
        let user_data = self.configuration()?;
        self.progress("Rebooting", "the running system stays; nothing is written to a disk")?;
        Ok(self.join(&user_data, tell)?.then_some(End::Register))
    }

    /// What this host joins its cluster with.
    fn configuration(&mut self) -> Result<Vec<u8>, CallError> {
        let path = format!("{BASE}/infra-env/{}/hosts/{}/downloads/ignition", self.infra_env, self.id);
        self.service.insist("GET", &path, None, UNHEARD)
    }

    fn write_disk(&mut self, step: &Step, tell: &mut dyn FnMut(&str)) -> Result<Result<(), InstallError>, CallError> {
        let request = serde_json::from_str(step.args.first().map(String::as_str).unwrap_or_default());
        let plan = match request.map_err(InstallError::from).and_then(|request| install::plan(self.root, &request)) {
            Ok(plan) => plan,
            Err(error) => return Ok(Err(error)),
        };
        self.progress("Installing", &format!("to {}", plan.device))?;
        let user_data = self.configuration()?;
        let left = Handover {
            url: self.url.clone(),
            infra_env_id: self.infra_env.clone(),
            token: self.service.token().to_owned(),
            authority: self.authority.as_ref().and_then(|path| std::fs::read_to_string(path).ok()),
            hostname: Target::from_user_data(&user_data).ok().and_then(|target| name_in(&target)),
            user_data: String::from_utf8_lossy(&user_data).into_owned(),
        };
        tell(&format!("writing {} MB to {}", plan.image.length / 1_000_000, plan.device));
        self.progress("Writing image to disk", "0%")?;
        let mut caller = self.service.clone();
        let path = format!("{}/{}/progress", self.hosts, self.id);
        let mut report = |percent: u64| {
            tell(&format!("{percent}% written"));
            let current_stage = "Writing image to disk".to_owned();
            let body = json!(ProgressReport { current_stage, progress_info: format!("{percent}%") });
            // What is said in between is for those who watch; the writing goes on without it.
            let _ = caller.send("PUT", &path, Some(&body), Duration::ZERO);
        };
        Ok(install::write(self.root, &plan, &left, &self.service, &mut report))
    }

    /// Joins with what the installation left, if it did and that was not done yet.
    fn join_as_installed(&mut self, tell: &mut dyn FnMut(&str)) -> Result<(), CallError> {
        let Some(path) = self.user_data.clone().filter(|_| !self.root.exists(crate::journal::DIRECTORY)) else {
            return Ok(());
        };
        let Ok(user_data) = std::fs::read(&path) else { return Ok(()) };
        self.join(&user_data, tell)?;
        Ok(())
    }

    /// Joins; true when that failed, and the host is as it was before. The node is not waited for: whoever gives the host
    /// back meanwhile is heard.
    fn join(&mut self, user_data: &[u8], tell: &mut dyn FnMut(&str)) -> Result<bool, CallError> {
        let outcome = Target::from_user_data(user_data).map_err(|error| with_causes(&error)).and_then(|target| {
            let node_name = name_in(&target);
            let request = JoinRequest { target, node_name, waived: Vec::new(), no_packages: false, kubelet: None };
            join::install(self.root, &request, PATIENCE, tell).map_err(|error| with_causes(&error))
        });
        match outcome {
            Ok(joining) => {
                self.newcomer = Some(Newcomer::new(joining, Instant::now()));
                Ok(false)
            }
            Err(words) => self.fail(&words, tell).map(|()| true),
        }
    }

    /// Another host takes its place; this one is free again once it is what it was.
    fn fail(&mut self, words: &str, tell: &mut dyn FnMut(&str)) -> Result<(), CallError> {
        tell(words);
        self.send_logs(tell);
        self.progress("Failed", words)?;
        if let Err(error) = self.leave(tell) {
            tell(&with_causes(&error));
        }
        Ok(())
    }

    /// Sends what this host knows about an installation that failed. Without it, people look at the console.
    fn send_logs(&mut self, tell: &mut dyn FnMut(&str)) {
        let path = format!(
            "{BASE}/clusters/{CLUSTER}/logs?logs_type=host&infra_env_id={}&host_id={}",
            self.infra_env, self.id
        );
        let archive = match logs::archive(self.root, &self.diary, self.service.token()) {
            Ok(archive) => archive,
            Err(error) => return tell(&format!("the logs of this host cannot be packed: {error}")),
        };
        if let Err(error) = self.service.upload(&path, "logs.tar.gz", &archive) {
            tell(&format!("the logs of this host were not sent: {}", with_causes(&error)));
        }
    }

    /// A node whose host is to introduce itself anew was given back while nobody heard of it.
    fn leave_if_joined(&mut self, tell: &mut dyn FnMut(&str)) {
        if !self.root.exists(crate::journal::DIRECTORY) {
            return;
        }
        tell("this host belongs to no cluster any more");
        if let Err(error) = self.leave(tell) {
            tell(&with_causes(&error));
            // It is told the same when it asks again, which is no reason to ask all the time.
            std::thread::sleep(WAIT);
        }
    }

    /// Leaves, and goes on asking meanwhile: a host that is quiet for a minute counts as dead.
    fn leave_aloud(&mut self, instructions: &str, tell: &mut dyn FnMut(&str)) -> Result<(), JoinError> {
        let mut caller = self.service.clone();
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while is_done.recv_timeout(WAIT) == Err(RecvTimeoutError::Timeout) {
                    // What it is told is what it is on; and whether it was heard changes nothing.
                    let _ = caller.send("GET", instructions, None, Duration::ZERO);
                }
            });
            let outcome = self.leave(tell);
            drop(done);
            outcome
        })
    }

    fn leave(&mut self, tell: &mut dyn FnMut(&str)) -> Result<(), JoinError> {
        self.newcomer = None;
        if let Some(path) = &self.user_data {
            // What a host joined with is of no use to it any more.
            let _ = std::fs::remove_file(path);
        }
        let leaving = Leaving { drain: DRAIN, kubeconfig: None };
        match join::leave(self.root, &leaving, tell) {
            Ok(_) | Err(JoinError::NotJoined) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// What a step is about; nothing where that cannot be read.
fn order<T: Default + DeserializeOwned>(step: &Step) -> T {
    step.args.first().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The name that a host gets in its cluster.
fn name_in(target: &Target) -> Option<String> {
    let named = target.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("roost-host-name"));
    named.map(|(_, name)| name.clone())
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
