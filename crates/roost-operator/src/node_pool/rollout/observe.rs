//! From Machines, Nodes and pods to what a decision depends on. Pure.

use jiff::{SignedDuration, Timestamp};
use roost_api::hypershift::names::annotation::MACHINE_HEALTH_CHECK_MAXIMUM_UNHEALTHY;
use serde_json::{Value, json};

use super::plan::{Mark, Member, Purpose, Repair, Situation};
use super::strategy::Strategy;
use crate::condition;
use crate::machine::{CONFIG_HASH, NODE_NAME};
use crate::node_pool::dereference::Observed;
use crate::node_pool::status::{repair_window, unhealthy_since, wanted_replicas};
use crate::object::{annotation, is_deleting};

/// On a Node, by its host: the configuration that it runs.
pub(crate) const CURRENT_CONFIG: &str = "roost.dev/current-config";
/// On a Node, by the operator: the configuration that it should run, now that its turn has come.
pub(crate) const DESIRED_CONFIG: &str = "roost.dev/desired-config";
/// On a Node, by its host: a configuration that it could not take, as `<hash>: <reason>`.
pub(crate) const UPDATE_FAILED: &str = "roost.dev/update-failed";
/// On a Machine: it is being changed, as `<purpose> <since>`, and `cordoned` behind it when a person had cordoned it.
pub(crate) const UPDATING: &str = "roost.dev/updating";
/// On a NodePool: how long a node may need to come back with its configuration, such as `20m`.
const UPDATE_TIMEOUT: &str = "roost.dev/update-timeout";

/// The host gives up after three minutes and goes back, which takes as long again; what takes longer has stopped
/// answering.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);
/// Broken nodes that are replaced at once, as upstream has it.
const MAX_UNHEALTHY: usize = 2;

/// Whether a pool has nodes to change or in hand: else there is no need to read Nodes.
pub(crate) fn concerns(observed: &Observed, target: &str, now: Timestamp) -> bool {
    let window = repair_window(observed);
    let is_broken = |machine: &Value| {
        unhealthy_since(machine).is_some_and(|since| since.checked_add(window).is_ok_and(|due| due <= now))
    };
    observed.machines.iter().filter(|machine| !is_deleting(machine)).any(|machine| {
        annotation(machine, CONFIG_HASH) != target || !annotation(machine, UPDATING).is_empty() || is_broken(machine)
    })
}

/// What is known of a pool and its nodes. `pods` counts those of a node that have to go.
pub(crate) fn situation(
    observed: &Observed,
    target: &str,
    nodes: &[Value],
    is_paused: bool,
    pods: impl Fn(&str) -> usize,
) -> Situation {
    let spec = &observed.pool["spec"];
    let wanted = wanted_replicas(&observed.pool);
    let members = observed.machines.iter().filter(|machine| !is_deleting(machine)).map(|machine| {
        let name = annotation(machine, NODE_NAME);
        let provider = machine["spec"]["providerID"].as_str().unwrap_or_default();
        let is_its = |node: &&Value| node["metadata"]["name"] == name && node["spec"]["providerID"] == provider;
        member(machine, nodes.iter().find(is_its), &pods)
    });
    let management = &spec["management"];
    let duration = |text: &str| text.parse::<SignedDuration>().ok().filter(SignedDuration::is_positive);
    Situation {
        strategy: Strategy::of(management, wanted),
        target: target.to_owned(),
        wanted,
        is_paused,
        patience: duration(annotation(&observed.pool, UPDATE_TIMEOUT)).unwrap_or(PATIENCE),
        drain_timeout: spec["nodeDrainTimeout"].as_str().and_then(duration),
        repair: (management["autoRepair"] == true)
            .then(|| Repair { window: repair_window(observed), max_unhealthy: max_unhealthy(observed) }),
        members: members.collect(),
    }
}

/// A number; what else the annotation says is as if it said nothing.
fn max_unhealthy(observed: &Observed) -> usize {
    let of = |object: Option<&Value>| annotation(object?, MACHINE_HEALTH_CHECK_MAXIMUM_UNHEALTHY).parse().ok();
    of(Some(&observed.pool)).or_else(|| of(observed.cluster.as_ref())).unwrap_or(MAX_UNHEALTHY)
}

fn member(machine: &Value, node: Option<&Value>, pods: &impl Fn(&str) -> usize) -> Member {
    let name = annotation(machine, NODE_NAME);
    let mark = mark(machine);
    let of_node = |key: &str| node.map(|node| annotation(node, key)).unwrap_or_default();
    let current = Some(of_node(CURRENT_CONFIG)).filter(|hash| !hash.is_empty());
    let failed = of_node(UPDATE_FAILED).split_once(':');
    Member {
        machine: machine["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        node: name.to_owned(),
        has_node: node.is_some(),
        is_ready: node.is_some_and(|node| condition::is_true(node, "Ready")),
        is_cordoned: node.is_some_and(|node| node["spec"]["unschedulable"] == true),
        current: current.unwrap_or_else(|| annotation(machine, CONFIG_HASH)).to_owned(),
        desired: of_node(DESIRED_CONFIG).to_owned(),
        failed: failed.map(|(hash, reason)| (hash.trim().to_owned(), reason.trim().to_owned())),
        pods: if mark.is_some() { pods(name) } else { 0 },
        mark,
        unhealthy_since: unhealthy_since(machine),
    }
}

/// What is written on a Machine that is in hand.
pub(crate) fn mark(machine: &Value) -> Option<Mark> {
    let mut words = annotation(machine, UPDATING).split_whitespace();
    let purpose = match words.next()? {
        "repair" => Purpose::Repair,
        _ => Purpose::Update,
    };
    // A mark that somebody damaged is as good as an old one: whoever it is on, is looked after.
    let since = words.next().and_then(|since| since.parse().ok()).unwrap_or_default();
    Some(Mark { purpose, since, was_cordoned: words.next() == Some("cordoned") })
}

/// How a mark is written.
pub(crate) fn written(mark: &Mark) -> Value {
    let purpose = match mark.purpose {
        Purpose::Update => "update",
        Purpose::Repair => "repair",
    };
    let cordoned = if mark.was_cordoned { " cordoned" } else { "" };
    json!({"metadata": {"annotations": {(UPDATING): format!("{purpose} {}{cordoned}", condition::time(mark.since))}}})
}

/// Whether a pod has to go before its node is changed. Those of daemon sets come back at once, static ones are the
/// kubelet's own, and those that ended use nothing.
pub(crate) fn has_to_go(pod: &Value, node_is_ready: bool) -> bool {
    let metadata = &pod["metadata"];
    let mut owners = metadata["ownerReferences"].as_array().into_iter().flatten();
    let is_of_daemon_set = owners.any(|owner| owner["kind"] == "DaemonSet" && owner["controller"] == true);
    let is_static = metadata["annotations"]["kubernetes.io/config.mirror"].is_string();
    let has_ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    // Nobody on a dead node says that a pod has stopped.
    let is_given_up = !node_is_ready && metadata["deletionTimestamp"].is_string();
    !(is_of_daemon_set || is_static || has_ended || is_given_up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_as_they_were_written() {
        for (purpose, was_cordoned) in [(Purpose::Update, false), (Purpose::Repair, true)] {
            let since: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
            let made = Mark { purpose, since, was_cordoned };
            assert_eq!(mark(&written(&made)), Some(made));
        }
        assert_eq!(mark(&json!({})), None);
        let damaged = json!({"metadata": {"annotations": {(UPDATING): "what"}}});
        assert_eq!(mark(&damaged).unwrap().since, Timestamp::UNIX_EPOCH);
    }

    #[test]
    fn pods_that_matter_have_to_go() {
        let owned = |kind: &str| json!({"metadata": {"ownerReferences": [{"kind": kind, "controller": true}]}});
        let leaving = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        for (pod, is_ready, wanted) in [
            (json!({}), true, true),
            (owned("ReplicaSet"), true, true),
            (owned("DaemonSet"), true, false),
            (json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}), true, false),
            (json!({"status": {"phase": "Succeeded"}}), true, false),
            (leaving.clone(), true, true),
            (leaving, false, false),
        ] {
            assert_eq!(has_to_go(&pod, is_ready), wanted, "{pod}");
        }
    }
}
