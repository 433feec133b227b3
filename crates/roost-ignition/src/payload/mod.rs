//! What a node gets: rendered once for a pool, personalised for each host.

mod env;
mod kubelet;
mod labels;
mod manifests;
mod mirrors;
pub mod paths;
mod pool;
mod reading;
mod rendered;
mod runtime;
mod system;

use crate::config::Config;
use crate::finding::ConfigError;
use crate::version::SpecVersion;

pub use labels::{is_registered_by_kubelet, left_for_controllers, registered_by_kubelet};
pub use manifests::{ManifestError, Manifests};
pub use pool::{
    Artifact, CgroupDriver, Endpoint, IgnitionServer, Kubelet, Mirror, Node, Pool, Proxy, Runtime, Taint, TaintEffect,
    UserConfig,
};
pub use reading::{Bootstrap, Joining, ReadPayloadError, config_hash};
pub use rendered::{Rendered, Written};

/// The version that payloads are written in, unless a user's config needs a later one: the one that upstream serves.
pub const PAYLOAD_VERSION: SpecVersion = SpecVersion::V3_2;

/// Why a pool's payload could not be rendered. Each says what in the pool has to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// A field of the pool is not what it has to be.
    #[error("{field}: {problem}")]
    Pool {
        /// Which.
        field: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// A user's manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// A user's manifest writes what belongs to the join.
    #[error("{path} is written for every node and cannot be part of a user's configuration")]
    Reserved {
        /// The path.
        path: String,
    },
    /// All together is nothing that Ignition accepts.
    #[error("the merged configuration is refused by Ignition")]
    Merged(#[source] ConfigError),
}

/// Renders what all nodes of a pool get.
pub fn render(pool: &Pool) -> Result<Rendered, RenderError> {
    pool.check()?;
    let manifests = Manifests::read(&pool.user_configs)?;
    let mut base = Config::new(PAYLOAD_VERSION);
    kubelet::put(pool, &manifests, &mut base)?;
    runtime::put(pool, &manifests, &mut base)?;
    system::put(pool, &mut base);
    base.put_file(paths::CONFIG_HASH, 0o644, format!("{}\n", crate::hash::of_pool(pool)?).as_bytes());
    let mut merged = base;
    for user in manifests.configs() {
        merged = merged.merge(user.clone());
    }
    if let Some(path) = reserved(manifests.configs()) {
        return Err(RenderError::Reserved { path });
    }
    merged.validate().map_err(RenderError::Merged)?;
    Ok(Rendered::new(pool, merged))
}

/// A path of a user's config that the join depends on.
fn reserved<'a>(configs: impl Iterator<Item = &'a Config>) -> Option<String> {
    let mut written = configs.flat_map(|config| {
        let files = config.files().map(|file| file.path().to_owned());
        let links = config.links().map(|link| link.path().to_owned());
        let directories = config.directories().map(|directory| directory.path().to_owned());
        files.chain(links).chain(directories).collect::<Vec<_>>()
    });
    written.find(|path| paths::RESERVED.contains(&path.as_str()))
}

#[cfg(test)]
pub(crate) mod tests;
