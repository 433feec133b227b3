//! The listeners of all hosted clusters that have node pools.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use roost_pki::Secret;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::artifacts::Artifacts;
use crate::authority::{Authority, PlaneId};
use crate::certificate::{CertificateError, ServingCertificate};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::server::{Server, ServerSettings};

/// What a cluster's listener has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Where it listens.
    pub address: SocketAddr,
    /// What it shows, in PEM, leaf first.
    pub certificate: String,
    /// The key of that.
    pub key: Secret<String>,
}

/// Why a listener could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be had; another process may have it.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The certificate cannot be shown.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}

/// All listeners, by cluster.
pub struct Servers<A> {
    authority: Arc<A>,
    limits: Limits,
    artifacts: Arc<Artifacts>,
    running: Mutex<HashMap<PlaneId, Running>>,
    /// Two passes that open the same port would be in each other's way.
    opening: tokio::sync::Mutex<()>,
}

struct Running {
    listen: Listen,
    address: SocketAddr,
    certificate: Arc<ServingCertificate>,
    metrics: Arc<Metrics>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl<A: Authority> Servers<A> {
    /// No listeners yet; all will ask this authority, and hand out these files.
    pub fn new(authority: Arc<A>, limits: Limits, artifacts: Arc<Artifacts>) -> Self {
        Self { authority, limits, artifacts, running: Mutex::default(), opening: tokio::sync::Mutex::default() }
    }

    /// Makes sure that a cluster's listener is as described, and says where it really listens. Nothing happens when it
    /// is so already; a new certificate drops no connection; another address opens there before it closes here.
    pub async fn ensure(&self, plane: &PlaneId, listen: Listen) -> Result<SocketAddr, ServeError> {
        let _opening = self.opening.lock().await;
        let known = {
            let mut running = self.running.lock();
            match running.get_mut(plane) {
                Some(known) if known.listen.address == listen.address && !known.task.is_finished() => {
                    if known.listen != listen {
                        known.certificate.replace(&listen.certificate, &listen.key)?;
                        known.listen = listen;
                    }
                    return Ok(known.address);
                }
                Some(_) => running.remove(plane),
                None => None,
            }
        };
        let certificate = ServingCertificate::from_pem(&listen.certificate, &listen.key);
        let certificate = match certificate {
            Ok(certificate) => certificate,
            Err(error) => {
                // What served so far is better than nothing.
                if let Some(known) = known {
                    self.running.lock().insert(plane.clone(), known);
                }
                return Err(error.into());
            }
        };
        let failed = |source| ServeError::Listen { address: listen.address, source };
        let opened =
            TcpListener::bind(listen.address).await.and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = match opened {
            Ok(opened) => opened,
            Err(source) => {
                if let Some(known) = known {
                    self.running.lock().insert(plane.clone(), known);
                }
                return Err(failed(source));
            }
        };
        if let Some(known) = known {
            known.stop();
        }
        let artifacts = Arc::clone(&self.artifacts);
        let settings = ServerSettings { limits: self.limits, artifacts, ..ServerSettings::new(plane.clone()) };
        let server = Server::new(Arc::clone(&self.authority), settings);
        let metrics = server.metrics();
        let (stop, stopped) = watch::channel(false);
        let shown = Arc::clone(&certificate);
        let task = tokio::spawn(async move {
            if let Err(error) = server.serve(listener, shown, stopped).await {
                tracing::error!(%error, "an ignition listener ended");
            }
        });
        let running = Running { listen, address, certificate, metrics, stop, task };
        self.running.lock().insert(plane.clone(), running);
        Ok(address)
    }

    /// Closes a cluster's listener; open requests finish. True when there was one.
    pub fn remove(&self, plane: &PlaneId) -> bool {
        let running = self.running.lock().remove(plane);
        let existed = running.is_some();
        if let Some(running) = running {
            running.stop();
        }
        existed
    }

    /// Where a cluster's listener really listens.
    pub fn address(&self, plane: &PlaneId) -> Option<SocketAddr> {
        self.running.lock().get(plane).map(|running| running.address)
    }

    /// The clusters that have a listener.
    pub fn planes(&self) -> Vec<PlaneId> {
        self.running.lock().keys().cloned().collect()
    }

    /// The counters of one cluster.
    pub fn metrics(&self, plane: &PlaneId) -> Option<Arc<Metrics>> {
        self.running.lock().get(plane).map(|running| Arc::clone(&running.metrics))
    }
}

impl Running {
    fn stop(self) {
        self.stop.send_replace(true);
        // The task ends by itself when its last request has.
        drop(self.task);
    }
}

impl<A> Drop for Servers<A> {
    fn drop(&mut self) {
        for running in self.running.get_mut().values() {
            running.stop.send_replace(true);
        }
    }
}
