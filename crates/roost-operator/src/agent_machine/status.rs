//! The status of an AgentMachine: which host it has, and how that is. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use roost_api::capi_provider::condition::{self as kinds, reason};
use serde_json::{Value, json};

use crate::agent;
use crate::condition::{self, Condition, Truth};
use crate::discovery::Place;

/// What is mirrored from an Agent: its condition and what it is called here.
const MIRRORED: [(&str, &str); 4] = [
    ("SpecSynced", kinds::AGENT_SPEC_SYNCED),
    ("Validated", kinds::AGENT_VALIDATED),
    ("RequirementsMet", kinds::AGENT_REQUIREMENTS_MET),
    ("Installed", kinds::INSTALLED),
];

fn merged(machine: &Value, now: Timestamp, conditions: &[Condition]) -> Value {
    condition::merge_plain(&machine["status"]["conditions"], now, conditions)
}

fn is_reserved(agent: &str) -> Condition {
    let message = format!("The Agent {agent} is reserved for this machine");
    Condition::new(kinds::AGENT_RESERVED, Truth::True, reason::AGENT_RESERVED, message)
}

/// The status of an AgentMachine that just got a host.
pub(super) fn reserved(machine: &Value, agent: &Place, now: Timestamp) -> Value {
    let conditions = [
        is_reserved(&agent.1),
        Condition::bad(kinds::READY, "AgentNotYetInstalled", format!("The Agent {} is being bound", agent.1)),
    ];
    json!({
        "ready": false,
        "agentRef": {"name": agent.1, "namespace": agent.0},
        "conditions": merged(machine, now, &conditions),
    })
}

/// The status of an AgentMachine for which there is no host.
pub(super) fn waiting(machine: &Value, busy: &BTreeMap<&'static str, usize>, agents: &str, now: Timestamp) -> Value {
    let others: Vec<String> = busy.iter().map(|(why, count)| format!("{count} {why}")).collect();
    let others = if others.is_empty() { "none at all".to_owned() } else { others.join(", ") };
    let message = format!(
        "No free host in the namespace {agents} fits the pool ({others}); approve or add hosts, or change agentLabelSelector"
    );
    let conditions = [
        Condition::bad(kinds::AGENT_RESERVED, reason::NO_SUITABLE_AGENTS, message.clone()),
        Condition::bad(kinds::READY, reason::NO_SUITABLE_AGENTS, message),
    ];
    json!({"ready": false, "conditions": merged(machine, now, &conditions)})
}

/// The status of an AgentMachine with a host.
pub(super) fn status(machine: &Value, agent: &Value, now: Timestamp) -> Value {
    let name = agent["metadata"]["name"].as_str().unwrap_or_default();
    let mut conditions = vec![is_reserved(name)];
    let mut unready: Option<Condition> = None;
    for (theirs, ours) in MIRRORED {
        let mirrored = match condition::find(agent, theirs) {
            None => {
                Condition::bad(ours, reason::CONDITION_NOT_FOUND, format!("The Agent has no condition {theirs} yet"))
            }
            Some(found) => {
                let text = |field: &str| found.get(field).and_then(Value::as_str).unwrap_or_default();
                if text("status") == "True" {
                    Condition::new(ours, Truth::True, reason::AGENT_CONDITION_TRUE, text("message"))
                } else {
                    Condition::bad(ours, text("reason"), text("message"))
                }
            }
        };
        if mirrored.truth != Truth::True {
            unready = Some(Condition { kind: kinds::READY, ..mirrored.clone() });
        }
        conditions.push(mirrored);
    }
    let is_ready = unready.is_none();
    conditions.push(unready.unwrap_or_else(|| Condition::good(kinds::READY, "The host is a node of its cluster")));
    let mut addresses: Vec<Value> = agent::addresses(agent)
        .into_iter()
        .flat_map(|address| ["InternalIP", "ExternalIP"].map(|kind| json!({"type": kind, "address": address})))
        .collect();
    let hostname = agent::hostname(agent);
    if !hostname.is_empty() {
        addresses.push(json!({"type": "InternalDNS", "address": hostname}));
    }
    let mut status = json!({
        "ready": is_ready,
        "agentRef": {"name": name, "namespace": agent["metadata"]["namespace"]},
        "conditions": merged(machine, now, &conditions),
    });
    if !addresses.is_empty() {
        status["addresses"] = json!(addresses);
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_ready_when_its_host_is_installed() {
        let machine = json!({"metadata": {"name": "workers-1"}});
        let condition = |kind: &str, status: &str, reason: &str| json!({"type": kind, "status": status, "reason": reason, "message": "m"});
        let mut agent = json!({"metadata": {"name": "a", "namespace": "p"}, "spec": {"hostname": "node-1"}, "status": {
            "inventory": {"interfaces": [{"ipV4Addresses": ["192.0.2.1/24"], "ipV6Addresses": ["fe80::1/64"]}]},
            "conditions": [condition("SpecSynced", "True", "SyncOK"), condition("Validated", "True", "ValidationsPassing"),
                condition("RequirementsMet", "True", "AgentIsReady"), condition("Installed", "False", "InstallationInProgress")],
        }});
        let now = Timestamp::UNIX_EPOCH;
        let installing = status(&machine, &agent, now);
        assert_eq!(installing["ready"], false);
        let ready = |status: &Value| condition::find(&json!({"status": status}), "Ready").cloned().unwrap_or_default();
        assert_eq!(ready(&installing)["reason"], "InstallationInProgress");
        assert_eq!(installing["addresses"].as_array().map(Vec::len), Some(3));
        agent["status"]["conditions"][3] = condition("Installed", "True", "InstallationCompleted");
        assert_eq!(status(&machine, &agent, now)["ready"], true);
        let waiting = waiting(&machine, &BTreeMap::from([("not approved", 3)]), "pool", now);
        assert!(ready(&waiting)["message"].as_str().is_some_and(|words| words.contains("3 not approved")));
    }
}
