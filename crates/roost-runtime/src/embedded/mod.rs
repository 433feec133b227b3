//! Hosted planes as tenants of this process: each with its own port, keys and data, on one store.

mod front;
mod tenant;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, RwLock};
use roost_apiserver::{AuditLog, Engine, Host, Hosts, KUBERNETES_VERSION, serve};
use roost_store::Store;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{mpsc, watch};

pub use front::Front;
use tenant::Tenant;

use crate::component::{Component, EMBEDDED_COMPONENTS};
use crate::plane::{Health, Plane, PlaneId};
use crate::{Runtime, RuntimeError};

/// Connections that may wait to be accepted on one plane's port.
const BACKLOG: u32 = 256;

/// Runs hosted planes inside this process.
pub struct EmbeddedRuntime {
    engine: Arc<Engine>,
    store: Store,
    /// The release that is built in.
    release: String,
    /// Where the planes listen.
    address: IpAddr,
    planes: RwLock<HashMap<PlaneId, Arc<Slot>>>,
    /// Which plane a shared listener means by a name.
    names: RwLock<HashMap<String, PlaneId>>,
    woken: mpsc::UnboundedSender<PlaneId>,
    wakes: tokio::sync::Mutex<mpsc::UnboundedReceiver<PlaneId>>,
    /// Beside which file the planes' audit logs are written.
    audit_log: OnceLock<PathBuf>,
    /// For listeners, which must not keep the runtime alive.
    own: Weak<EmbeddedRuntime>,
}

/// One plane's place. The lock is held while it is started, changed or stopped, so that these never overlap.
#[derive(Default)]
struct Slot {
    state: tokio::sync::Mutex<Option<Running>>,
    /// What readers see without waiting.
    tenant: Mutex<Option<Arc<Tenant>>>,
    namespace: Mutex<Option<String>>,
}

struct Running {
    plane: Plane,
    listener: Listener,
}

/// A plane's own port.
struct Listener {
    port: u16,
    stop: watch::Sender<bool>,
    task: tokio::task::JoinHandle<()>,
}

impl EmbeddedRuntime {
    /// A runtime whose planes listen on the given address.
    pub fn new(engine: Arc<Engine>, store: Store, address: IpAddr) -> Arc<EmbeddedRuntime> {
        let (woken, wakes) = mpsc::unbounded_channel();
        Arc::new_cyclic(|own| EmbeddedRuntime {
            engine,
            store,
            release: format!("embedded:{KUBERNETES_VERSION}"),
            address,
            planes: RwLock::default(),
            names: RwLock::default(),
            woken,
            wakes: tokio::sync::Mutex::new(wakes),
            audit_log: OnceLock::new(),
            own: own.clone(),
        })
    }

    /// Writes an audit log for every plane that is started from now on, beside the given file and named after it and the
    /// control plane's namespace. What is written stays when a plane goes.
    pub fn set_audit_log(&self, path: PathBuf) {
        let _ = self.audit_log.set(path);
    }

    /// Ends all planes' listeners, so that the process can end.
    pub async fn stop(&self) {
        let slots: Vec<_> = self.planes.read().values().cloned().collect();
        for slot in slots {
            if let Some(tenant) = slot.tenant.lock().as_ref() {
                tenant.host.cluster.close();
            }
            if let Some(running) = slot.state.lock().await.take() {
                running.listener.stop().await;
            }
        }
    }

    /// The plane that a shared listener means by a name, woken if it slept.
    pub(crate) async fn host_named(&self, name: &str) -> Option<Host> {
        let id = self.names.read().get(name).cloned()?;
        self.awake(&id).await
    }

    /// The plane, woken if it slept.
    async fn awake(&self, id: &PlaneId) -> Option<Host> {
        let slot = self.slot(id)?;
        if let Some(tenant) = slot.tenant.lock().as_ref() {
            return Some(tenant.host.clone());
        }
        let state = slot.state.lock().await;
        if let Some(tenant) = slot.tenant.lock().as_ref() {
            return Some(tenant.host.clone());
        }
        let running = state.as_ref()?;
        match self.start(&slot, &running.plane).await {
            Ok(host) => {
                let _ = self.woken.send(id.clone());
                Some(host)
            }
            Err(error) => {
                tracing::warn!(%error, %id, "a sleeping plane could not be woken");
                None
            }
        }
    }

    fn slot(&self, id: &PlaneId) -> Option<Arc<Slot>> {
        self.planes.read().get(id).cloned()
    }

    /// Brings a plane's API up.
    async fn start(&self, slot: &Slot, plane: &Plane) -> Result<Host, RuntimeError> {
        let tenant = Tenant::start(&self.store, plane).await?;
        if let Some(path) = self.audit_log.get() {
            let path = audit_log_of(path, &plane.namespace);
            let log = AuditLog::open(&path).map_err(|source| RuntimeError::AuditLog { path, source })?;
            tenant.host.cluster.set_audit_log(log);
        }
        self.engine.add(Arc::clone(&tenant.host.cluster));
        let host = tenant.host.clone();
        *slot.tenant.lock() = Some(Arc::new(tenant));
        Ok(host)
    }

    /// Takes a plane's API down; its listener stays.
    fn park(&self, slot: &Slot, id: &PlaneId) {
        if let Some(tenant) = slot.tenant.lock().take() {
            tenant.host.cluster.close();
            self.engine.remove(&id.to_string());
        }
    }

    fn listen(&self, plane: &Plane) -> Result<Listener, RuntimeError> {
        let bound = bind(SocketAddr::new(self.address, plane.port)).map_err(|source| match source.kind() {
            std::io::ErrorKind::AddrInUse => {
                RuntimeError::PortInUse { port: plane.port, namespace: plane.namespace.clone() }
            }
            _ => RuntimeError::Listen { port: plane.port, source },
        })?;
        let (stop, stopping) = watch::channel(false);
        let hosts = OnePlane { runtime: self.own.clone(), id: plane.id.clone() };
        Ok(Listener { port: plane.port, stop, task: tokio::spawn(serve(hosts, bound, stopping)) })
    }

    fn publish_names(&self, plane: &Plane) {
        let mut names = self.names.write();
        names.retain(|name, id| *id != plane.id || plane.server_names.contains(name));
        for name in &plane.server_names {
            names.insert(name.clone(), plane.id.clone());
        }
    }
}

impl Runtime for EmbeddedRuntime {
    fn default_release(&self) -> &str {
        &self.release
    }

    fn version(&self) -> &str {
        KUBERNETES_VERSION.trim_start_matches('v')
    }

    fn components(&self) -> &'static [Component] {
        EMBEDDED_COMPONENTS
    }

    async fn ensure(&self, plane: Plane) -> Result<(), RuntimeError> {
        let slot = Arc::clone(self.planes.write().entry(plane.id.clone()).or_default());
        let mut state = slot.state.lock().await;
        if let Some(running) = state.as_ref()
            && running.plane.namespace != plane.namespace
        {
            return Err(RuntimeError::Taken { id: plane.id, namespace: running.plane.namespace.clone() });
        }
        let listener = match state.take() {
            Some(running) if running.listener.port == plane.port && !running.listener.task.is_finished() => {
                running.listener
            }
            earlier => {
                if let Some(earlier) = earlier {
                    earlier.listener.stop().await;
                }
                self.listen(&plane)?
            }
        };
        self.publish_names(&plane);
        *slot.namespace.lock() = Some(plane.namespace.clone());
        let current = slot.tenant.lock().clone();
        let outcome = match current {
            Some(_) if plane.parked => {
                self.park(&slot, &plane.id);
                Ok(())
            }
            Some(tenant) => tenant.update(&plane).map(|changed| {
                if changed {
                    // What the controllers inside have published of the keys is looked at again.
                    self.engine.add(Arc::clone(&tenant.host.cluster));
                }
            }),
            None if plane.parked => Ok(()),
            None => self.start(&slot, &plane).await.map(drop),
        };
        *state = Some(Running { plane, listener });
        outcome
    }

    async fn health(&self, id: &PlaneId) -> Health {
        let Some(slot) = self.slot(id) else { return Health::Absent };
        let state = slot.state.lock().await;
        let Some(running) = state.as_ref() else { return Health::Absent };
        if running.listener.task.is_finished() {
            return Health::Failing(format!("nothing listens on port {}", running.listener.port));
        }
        let tenant = slot.tenant.lock().clone();
        drop(state);
        match tenant {
            Some(tenant) => tenant.health().await,
            None => Health::Parked,
        }
    }

    async fn remove(&self, id: &PlaneId, namespace: &str) -> Result<(), RuntimeError> {
        let slot = self.slot(id);
        if let Some(slot) = &slot {
            let mut state = slot.state.lock().await;
            if state.as_ref().is_some_and(|running| running.plane.namespace != namespace) {
                return Ok(());
            }
            self.names.write().retain(|_, named| named != id);
            self.park(slot, id);
            if let Some(running) = state.take() {
                running.listener.stop().await;
            }
        }
        self.store.drop_tenant(&id.to_string()).await.map_err(RuntimeError::Drop)?;
        self.planes.write().remove(id);
        Ok(())
    }

    fn planes(&self) -> Vec<PlaneId> {
        let mut planes: Vec<PlaneId> = self.store.tenants().iter().filter_map(|tenant| tenant.parse().ok()).collect();
        planes.extend(self.planes.read().keys().cloned());
        planes.sort_unstable();
        planes.dedup();
        planes
    }

    fn namespace(&self, id: &PlaneId) -> Option<String> {
        self.slot(id)?.namespace.lock().clone()
    }

    fn client(&self, id: &PlaneId) -> Option<kube::Client> {
        let slot = self.slot(id)?;
        let tenant = slot.tenant.lock().clone()?;
        Some(tenant.host.cluster.client())
    }

    async fn woken(&self) -> PlaneId {
        match self.wakes.lock().await.recv().await {
            Some(id) => id,
            // The sender lives as long as the runtime.
            None => std::future::pending().await,
        }
    }
}

impl Listener {
    async fn stop(self) {
        let _ = self.stop.send(true);
        let _ = self.task.await;
    }
}

/// A port whose clients all mean the same plane, whatever name they used.
struct OnePlane {
    runtime: Weak<EmbeddedRuntime>,
    id: PlaneId,
}

impl Hosts for OnePlane {
    async fn host(&self, _: Option<&str>) -> Option<Host> {
        self.runtime.upgrade()?.awake(&self.id).await
    }
}

/// `audit.log` becomes `audit-clusters-demo.log`.
fn audit_log_of(path: &Path, namespace: &str) -> PathBuf {
    let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, extension) = (text(path.file_stem()), text(path.extension()));
    let dot = if extension.is_empty() { "" } else { "." };
    path.with_file_name(format!("{stem}-{namespace}{dot}{extension}"))
}

/// A restart must not wait for the kernel to forget connections of the one before.
fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plane_has_an_audit_log_of_its_own() {
        for (path, expected) in
            [("/var/log/audit.log", "/var/log/audit-clusters-demo.log"), ("audit", "audit-clusters-demo")]
        {
            assert_eq!(audit_log_of(Path::new(path), "clusters-demo"), Path::new(expected));
        }
    }
}
