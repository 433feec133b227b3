//! What a node knows before it joins: from its kubeconfig, or from the payload that user-data lead to.

use std::collections::BTreeMap;

use roost_ignition::payload::{Joining, ReadPayloadError, Taint, paths};
use roost_ignition::{Config, ConfigError};

use crate::access::{Access, AccessError};
use crate::disk::Disk;
use crate::ignition::{FetchError, Fetcher};
use crate::spec::{NodeSpec, Start};

/// Where a host keeps what Ignition gave it, so that only its first boot fetches.
const PAYLOAD_FILE: &str = "ignition.json";
/// Where it keeps which configuration it has since it was changed in place.
const HASH_FILE: &str = "config-hash";

/// Why a node does not know how to join.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigureError {
    #[error("the kubeconfig is of no use")]
    Kubeconfig(#[from] AccessError),
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("the payload that was kept is no Ignition config")]
    Kept(#[from] ConfigError),
    #[error("the payload does not say how to join")]
    Payload(#[from] ReadPayloadError),
    #[error("the payload could not be kept")]
    Disk(#[from] std::io::Error),
}

/// As whom and where a node joins.
#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    pub(crate) name: String,
    pub(crate) access: Access,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) taints: Vec<Taint>,
    pub(crate) provider_id: Option<String>,
    /// Whose certificates callers of the kubelet may show, in PEM.
    pub(crate) callers: String,
    /// The content hash of what it has; none when nobody said so.
    pub(crate) hash: Option<String>,
}

/// Brings together what a node is told.
pub(crate) async fn configure(
    fetcher: &Fetcher<'_>,
    disk: &Disk,
    told: impl Fn(String),
) -> Result<Configuration, ConfigureError> {
    let spec = fetcher.spec;
    match &spec.start {
        Start::Kubeconfig(kubeconfig) => {
            let access = Access::from_kubeconfig(kubeconfig)?;
            Ok(Configuration {
                name: spec.name.clone(),
                callers: access.authorities.clone(),
                access,
                labels: spec.labels.clone(),
                taints: spec.taints.clone(),
                provider_id: spec.provider_id.clone(),
                hash: None,
            })
        }
        Start::UserData(user_data) => {
            if let Some(kept) = disk.read(PAYLOAD_FILE) {
                let mut configuration = of_payload(spec, &Config::parse(kept.as_bytes())?)?;
                configuration.hash = disk.read(HASH_FILE).or(configuration.hash);
                return Ok(configuration);
            }
            let payload = fetcher.fetch(user_data, told).await?;
            disk.write(PAYLOAD_FILE, &String::from_utf8_lossy(&payload.to_bytes()))?;
            of_payload(spec, &payload)
        }
    }
}

/// Keeps which configuration the host has since it was changed in place.
pub(crate) fn keep_hash(disk: &Disk, hash: &str) -> std::io::Result<()> {
    disk.write(HASH_FILE, hash)
}

/// Forgets the payload, so that the host is provisioned anew.
pub(crate) fn forget(disk: &Disk) {
    disk.remove(PAYLOAD_FILE);
    disk.remove(HASH_FILE);
}

fn of_payload(spec: &NodeSpec, payload: &Config) -> Result<Configuration, ConfigureError> {
    let joining = Joining::read(payload)?;
    let file = |path: &str| payload.file(path)?.contents().ok();
    let kubeconfig = file(paths::BOOTSTRAP_KUBECONFIG).ok_or(ReadPayloadError::Missing(paths::BOOTSTRAP_KUBECONFIG))?;
    let mut labels = joining.labels;
    labels.extend(spec.labels.clone());
    let access = Access::with_files(&kubeconfig, file)?;
    let callers = file(paths::KUBELET_CLIENT_CA).and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(Configuration {
        name: joining.node_name,
        callers: callers.unwrap_or_else(|| access.authorities.clone()),
        access,
        labels,
        taints: joining.taints.into_iter().chain(spec.taints.clone()).collect(),
        hash: joining.config_hash,
        provider_id: joining.provider_id.or_else(|| spec.provider_id.clone()),
    })
}
