//! Simulated hosts and nodes that speak every real protocol over real sockets.
//!
//! A node here asks for its certificates, registers itself, renews its lease and reports its status exactly as a
//! kubelet does, and misbehaves on command. It runs nothing: what it reports about pods is what a pod's annotations ask
//! for. A thousand of them fit into one process, so there is no Kubernetes client per node but one connection.

mod access;
mod certificate;
mod client;
mod clock;
mod configure;
mod discovery;
mod disk;
mod faults;
mod identity;
mod ignition;
mod kubelet;
mod life;
mod network;
mod node;
mod pods;
mod progress;
mod retry;
mod simulator;
mod spec;
mod timing;
mod trust;
mod update;
mod watch;

pub use access::{Access, AccessError};
pub use discovery::{Host, HostFaults, HostProgress, HostSpec, INSTALLATION_STAGES};
pub use faults::{Faults, UpdateFault};
pub use progress::{Progress, Stage, Statistics};
pub use simulator::{Node, Simulator};
pub use spec::{Capacity, NodeSpec, Start};
