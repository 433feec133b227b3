//! Why `hcp up` does not serve, and what to do about it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use roost_ignition_server::ArtifactsError;
use roost_store::OpenError;

use super::keys::KeysError;
use crate::instance::InstanceError;

/// Below it, ports are for the administrator.
const FIRST_OPEN_PORT: u16 = 1024;

#[derive(Debug, thiserror::Error)]
pub(crate) enum UpError {
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error("cannot make the data directory {path}")]
    DataDir { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Keys(#[from] KeysError),
    #[error(
        "port {port} on {address} is in use by another program; choose another with --listen {address}:PORT, or stop what holds it (see: ss -ltnp 'sport = :{port}')"
    )]
    PortInUse { address: IpAddr, port: u16 },
    #[error("cannot listen on {address}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot open the audit log {path}")]
    AuditLog { path: PathBuf, source: io::Error },
    #[error("the cluster's own objects could not be written: {0}")]
    Bootstrap(String),
    #[error("TLS could not be set up")]
    Tls(#[source] rustls::Error),
    #[error(transparent)]
    Artifacts(#[from] ArtifactsError),
    #[error("cannot read the images in {path}")]
    Images { path: PathBuf, source: io::Error },
    #[error("cannot {action} {path}")]
    Detach { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{0}")]
    Background(String),
    #[error("the server stopped")]
    Serve(#[source] io::Error),
}

impl UpError {
    /// What to do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Open(OpenError::Locked { directory, .. }) => {
                let data_dir = directory.parent().unwrap_or(directory).display();
                return Some(format!(
                    "see what runs with: hcp status; stop it with: hcp down --data-dir {data_dir}; or keep other data beside it with --data-dir DIR and --listen ADDRESS:PORT"
                ));
            }
            Self::DataDir { .. }
            | Self::Detach { .. }
            | Self::Open(OpenError::Io { .. })
            | Self::Keys(KeysError::Read { .. } | KeysError::Write { .. }) => {
                "name a directory that you may read and write with --data-dir DIR"
            }
            Self::Listen { address, source } => match source.kind() {
                io::ErrorKind::AddrNotAvailable => {
                    "name an address that this machine has, or 0.0.0.0:PORT for all of them, with --listen ADDRESS:PORT"
                }
                io::ErrorKind::PermissionDenied if address.port() < FIRST_OPEN_PORT => {
                    "ports below 1024 are for the administrator; choose another with --listen ADDRESS:PORT"
                }
                _ => "choose another with --listen ADDRESS:PORT",
            },
            Self::AuditLog { .. } => {
                "name a file that you may write, in a directory that exists, with --audit-log FILE"
            }
            Self::Images { .. } => "name a directory that you may read with --images DIR",
            Self::Artifacts(ArtifactsError::Read { .. }) => "name a directory that you may read with --artifacts DIR",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
