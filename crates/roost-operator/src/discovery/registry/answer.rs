//! What a host is told when it asks for instructions.

use std::time::Duration;

use jiff::Timestamp;
use roost_api::agent_install::{HostStage, HostState};
use roost_discovery::{Caller, Refusal};
use roost_host::step::{self, Material};
use roost_host::wire::{DiskImage, PostStepAction, Steps};
use roost_image_server::ImageError;
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::unavailable;
use crate::agent;
use crate::context::words;
use crate::discovery::presence::Call;
use crate::discovery::{Discovery, Place, Report, files, measuring, membership};
use crate::object::Kind;

/// A host that waits for news. Dropped before it has its answer, the host hung up.
struct Waiting<'a> {
    discovery: &'a Discovery,
    place: &'a Place,
    call: &'a Call,
    is_over: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.discovery.presence.hang_up(self.place, self.call);
            self.discovery.look(self.place);
        }
    }
}

impl Discovery {
    /// What a host is told: news of its Agent as soon as there are any, or what holds after the time that it waits.
    pub(super) async fn answer(
        &self,
        caller: &Caller,
        place: &Place,
        call: &Call,
        wait: Duration,
    ) -> Result<Steps, Refusal> {
        let mut waiting = Waiting { discovery: self, place, call, is_over: wait.is_zero() };
        let answer = self.answer_by(caller, place, call, Instant::now() + wait).await;
        waiting.is_over = true;
        answer
    }

    async fn answer_by(
        &self,
        caller: &Caller,
        place: &Place,
        call: &Call,
        deadline: Instant,
    ) -> Result<Steps, Refusal> {
        loop {
            // Whoever changes the Agent after it was read wakes this call.
            let woken = call.wake.notified();
            tokio::pin!(woken);
            woken.as_mut().enable();
            let found = self.objects.find(Kind::Agent, &place.0, &place.1).await;
            let exit = Steps { post_step_action: PostStepAction::Exit, ..Steps::default() };
            let Some(agent) = found.map_err(|error| unavailable(&error))? else {
                // Who was deleted introduces itself again, and is another Agent.
                return Ok(exit);
            };
            if membership::is_of_another(&agent, &caller.infra_env) {
                // Two machines of one identity would take its Agent from each other as fast as they can ask.
                sleep_until(deadline).await;
                return Ok(exit);
            }
            let state = agent::state_of(&agent);
            let is_news = call.told.as_deref() != Some(state.as_str());
            if !is_news && timeout_at(deadline, woken).await.is_ok() {
                continue;
            }
            let material = self.material(caller, &agent, Timestamp::now()).await?;
            self.presence.tell(place, Some(state.as_str().to_owned()));
            return Ok(step::steps(&state, &material));
        }
    }

    /// What a host of an environment is installed with, where it runs our live image.
    async fn disk_image(&self, infra_env: &str) -> Result<Option<DiskImage>, Refusal> {
        let environment = self.environment_of(infra_env).await?;
        match self.images.disk(&environment) {
            Ok(found) => Ok(found.map(|(url, disk)| DiskImage { url, sha256: disk.sha256, length: disk.length })),
            Err(ImageError::UnknownVersion { .. }) => Ok(None),
            Err(error) => Err(Refusal::Unavailable(words(&error))),
        }
    }

    /// What a host's steps are made of.
    async fn material(&self, caller: &Caller, agent: &Value, now: Timestamp) -> Result<Material, Refusal> {
        let progress = &agent["status"]["progress"]["currentStage"];
        let state = agent::state_of(agent);
        let report = Report::of(agent);
        let (mut reach, mut install, mut names) = (None, None, Vec::new());
        if agent["spec"]["clusterDeploymentName"]["name"].is_string() {
            let needed = measuring::needed_names(&self.objects, agent).await.map_err(|error| unavailable(&error))?;
            names = measuring::unresolved(&needed);
            if report.is_own_agent() {
                reach = files::reach(&self.objects, agent).await?;
            }
            if state == HostState::Installing {
                let mut request = agent::install_request(agent, &caller.infra_env);
                if report.is_own_agent() {
                    request.disk_image = self.disk_image(&caller.infra_env).await?;
                }
                install = Some(request);
            }
        }
        let text = |field: &str| agent["metadata"][field].as_str().unwrap_or_default().to_owned();
        let time_sources = match self.environments.find(&caller.infra_env) {
            Some((namespace, name)) if matches!(state, HostState::DiscoveringUnbound | HostState::Discovering) => {
                let found = self.objects.find(Kind::InfraEnv, &namespace, &name).await;
                found.map_err(|error| unavailable(&error))?.map(|found| sources(&found)).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        Ok(Material {
            host_id: caller.host.clone(),
            number: now.as_millisecond().unsigned_abs(),
            time_sources,
            reach,
            install,
            names,
            disk: measuring::disk_to_measure(agent, &report),
            peers: self.hosts.peers(&(text("namespace"), text("name"))),
            stage: progress.as_str().map(HostStage::from),
        })
    }
}

fn sources(environment: &Value) -> Vec<String> {
    let spec = &environment["spec"];
    let list = |name: &str| spec[name].as_array().cloned().unwrap_or_default();
    let all = list("ntpSources").into_iter().chain(list("additionalNTPSources"));
    all.filter_map(|source| source.as_str().map(str::to_owned)).take(32).collect()
}
