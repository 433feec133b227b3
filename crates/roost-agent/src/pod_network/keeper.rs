//! The one thread that changes this host: it takes in what happened, and brings the host to what is planned.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use roost_network::model::{Kind, Model};
use roost_network::routes::Way;
use roost_network::zone::Zone;
use roost_network::{Settings, balance, filter, plugin, routes};
use serde_json::{Value, json};

use super::follower::Change;
use super::mesh::Mesh;
use super::resolver::Names;
use super::{Report, host, plugin_path, say, state};
use crate::cluster::Cluster;
use crate::root::{Owner, Root};
use crate::system::SystemError;
use crate::words;

/// What happens together is done together.
const GATHER: Duration = Duration::from_millis(50);
/// The packet filter is written as a whole, so not more often than this.
const BETWEEN_PASSES: Duration = Duration::from_secs(1);
/// How often the host is compared with the plan although nothing happened.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// How soon a pass that failed is repeated.
const RETRY: Duration = Duration::from_secs(3);
/// How often the state is written to the disk at most.
const BETWEEN_WRITES: Duration = Duration::from_secs(5);
/// The condition of the Node that says how its network is.
const CONDITION: &str = "PodNetworkReady";

struct Keeper<'a> {
    root: Root,
    settings: &'a Settings,
    node: &'a str,
    names: &'a Names,
    model: Model,
    /// What the packet filter was made from.
    applied: Option<Model>,
    filter: String,
    said: String,
    told: Option<Value>,
    serial: u32,
    mesh: Mesh,
}

/// Keeps the network for as long as there are followers. `follow_pods` begins to follow them, once there is a policy.
pub(super) fn keep(
    settings: &Settings,
    node: &str,
    changes: &Receiver<Change>,
    names: &Names,
    follow_pods: impl FnOnce(),
) {
    let root = Root::new(Path::new("/"));
    let kept = state::read(&root);
    let mut known = if kept.is_some() { Kind::ALL.to_vec() } else { Vec::new() };
    let model = kept.unwrap_or_default();
    let mut follow_pods = Some(follow_pods);
    let seconds = Timestamp::now().as_second();
    let mut keeper = Keeper {
        root,
        settings,
        node,
        names,
        model,
        applied: None,
        filter: String::new(),
        said: String::new(),
        told: None,
        serial: u32::try_from(seconds).unwrap_or_default(),
        mesh: Mesh::default(),
    };
    let (mut due, mut passed) = (Instant::now(), Instant::now());
    let (mut is_unwritten, mut written) = (false, None::<Instant>);
    let mut has_begun = false;
    loop {
        if !keeper.model.policies.is_empty()
            && let Some(follow_pods) = follow_pods.take()
        {
            follow_pods();
        }
        let wait = due.saturating_duration_since(Instant::now());
        match changes.recv_timeout(wait) {
            Ok(change) => {
                if let Change::All(kind, _) = &change
                    && !known.contains(kind)
                {
                    known.push(*kind);
                }
                if keeper.take(&change) {
                    is_unwritten = true;
                    due = due.min(Instant::now() + GATHER).max(passed + BETWEEN_PASSES);
                }
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
        }
        // A part of the state would take away what the other parts hold up. The first policy of all does not hold up what
        // is there until the pods are known.
        let has_policies = !keeper.model.policies.is_empty();
        let is_needed = |kind: &&Kind| kind.is_always_followed() || has_policies;
        has_begun |= Kind::ALL.iter().filter(is_needed).all(|kind| known.contains(kind));
        let next = if !has_begun {
            GATHER
        } else if keeper.pass() {
            LOOK_AGAIN
        } else {
            RETRY
        };
        let is_time = written.is_none_or(|written| written.elapsed() >= BETWEEN_WRITES);
        if is_unwritten && has_begun && is_time {
            if let Err(error) = state::write(&keeper.root, &keeper.model) {
                say(&format!("the state was not kept: {error}"));
            }
            (is_unwritten, written) = (false, Some(Instant::now()));
        }
        passed = Instant::now();
        due = passed + if is_unwritten { next.min(BETWEEN_WRITES) } else { next };
    }
}

impl Keeper<'_> {
    fn take(&mut self, change: &Change) -> bool {
        match change {
            Change::All(kind, objects) => {
                if *kind == Kind::Node {
                    // The Node may be another one by now, which was not told.
                    self.told = None;
                }
                self.model.replace(*kind, objects)
            }
            Change::Put(kind, object) => self.model.put(*kind, object),
            Change::Gone(kind, object) => self.model.remove(*kind, object),
        }
    }

    /// Brings the host to what is planned. Says whether all of it is done.
    fn pass(&mut self) -> bool {
        let mut report = Report { services: self.model.services.len(), ..Report::default() };
        let outcome = self.apply(&mut report);
        if let Err(error) = &outcome {
            report.problems.push(words::with_causes(error.as_ref()));
        }
        let words = report.problems.join("; ");
        if words != self.said {
            say(if words.is_empty() { "everything is in place" } else { &words });
            self.said = words;
        }
        if Report::read(&self.root).as_ref() != Some(&report)
            && let Err(error) = report.write(&self.root)
        {
            say(&format!("the report was not written: {error}"));
        }
        self.tell_node(&report);
        outcome.is_ok() && !report.pod_networks.is_empty()
    }

    fn apply(&mut self, report: &mut Report) -> Result<(), Box<dyn std::error::Error>> {
        let own = self.model.nodes.get(self.node).cloned().unwrap_or_default();
        report.pod_networks = own.pod_networks.iter().map(ToString::to_string).collect();
        host::set_names_link(&self.settings.dns)?;
        self.apply_filter()?;
        let mut plan = routes::plan(&self.model, self.node, &host::on_link()?);
        if let Err(error) = self.mesh.show(&self.root, self.node, &plan, &own) {
            let reason = words::with_causes(error.as_ref());
            report.problems.push(format!("the other nodes do not know this one's key for the mesh: {reason}"));
        }
        if let Err(error) = self.mesh.keep(&self.root, &plan, &own) {
            report.problems.push(format!("this node is not in the mesh: {}", words::with_causes(&error)));
            plan = plan.without_mesh();
        }
        report.problems.extend(self.mesh.silent());
        host::set_routes(&plan.routes)?;
        report.routes = plan.routes.len();
        report.through_mesh = plan.routes.iter().filter(|route| route.way == Way::Mesh).count();
        report.problems.extend(plan.apart.iter().map(|apart| format!("no route to the pods of a node: {apart}")));
        match plugin::configuration(&own.pod_networks) {
            // Last, because the node is Ready with it.
            Some(text) => self.write_plugin(&text)?,
            None => report.problems.push("the node has no part of the pod network yet".to_owned()),
        }
        Ok(())
    }

    fn apply_filter(&mut self) -> Result<(), SystemError> {
        let is_same = self.applied.as_ref() == Some(&self.model);
        let text = (!is_same).then(|| filter::ruleset(&self.model, self.settings, self.node));
        if text.is_some() {
            self.serial = self.serial.wrapping_add(1);
            self.names.set(Zone::new(&self.model, self.settings, self.serial));
        }
        // Most of what pods do changes nothing here.
        let is_loaded = self.applied.is_some() && text.as_ref().is_none_or(|text| *text == self.filter);
        if !is_loaded || !host::has_filter()? {
            host::load_filter(text.as_ref().unwrap_or(&self.filter))?;
        }
        self.filter = text.unwrap_or_else(|| std::mem::take(&mut self.filter));
        if let Some(before) = self.applied.take().filter(|_| !is_same) {
            for (service, endpoint) in balance::forgotten(&before, &self.model, self.node) {
                host::forget_connections(service, endpoint);
            }
        }
        self.applied = Some(self.model.clone());
        Ok(())
    }

    fn write_plugin(&self, text: &str) -> std::io::Result<()> {
        let path = plugin_path();
        if self.root.text(&path).as_deref() == Some(text) {
            return Ok(());
        }
        self.root.write(&path, &mut text.as_bytes(), 0o644, Owner::own())
    }

    /// Says on the Node how its network is, where it was not said yet.
    fn tell_node(&mut self, report: &Report) {
        let (status, reason, message) = if report.problems.is_empty() {
            ("True", "Ready", "the pods of all nodes, Services and names are reached".to_owned())
        } else {
            ("False", "Incomplete", report.problems.join("; ").chars().take(1000).collect())
        };
        let said = json!({"type": CONDITION, "status": status, "reason": reason, "message": message});
        if self.told.as_ref() == Some(&said) {
            return;
        }
        let mut condition = said.clone();
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        condition["lastTransitionTime"] = now.clone().into();
        condition["lastHeartbeatTime"] = now.into();
        let told = Cluster::of_node(&self.root)
            .and_then(|cluster| cluster.set_node_condition(self.node, &condition))
            .map_err(|error| words::with_causes(&error));
        if told.is_ok() {
            self.told = Some(said);
        }
    }
}
