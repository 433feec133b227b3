//! Hosts that nobody configured: they register with a discovery service, take instructions, install, become nodes, and
//! come back when they are given back.

mod hardware;
mod install;
mod life;
mod measure;
mod service;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use roost_api::agent_install::HostStage;
use roost_host::HostIdentity;
use roost_pki::Secret;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub use install::INSTALLATION_STAGES;

use crate::network::Network;
use crate::simulator::Simulator;
use life::Life;

/// What a host is made of, and what its image told it.
#[derive(Clone)]
pub struct HostSpec {
    /// What its firmware and its network cards say.
    pub identity: HostIdentity,
    /// The id that it says it has; without it, that of its identity. For hosts that claim to be others.
    pub claimed_id: Option<String>,
    /// Its name.
    pub hostname: String,
    /// Its own address, from which it speaks.
    pub address: IpAddr,
    /// Where the discovery service is, as `https://host:port`.
    pub url: String,
    /// Whose certificate that shows, in PEM.
    pub authorities: String,
    /// The environment of its image.
    pub infra_env: String,
    /// The token of its image.
    pub token: Secret<String>,
    /// Processors.
    pub processors: u32,
    /// Memory.
    pub memory_mebibytes: u64,
    /// Its disk.
    pub disk_gigabytes: u64,
    /// The version that its kubelet claims once it is installed.
    pub version: String,
    /// How long each stage of its installation takes.
    pub stage_time: Duration,
    /// How it misbehaves.
    pub faults: HostFaults,
}

/// What is wrong with a host; nothing unless told.
#[derive(Clone, Debug, Default)]
pub struct HostFaults {
    /// It dies as soon as it has told of this stage.
    pub dies_at: Option<HostStage>,
    /// Its installation fails at this stage, which it tells.
    pub fails_at: Option<HostStage>,
    /// How far its clock is from the true time.
    pub clock_offset: SignedDuration,
    /// It reaches no other host.
    pub is_cut_off: bool,
    /// How long its packets to other hosts take there and back.
    pub round_trip: Duration,
    /// How many of a hundred of those are lost.
    pub lost_percent: u8,
    /// How long a write to its disk takes to be safe.
    pub disk_sync: Duration,
    /// It resolves no name.
    pub resolves_nothing: bool,
}

/// How a host is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostProgress {
    /// How often it has registered.
    pub registrations: u32,
    /// How often it has begun an installation.
    pub installations: u32,
    /// Whether it runs as a node now.
    pub is_node: bool,
    /// Whether it has died.
    pub is_dead: bool,
    /// What keeps it from going on, in words.
    pub trouble: Option<String>,
}

/// A host that is on. Dropping it turns it off, as pulling the plug does.
#[derive(Debug)]
pub struct Host {
    id: String,
    progress: watch::Receiver<HostProgress>,
    network: Arc<Network>,
    task: JoinHandle<()>,
}

impl Drop for Host {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Host {
    pub(crate) fn start(simulator: Simulator, spec: HostSpec) -> Self {
        let id = spec.claimed_id.clone().unwrap_or_else(|| spec.identity.id());
        let network = Arc::new(Network::new(spec.address, Duration::ZERO));
        let (sender, progress) = watch::channel(HostProgress::default());
        let life = Life::new(simulator, spec, id.clone(), Arc::clone(&network), sender);
        let task = tokio::spawn(life.run());
        Self { id, progress, network, task }
    }

    /// Who it says it is: the name of its Agent.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// How it is, now and from now on.
    pub fn progress(&self) -> watch::Receiver<HostProgress> {
        self.progress.clone()
    }

    /// Cuts it off the discovery service.
    pub fn disconnect(&self) {
        self.network.set(false);
    }

    /// Gives it its network back.
    pub fn reconnect(&self) {
        self.network.set(true);
    }
}
