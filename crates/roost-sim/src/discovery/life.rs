//! The life of a simulated host: register, ask, do, and again.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Method, StatusCode};
use roost_host::measurement::RemoteHost;
use roost_host::wire::{
    BASE, OWN_AGENT, PostStepAction, ReachReply, ReachRequest, Registered, Registration, Step, StepReply, Steps,
    TimeReply, TimeSource,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::install::{self, Outcome};
use super::service::{CallError, Service};
use super::{HostProgress, HostSpec, hardware, measure};
use crate::client::words;
use crate::clock::Clock;
use crate::network::Network;
use crate::retry::Backoff;
use crate::simulator::{Node, Simulator};
use crate::timing;

const HTTP1: &[u8] = b"http/1.1";
/// How long a host waits for something to do.
const WAIT: Duration = Duration::from_secs(30);

/// All that a host lives with.
pub(super) struct Life {
    simulator: Simulator,
    spec: HostSpec,
    id: String,
    network: Arc<Network>,
    clock: Clock,
    progress: watch::Sender<HostProgress>,
    node: Option<Node>,
}

/// What to do after the steps of one answer.
#[derive(PartialEq)]
enum Then {
    AskAgain,
    Register,
    Die,
}

impl Life {
    pub(super) fn new(
        simulator: Simulator,
        spec: HostSpec,
        id: String,
        network: Arc<Network>,
        progress: watch::Sender<HostProgress>,
    ) -> Self {
        let clock = Clock::with_offset(spec.faults.clock_offset);
        Self { simulator, spec, id, network, clock, progress, node: None }
    }

    /// Lives until the host dies or the future is dropped.
    pub(super) async fn run(mut self) {
        let mut backoff = Backoff::new(timing::RETRY, timing::LONGEST_HOST_RETRY);
        loop {
            let trouble = match self.session(&mut backoff).await {
                Ok(Then::Die) => {
                    self.node = None;
                    self.progress.send_modify(|progress| {
                        progress.is_dead = true;
                        progress.is_node = false;
                    });
                    return;
                }
                Ok(_) => continue,
                Err(error) => words(&error),
            };
            self.progress.send_modify(|progress| progress.trouble = Some(trouble));
            backoff.wait().await;
        }
    }

    /// From one registration to the next. A token that was renewed meanwhile is shown from then on.
    async fn session(&mut self, backoff: &mut Backoff) -> Result<Then, CallError> {
        // A host checks certificates before it has learned the time.
        let tls = self.simulator.trust.client(&self.spec.authorities, None, Clock::default(), HTTP1);
        let tls = tls.map_err(|error| CallError::Connect(error.to_string()))?;
        let network = Arc::clone(&self.network);
        let mut service = Service::new(&self.spec.url, network, tls, self.spec.token.clone())?;
        let then = self.converse(&mut service, backoff).await;
        self.spec.token = service.into_token();
        then
    }

    async fn converse(&mut self, service: &mut Service, backoff: &mut Backoff) -> Result<Then, CallError> {
        let base = format!("{BASE}/infra-envs/{}/hosts", self.spec.infra_env);
        if self.node.is_none() {
            let body =
                json!(Registration { host_id: self.id.clone(), discovery_agent_version: format!("{OWN_AGENT}sim") });
            let _: Registered = service.call(Method::POST, &base, Some(&body), Duration::ZERO).await?;
            self.progress.send_modify(|progress| {
                progress.registrations += 1;
                progress.trouble = None;
            });
        }
        backoff.reset();
        let instructions = format!("{base}/{}/instructions", self.id);
        loop {
            let target = format!("{instructions}?timestamp={}", self.clock.now().as_second());
            let steps: Steps = service.call(Method::GET, &target, None, WAIT).await?;
            for step in &steps.instructions {
                let then = self.step(service, &instructions, step).await?;
                if then != Then::AskAgain {
                    return Ok(then);
                }
            }
            if steps.post_step_action == PostStepAction::Exit {
                if self.node.is_some() {
                    // It is no longer wanted, so it starts its discovery image again.
                    self.leave();
                }
                return Ok(Then::Register);
            }
        }
    }

    async fn step(&mut self, service: &mut Service, instructions: &str, step: &Step) -> Result<Then, CallError> {
        let output = match step.step_type.as_str() {
            "inventory" => json!(hardware::inventory(&self.spec)),
            "ntp-synchronizer" => json!(TimeReply {
                ntp_sources: vec![TimeSource {
                    source_name: "ntp.example.test".to_owned(),
                    source_state: "synced".to_owned(),
                }],
            }),
            "api-vip-connectivity-check" => json!(self.reach(step).await),
            "connectivity-check" => json!(measure::peers(&self.spec.faults, &order::<Vec<RemoteHost>>(step))),
            "domain-resolution" => json!(measure::names(&self.spec.faults, &order(step))),
            "installation-disk-speed-check" => json!(measure::disk(&self.spec.faults, order(step))),
            "install" => return self.install(service).await,
            "reboot-for-reclaim" => {
                reply(service, instructions, step, &Value::Null).await?;
                self.leave();
                return Ok(Then::Register);
            }
            _ => return Ok(Then::AskAgain),
        };
        reply(service, instructions, step, &output).await?;
        Ok(Then::AskAgain)
    }

    async fn install(&mut self, service: &mut Service) -> Result<Then, CallError> {
        if self.node.is_some() {
            return Ok(Then::AskAgain);
        }
        self.progress.send_modify(|progress| progress.installations += 1);
        match install::install(service, &self.spec, &self.id).await {
            Ok(Outcome::Written(ignition)) => {
                let node = install::node(&self.spec, &self.id, ignition);
                self.node = Some(self.simulator.spawn(node));
                self.progress.send_modify(|progress| progress.is_node = true);
                Ok(Then::AskAgain)
            }
            Ok(Outcome::Failed) => Ok(Then::AskAgain),
            Ok(Outcome::Dead) => Ok(Then::Die),
            // Nobody wants the installation any more.
            Err(error) if error.is(StatusCode::CONFLICT) => Ok(Then::Register),
            Err(error) => Err(error),
        }
    }

    /// The host stops being a node, and nothing of that is left.
    fn leave(&mut self) {
        self.node = None;
        self.progress.send_modify(|progress| progress.is_node = false);
    }

    /// Tries whether the host's configuration can be reached.
    async fn reach(&self, step: &Step) -> ReachReply {
        let Some(request) = step.args.first().and_then(|text| serde_json::from_str::<ReachRequest>(text).ok()) else {
            return ReachReply { download_error: "the step cannot be read".to_owned(), ..ReachReply::default() };
        };
        let outcome = self.try_reach(&request).await;
        ReachReply { is_success: outcome.is_ok(), url: request.url, download_error: outcome.err().unwrap_or_default() }
    }

    async fn try_reach(&self, request: &ReachRequest) -> Result<(), String> {
        let authority = STANDARD.decode(&request.ca_certificate).map_err(|error| error.to_string())?;
        let authority = String::from_utf8(authority).map_err(|error| error.to_string())?;
        let tls = self.simulator.trust.client(&authority, None, Clock::default(), HTTP1);
        let tls = tls.map_err(|error| error.to_string())?;
        let nobody = roost_pki::Secret::new(String::new());
        let service = Service::new(&request.url, Arc::clone(&self.network), tls, nobody);
        let mut service = service.map_err(|error| error.to_string())?;
        let answer = service.send(Method::GET, "/healthz", None, Duration::ZERO).await;
        answer.map(drop).map_err(|error| error.to_string())
    }
}

/// What a step is about; nothing where that cannot be read.
fn order<T: Default + DeserializeOwned>(step: &Step) -> T {
    step.args.first().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

async fn reply(service: &mut Service, instructions: &str, step: &Step, output: &Value) -> Result<(), CallError> {
    let body = json!(StepReply {
        step_type: step.step_type.clone(),
        step_id: step.step_id.clone(),
        exit_code: 0,
        output: output.to_string(),
        error: String::new(),
    });
    service.send(Method::POST, instructions, Some(&body), Duration::ZERO).await.map(drop)
}
