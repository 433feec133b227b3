//! The large files of the pools that are tried, handed out by our own server.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use roost_ignition::payload::{Artifact, paths};
use roost_ignition_server::{
    ARTIFACTS_PATH, Artifacts, Authority, Fetch, Limits, Listen, Payload, PlaneId, Refusal, Servers,
};
use roost_pki::Secret;

use super::{IgnitionError, write};
use crate::pki;

/// As long as a small kubelet.
const LENGTH: usize = 3 << 20;

/// Has no payload for anybody.
pub(super) struct Nobody;

impl Authority for Nobody {
    async fn payload(&self, _fetch: Fetch) -> Result<Payload, Refusal> {
        Err(Refusal::UnknownToken)
    }
}

/// A server that hands out one file, and what a pool says of it.
pub(super) async fn serve(
    trust: &pki::Authority,
    folder: &Path,
) -> Result<(Servers<Nobody>, Vec<Artifact>), IgnitionError> {
    let directory = folder.join("artifacts");
    let file = directory.join("any/amd64").join(paths::KUBELET_BINARY.trim_start_matches('/'));
    let unusable = |source| IgnitionError::Use { what: file.display().to_string(), source };
    std::fs::create_dir_all(file.parent().unwrap_or(&directory)).map_err(unusable)?;
    write(&file, &vec![0x7f; LENGTH])?;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).map_err(unusable)?;
    let artifacts = Artifacts::open(&directory, &folder.join("artifacts.json")).map_err(|source| {
        IgnitionError::Use { what: directory.display().to_string(), source: std::io::Error::other(source) }
    })?;
    let artifacts = Arc::new(artifacts);
    let servers = Servers::new(Arc::new(Nobody), Limits::default(), Arc::clone(&artifacts));
    let serving = trust.server("artifacts", &["127.0.0.1"])?;
    let listen =
        Listen { address: ([127, 0, 0, 1], 0).into(), certificate: serving.certificate, key: Secret::new(serving.key) };
    let address = servers.ensure(&PlaneId::new("artifacts"), listen).await?;
    let files = artifacts.for_node("1.36.3", "amd64").into_iter().map(|file| Artifact {
        path: file.path.clone(),
        mode: file.mode,
        url: format!("https://{address}{ARTIFACTS_PATH}{}", file.digest),
        hash: file.digest.clone(),
    });
    Ok((servers, files.collect()))
}
