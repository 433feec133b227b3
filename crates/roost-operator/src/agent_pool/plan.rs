//! How many AgentMachines a pool makes, and which it gives up. Pure.

use std::sync::Arc;

use roost_api::agent_install::HostState;
use serde_json::Value;

use crate::hosts::Host;

/// An AgentMachine and the host that it has.
pub(super) struct Slot {
    pub(super) name: String,
    pub(super) created: String,
    pub(super) is_deleting: bool,
    /// Whether a person asked for this one to go first.
    pub(super) is_chosen: bool,
    pub(super) has_agent: bool,
    pub(super) host: Option<Arc<Host>>,
}

impl Slot {
    /// The lower, the sooner it is given up: what was asked for, what has no host, what failed, what has not begun, and
    /// of the rest the youngest.
    fn worth(&self) -> u8 {
        let Some(host) = self.host.as_ref().filter(|_| self.has_agent) else { return 1 };
        match host.state {
            _ if self.is_chosen => 0,
            HostState::Error | HostState::Disconnected | HostState::InstallingPendingUserAction => 2,
            HostState::AddedToExistingCluster | HostState::Installed => 5,
            HostState::InstallingInProgress => 4,
            _ => 3,
        }
    }
}

/// What to make and what to give up.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) create: usize,
    pub(super) delete: Vec<String>,
}

/// Plans a pool's AgentMachines.
pub(super) fn plan(slots: &[Slot], spec: &Value) -> Plan {
    let mut live: Vec<&Slot> = slots.iter().filter(|slot| !slot.is_deleting).collect();
    let wanted = wanted(spec, live.len());
    if live.len() <= wanted {
        return Plan { create: wanted - live.len(), delete: Vec::new() };
    }
    live.sort_by(|one, other| {
        (one.worth(), &other.created, &one.name).cmp(&(other.worth(), &one.created, &other.name))
    });
    let surplus = live.len() - wanted;
    Plan { create: 0, delete: live.iter().take(surplus).map(|slot| slot.name.clone()).collect() }
}

/// How many machines a pool has: what it says, or what it has within the limits of its autoscaling.
fn wanted(spec: &Value, live: usize) -> usize {
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    if let Some(replicas) = number(&spec["replicas"]) {
        return replicas;
    }
    let (min, max) = (number(&spec["autoScaling"]["min"]), number(&spec["autoScaling"]["max"]));
    max.map_or(0, |max| live.clamp(min.unwrap_or_default().min(max), max))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn slot(name: &str, created: &str, state: Option<&str>) -> Slot {
        let host = state.map(|state| {
            let agent =
                json!({"metadata": {"namespace": "p", "name": name}, "status": {"debugInfo": {"state": state}}});
            Arc::new(Host::of(&agent).expect("a host"))
        });
        Slot {
            name: name.to_owned(),
            created: created.to_owned(),
            is_deleting: false,
            is_chosen: false,
            has_agent: host.is_some(),
            host,
        }
    }

    #[test]
    fn the_least_useful_goes_first() {
        let mut slots = vec![
            slot("old", "1", Some("added-to-existing-cluster")),
            slot("young", "3", Some("added-to-existing-cluster")),
            slot("writing", "2", Some("installing-in-progress")),
            slot("failed", "2", Some("error")),
            slot("empty", "4", None),
        ];
        let order = |replicas: usize, slots: &[Slot]| plan(slots, &json!({"replicas": replicas})).delete;
        assert_eq!(order(0, &slots), ["empty", "failed", "writing", "young", "old"]);
        assert_eq!(order(3, &slots), ["empty", "failed"]);
        assert_eq!(plan(&slots, &json!({"replicas": 7})), Plan { create: 2, delete: Vec::new() });
        slots[0].is_chosen = true;
        assert_eq!(order(4, &slots), ["old"]);
        slots[0].is_deleting = true;
        assert_eq!(plan(&slots, &json!({"replicas": 4})), Plan::default());
    }

    #[test]
    fn autoscaling_keeps_what_there_is_within_its_limits() {
        let slots = [slot("a", "1", None)];
        assert_eq!(plan(&slots, &json!({"autoScaling": {"min": 3, "max": 5}})).create, 2);
        assert_eq!(plan(&slots, &json!({"autoScaling": {"min": 0, "max": 5}})), Plan::default());
        assert_eq!(plan(&slots, &json!({})).delete, ["a"]);
    }
}
