//! Which management plane is meant: a flag, the environment, a running `hcp up`, the cluster around a pod, or kubectl's.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::instance;

use super::{Plane, PlaneError};

/// A server that can be reached answers sooner.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

impl Plane {
    /// Finds the plane and prepares a client; nothing is sent yet.
    pub(crate) async fn connect(kubeconfig: Option<&Path>) -> Result<Self, PlaneError> {
        // Only one provider is compiled in; a second installation of it changes nothing.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let mut config = configuration(kubeconfig).await?;
        config.connect_timeout = Some(CONNECT_PATIENCE);
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let host = config.cluster_url.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let client = Client::try_from(config)
            .map_err(|source| PlaneError::Client { server: server.clone(), source: Box::new(source) })?;
        Ok(Self { client, host, server })
    }
}

async fn configuration(kubeconfig: Option<&Path>) -> Result<Config, PlaneError> {
    if let Some(path) = kubeconfig {
        return from_file(path).await;
    }
    let named = std::env::var_os("KUBECONFIG").is_some_and(|paths| !paths.is_empty());
    let environment = |source| PlaneError::Environment { source: Box::new(source) };
    if named && let Some(kubeconfig) = Kubeconfig::from_env().map_err(environment)? {
        return Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(environment);
    }
    let running = instance::running()?;
    match running.as_slice() {
        [] => {}
        [instance] => return from_file(&instance.kubeconfig).await,
        several => {
            let folders: Vec<String> = several.iter().map(|one| one.data_dir.display().to_string()).collect();
            return Err(PlaneError::Several(folders.join(", ")));
        }
    }
    if let Ok(config) = Config::incluster() {
        return Ok(config);
    }
    let kubectl = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".kube/config"));
    match kubectl.filter(|path| path.exists()) {
        Some(path) => from_file(&path).await,
        None => Err(PlaneError::None),
    }
}

async fn from_file(path: &Path) -> Result<Config, PlaneError> {
    let failed = |source| PlaneError::Kubeconfig { path: path.to_owned(), source: Box::new(source) };
    let kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(failed)
}
