//! What hosts report, written into their Agents.

use jiff::Timestamp;
use roost_api::agent_install::names::{annotation as names, label};
use roost_api::agent_install::{HostStage, HostState};
use roost_discovery::{Caller, Refusal};
use roost_host::wire::Registration;
use roost_host::{Inventory, labels, state};
use serde_json::{Value, json};

use super::unavailable;
use crate::agent;
use crate::condition;
use crate::discovery::{Discovery, Place, REPORT, Report, measuring, membership};
use crate::object::{Kind, ObjectError, Reference, has_all, is_deleting};

/// Writes that met another and are tried again.
const TRIES: usize = 8;
/// The version of the labels of an inventory.
const INVENTORY_VERSION: &str = "0.1";

/// What is written into an Agent.
enum Edit {
    /// A whole status.
    Status(Value),
    /// Labels and annotations that are laid over those that are there.
    Metadata(Value),
}

impl Discovery {
    /// Makes a host's Agent, or begins anew with the one that it has.
    pub(super) async fn registered(
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

    /// Writes a change of an Agent's status.
    pub(super) async fn change(
        &self,
        caller: &Caller,
        mut change: impl FnMut(&Value) -> Result<Value, Refusal> + Send,
    ) -> Result<(), Refusal> {
        self.edit(caller, |agent| {
            let status = change(agent)?;
            Ok((status != agent["status"]).then_some(Edit::Status(status)))
        })
        .await
    }

    /// Writes a change of what a host reported beside its inventory.
    pub(super) async fn annotate(
        &self,
        caller: &Caller,
        mut change: impl FnMut(&mut Report) + Send,
    ) -> Result<(), Refusal> {
        self.edit(caller, |agent| {
            let before = Report::of(agent);
            let mut report = before.clone();
            change(&mut report);
            Ok((report != before).then(|| Edit::Metadata(json!({"annotations": {(REPORT): report.to_text()}}))))
        })
        .await
    }

    /// Writes into an Agent what is decided by its sight, again when another was faster.
    async fn edit(
        &self,
        caller: &Caller,
        mut decide: impl FnMut(&Value) -> Result<Option<Edit>, Refusal> + Send,
    ) -> Result<(), Refusal> {
        for _ in 0..TRIES {
            let agent = self.agent(caller).await?;
            let written = match decide(&agent)? {
                None => return Ok(()),
                Some(Edit::Status(status)) => self.objects.replace_status(&agent, status).await,
                Some(Edit::Metadata(mut metadata)) => {
                    metadata["resourceVersion"] = agent["metadata"]["resourceVersion"].clone();
                    self.objects.merge(&Reference::of(&agent), &json!({"metadata": metadata})).await
                }
            };
            match written {
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

    pub(super) async fn inventory(&self, caller: &Caller, output: &str) -> Result<(), Refusal> {
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
        self.edit(caller, |agent| {
            let mut report = Report::of(agent);
            report.has_default_route = Some(inventory.has_default_route());
            report.truncation = inventory.truncation.as_ref().map(|known| known.r#type.clone()).unwrap_or_default();
            report.tpm.clone_from(&inventory.tpm_version);
            let metadata = json!({
                "labels": labels,
                "annotations": {(REPORT): report.to_text(), (names::INVENTORY_VERSION): INVENTORY_VERSION},
            });
            Ok((!has_all(&agent["metadata"], &metadata)).then_some(Edit::Metadata(metadata)))
        })
        .await
    }

    /// An installation failed.
    pub(super) async fn fail(&self, caller: &Caller, why: &str) -> Result<(), Refusal> {
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
