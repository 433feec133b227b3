//! Many simulated nodes in one process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::discovery::{Host, HostSpec};
use crate::life::Life;
use crate::network::Network;
use crate::progress::{Progress, Reporter, Stage, Statistics};
use crate::spec::NodeSpec;
use crate::trust::Trust;

/// Starts nodes and holds what they share.
#[derive(Clone, Debug, Default)]
pub struct Simulator {
    pub(crate) trust: Arc<Trust>,
    /// How many nodes were started.
    started: Arc<AtomicU32>,
}

/// A simulated node. Dropping it ends it, as pulling the plug does; its objects stay.
#[derive(Debug)]
pub struct Node {
    name: String,
    network: Arc<Network>,
    reporter: Reporter,
    task: JoinHandle<()>,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Simulator {
    /// A simulator without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a node on the runtime of the caller.
    pub fn spawn(&self, spec: NodeSpec) -> Node {
        let reporter = Reporter::new(spec.faults.dies_at);
        let network = Arc::new(Network::new(spec.address, spec.faults.delay));
        let name = spec.name.clone();
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let life = Life::new(spec, Arc::clone(&self.trust), Arc::clone(&network), reporter.clone(), number);
        let task = tokio::spawn({
            let reporter = reporter.clone();
            async move {
                tokio::select! {
                    () = life.run() => {}
                    () = reporter.end() => {}
                }
                reporter.die();
            }
        });
        Node { name, network, reporter, task }
    }

    /// Turns on a host that nobody configured: it shows itself to a discovery service and does what it is told.
    pub fn turn_on(&self, spec: HostSpec) -> Host {
        Host::start(self.clone(), spec)
    }
}

impl Node {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How far it has come, now and from now on.
    pub fn progress(&self) -> watch::Receiver<Progress> {
        self.reporter.subscribe()
    }

    /// Waits until it has come so far, or has died.
    pub async fn reach(&self, stage: Stage) -> Progress {
        let mut progress = self.reporter.subscribe();
        let reached = progress.wait_for(|progress| progress.stage >= stage || progress.dead).await;
        // The reporter lives as long as the node, so there is always somebody to hear.
        reached.map_or_else(|_| self.reporter.subscribe().borrow().clone(), |progress| progress.clone())
    }

    /// Its heartbeats so far.
    pub fn statistics(&self) -> Statistics {
        self.reporter.statistics()
    }

    /// Cuts it off the network: connections stay open and carry nothing.
    pub fn disconnect(&self) {
        self.network.set(false);
    }

    /// Gives it its network back.
    pub fn reconnect(&self) {
        self.network.set(true);
    }
}
