//! What becomes of the calls of hosts: Agents are made, and what hosts report is written into them.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use roost_api::agent_install::names::{annotation as names, label};
use roost_api::agent_install::{HostStage, HostState};
use roost_discovery::{Ask, Caller, Claims, Document, FileQuery, Refusal, Registry, TokenProblem};
use roost_host::measurement::{ConnectivityReply, NamesReply, Reachability};
use roost_host::step::{self, Material};
use roost_host::wire::{
    DiskImage, MEDIA_DISCONNECTED, PostStepAction, ProgressReport, ReachReply, Registered, Registration, RunnerCommand,
    StepReply, Steps, TimeReply,
};
use roost_host::{Inventory, labels, state};
use roost_image_server::ImageError;
use roost_pki::Secret;
use serde_json::{Value, json};

use super::presence::Call;
use super::{Discovery, Place, REPORT, Report, TOKEN_LIFE, TOKEN_ROTATION, files, measuring, membership};
use crate::agent;
use crate::condition;
use crate::context::words;
use crate::object::{Kind, ObjectError, Reference, has_all, is_deleting};
use crate::queue::{Controller, Key};

/// Writes that met another and are tried again.
const TRIES: usize = 8;
/// When an agent whose runner failed tries again.
const RETRY_SECONDS: i64 = 10;
/// The version of the labels of an inventory.
const INVENTORY_VERSION: &str = "0.1";
/// How often a host without news is told to report again, however long it likes to wait.
const REPORT_AGAIN: Duration = Duration::from_secs(30);

fn unavailable(error: &ObjectError) -> Refusal {
    Refusal::Unavailable(words(error))
}

impl Registry for Discovery {
    fn verify(&self, token: &str) -> Result<Claims, TokenProblem> {
        let published = self.published().ok_or(TokenProblem::Foreign)?;
        published.signer.verify(token, Timestamp::now())
    }

    fn renew(&self, claims: &Claims) -> Option<Secret<String>> {
        let now = Timestamp::now();
        let is_old = now.duration_since(claims.issued) >= TOKEN_ROTATION;
        is_old.then(|| self.published()?.token(&claims.infra_env_id, &claims.revision, now)).flatten()
    }

    async fn register(&self, caller: Caller, registration: Registration) -> Result<Registered, Refusal> {
        let place = self.place(&caller)?;
        let environment = self.environment_of(&caller.infra_env).await?;
        self.presence.touch(&place, None);
        self.presence.tell(&place, None);
        let agent = self.registered(&place, &environment, &registration).await?;
        self.look(&place);
        let (host, infra_env) = (&caller.host, &caller.infra_env);
        let runner = json!({
            "infra_env_id": infra_env, "host_id": host, "agent_version": registration.discovery_agent_version,
        });
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let is_bound = agent["spec"]["clusterDeploymentName"]["name"].is_string();
        Ok(Registered {
            id: host.clone(),
            kind: if is_bound { "AddToExistingClusterHost" } else { "Host" }.to_owned(),
            href: format!("{}/infra-envs/{infra_env}/hosts/{host}", roost_host::wire::BASE),
            infra_env_id: infra_env.clone(),
            status: text(&agent["status"]["debugInfo"]["state"]),
            status_info: text(&agent["status"]["debugInfo"]["stateInfo"]),
            next_step_runner_command: RunnerCommand {
                command: String::new(),
                args: vec![runner.to_string()],
                retry_seconds: RETRY_SECONDS,
            },
        })
    }

    async fn instructions(&self, caller: Caller, ask: Ask) -> Result<Steps, Refusal> {
        let place = self.place(&caller)?;
        let now = Timestamp::now();
        let ahead = ask.timestamp.map(|seconds| SignedDuration::from_secs(seconds.saturating_sub(now.as_second())));
        let was_away = self.presence.connected_for(&place).is_none();
        let call = self.presence.touch(&place, ahead);
        if was_away || call.told.is_none() {
            self.look(&place);
        }
        let wait = ask.wait.min(REPORT_AGAIN);
        if !wait.is_zero() {
            self.presence.expect(&place, wait);
        }
        let mut waiting = Waiting { discovery: self, place: &place, call: &call, is_over: wait.is_zero() };
        let answer = self.answer(&caller, &place, &call, tokio::time::Instant::now() + wait).await;
        waiting.is_over = true;
        let steps = answer?;
        if let Some(seconds) = u64::try_from(steps.next_instruction_seconds).ok().filter(|_| wait.is_zero()) {
            self.presence.expect(&place, Duration::from_secs(seconds));
        }
        Ok(steps)
    }

    async fn reply(&self, caller: Caller, reply: StepReply) -> Result<(), Refusal> {
        let place = self.place(&caller)?;
        self.presence.touch(&place, None);
        if reply.exit_code == MEDIA_DISCONNECTED {
            return self.annotate(&caller, |report| report.is_media_lost = true).await;
        }
        match reply.step_type.as_str() {
            "inventory" if reply.exit_code == 0 => self.inventory(&caller, &reply.output).await,
            "ntp-synchronizer" if reply.exit_code == 0 => {
                let times: TimeReply = parse(&reply.output)?;
                let sources: Vec<Value> = times
                    .ntp_sources
                    .iter()
                    .take(64)
                    .map(|source| json!({"sourceName": source.source_name, "sourceState": source.source_state}))
                    .collect();
                self.change(&caller, |agent| {
                    let mut status = agent["status"].clone();
                    if sources.is_empty() {
                        status.as_object_mut().map(|status| status.remove("ntpSources"));
                    } else {
                        status["ntpSources"] = json!(sources);
                    }
                    Ok(status)
                })
                .await
            }
            "api-vip-connectivity-check" => {
                let reach: ReachReply =
                    if reply.exit_code == 0 { parse(&reply.output)? } else { ReachReply::default() };
                let error = if reach.download_error.is_empty() { reply.error } else { reach.download_error };
                let error: String = error.chars().take(512).collect();
                self.annotate(&caller, |report| {
                    report.is_reached = Some(reach.is_success);
                    report.reach_error = if reach.is_success { String::new() } else { error.clone() };
                })
                .await
            }
            "domain-resolution" if reply.exit_code == 0 => {
                let names: NamesReply = parse(&reply.output)?;
                let agent = self.agent(&caller).await?;
                let needed =
                    measuring::needed_names(&self.objects, &agent).await.map_err(|error| unavailable(&error))?;
                let resolved = measuring::resolved(&needed, &names);
                self.annotate(&caller, |report| report.names.clone_from(&resolved)).await
            }
            "installation-disk-speed-check" => match measuring::disk_reply(&reply) {
                Some(measured) => self.annotate(&caller, |report| report.disk_sync = Some(measured.clone())).await,
                None => Ok(()),
            },
            "connectivity-check" if reply.exit_code == 0 => {
                let reached = Reachability::of(&parse::<ConnectivityReply>(&reply.output)?);
                self.annotate(&caller, |report| {
                    if !report.reachability.as_ref().is_some_and(|known| reached.is_like(known)) {
                        report.reachability = Some(reached.clone());
                    }
                })
                .await
            }
            "install" if reply.exit_code != 0 && !is_running_already(&reply) => {
                let why: String = format!("{} {}", reply.error, reply.output).trim().chars().take(512).collect();
                self.fail(&caller, &why).await
            }
            "reboot-for-reclaim" if reply.exit_code == 0 => {
                self.change(&caller, |agent| {
                    let mut status = agent["status"].clone();
                    if agent::state_of(agent) == HostState::Reclaiming {
                        status["debugInfo"]["state"] = json!(HostState::ReclaimingRebooting.as_str());
                    }
                    Ok(status)
                })
                .await
            }
            // Other steps have no consequence here, and one that failed is tried again.
            _ => Ok(()),
        }
    }

    async fn progress(&self, caller: Caller, progress: ProgressReport) -> Result<(), Refusal> {
        let place = self.place(&caller)?;
        self.presence.touch(&place, None);
        let stage = HostStage::from(progress.current_stage.as_str());
        if matches!(stage, HostStage::Other(_)) {
            return Err(Refusal::Invalid(format!("{:?} is no stage", progress.current_stage)));
        }
        if stage == HostStage::Failed {
            return self.fail(&caller, &progress.progress_info).await;
        }
        let info: String = progress.progress_info.chars().take(256).collect();
        self.change(&caller, |agent| {
            let state = agent::state_of(agent);
            if !matches!(
                state,
                HostState::Installing | HostState::InstallingInProgress | HostState::InstallingPendingUserAction
            ) {
                return Err(Refusal::Conflict(format!("a host in the state {state} has no installation to tell of")));
            }
            let mut status = agent["status"].clone();
            agent::set_stage(&mut status, &stage, &info, Timestamp::now());
            status["debugInfo"]["state"] = json!(HostState::InstallingInProgress.as_str());
            status["debugInfo"]["stateInfo"] = json!(stage.as_str());
            Ok(status)
        })
        .await
    }

    async fn ignition(&self, caller: Caller) -> Result<Document, Refusal> {
        let agent = self.agent(&caller).await?;
        files::host_ignition(&self.objects, &agent).await
    }

    async fn file(&self, infra_env: String, query: FileQuery) -> Result<Document, Refusal> {
        let environment = self.environment_of(&infra_env).await?;
        let published =
            self.published().ok_or_else(|| Refusal::Unavailable("the service is not published yet".to_owned()))?;
        files::file(self, &published, &environment, &query).await
    }

    async fn keep_logs(&self, caller: Caller, logs: Bytes) -> Result<(), Refusal> {
        // Who is nobody's host has nothing to tell.
        let agent = self.agent(&caller).await?;
        let url = self.logs_url(&caller, &agent).await?;
        let (kept, of) = (self.logs.clone(), caller.clone());
        let writing = move || kept.keep(&of.infra_env, &of.host, &logs, SystemTime::now());
        let written = tokio::task::spawn_blocking(writing).await.unwrap_or_else(|error| Err(error.into()));
        written.map_err(|error| Refusal::Unavailable(format!("logs cannot be kept: {error}")))?;
        self.change(&caller, |agent| {
            let mut status = agent["status"].clone();
            status["debugInfo"]["logsURL"] = json!(url);
            Ok(status)
        })
        .await
    }

    async fn logs(&self, caller: Caller) -> Result<Document, Refusal> {
        let (kept, of) = (self.logs.clone(), caller.clone());
        let reading = move || kept.read(&of.infra_env, &of.host);
        let found = tokio::task::spawn_blocking(reading).await.unwrap_or_else(|error| Err(error.into()));
        let found = found.map_err(|error| Refusal::Unavailable(format!("logs cannot be read: {error}")))?;
        let body = found.ok_or_else(|| Refusal::NotFound(format!("there are no logs of the host {}", caller.host)))?;
        Ok(Document { content_type: "application/gzip", body: body.into() })
    }

    async fn environment(&self, infra_env: String) -> Result<Document, Refusal> {
        let environment = self.environment_of(&infra_env).await?;
        Ok(files::environment(&infra_env, &environment))
    }
}

fn parse<T: serde::de::DeserializeOwned>(output: &str) -> Result<T, Refusal> {
    serde_json::from_str(output).map_err(|error| Refusal::Invalid(format!("the output cannot be read: {error}")))
}

/// Upstream's installer is started twice by an agent that starts again, which is no failure.
fn is_running_already(reply: &StepReply) -> bool {
    reply.exit_code == 125 && reply.error.contains("already in use")
}

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
    /// What a host is told: news of its Agent as soon as there are any, or what holds at the deadline.
    async fn answer(
        &self,
        caller: &Caller,
        place: &Place,
        call: &Call,
        deadline: tokio::time::Instant,
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
                tokio::time::sleep_until(deadline).await;
                return Ok(exit);
            }
            let state = agent::state_of(&agent);
            let is_news = call.told.as_deref() != Some(state.as_str());
            if !is_news && tokio::time::timeout_at(deadline, woken).await.is_ok() {
                continue;
            }
            let material = self.material(caller, &agent, Timestamp::now()).await?;
            self.presence.tell(place, Some(state.as_str().to_owned()));
            return Ok(step::steps(&state, &material));
        }
    }

    /// Where the Agent of a caller is.
    fn place(&self, caller: &Caller) -> Result<Place, Refusal> {
        match self.environments.find(&caller.infra_env) {
            Some((namespace, _)) => Ok((namespace, caller.host.clone())),
            // The token is good, so the InfraEnv was there; after a restart it takes a moment until all are known.
            None => Err(Refusal::Unavailable(format!("the infra-env {} is not known", caller.infra_env))),
        }
    }

    async fn environment_of(&self, id: &str) -> Result<Value, Refusal> {
        let missing = || Refusal::Unavailable(format!("the infra-env {id} is not known"));
        let (namespace, name) = self.environments.find(id).ok_or_else(missing)?;
        let found = self.objects.find(Kind::InfraEnv, &namespace, &name).await.map_err(|error| unavailable(&error))?;
        found.ok_or_else(missing)
    }

    /// The Agent of a caller. That of another environment is none of its: its token is good for one.
    async fn agent(&self, caller: &Caller) -> Result<Value, Refusal> {
        let place = self.place(caller)?;
        let found = self.objects.find(Kind::Agent, &place.0, &place.1).await.map_err(|error| unavailable(&error))?;
        let own = |agent: &Value| !membership::is_of_another(agent, &caller.infra_env);
        found
            .filter(own)
            .ok_or_else(|| Refusal::Unavailable(format!("the Agent {} is not there; register again", place.1)))
    }

    fn look(&self, place: &Place) {
        self.queue.add(Key::new(Controller::Agent, &place.0, &place.1));
    }

    /// Makes a host's Agent, or begins anew with the one that it has.
    async fn registered(
        &self,
        place: &Place,
        environment: &Value,
        registration: &Registration,
    ) -> Result<Value, Refusal> {
        let refuse = |error: ObjectError| unavailable(&error);
        let report = Report::registered(&registration.discovery_agent_version);
        for _ in 0..TRIES {
            let agent = match self.objects.find(Kind::Agent, &place.0, &place.1).await.map_err(refuse)? {
                Some(found) if is_deleting(&found) => {
                    return Err(Refusal::Unavailable(format!("the Agent {} is being deleted", place.1)));
                }
                Some(found) if membership::is_used_elsewhere(&found, environment) => {
                    let own = found["metadata"]["labels"][label::INFRA_ENV].as_str().unwrap_or_default();
                    return Err(Refusal::Forbidden(format!(
                        "the host is in a cluster, by the infra-env {own}; start it from the image of that, or give it back first"
                    )));
                }
                Some(found) => {
                    let change = membership::change(&found, environment, &report);
                    match self.objects.merge(&Reference::of(&found), &change).await {
                        Ok(changed) => changed,
                        Err(error) if error.is_race() => continue,
                        Err(error) => return Err(unavailable(&error)),
                    }
                }
                None => {
                    let document = membership::new_agent(place, environment, &report);
                    match self.objects.create(&document).await.map_err(refuse)? {
                        Some(made) => made,
                        None => continue,
                    }
                }
            };
            let status = registered_status(&agent);
            match self.objects.replace_status(&agent, status).await {
                Ok(written) => return Ok(written),
                Err(error) if error.is_race() => {}
                Err(error) => return Err(unavailable(&error)),
            }
        }
        Err(Refusal::Unavailable(format!("the Agent {} is changed by many at a time", place.1)))
    }

    /// Writes a change of an Agent's status, again when it meets another.
    async fn change(
        &self,
        caller: &Caller,
        mut change: impl FnMut(&Value) -> Result<Value, Refusal> + Send,
    ) -> Result<(), Refusal> {
        for _ in 0..TRIES {
            let agent = self.agent(caller).await?;
            let status = change(&agent)?;
            if status == agent["status"] {
                return Ok(());
            }
            match self.objects.replace_status(&agent, status).await {
                Ok(_) => {
                    self.look(&self.place(caller)?);
                    return Ok(());
                }
                Err(error) if error.is_race() => {}
                Err(error) => return Err(unavailable(&error)),
            }
        }
        Err(Refusal::Unavailable(format!("the Agent {} is changed by many at a time", caller.host)))
    }

    /// Writes a change of what a host reported beside its inventory.
    async fn annotate(&self, caller: &Caller, change: impl Fn(&mut Report) + Send) -> Result<(), Refusal> {
        for _ in 0..TRIES {
            let agent = self.agent(caller).await?;
            let before = Report::of(&agent);
            let mut report = before.clone();
            change(&mut report);
            if report == before {
                return Ok(());
            }
            let change = json!({"metadata": {
                "annotations": {(REPORT): report.to_text()},
                "resourceVersion": agent["metadata"]["resourceVersion"],
            }});
            match self.objects.merge(&Reference::of(&agent), &change).await {
                Ok(_) => {
                    self.look(&self.place(caller)?);
                    return Ok(());
                }
                Err(error) if error.is_race() => {}
                Err(error) => return Err(unavailable(&error)),
            }
        }
        Err(Refusal::Unavailable(format!("the Agent {} is changed by many at a time", caller.host)))
    }

    async fn inventory(&self, caller: &Caller, output: &str) -> Result<(), Refusal> {
        let inventory = Inventory::parse(output).map_err(|error| Refusal::Invalid(error.to_string()))?;
        let place = self.place(caller)?;
        if self.presence.report(&place, &inventory.permanent_addresses(), caller.peer.ip()) {
            // What a stranger says of itself must not stand in the Agent of the host that was first.
            self.look(&place);
            return Ok(());
        }
        let shown = inventory.to_status();
        let labels = labels::of(&shown);
        let mut wanted = serde_json::to_value(&shown).unwrap_or_default();
        self.annotate_inventory(caller, &inventory, &json!(labels)).await?;
        self.change(caller, move |agent| {
            let mut status = agent["status"].clone();
            let before = &agent["status"]["inventory"];
            measuring::set_disk_speed(&mut wanted, &Report::of(agent));
            wanted["reportTime"] = before["reportTime"].clone();
            if *before != wanted {
                wanted["reportTime"] = json!(condition::time(Timestamp::now()));
                status["inventory"] = wanted.clone();
            }
            Ok(status)
        })
        .await
    }

    /// The labels and the other facts of an inventory.
    async fn annotate_inventory(&self, caller: &Caller, inventory: &Inventory, labels: &Value) -> Result<(), Refusal> {
        for _ in 0..TRIES {
            let agent = self.agent(caller).await?;
            let mut report = Report::of(&agent);
            report.has_default_route = Some(inventory.has_default_route());
            report.truncation = inventory.truncation.as_ref().map(|known| known.r#type.clone()).unwrap_or_default();
            report.tpm.clone_from(&inventory.tpm_version);
            let change = json!({"metadata": {
                "labels": labels,
                "annotations": {(REPORT): report.to_text(), (names::INVENTORY_VERSION): INVENTORY_VERSION},
            }});
            if has_all(&agent["metadata"], &change["metadata"]) {
                return Ok(());
            }
            let mut change = change;
            change["metadata"]["resourceVersion"] = agent["metadata"]["resourceVersion"].clone();
            match self.objects.merge(&Reference::of(&agent), &change).await {
                Ok(_) => return Ok(()),
                Err(error) if error.is_race() => {}
                Err(error) => return Err(unavailable(&error)),
            }
        }
        Err(Refusal::Unavailable(format!("the Agent {} is changed by many at a time", caller.host)))
    }

    /// An installation failed.
    async fn fail(&self, caller: &Caller, why: &str) -> Result<(), Refusal> {
        let info: String = format!("The installation failed: {why}").chars().take(1024).collect();
        self.change(caller, |agent| {
            let mut status = agent["status"].clone();
            if agent::state_of(agent).is_installing() {
                agent::set_stage(&mut status, &HostStage::Failed, why, Timestamp::now());
                status["debugInfo"]["state"] = json!(HostState::Error.as_str());
                status["debugInfo"]["stateInfo"] = json!(info);
            }
            Ok(status)
        })
        .await
    }

    /// Where the logs of a host are, with a token that is good for as long as they are kept.
    async fn logs_url(&self, caller: &Caller, agent: &Value) -> Result<String, Refusal> {
        let environment = self.environment_of(&caller.infra_env).await?;
        let published =
            self.published().ok_or_else(|| Refusal::Unavailable("the service is not published yet".to_owned()))?;
        let token = files::fresh_token(&published, &environment)?;
        let cluster = agent["spec"]["clusterDeploymentName"]["name"].as_str().unwrap_or("none");
        let (infra_env, host) = (&caller.infra_env, &caller.host);
        Ok(format!(
            "{}{}/clusters/{cluster}/logs?logs_type=host&infra_env_id={infra_env}&host_id={host}&api_key={}",
            published.url,
            roost_host::wire::BASE,
            token.expose(),
        ))
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

/// The status of a host that just registered: what it said before is of another life.
fn registered_status(agent: &Value) -> Value {
    let mut status = agent["status"].clone();
    let stage = status["progress"]["currentStage"].as_str().map(HostStage::from);
    let state = status["debugInfo"]["state"].as_str().map(HostState::from);
    let is_wanted = agent["spec"]["clusterDeploymentName"]["name"].is_string();
    let decision = state::on_register(state.as_ref(), stage.as_ref(), is_wanted);
    if !status.is_object() {
        status = json!({});
    }
    let is_fresh = matches!(decision.state, HostState::Discovering | HostState::DiscoveringUnbound);
    if is_fresh && let Some(status) = status.as_object_mut() {
        for field in ["inventory", "progress", "ntpSources", "validationsInfo"] {
            status.remove(field);
        }
    }
    let logs = status["debugInfo"]["logsURL"].take();
    status["debugInfo"] = json!({"state": decision.state.as_str(), "stateInfo": decision.info});
    if logs.is_string() {
        // Who failed registers again at once, and is asked about later.
        status["debugInfo"]["logsURL"] = logs;
    }
    agent::set_conditions(&mut status, agent, Timestamp::now());
    status
}

/// How long a token is shown at least.
const _: () = assert!(TOKEN_LIFE.as_secs() > TOKEN_ROTATION.as_secs());
