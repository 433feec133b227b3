//! What all controllers share: the client, the runtime, and how a pass ends.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use roost_ignition_server::{Artifacts, Servers};

use crate::bare_metal_host::Attempts;
use crate::discovery::{Discovery, Listener};
use crate::enrolment::{Enrolment, Offers};
use crate::hosts::Hosts;
use crate::images::ImageListener;
use crate::nodes::Nodes;
use crate::object::{ObjectError, Objects};
use crate::pools::Pools;
use crate::queue::Queue;

/// Where the management plane's own listener is reached, for clusters that are published behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Front {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// The address of this machine on which listeners for machines are opened; unspecified for all.
    pub listen: IpAddr,
}

/// What all controllers work with.
pub(crate) struct Context<R> {
    pub(crate) objects: Objects,
    pub(crate) runtime: Arc<R>,
    pub(crate) front: Front,
    pub(crate) pools: Pools,
    /// What hosts may fetch.
    pub(crate) offers: Arc<Offers>,
    /// Where they fetch it.
    pub(crate) servers: Servers<Enrolment<R>>,
    /// The large files of nodes.
    pub(crate) artifacts: Arc<Artifacts>,
    /// Who follows the nodes of hosted clusters.
    pub(crate) nodes: Nodes<R>,
    pub(crate) queue: Arc<Queue>,
    /// Which discovered hosts there are.
    pub(crate) hosts: Arc<Hosts>,
    /// Who is discovered.
    pub(crate) discovery: Arc<Discovery>,
    pub(crate) discovery_listener: Listener,
    /// What management controllers were asked to do.
    pub(crate) attempts: Arc<Attempts>,
    pub(crate) image_listener: ImageListener,
}

/// When to look at an object again, beside when something changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Only when something changes.
    Settled,
    /// After a while.
    After(Duration),
    /// At a time.
    At(Timestamp),
}

impl Next {
    /// Whether something is left to do, as after a write that met another.
    pub(crate) fn after_release(is_released: bool) -> Next {
        if is_released { Next::Settled } else { Next::After(Duration::ZERO) }
    }

    /// How long to wait; none for a change.
    pub(crate) fn wait(self, now: Timestamp) -> Option<Duration> {
        match self {
            Next::Settled => None,
            Next::After(duration) => Some(duration),
            Next::At(time) => Some(Duration::try_from(time.duration_since(now)).unwrap_or(Duration::ZERO)),
        }
    }
}

/// Why a pass ended early. It is tried again, each time after a longer while.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("{0}")]
    Refused(String),
}

/// An error with its causes, in one line.
pub(crate) fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        // What an API says is a sentence; the rest of its status is for programs.
        let answer = cause.downcast_ref::<Box<kube::Error>>().map(|error| &**error);
        let text = match answer {
            Some(kube::Error::Api(status)) => status.message.clone(),
            _ => cause.to_string(),
        };
        if !words.contains(&text) {
            words.push_str(": ");
            words.push_str(&text);
        }
        source = if answer.is_some() { None } else { cause.source() };
    }
    words
}

impl ReconcileError {
    pub(crate) fn words(&self) -> String {
        match self {
            ReconcileError::Object(error) => words(error),
            ReconcileError::Refused(problem) => problem.clone(),
        }
    }

    /// Whether the world moved on while a pass was under way.
    pub(crate) fn is_race(&self) -> bool {
        matches!(self, ReconcileError::Object(error) if error.is_race())
    }
}
