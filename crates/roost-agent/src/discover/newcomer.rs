//! A node that this host became a moment ago, until it is ready.

use std::time::{Duration, Instant};

use roost_ignition::payload::Joining;

use crate::join::{self, JoinError};
use crate::root::Root;
use crate::words::with_causes;

/// How long a node may take to be ready; after that another host shall have its place.
const PATIENCE: Duration = Duration::from_mins(20);

/// A node, and what was said about it last.
pub(super) struct Newcomer {
    joining: Joining,
    since: Instant,
    told: String,
}

/// How far it is.
pub(super) enum Arrival {
    /// It is not ready yet.
    Awaited,
    /// It is a node like any other.
    Ready,
    /// It is waited for no longer, for a reason.
    Lost(String),
}

impl Newcomer {
    /// A node whose kubelet was started a moment ago.
    pub(super) fn new(joining: Joining, since: Instant) -> Self {
        Self { joining, since, told: String::new() }
    }

    /// Looks at the node, and says what is new.
    pub(super) fn look(&mut self, root: &Root, tell: &mut dyn FnMut(&str)) -> Arrival {
        let node = &self.joining.node_name;
        let elapsed = self.since.elapsed();
        let Err(reason) = join::ready(root, &self.joining) else {
            tell(&format!("this host is the node {node}, ready after {} s", elapsed.as_secs()));
            return Arrival::Ready;
        };
        if elapsed > PATIENCE {
            let error = JoinError::NotReady { node: node.clone(), seconds: elapsed.as_secs(), reason };
            return Arrival::Lost(with_causes(&error));
        }
        if reason != self.told {
            tell(&format!("waiting: {reason}"));
            self.told = reason;
        }
        Arrival::Awaited
    }
}
