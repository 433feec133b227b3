//! A management plane with the controllers on it.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use jiff::Timestamp;
use kube::config::{KubeConfigOptions, Kubeconfig};
use roost_apiserver::{Cluster, ClusterConfig, Engine, Identity};
use roost_operator::{Candidate, Front, Supplies};
use roost_runtime::EmbeddedRuntime;
use roost_store::Store;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::disk::Disk;

/// Why there is no management plane.
#[derive(Debug, thiserror::Error)]
pub enum ManagementError {
    /// Keys could not be made.
    #[error("cannot make keys")]
    Keys(#[from] roost_pki::Error),
    /// The engine's own objects could not be written.
    #[error("the engine could not be prepared: {0}")]
    Engine(String),
    /// There is no directory for the store.
    #[error("cannot make a directory for the store")]
    Directory(#[from] std::io::Error),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] roost_store::OpenError),
    /// A kubeconfig cannot be used.
    #[error("the kubeconfig cannot be used")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// A client cannot be built.
    #[error("no client could be built")]
    Client(#[from] Box<kube::Error>),
}

/// A management plane with the controllers on it. Dropping it ends them; the objects stay.
pub struct Management {
    /// What a user of the plane has.
    pub client: kube::Client,
    /// What runs the hosted planes.
    pub runtime: Arc<EmbeddedRuntime>,
    /// Where hosted planes listen.
    pub address: IpAddr,
    pub(super) disk: Arc<Disk>,
    front: Front,
    supplies: Supplies,
    operator: Option<JoinHandle<()>>,
    engine: JoinHandle<()>,
}

/// Every plane of a test run has a loopback address of its own, because all choose ports from the same range.
static ADDRESSES: AtomicU8 = AtomicU8::new(0);

impl Management {
    /// On a fresh engine in this process, with its store on a disk.
    pub async fn embedded() -> Result<Management, ManagementError> {
        let (disk, store) = Disk::with_store()?;
        let config = ClusterConfig::default();
        let identity = Identity::generate(Timestamp::now(), "https://kubernetes.default.svc")?;
        let cluster = Cluster::new("management", store.clone(), config, identity);
        cluster.bootstrap().await.map_err(|status| ManagementError::Engine(status.message))?;
        let engine = Engine::new(store.clone());
        engine.add(Arc::clone(&cluster));
        Ok(Self::start(cluster.client(), engine, store, disk))
    }

    /// On a plane that somebody else runs; only the hosted planes are in this process.
    pub async fn on(kubeconfig: &Path) -> Result<Management, ManagementError> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        let client = kube::Client::try_from(config).map_err(Box::new)?;
        let (disk, store) = Disk::with_store()?;
        Ok(Self::start(client, Engine::new(store.clone()), store, disk))
    }

    fn start(client: kube::Client, engine: Arc<Engine>, store: Store, disk: Disk) -> Management {
        let number = ADDRESSES.fetch_add(1, Ordering::Relaxed) % 200 + 2;
        let process = u8::try_from(std::process::id() % 250).unwrap_or_default() + 1;
        let address = IpAddr::V4(Ipv4Addr::new(127, process, 0, number));
        let runtime = EmbeddedRuntime::new(Arc::clone(&engine), store, address);
        let front = Front { address, port: 6443, listen: address };
        let engine = tokio::spawn(engine.run());
        let supplies = disk.supplies();
        let mut management =
            Management { client, runtime, address, disk: Arc::new(disk), front, supplies, operator: None, engine };
        management.start_operator();
        management
    }

    /// Starts the controllers, as after a crash.
    pub fn start_operator(&mut self) {
        let operator =
            roost_operator::run(self.client.clone(), Arc::clone(&self.runtime), self.front, self.supplies.clone());
        self.operator = Some(tokio::spawn(operator));
    }

    /// Starts controllers that compete with others for the right to work.
    pub fn compete(&self, candidate: Candidate) -> (JoinHandle<Option<()>>, watch::Sender<bool>) {
        let (stop, stopping) = watch::channel(false);
        let (client, runtime, front) = (self.client.clone(), Arc::clone(&self.runtime), self.front);
        let supplies = self.supplies.clone();
        let work = move || roost_operator::run(client.clone(), Arc::clone(&runtime), front, supplies.clone());
        (tokio::spawn(roost_operator::lead(self.client.clone(), candidate, stopping, work)), stop)
    }

    /// Ends the controllers in the middle of whatever they do.
    pub fn kill_operator(&mut self) {
        if let Some(operator) = self.operator.take() {
            operator.abort();
        }
    }

    /// Where a hosted plane's published port is reached.
    pub fn endpoint(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.address, port)
    }
}

impl Drop for Management {
    fn drop(&mut self) {
        self.kill_operator();
        self.engine.abort();
    }
}
