//! What a NodePool reports. A pure function of what was read and decided.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use roost_api::hypershift::names::annotation::{
    MACHINE_HEALTH_CHECK_TIMEOUT, NODE_POOL_CURRENT_CONFIG, NODE_POOL_CURRENT_CONFIG_VERSION,
};
use serde_json::{Map, Value, json};

use super::dereference::Observed;
use super::rollout::{self, Report, State};
use super::validate::{Block, Verdict};
use crate::condition::{self, Condition, Truth};
use crate::machine::{CONFIG_HASH, NODE_NAME};
use crate::object::{annotation, is_deleting};

/// How long a node may be not Ready before it counts as broken.
const REPAIR_WINDOW: SignedDuration = SignedDuration::from_mins(16);
/// The longest list of machines in a message.
const LONGEST_LIST: usize = 1000;

/// What a pass over a pool came to.
pub(crate) struct Pass<'a> {
    pub(crate) observed: &'a Observed,
    pub(crate) verdict: &'a Verdict,
    /// What was refused.
    pub(crate) failed: Option<&'a str>,
    /// Whether a host fetched its configuration.
    pub(crate) is_reached: bool,
    /// How the rollout stands, where there is one.
    pub(crate) rollout: Option<&'a Report>,
    pub(crate) now: Timestamp,
}

/// The status of a pool whose cluster does not exist.
pub(crate) fn without_cluster(pool: &Value, now: Timestamp) -> Value {
    let name = pool["spec"]["clusterName"].as_str().unwrap_or_default();
    let message = format!("spec.clusterName names the HostedCluster {name}, which does not exist in this namespace");
    let generation = pool["metadata"]["generation"].as_i64().unwrap_or_default();
    let conditions = [Condition::bad("Ready", "NotFound", message)];
    let mut status = pool["status"].as_object().cloned().unwrap_or_default();
    status
        .insert("conditions".to_owned(), condition::merge(&pool["status"]["conditions"], now, generation, &conditions));
    status.into()
}

/// The whole status to write.
pub(crate) fn status(pass: &Pass<'_>) -> Value {
    let pool = &pass.observed.pool;
    let generation = pool["metadata"]["generation"].as_i64().unwrap_or_default();
    let machines = Machines::of(pass);
    let mut conditions = pass.verdict.conditions.clone();
    conditions.extend(progress(pass, &machines));
    conditions.extend(health(pass, &machines));
    conditions.push(ready(pass, &machines));
    let mut status = Map::new();
    status.insert(
        "conditions".to_owned(),
        condition::merge(&pool["status"]["conditions"], pass.now, generation, &conditions),
    );
    status.insert("replicas".to_owned(), json!(machines.ready));
    match &pass.verdict.outcome {
        Ok(_) | Err(Block::Idle) if machines.outdated.is_empty() => {
            status.insert("version".to_owned(), json!(pass.verdict.version));
        }
        _ => {
            if let Some(version) = pool["status"].get("version") {
                status.insert("version".to_owned(), version.clone());
            }
        }
    }
    if let Some(versions) = node_versions(pass.observed) {
        status.insert("nodesInfo".to_owned(), json!({"nodeVersions": versions}));
    }
    status.into()
}

/// The annotations by which others see which configuration all nodes have; none when they are right.
pub(crate) fn annotations(pass: &Pass<'_>) -> Option<Value> {
    let wanted = pass.verdict.outcome.as_ref().ok()?;
    if !Machines::of(pass).outdated.is_empty() {
        return None;
    }
    let pool = &pass.observed.pool;
    let is_right = annotation(pool, NODE_POOL_CURRENT_CONFIG) == wanted.config_hash
        && annotation(pool, NODE_POOL_CURRENT_CONFIG_VERSION) == wanted.hash;
    (!is_right).then(|| {
        json!({"metadata": {"annotations": {
            (NODE_POOL_CURRENT_CONFIG): wanted.config_hash,
            (NODE_POOL_CURRENT_CONFIG_VERSION): wanted.hash,
        }}})
    })
}

/// When a node will have been broken for too long; none when none is.
pub(crate) fn next_repair(observed: &Observed, now: Timestamp) -> Option<Timestamp> {
    let window = repair_window(observed);
    let due = observed.machines.iter().filter_map(|machine| unhealthy_since(machine)?.checked_add(window).ok());
    due.filter(|due| *due > now).min()
}

/// A pool's machines, sorted by how they are.
struct Machines<'a> {
    all: Vec<&'a Value>,
    ready: usize,
    unready: Vec<String>,
    unhealthy: Vec<String>,
    reasons: Vec<&'a str>,
    /// Those with another configuration than the wanted one.
    outdated: Vec<&'a str>,
    /// Nodes that have not been Ready for longer than the window.
    broken: Vec<String>,
}

impl<'a> Machines<'a> {
    fn of(pass: &Pass<'a>) -> Self {
        let mut all: Vec<&Value> = pass.observed.machines.iter().filter(|machine| !is_deleting(machine)).collect();
        let made = |machine: &Value| machine["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
        all.sort_by_cached_key(|machine| (made(machine), name_of(machine).to_owned()));
        let target = pass.verdict.outcome.as_ref().ok().map(|wanted| wanted.hash.as_str());
        let window = repair_window(pass.observed);
        let mut machines = Machines {
            all,
            ready: 0,
            unready: Vec::new(),
            unhealthy: Vec::new(),
            reasons: Vec::new(),
            outdated: Vec::new(),
            broken: Vec::new(),
        };
        for machine in machines.all.clone() {
            let name = name_of(machine);
            if target.is_some_and(|target| annotation(machine, CONFIG_HASH) != target) {
                machines.outdated.push(name);
            }
            if condition::is_true(machine, "Ready") {
                machines.ready += 1;
                continue;
            }
            let found = condition::find(machine, "Ready");
            let text = |field: &str| found.and_then(|found| found.get(field)).and_then(Value::as_str);
            let reason = text("reason").unwrap_or("NotReported");
            if !machines.reasons.contains(&reason) {
                machines.reasons.push(reason);
            }
            let line = format!("Machine {name}: {reason}: {}", text("message").unwrap_or_default());
            if machine["status"]["nodeRef"].is_object() {
                machines.unhealthy.push(line.clone());
            }
            machines.unready.push(line);
            let since = unhealthy_since(machine);
            if let Some(since) = since.filter(|since| since.checked_add(window).is_ok_and(|due| due <= pass.now)) {
                machines.broken.push(format!("{} since {since}", annotation(machine, NODE_NAME)));
            }
        }
        machines
    }
}

fn name_of(machine: &Value) -> &str {
    machine["metadata"]["name"].as_str().unwrap_or_default()
}

/// Since when a machine that was a node is not well.
pub(super) fn unhealthy_since(machine: &Value) -> Option<Timestamp> {
    if !machine["status"]["nodeRef"].is_object() || condition::is_true(machine, "NodeHealthy") {
        return None;
    }
    condition::find(machine, "NodeHealthy")?.get("lastTransitionTime")?.as_str()?.parse().ok()
}

pub(super) fn repair_window(observed: &Observed) -> SignedDuration {
    let of = |object: Option<&Value>| {
        object.and_then(|object| annotation(object, MACHINE_HEALTH_CHECK_TIMEOUT).parse().ok())
    };
    of(Some(&observed.pool)).or_else(|| of(observed.cluster.as_ref())).unwrap_or(REPAIR_WINDOW)
}

/// What is being changed, and whether hosts come at all.
fn progress(pass: &Pass<'_>, machines: &Machines<'_>) -> Vec<Condition> {
    let pool = &pass.observed.pool;
    let mut conditions = Vec::new();
    if let Ok(wanted) = &pass.verdict.outcome {
        let (outdated, total) = (machines.outdated.len(), machines.all.len());
        let words = match pass.rollout {
            Some(report) => rollout::summary(&report.plan, outdated, total, &report.blocked),
            None => format!("{} of {total} machines have it; nothing is changed at this moment", total - outdated),
        };
        let is_halted = pass.rollout.is_some_and(|report| matches!(report.plan.state, State::Halted(_)));
        let reason = if is_halted { "InplaceUpgradeFailed" } else { "AsExpected" };
        let is_other_config = annotation(pool, NODE_POOL_CURRENT_CONFIG) != wanted.config_hash;
        let is_other_version = pool["status"]["version"].as_str().is_some_and(|version| version != wanted.version);
        let updating = |kind, is_other: bool, target: String| {
            if is_other && !machines.outdated.is_empty() {
                Condition::new(kind, Truth::True, reason, shortened(&format!("{target}. {words}")))
            } else {
                Condition::bad(kind, "AsExpected", "")
            }
        };
        let target = format!("Updating config in progress. Target config: {}", wanted.config_hash);
        conditions.push(updating("UpdatingConfig", is_other_config, target));
        let target = format!("Updating version in progress. Target version: {}", wanted.version);
        conditions.push(updating("UpdatingVersion", is_other_version, target));
    }
    if matches!(pass.verdict.outcome, Err(Block::Idle)) {
        conditions.push(Condition::bad("UpdatingConfig", "AsExpected", ""));
        conditions.push(Condition::bad("UpdatingVersion", "AsExpected", ""));
        return conditions;
    }
    conditions.push(if pass.is_reached || !machines.all.is_empty() {
        Condition::good("ReachedIgnitionEndpoint", "")
    } else {
        Condition::bad(
            "ReachedIgnitionEndpoint",
            "ignitionNotReached",
            "No machine has fetched its configuration from the ignition endpoint yet",
        )
    });
    conditions
}

/// Machines, nodes and repair.
fn health(pass: &Pass<'_>, machines: &Machines<'_>) -> Vec<Condition> {
    let wanted = wanted_replicas(&pass.observed.pool);
    let total = machines.all.len();
    let all = |kind: &'static str, what: &str, bad: &[String]| {
        if total == 0 && wanted == 0 {
            Condition::good(kind, "NodePool set to no replicas")
        } else if total == 0 {
            Condition::bad(kind, "NotFound", "No Machines are created")
        } else if bad.is_empty() {
            Condition::good(kind, "All is well")
        } else {
            let message = format!("{} of {total} machines are not {what}\n{}", bad.len(), shortened(&bad.join("\n")));
            Condition::bad(kind, &machines.reasons.join(","), message)
        }
    };
    let is_repairing = pass.observed.pool["spec"]["management"]["autoRepair"] == true;
    let unrepaired = pass.rollout.and_then(|report| report.plan.unrepaired.as_deref());
    let repair = match (is_repairing, unrepaired) {
        (false, _) => Condition::bad("AutorepairEnabled", "AsExpected", ""),
        (true, None) if machines.broken.is_empty() => Condition::good("AutorepairEnabled", ""),
        (true, None) => {
            let words = format!("being replaced: {}", shortened(&machines.broken.join(", ")));
            Condition::new("AutorepairEnabled", Truth::True, "AsExpected", words)
        }
        (true, Some(words)) => {
            let words = format!(
                "{}: repair the host, or remove it with kubectl delete machine -n {} NAME and boot another",
                shortened(words),
                pass.observed.namespace
            );
            Condition::new("AutorepairEnabled", Truth::True, "NotRepaired", words)
        }
    };
    vec![
        all("AllMachinesReady", "ready", &machines.unready),
        all("AllNodesHealthy", "healthy", &machines.unhealthy),
        repair,
    ]
}

pub(super) fn wanted_replicas(pool: &Value) -> usize {
    let spec = &pool["spec"];
    let wanted = spec["replicas"].as_u64().or_else(|| spec["autoScaling"]["min"].as_u64());
    wanted.and_then(|wanted| usize::try_from(wanted).ok()).unwrap_or_default()
}

/// What is missing, and what to run next.
fn ready(pass: &Pass<'_>, machines: &Machines<'_>) -> Condition {
    match &pass.verdict.outcome {
        Err(Block::Waiting(problem)) => return Condition::bad("Ready", "WaitingForConfiguration", problem.clone()),
        Err(Block::Idle) => return Condition::good("Ready", "NodePool set to no replicas"),
        Ok(_) => {}
    }
    if let Some(problem) = pass.failed {
        return Condition::bad("Ready", "ReconcileError", problem);
    }
    let pool = &pass.observed.pool;
    let (wanted, total) = (wanted_replicas(pool), machines.all.len());
    let (space, name) = (
        pool["metadata"]["namespace"].as_str().unwrap_or_default(),
        pool["metadata"]["name"].as_str().unwrap_or_default(),
    );
    if total < wanted {
        let message = format!(
            "{} of {wanted} nodes are Ready, {} machines are missing: boot them with the user-data of the Secret {}/user-data-{name}-{}, or run hcp-agent join on each host",
            machines.ready,
            wanted - total,
            pass.observed.namespace,
            pass.verdict.outcome.as_ref().map(|wanted| wanted.hash.as_str()).unwrap_or_default(),
        );
        return Condition::bad("Ready", "MachinesMissing", message);
    }
    if total > wanted {
        let surplus: Vec<&str> = machines.all[wanted..].iter().map(|machine| name_of(machine)).collect();
        let message = format!(
            "{total} machines have joined and {wanted} are wanted; on this platform nobody takes one away: drain it and run kubectl delete machine -n {} {}, or kubectl scale nodepool -n {space} {name} --replicas={total}",
            pass.observed.namespace,
            shortened(&surplus.join(" ")),
        );
        return Condition::bad("Ready", "MachinesSurplus", message);
    }
    if machines.unready.is_empty() {
        return Condition::good("Ready", "");
    }
    let message =
        format!("{} of {wanted} nodes are Ready\n{}", machines.ready, shortened(&machines.unready.join("\n")));
    Condition::bad("Ready", "NodesNotReady", message)
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST_LIST {
        text.to_owned()
    } else {
        text.chars().take(LONGEST_LIST).chain("…".chars()).collect()
    }
}

/// How many nodes run which kubelet.
fn node_versions(observed: &Observed) -> Option<Vec<Value>> {
    let mut versions: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for machine in &observed.machines {
        let Some(version) = machine["status"]["nodeInfo"]["kubeletVersion"].as_str() else { continue };
        let (ready, unready) = versions.entry(version).or_default();
        if condition::is_true(machine, "Ready") {
            *ready += 1;
        } else {
            *unready += 1;
        }
    }
    let count = |version: &str, (ready, unready): (u64, u64)| {
        let ocp = version.trim_start_matches('v');
        json!({"kubeletVersion": version, "ocpVersion": ocp, "readyNodeCount": ready, "unreadyNodeCount": unready})
    };
    (!versions.is_empty()).then(|| versions.into_iter().map(|(version, counts)| count(version, counts)).collect())
}
