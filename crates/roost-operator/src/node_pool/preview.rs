//! What a change would do to a pool's nodes, before anybody makes it: the same reading, the same decisions, no writes.

use jiff::Timestamp;
use kube::Client;
use serde::Serialize;
use serde_json::Value;

use super::dereference::{Observed, dereference};
use super::plan::token_document_of;
use super::rollout::{self, Strategy};
use super::validate::{Block, Wanted, validate};
use crate::context::words;
use crate::machine::CONFIG_HASH;
use crate::object::{Kind, Objects, annotation, is_deleting};
use crate::pause::Pause;

/// The keys of a token Secret that tell configurations apart, and what a person changed for each.
const FIELDS: [(&str, &str); 5] = [
    ("release-version", "spec.release.image of the NodePool"),
    ("config", "spec.config of the NodePool"),
    ("pull-secret-hash", "the cluster's pull secret"),
    ("additional-trust-bundle-hash", "the cluster's additional trust bundle"),
    ("hc-configuration-hash", "spec.configuration of the HostedCluster"),
];

/// A change that nobody has made yet.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    /// Another release for the pool.
    pub release: Option<String>,
    /// Objects as they would be: NodePools, HostedClusters and ConfigMaps; fields that they do not have stay.
    pub objects: Vec<Value>,
}

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    /// An object is not there.
    #[error("there is no {0}")]
    NotFound(String),
    /// The plane refused.
    #[error("{0}")]
    Plane(String),
    /// The pool would have no configuration.
    #[error("the NodePool {pool} would have no configuration: {problem}")]
    Blocked {
        /// The pool.
        pool: String,
        /// What it would wait for.
        problem: String,
    },
}

/// What would become of a pool's nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// The pool, as `<namespace>/<name>`.
    pub node_pool: String,
    /// The configuration that nodes would have.
    pub target: String,
    /// The version that nodes would have.
    pub version: String,
    /// How they would get it.
    pub strategy: String,
    /// What is different from what nodes have.
    pub changed: Vec<String>,
    /// The nodes that would restart or be replaced, in their order.
    pub nodes: Vec<PlannedNode>,
    /// The nodes that stay as they are.
    pub unchanged: Vec<String>,
    /// What would keep it from beginning; empty when nothing does.
    pub waits_for: String,
}

/// One node that would restart or be replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedNode {
    /// Its name.
    pub node: String,
    /// What is done with it.
    pub action: String,
    /// Why.
    pub reason: String,
}

/// Says what a change would do. `guest` reaches the hosted cluster; without it nodes are as their Machines say.
pub async fn preview(
    client: &Client,
    guest: Option<Client>,
    (namespace, name): (&str, &str),
    pending: &Pending,
    now: Timestamp,
) -> Result<Preview, PreviewError> {
    let objects = Objects::new(client.clone());
    let plane = |error: crate::object::ObjectError| PreviewError::Plane(words(&error));
    let pool = objects.find(Kind::NodePool, namespace, name).await.map_err(plane)?;
    let live = pool.ok_or_else(|| PreviewError::NotFound(format!("NodePool {namespace}/{name}")))?;
    let pool = changed_pool(&live, pending);
    let before = dereference(&objects, live).await.map_err(plane)?;
    let mut after = dereference(&objects, pool).await.map_err(plane)?;
    for object in pending.objects.iter().filter(|object| object["kind"] == "ConfigMap") {
        let is_it = |(name, _): &&mut (String, Option<Value>)| object["metadata"]["name"] == **name;
        if let Some((_, config)) = after.configs.iter_mut().find(is_it) {
            *config = Some(object.clone());
        }
    }
    if let Some(cluster) = &mut after.cluster {
        overlay(cluster, pending, "HostedCluster");
    }
    let nodes = match guest {
        Some(guest) => Objects::new(guest).list(Kind::Node, "").await.map_err(plane)?,
        None => Vec::new(),
    };
    decide(&before, &after, &nodes, now)
}

/// The pure part.
fn decide(before: &Observed, after: &Observed, nodes: &[Value], now: Timestamp) -> Result<Preview, PreviewError> {
    let text = |field: &str| after.pool["metadata"][field].as_str().unwrap_or_default();
    let node_pool = format!("{}/{}", text("namespace"), text("name"));
    let wanted = judged(after, now).map_err(|problem| PreviewError::Blocked { pool: node_pool.clone(), problem })?;
    let is_paused = !matches!(Pause::of(after.pool["spec"]["pausedUntil"].as_str(), now), Pause::Active);
    let situation = rollout::situation(after, &wanted.hash, nodes, is_paused, |_| 0);
    let plan = rollout::plan(&situation, now);
    let action = match situation.strategy {
        Strategy::InPlace { .. } => "drain, change in place, restart what changed",
        Strategy::Replace { .. } => "drain, delete Node and Machine; the host's next boot is a new Machine",
        Strategy::OnDelete => "nothing until its Machine is deleted",
    };
    let starting = plan.steps.iter().map(|step| (step.node.clone(), step.reason.clone()));
    let mut planned: Vec<(String, String)> = plan.in_hand.clone();
    planned.extend(starting.filter(|(node, _)| plan.in_hand.iter().all(|(known, _)| known != node)));
    planned.extend(plan.queue.iter().map(|node| {
        let member = situation.members.iter().find(|member| member.node == *node);
        let has = member.map(|member| member.current.as_str()).unwrap_or_default();
        (node.clone(), format!("it has {has} and should have {}", wanted.hash))
    }));
    let is_planned = |node: &String| planned.iter().any(|(known, _)| known == node);
    Ok(Preview {
        changed: if planned.is_empty() { Vec::new() } else { changed(before, after, &wanted, now) },
        unchanged: situation
            .members
            .iter()
            .map(|member| member.node.clone())
            .filter(|node| !is_planned(node))
            .collect(),
        nodes: planned
            .into_iter()
            .map(|(node, reason)| PlannedNode { node, action: action.to_owned(), reason })
            .collect(),
        strategy: described(situation.strategy),
        waits_for: match plan.state {
            rollout::State::Waiting(words) | rollout::State::Halted(words) => words,
            rollout::State::Paused => "the NodePool is paused".to_owned(),
            _ => String::new(),
        },
        node_pool,
        target: wanted.hash,
        version: wanted.version,
    })
}

fn described(strategy: Strategy) -> String {
    match strategy {
        Strategy::InPlace { max_unavailable } => format!("InPlace, at most {max_unavailable} away"),
        Strategy::Replace { max_surge, max_unavailable } => {
            format!("Replace, at most {max_unavailable} missing and {max_surge} too many")
        }
        Strategy::OnDelete => "Replace, on delete".to_owned(),
    }
}

fn judged(observed: &Observed, now: Timestamp) -> Result<Wanted, String> {
    let cluster = observed.cluster.as_ref().ok_or("its cluster does not exist")?;
    let history = &cluster["status"]["version"]["history"];
    let version = history[0]["version"].as_str().unwrap_or_default();
    match validate(observed, cluster, version, now).outcome {
        Ok(wanted) => Ok(wanted),
        Err(Block::Idle) => Err("it wants no machines".to_owned()),
        Err(Block::Waiting(problem)) => Err(problem),
    }
}

/// Which fields are different from what outdated nodes have.
fn changed(before: &Observed, after: &Observed, wanted: &Wanted, now: Timestamp) -> Vec<String> {
    let document = token_document_of(after, wanted);
    let mut found = Vec::new();
    let mut compare = |earlier: &Value| {
        for (key, field) in FIELDS {
            if !earlier["data"][key].is_null() && earlier["data"][key] != document["data"][key] {
                found.push(field.to_owned());
            }
        }
    };
    if let Ok(earlier) = judged(before, now).as_ref()
        && earlier.hash != wanted.hash
    {
        compare(&token_document_of(before, earlier));
    }
    let hashes = before.machines.iter().filter(|machine| !is_deleting(machine)).map(|m| annotation(m, CONFIG_HASH));
    for hash in hashes.filter(|hash| *hash != wanted.hash) {
        let is_its = |secret: &&Value| {
            let name = secret["metadata"]["name"].as_str().unwrap_or_default();
            name.starts_with("token-") && name.ends_with(&format!("-{hash}"))
        };
        if let Some(earlier) = before.secrets.iter().find(is_its) {
            compare(earlier);
        }
    }
    found.sort();
    found.dedup();
    if found.is_empty() {
        found.push("a field of the cluster that reaches nodes: its API address, networks or SSH key".to_owned());
    }
    found
}

fn changed_pool(live: &Value, pending: &Pending) -> Value {
    let mut pool = live.clone();
    overlay(&mut pool, pending, "NodePool");
    if let Some(release) = &pending.release {
        pool["spec"]["release"]["image"] = Value::from(release.as_str());
    }
    pool
}

/// Lays what a pending object says over the live one.
fn overlay(live: &mut Value, pending: &Pending, kind: &str) {
    let is_same = |object: &&Value| {
        let namespace = object["metadata"]["namespace"].as_str();
        object["kind"] == kind
            && object["metadata"]["name"] == live["metadata"]["name"]
            && namespace.is_none_or(|namespace| live["metadata"]["namespace"] == namespace)
    };
    if let Some(object) = pending.objects.iter().find(is_same).cloned() {
        merge(&mut live["spec"], &object["spec"]);
    }
}

fn merge(live: &mut Value, wanted: &Value) {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            for (key, value) in wanted {
                merge(live.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (live, wanted) => *live = wanted.clone(),
    }
}
