//! Real hosts: Debian booted by systemd, joined by `hcp-agent` to a hosted cluster of `hcp up`, with a stock kubelet,
//! Debian's containerd and real pods. The power fails in between, and in the end nothing is left of it.
//!
//! Needs root, systemd-nspawn, debootstrap and the stock binaries. All traffic stays in network namespaces.

mod host;
mod ignited;
mod journey;
mod metal;
mod network;
mod plane;
mod remote;
mod shell;

use std::path::PathBuf;

pub use journey::{Journey, run};
pub use metal::{FirstBoot, MetalJourney, run as run_metal};
pub use network::run as run_network;
pub use remote::{Remote, RemoteJourney, run as run_remote};

use crate::assets::AssetError;
use crate::process::ProcessError;

/// Why the hosts did not do what they should.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// A stock binary is missing.
    #[error(transparent)]
    Asset(#[from] AssetError),
    /// The control plane did not run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file could not be used.
    #[error("cannot use {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A command failed.
    #[error("`{command}` failed:\n{output}")]
    Command {
        /// The command.
        command: String,
        /// What it said.
        output: String,
    },
    /// Something did not come about.
    #[error("{what} did not come about within {seconds} s; last seen: {seen}")]
    Late {
        /// What was waited for.
        what: String,
        /// How long.
        seconds: u64,
        /// What was there instead.
        seen: String,
    },
    /// Something is not as it should be.
    #[error("{0}")]
    Wrong(String),
}
