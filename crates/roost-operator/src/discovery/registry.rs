//! What becomes of the calls of hosts: Agents are made, and what hosts report is written into them.

mod answer;
mod record;

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use roost_api::agent_install::{HostStage, HostState};
use roost_discovery::{Ask, Caller, Claims, Document, FileQuery, Refusal, Registry, TokenProblem};
use roost_host::measurement::{ConnectivityReply, NamesReply, Reachability};
use roost_host::wire::{
    MEDIA_DISCONNECTED, ProgressReport, ReachReply, Registered, Registration, RunnerCommand, StepReply, Steps,
    TimeReply,
};
use roost_pki::Secret;
use serde_json::{Value, json};

use super::{Discovery, Place, TOKEN_LIFE, TOKEN_ROTATION, files, measuring, membership};
use crate::agent;
use crate::context::words;
use crate::object::{Kind, ObjectError};
use crate::queue::{Controller, Key};

/// When an agent whose runner failed tries again.
const RETRY_SECONDS: i64 = 10;
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
        let steps = self.answer(&caller, &place, &call, wait).await?;
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

impl Discovery {
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
}

/// How long a token is shown at least.
const _: () = assert!(TOKEN_LIFE.as_secs() > TOKEN_ROTATION.as_secs());
