//! The status of an Agent: from what is known of its host and its Machine. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use roost_api::agent_install::{HostKind, HostRole, HostStage, HostState, Inventory, TimeSourceState};
use roost_host::state::{self, percentage, stage_in_cluster};
use roost_host::validation::{Facts, NeededName, Report as Checks, Requirements, Surroundings};
use serde_json::{Value, json};

use super::{chosen_disk, conditions, hostname, installation_disk, state_of};
use crate::condition;
use crate::discovery::{Report, measuring};

/// What a pass over an Agent knows.
pub(super) struct Observed<'a> {
    pub(super) agent: &'a Value,
    pub(super) is_connected: bool,
    pub(super) clock_ahead: Option<SignedDuration>,
    pub(super) twin: Option<&'a str>,
    pub(super) hostname_twin: Option<&'a str>,
    /// Whether there are hosts that it can be told to reach.
    pub(super) has_peers: bool,
    pub(super) names: &'a [NeededName],
    /// The Machine that the host became.
    pub(super) machine: Option<&'a Value>,
    pub(super) waived: &'a BTreeMap<String, String>,
    pub(super) required: &'a BTreeMap<String, String>,
    pub(super) now: Timestamp,
}

/// Notes how far an installation is.
pub(crate) fn set_stage(status: &mut Value, stage: &HostStage, info: &str, now: Timestamp) {
    let before = &status["progress"];
    let is_new = before["currentStage"] != stage.as_str();
    let started = if is_new { json!(condition::time(now)) } else { before["stageStartTime"].clone() };
    let stages: Vec<&str> = HostStage::OF_WORKERS.iter().map(HostStage::as_str).collect();
    let percentage =
        if *stage == HostStage::Failed { before["installationPercentage"].clone() } else { json!(percentage(stage)) };
    let mut progress = json!({
        "currentStage": stage.as_str(), "progressStages": stages, "stageStartTime": started,
        "stageUpdateTime": condition::time(now),
    });
    if percentage.is_number() {
        progress["installationPercentage"] = percentage;
    }
    if !info.is_empty() {
        progress["progressInfo"] = json!(info);
    }
    status["progress"] = progress;
}

/// The whole status to write.
pub(super) fn status(observed: &Observed<'_>) -> Value {
    let Observed { agent, now, .. } = *observed;
    let mut status = agent["status"].clone();
    if !status.is_object() {
        status = json!({});
    }
    let before = state_of(agent);
    let is_wanted = agent["spec"]["clusterDeploymentName"]["name"].is_string();
    if let Some(stage) = stage_by_machine(&status, observed.machine) {
        set_stage(&mut status, &stage, "", now);
    }
    let report = Report::of(agent);
    if let Some(inventory) = status.get_mut("inventory") {
        measuring::set_disk_speed(inventory, &report);
    }
    let inventory: Option<Inventory> = serde_json::from_value(status["inventory"].clone()).ok();
    let is_bound = !before.is_unbound();
    let name = hostname(agent);
    let checks = Checks::of(&facts(observed, inventory.as_ref(), &report, &name, is_bound && is_wanted));
    let (problems, lacks) = (checks.problems(), checks.lacks());
    let info = status["debugInfo"]["stateInfo"].as_str().unwrap_or_default().to_owned();
    let is_settled = matches!(before, HostState::Error | HostState::InstallingPendingUserAction);
    let decision = state::refresh(&state::Observed {
        state: before.clone(),
        is_wanted,
        is_approved: agent["spec"]["approved"] == true,
        is_connected: observed.is_connected,
        has_inventory: inventory.is_some(),
        // Of what went wrong the words stay that were found then.
        problems: if is_settled { info } else { lacks },
        stage: super::stage_of(&json!({"status": status})),
        quiet_for: quiet_for(&status, now),
        has_configuration: agent["spec"]["ignitionEndpointTokenReference"]["name"].is_string(),
    });
    if decision.state != before && matches!(decision.state, HostState::Installing | HostState::Reclaiming) {
        // From now on its patience counts.
        if decision.state == HostState::Installing {
            status["progress"] = json!({});
        }
        status["progress"]["stageUpdateTime"] = json!(condition::time(now));
    }
    let is_bound = is_wanted && !decision.state.is_unbound();
    let role =
        if is_bound { HostRole::Worker.as_str() } else { agent["spec"]["role"].as_str().unwrap_or("auto-assign") };
    status["role"] = json!(role);
    let kind = if is_bound { HostKind::AddToExistingCluster } else { HostKind::Host };
    status["kind"] = json!(kind.as_str());
    if let Some(disk) = installation_disk(agent) {
        status["installation_disk_id"] = json!(disk);
    }
    let known = &status["debugInfo"];
    let mut debug = if known.is_object() { known.clone() } else { json!({}) };
    debug["state"] = json!(decision.state.as_str());
    debug["stateInfo"] = json!(decision.info);
    status["debugInfo"] = debug;
    status["validationsInfo"] = json!(checks.to_status());
    let conditions = conditions::conditions(&conditions::Facts {
        state: &decision.state,
        info: &decision.info,
        is_approved: agent["spec"]["approved"] == true,
        has_validations: inventory.is_some(),
        problems: &problems,
        waived: &checks.waived(),
        input_error: input_error(agent),
    });
    status["conditions"] = condition::merge_plain(&agent["status"]["conditions"], now, &conditions);
    status
}

/// What in an Agent's spec cannot be.
fn input_error(agent: &Value) -> Option<String> {
    let spec = &agent["spec"];
    let text = |name: &str| spec[name].as_str().unwrap_or_default();
    if !text("installation_disk_id").is_empty() && !text("installation_disk_path").is_empty() {
        return Some("installation_disk_id and installation_disk_path cannot both be set".to_owned());
    }
    let overrides = text("ignitionConfigOverrides");
    if !overrides.trim().is_empty()
        && let Err(error) = roost_ignition::Config::parse(overrides.as_bytes())
    {
        return Some(format!("ignitionConfigOverrides: {error}"));
    }
    None
}

fn stage_by_machine(status: &Value, machine: Option<&Value>) -> Option<HostStage> {
    let machine = machine?;
    let stage = status["progress"]["currentStage"].as_str().map(HostStage::from);
    let has_node = machine["status"]["nodeRef"]["name"].is_string();
    stage_in_cluster(stage.as_ref(), true, has_node, has_node && condition::is_true(machine, "Ready"))
}

fn quiet_for(status: &Value, now: Timestamp) -> Duration {
    let heard: Option<Timestamp> = status["progress"]["stageUpdateTime"].as_str().and_then(|time| time.parse().ok());
    heard.and_then(|heard| Duration::try_from(now.duration_since(heard)).ok()).unwrap_or_default()
}

fn facts<'a>(
    observed: &Observed<'a>,
    inventory: Option<&'a Inventory>,
    report: &'a Report,
    name: &'a str,
    is_bound: bool,
) -> Facts<'a> {
    let agent = observed.agent;
    let sources = agent["status"]["ntpSources"].as_array();
    let followed = |list: &Vec<Value>| {
        list.iter().filter(|source| source["sourceState"] == TimeSourceState::Synced.as_str()).count()
    };
    Facts {
        is_bound,
        is_connected: observed.is_connected,
        is_media_lost: report.is_media_lost,
        inventory,
        truncation: &report.truncation,
        has_default_route: report.has_default_route,
        clock_ahead: observed.clock_ahead,
        time_servers: sources.map(|list| (list.len(), followed(list))),
        hostname: name,
        hostname_twin: observed.hostname_twin,
        identity_twin: observed.twin,
        reach: report.is_reached.map(|is_reached| (is_reached, report.reach_error.as_str())),
        tells_reach: report.is_own_agent(),
        surroundings: match &report.reachability {
            _ if !observed.has_peers => Surroundings::Alone,
            None => Surroundings::Unmeasured,
            Some(known) => Surroundings::Measured(known),
        },
        names: observed.names,
        disk_sync: measuring::disk_sync(agent, report).map(|known| {
            let is_known = known.error.is_empty();
            let taken =
                if is_known { Ok(Duration::from_millis(known.milliseconds)) } else { Err(known.error.as_str()) };
            (known.path.as_str(), taken)
        }),
        chosen_disk: chosen_disk(agent),
        requirements: Requirements::WORKER,
        waived: observed.waived,
        required: observed.required,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::find;

    fn agent(state: &str) -> Value {
        let report = Report { has_default_route: Some(true), ..Report::registered("hcp-agent/test") };
        let disk = json!({"id": "d", "driveType": "SSD", "sizeBytes": 120_000_000_000_i64,
            "installationEligibility": {"eligible": true, "notEligibleReasons": []}});
        json!({
            "metadata": {"namespace": "p", "name": "a", "annotations": {(crate::discovery::REPORT): report.to_text()}},
            "spec": {"approved": true, "role": "auto-assign"},
            "status": {
                "debugInfo": {"state": state},
                "inventory": {"hostname": "node-1", "cpu": {"count": 4}, "memory": {"physicalBytes": 17_179_869_184_i64},
                    "disks": [disk]},
            },
        })
    }

    fn observed<'a>(agent: &'a Value, waived: &'a BTreeMap<String, String>) -> Observed<'a> {
        Observed {
            agent,
            is_connected: true,
            clock_ahead: Some(SignedDuration::ZERO),
            twin: None,
            hostname_twin: None,
            has_peers: false,
            names: &[],
            machine: None,
            waived,
            required: &NOTHING,
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
        }
    }

    static NOTHING: BTreeMap<String, String> = BTreeMap::new();

    fn state(status: &Value) -> &str {
        status["debugInfo"]["state"].as_str().unwrap_or_default()
    }

    #[test]
    fn a_status_stands_once_it_is_written() {
        let none = BTreeMap::new();
        let mut agent = agent("discovering-unbound");
        let first = status(&observed(&agent, &none));
        assert_eq!(state(&first), "known-unbound", "{first}");
        assert_eq!(first["installation_disk_id"], "d");
        agent["status"] = first.clone();
        assert_eq!(status(&observed(&agent, &none)), first);
    }

    #[test]
    fn what_is_wrong_is_said_and_a_waiver_is_shown() {
        let none = BTreeMap::new();
        let agent = agent("known-unbound");
        let twin = status(&Observed { twin: Some("aa at 192.0.2.1, and bb at 192.0.2.2"), ..observed(&agent, &none) });
        assert_eq!(state(&twin), "insufficient-unbound");
        assert!(twin["debugInfo"]["stateInfo"].as_str().is_some_and(|info| info.contains("192.0.2.2")));
        let waived = BTreeMap::from([("identity-unique".to_owned(), "the Agent itself".to_owned())]);
        let shown = status(&Observed { twin: Some("aa, and bb"), ..observed(&agent, &waived) });
        assert_eq!(state(&shown), "known-unbound");
        assert!(find(&json!({"status": shown}), "ValidationsWaived").is_some());
    }

    #[test]
    fn a_host_is_done_when_its_node_is_ready() {
        let none = BTreeMap::new();
        let mut agent = agent("installing-in-progress");
        agent["spec"]["clusterDeploymentName"] = json!({"name": "demo", "namespace": "clusters-demo"});
        agent["status"]["progress"] = json!({"currentStage": "Rebooting", "stageUpdateTime": "2026-01-01T00:00:00Z"});
        let mut machine = json!({"status": {}});
        let look = |agent: &Value, machine: &Value| {
            let status = status(&Observed { machine: Some(machine), ..observed(agent, &none) });
            (status["progress"]["currentStage"].as_str().unwrap_or_default().to_owned(), state(&status).to_owned())
        };
        assert_eq!(look(&agent, &machine).0, "Configuring");
        machine["status"]["nodeRef"] = json!({"name": "node-1"});
        assert_eq!(look(&agent, &machine), ("Joined".to_owned(), "installing-in-progress".to_owned()));
        machine["status"]["conditions"] = json!([{"type": "Ready", "status": "True"}]);
        assert_eq!(look(&agent, &machine), ("Done".to_owned(), "added-to-existing-cluster".to_owned()));
        agent["status"]["progress"]["currentStage"] = json!("Writing image to disk");
        assert_eq!(look(&agent, &machine).0, "Writing image to disk", "another life's Machine says nothing");
    }
}
