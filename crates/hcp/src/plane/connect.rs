//! Which management plane is meant: a flag, the environment, a running `hcp up`, the cluster around a pod, or kubectl's.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::instance::{self, Instance};

use super::{CONFIG_MAPS, OPERATOR_NAMESPACE, Plane, PlaneError, SUPPORTED_VERSIONS};

/// A server that can be reached answers sooner.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// A plane that has just been started may still be learning its kinds.
const YOUTH: SignedDuration = SignedDuration::from_secs(30);
/// How long that may take.
const LEARNING: Duration = Duration::from_secs(10);

impl Plane {
    /// Finds the plane and prepares a client. Only a plane that has just been started here is asked something: whether
    /// its operator is at work, so that `hcp up` and what follows it in a script need no pause between them.
    pub(crate) async fn connect(kubeconfig: Option<&Path>) -> Result<Self, PlaneError> {
        // Only one provider is compiled in; a second installation of it changes nothing.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let (config, is_young) = configuration(kubeconfig).await?;
        let plane = Self::with(config)?;
        if is_young {
            plane.wait_for_operator().await;
        }
        Ok(plane)
    }

    /// The API of a hosted cluster, by its kubeconfig.
    pub(crate) async fn of_cluster(kubeconfig: Kubeconfig) -> Option<Self> {
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.ok()?;
        Self::with(config).ok()
    }

    fn with(mut config: Config) -> Result<Self, PlaneError> {
        config.connect_timeout = Some(CONNECT_PATIENCE);
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let host = config.cluster_url.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let client = Client::try_from(config)
            .map_err(|source| PlaneError::Client { server: server.clone(), source: Box::new(source) })?;
        Ok(Self { client, host, server })
    }

    /// Returns when the operator has said which releases it knows, which it does last, or when that takes too long; what
    /// is missing then is said by the command that needs it.
    async fn wait_for_operator(&self) {
        let place = (OPERATOR_NAMESPACE, SUPPORTED_VERSIONS);
        let found = self.follow(&CONFIG_MAPS, place, None, |found| match found {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        });
        let _ = tokio::time::timeout(LEARNING, found).await;
    }
}

fn is_young(instance: &Instance) -> bool {
    let started: Option<Timestamp> = instance.started.parse().ok();
    started.is_some_and(|started| Timestamp::now().duration_since(started) < YOUTH)
}

/// What to connect with, and whether it leads to a plane that has just been started.
async fn configuration(kubeconfig: Option<&Path>) -> Result<(Config, bool), PlaneError> {
    if let Some(path) = kubeconfig {
        return Ok((from_file(path).await?, false));
    }
    let named = std::env::var_os("KUBECONFIG").is_some_and(|paths| !paths.is_empty());
    let environment = |source| PlaneError::Environment { source: Box::new(source) };
    if named && let Some(kubeconfig) = Kubeconfig::from_env().map_err(environment)? {
        let options = KubeConfigOptions::default();
        return Ok((Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(environment)?, false));
    }
    let running = instance::running()?;
    match running.as_slice() {
        [] => {}
        [instance] => return Ok((from_file(&instance.kubeconfig).await?, is_young(instance))),
        several => {
            let folders: Vec<String> = several.iter().map(|one| one.data_dir.display().to_string()).collect();
            return Err(PlaneError::Several(folders.join(", ")));
        }
    }
    if let Ok(config) = Config::incluster() {
        return Ok((config, false));
    }
    let kubectl = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".kube/config"));
    match kubectl.filter(|path| path.exists()) {
        Some(path) => Ok((from_file(&path).await?, false)),
        None => Err(PlaneError::None),
    }
}

async fn from_file(path: &Path) -> Result<Config, PlaneError> {
    let failed = |source| PlaneError::Kubeconfig { path: path.to_owned(), source: Box::new(source) };
    let kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(failed)
}
