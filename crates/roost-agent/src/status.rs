//! How a host stands: what was done to it, what runs, and what the cluster says about its node.

use std::fmt;

use roost_ignition::payload::{Joining, paths};
use serde::Serialize;

use crate::join::ready;
use crate::journal::{Journal, JournalError};
use crate::kept::Kept;
use crate::linux::Linux;
use crate::pod_network::Report;
use crate::root::Root;
use crate::system::System as _;

/// How a host stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The node's name, once a payload gave it one.
    pub node: Option<String>,
    /// The API server.
    pub server: Option<String>,
    /// Whether a join was begun and not brought to its end.
    pub is_joining: bool,
    /// Steps in the journal.
    pub steps: usize,
    /// Steps that were cut off.
    pub unfinished: Vec<String>,
    /// Units of the node that do not run.
    pub stopped: Vec<String>,
    /// Why the node is not ready.
    pub not_ready: Option<String>,
    /// The node's taints.
    pub taints: Vec<String>,
    /// How the pod network is, where this host makes it.
    pub network: Option<Report>,
}

impl Status {
    /// Whether the host is a node that works.
    pub fn is_well(&self) -> bool {
        self.node.is_some() && !self.is_joining && self.stopped.is_empty() && self.not_ready.is_none()
    }
}

/// Looks.
pub fn read(root: &Root) -> Result<Status, JournalError> {
    let Some(journal) = Journal::open(root)? else { return Ok(Status::default()) };
    let kept = Kept::new(root);
    let unfinished = journal.entries().iter().filter(|entry| !entry.done).map(|entry| entry.step.to_string());
    let mut status = Status {
        is_joining: kept.is_joining(),
        steps: journal.entries().len(),
        unfinished: unfinished.collect(),
        network: Report::read(root),
        ..Status::default()
    };
    let payload = kept.payload();
    if let Some(payload) = &payload {
        let units = payload.units().filter(|unit| unit.enabled() == Some(true)).map(|unit| unit.name().to_owned());
        let mut system = Linux;
        status.stopped = units.filter(|unit| !system.unit(unit).is_ok_and(|state| state.active)).collect();
    }
    match payload.as_ref().map(Joining::read) {
        Some(Ok(joining)) => {
            match ready(root, &joining) {
                Ok(taints) => status.taints = taints,
                Err(reason) => status.not_ready = Some(reason),
            }
            status.node = Some(joining.node_name);
            status.server = Some(joining.bootstrap.server);
        }
        _ => status.not_ready = Some(format!("there is no payload with {}", paths::KUBELET_ENV)),
    }
    Ok(status)
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(node) = &self.node else {
            return formatter.write_str("this host has not joined a cluster\n");
        };
        writeln!(formatter, "node      {node}")?;
        writeln!(formatter, "cluster   {}", self.server.as_deref().unwrap_or("unknown"))?;
        match &self.not_ready {
            None => writeln!(formatter, "ready     yes")?,
            Some(reason) => writeln!(formatter, "ready     no: {reason}")?,
        }
        if !self.taints.is_empty() {
            writeln!(formatter, "taints    {}", self.taints.join(", "))?;
        }
        if let Some(network) = &self.network {
            let Report { pod_networks, routes, through_mesh, services, .. } = network;
            let pods = if pod_networks.is_empty() { "none".to_owned() } else { pod_networks.join(", ") };
            let mesh = if *through_mesh > 0 { format!(" ({through_mesh} through the mesh)") } else { String::new() };
            writeln!(formatter, "network   pods {pods}; {routes} routes{mesh}, {services} Services")?;
            for problem in &network.problems {
                writeln!(formatter, "network   {problem}")?;
            }
        }
        for unit in &self.stopped {
            writeln!(formatter, "stopped   {unit}; `journalctl -u {unit}` says why")?;
        }
        if self.is_joining {
            writeln!(formatter, "joining   not at its end; `hcp-agent join --resume` goes on")?;
        }
        for step in &self.unfinished {
            writeln!(formatter, "cut off   {step}")?;
        }
        writeln!(formatter, "journal   {} steps that `hcp-agent leave` undoes", self.steps)
    }
}
