//! Hosted clusters from creation to removal, on the embedded engine and on a stock kube-apiserver alike.

mod bare_metal;
mod chaos;
mod disk;
mod faults;
mod joins;
mod journey;
mod leadership;
mod management;
mod metal;
mod nodes;
mod objects;
mod replacement;
mod rollout;
mod rotation;

pub use bare_metal::{Emulated, run as run_bare_metal};
pub use chaos::{Outcome, destroy_at_random};
pub use faults::{kill_processes, run as fault_hosts};
pub use joins::{Joins, run as join_at_random};
pub use journey::{Step, run};
pub use leadership::two_operators;
pub use management::{Management, ManagementError};
pub use metal::run as run_metal;
pub(crate) use metal::{agents, prepare as prepare_environment};
pub use nodes::run as run_nodes;
pub use objects::{
    HostedCluster, create, guest_of, hosted_clusters, kubeconfig_of, publish, wait_until_gone, wait_until_ready,
    write_into,
};
pub(crate) use objects::{api, condition, scale, secrets, until};
pub use replacement::run as replace;
pub use rollout::run as roll_out;
pub use rotation::rotate_under_load;

/// Why a hosted cluster did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum HostedError {
    /// The plane could not be prepared.
    #[error(transparent)]
    Management(#[from] ManagementError),
    /// An API refused something.
    #[error("{what}")]
    Refused {
        /// What was tried.
        what: String,
        /// What it said.
        source: Box<kube::Error>,
    },
    /// Something did not come about.
    #[error("{what} after {seconds} s: {seen}")]
    Late {
        /// What was waited for.
        what: String,
        /// How long.
        seconds: u64,
        /// What was seen last.
        seen: String,
    },
    /// Something is not as it should be.
    #[error("{0}")]
    Wrong(String),
}
