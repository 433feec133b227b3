//! Changing a node in place: from what its Node object asks for to a host that has it, or to the host that it was.
//!
//! ```text
//! wanted ──fetch──► begun ──apply, restart──► Ready ──► told: current-config
//!                     └──not applied, or not Ready in time──► taken back ──► told: update-failed
//! ```
//!
//! That a change has begun, and that it was taken back, is on the disk: after a power cut it goes on from there.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use roost_ignition::Config;
use roost_ignition::payload::{config_hash, paths};
use serde_json::{Value, json};

use crate::apply::{ApplyError, Fetch, apply};
use crate::cluster;
use crate::host::{Host, StepError};
use crate::intent::{self, Intent, IntentError};
use crate::journal::Entry;
use crate::kept::{Change, Kept};
use crate::step::{Before, Step};
use crate::system::System;
use crate::words;

/// The configuration that a node has, which its host says.
pub const CURRENT: &str = "roost.dev/current-config";
/// The configuration that a node is to have, which the operator says when it is the node's turn.
pub const DESIRED: &str = "roost.dev/desired-config";
/// The configuration that a node could not be brought to, and why, which its host says.
pub const FAILED: &str = "roost.dev/update-failed";
/// What of a reason stands in an annotation.
const LONGEST_REASON: usize = 300;

/// What a node hears from.
pub trait Plane {
    /// Its Node object.
    fn node(&mut self) -> Result<Value, String>;
    /// Sets annotations of its Node; null takes one away.
    fn annotate(&mut self, annotations: &Value) -> Result<(), String>;
    /// Its payload with this configuration.
    fn payload(&mut self, hash: &str) -> Result<Config, String>;
    /// Waits a moment.
    fn pause(&mut self);
}

/// Why a pass ended early. It is tried again, and goes on where it was.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The cluster or the ignition server did not answer, or refused.
    #[error("{what}: {reason}")]
    Plane {
        /// What was asked.
        what: &'static str,
        /// What was said.
        reason: String,
    },
    /// The server has another configuration by now.
    #[error("the ignition server has the configuration {found}, and not {wanted}")]
    Another {
        /// What it has.
        found: String,
        /// What was wanted.
        wanted: String,
    },
    /// The agent's own files could not be written.
    #[error("cannot write under {}", crate::journal::DIRECTORY)]
    Keep(#[from] io::Error),
    /// What was changed could not be put back.
    #[error("the configuration before could not be put back")]
    TakeBack(#[source] ApplyError),
}

/// What a Node asks of its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Nothing.
    Nothing,
    /// To be told what the host has.
    Report,
    /// Another configuration.
    Change(String),
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing had to be done.
    Settled,
    /// The host has another configuration now.
    Changed(String),
    /// The host was put back.
    TakenBack {
        /// What it should have had.
        to: String,
        /// Why not.
        reason: String,
    },
}

/// What a Node asks of a host that has the configuration `current`. What failed once is not tried again before somebody
/// takes the word of it away or wants something else, or insists.
pub fn wish(node: &Value, current: &str, insists: bool) -> Wish {
    let annotation = |name: &str| node["metadata"]["annotations"][name].as_str().unwrap_or_default();
    let desired = annotation(DESIRED);
    let has_failed = annotation(FAILED).split_once(':').is_some_and(|(hash, _)| hash == desired);
    if !desired.is_empty() && desired != current && (insists || !has_failed) {
        return Wish::Change(desired.to_owned());
    }
    if !current.is_empty() && annotation(CURRENT) != current { Wish::Report } else { Wish::Nothing }
}

/// Looks at the Node once, and does what it asks for.
pub fn pass<S: System>(
    host: &mut Host<S>,
    plane: &mut dyn Plane,
    fetch: &mut dyn Fetch,
    patience: Duration,
    insists: bool,
    tell: &mut dyn FnMut(&str),
) -> Result<Outcome, ChangeError> {
    let root = host.root.clone();
    let kept = Kept::new(&root);
    if kept.is_joining() {
        return Ok(Outcome::Settled);
    }
    if let Some(begun) = kept.change() {
        if let Some(reason) = &begun.failed {
            return taken_back(&kept, plane, &begun.to, reason);
        }
        tell(&format!("going on with the change to {}", begun.to));
        return change(host, plane, fetch, &begun, patience, tell);
    }
    let node = plane.node().map_err(|reason| ChangeError::Plane { what: "the Node was not read", reason })?;
    let current = root.text(paths::CONFIG_HASH).unwrap_or_default().trim().to_owned();
    match wish(&node, &current, insists) {
        Wish::Nothing => Ok(Outcome::Settled),
        Wish::Report => {
            told(plane, &json!({ (CURRENT): current }))?;
            Ok(Outcome::Settled)
        }
        Wish::Change(to) => {
            tell(&format!("changing this node from {current} to {to}"));
            let begun = Change { to, first_step: host.journal.next_number(), failed: None };
            change(host, plane, fetch, &begun, patience, tell)
        }
    }
}

fn change<S: System>(
    host: &mut Host<S>,
    plane: &mut dyn Plane,
    fetch: &mut dyn Fetch,
    begun: &Change,
    patience: Duration,
    tell: &mut dyn FnMut(&str),
) -> Result<Outcome, ChangeError> {
    let root = host.root.clone();
    let kept = Kept::new(&root);
    let payload = plane
        .payload(&begun.to)
        .map_err(|reason| ChangeError::Plane { what: "the configuration was not fetched", reason })?;
    let found = config_hash(&payload).unwrap_or_default();
    if found != begun.to {
        return Err(ChangeError::Another { found, wanted: begun.to.clone() });
    }
    kept.keep_change(begun)?;
    let old = kept.payload();
    let reason = match bring(host, plane, fetch, old.as_ref(), &payload, patience, tell) {
        Ok(()) => {
            kept.keep_payload(&with_bootstrap(host, payload))?;
            kept.end_change()?;
            told(plane, &json!({ (CURRENT): begun.to, (FAILED): null }))?;
            return Ok(Outcome::Changed(begun.to.clone()));
        }
        Err(reason) => reason,
    };
    tell(&format!("taking the change back: {reason}"));
    take_back(host, fetch, old.as_ref(), &payload, begun.first_step).map_err(ChangeError::TakeBack)?;
    kept.keep_change(&Change { failed: Some(reason.clone()), ..begun.clone() })?;
    taken_back(&kept, plane, &begun.to, &reason)
}

fn told(plane: &mut dyn Plane, annotations: &Value) -> Result<(), ChangeError> {
    plane.annotate(annotations).map_err(|reason| ChangeError::Plane { what: "the Node was not told", reason })
}

fn taken_back(kept: &Kept<'_>, plane: &mut dyn Plane, to: &str, reason: &str) -> Result<Outcome, ChangeError> {
    let line: String = reason.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST_REASON).collect();
    told(plane, &json!({ (FAILED): format!("{to}: {line}") }))?;
    kept.end_change()?;
    Ok(Outcome::TakenBack { to: to.to_owned(), reason: line })
}

/// Applies a payload and waits for the node. What goes wrong is said in one sentence.
fn bring<S: System>(
    host: &mut Host<S>,
    plane: &mut dyn Plane,
    fetch: &mut dyn Fetch,
    old: Option<&Config>,
    new: &Config,
    patience: Duration,
    tell: &mut dyn FnMut(&str),
) -> Result<(), String> {
    let wanted = intent::changes(&host.root, new).map_err(|error| words::with_causes(&error))?;
    let before = changes_of(host, old).map_err(|error| words::with_causes(&error))?;
    let (wanted_subjects, old_subjects) = (subjects(&wanted), subjects(&before));
    let is_stale = |entry: &Entry| {
        let subject = subject(entry);
        old_subjects.contains(&subject) && !wanted_subjects.contains(&subject)
    };
    undo(host, is_stale).map_err(|error| words::with_causes(&error))?;
    let since = Timestamp::now();
    let changed = apply(host, &wanted, fetch, &mut |step| tell(&step.to_string()));
    changed.map_err(|error| words::with_causes(&error))?;
    ready(plane, since, patience)
}

/// Waits until the kubelet has said, since the change, that the node is ready.
fn ready(plane: &mut dyn Plane, since: Timestamp, patience: Duration) -> Result<(), String> {
    let begin = Instant::now();
    loop {
        let reason = match plane.node().and_then(|node| ready_since(&node, since)) {
            Ok(()) => return Ok(()),
            Err(reason) => reason,
        };
        if begin.elapsed() >= patience {
            return Err(format!("the node was not Ready within {} s: {reason}", patience.as_secs()));
        }
        plane.pause();
    }
}

fn ready_since(node: &Value, since: Timestamp) -> Result<(), String> {
    cluster::readiness(node)?;
    let conditions = node.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready");
    let heard = ready.and_then(|ready| ready["lastHeartbeatTime"].as_str()?.parse::<Timestamp>().ok());
    // Times of the API have no parts of seconds.
    match heard {
        Some(heard) if heard.as_second() >= since.as_second() => Ok(()),
        _ => Err("the kubelet has not reported since it was started again".to_owned()),
    }
}

/// Puts back what a change changed: with the payload before it, where that is known, and else from the journal.
fn take_back<S: System>(
    host: &mut Host<S>,
    fetch: &mut dyn Fetch,
    old: Option<&Config>,
    new: &Config,
    first_step: u64,
) -> Result<(), ApplyError> {
    let before = changes_of(host, old).unwrap_or_default();
    let old_subjects = subjects(&before);
    let ran: Vec<String> = intent::units_of(new)
        .into_iter()
        .filter(|unit| unit != paths::AGENT_UNIT)
        .filter(|unit| {
            let started = host.journal.find(&Step::Start { unit: unit.clone() });
            old_subjects.contains(&format!("start {unit}"))
                || started.is_some_and(|entry| matches!(entry.before, Before::Unit { active: true, .. }))
        })
        .collect();
    undo(host, |entry| {
        let ran_before =
            matches!((&entry.step, &entry.before), (Step::Start { .. }, Before::Unit { active: true, .. }));
        entry.number >= first_step && !old_subjects.contains(&subject(entry)) && !ran_before
    })?;
    apply(host, &before, fetch, &mut |_| {})?;
    let told = |source| StepError::System { step: "start again what ran before".to_owned(), source };
    host.system.reload_units().map_err(told)?;
    for unit in ran {
        host.system.restart(&unit).map_err(told)?;
    }
    Ok(())
}

fn changes_of<S: System>(host: &Host<S>, payload: Option<&Config>) -> Result<Vec<Intent>, IntentError> {
    payload.map_or_else(|| Ok(Vec::new()), |payload| intent::changes(&host.root, payload))
}

fn subjects(intents: &[Intent]) -> BTreeSet<String> {
    intents.iter().map(|intent| intent.step.subject()).collect()
}

fn subject(entry: &Entry) -> String {
    entry.asked.clone().unwrap_or_else(|| entry.step.subject())
}

/// Undoes some steps, the last one first. What only remembers how the host was stays, and so does the credential that
/// later payloads do not have.
fn undo<S: System>(host: &mut Host<S>, is_chosen: impl Fn(&Entry) -> bool) -> Result<(), StepError> {
    let mut chosen: Vec<Entry> = host.journal.entries().iter().filter(|entry| is_chosen(entry)).cloned().collect();
    chosen.retain(|entry| {
        let is_packages = matches!(entry.step, Step::Packages { .. });
        entry.step.is_change() && !is_packages && entry.step.path() != Some(paths::BOOTSTRAP_KUBECONFIG)
    });
    chosen.sort_by_key(|entry| std::cmp::Reverse(entry.number));
    chosen.iter().try_for_each(|entry| host.undo_one(entry))
}

/// Later payloads have no credential; what is kept says who the node is, and so keeps the first one.
fn with_bootstrap<S: System>(host: &Host<S>, mut payload: Config) -> Config {
    if let Some(text) = host.root.text(paths::BOOTSTRAP_KUBECONFIG) {
        payload.put_file(paths::BOOTSTRAP_KUBECONFIG, 0o600, text.as_bytes());
    }
    payload
}
