//! Where the stock binaries are, and which version of Kubernetes is the measure.

use std::path::PathBuf;

/// The version of Kubernetes that Roost is compared with; `xtask/kube/go.mod` pins the same one.
pub const KUBERNETES_VERSION: &str = "v1.36.3";

/// The environment variable that names another directory of stock binaries.
pub const ASSETS_VARIABLE: &str = "KUBE_ASSETS";

/// Why a stock binary cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AssetError {
    /// Fetch the binary first.
    #[error("{} is missing\nhint: run `cargo xtask kube fetch --only {name}`", path.display())]
    Missing {
        /// The binary's name.
        name: String,
        /// Where it was looked for.
        path: PathBuf,
    },
}

/// The directory that holds the stock binaries, side by side.
pub fn directory() -> PathBuf {
    if let Some(chosen) = std::env::var_os(ASSETS_VARIABLE) {
        return PathBuf::from(chosen);
    }
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .unwrap_or_else(|| PathBuf::from(".cache"));
    cache.join("roost").join("kube").join(KUBERNETES_VERSION)
}

/// The path of one stock binary that must be there.
pub fn binary(name: &str) -> Result<PathBuf, AssetError> {
    let path = directory().join(name);
    if path.is_file() { Ok(path) } else { Err(AssetError::Missing { name: name.to_owned(), path }) }
}

/// The root of the repository that this crate was built in.
pub fn repository() -> PathBuf {
    let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map(PathBuf::from).unwrap_or(manifest)
}
