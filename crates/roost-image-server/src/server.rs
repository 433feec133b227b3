//! The listeners: who is let in, and when it ends.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::connection;
use crate::images::{Gate, Images};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::wire::Wire;

/// So many wait for a disk at once: more would only make each of them slower, and the threads are everybody's.
const READERS: usize = 16;

/// What a listener shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// All of it.
    Everything,
    /// What firmware fetches that knows no TLS: initrds and the parts of base images.
    BootOnly,
}

/// A server, without its listeners.
pub struct Server {
    pub(crate) images: Arc<Images>,
    pub(crate) gate: Box<dyn Gate>,
    pub(crate) limits: Limits,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) readers: Semaphore,
    places: Arc<Semaphore>,
}

impl Server {
    /// A server of these images to those whom the gate lets in.
    pub fn new(images: Arc<Images>, gate: impl Gate, limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            images,
            gate: Box::new(gate),
            metrics: Arc::default(),
            readers: Semaphore::new(READERS),
            places: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            limits,
        })
    }

    /// What was asked and sent.
    pub fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.metrics)
    }

    /// What is served.
    pub fn images(&self) -> &Arc<Images> {
        &self.images
    }

    /// Serves a listener until `stop` becomes true, with TLS if there is a configuration for it. Several listeners may be
    /// served at once.
    pub async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        tls: Option<Arc<ServerConfig>>,
        exposure: Exposure,
        mut stop: watch::Receiver<bool>,
    ) {
        let acceptor = tls.map(TlsAcceptor::from);
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = stop.wait_for(|stopping| *stopping) => return,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors or a connection that died early: others must still be served.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
                tracing::warn!("a connection was refused: there are too many");
                continue;
            };
            let (server, acceptor, stop) = (Arc::clone(&self), acceptor.clone(), stop.clone());
            tokio::spawn(async move {
                server.metrics.connected();
                server.connection(stream, acceptor, exposure, stop).await;
                server.metrics.disconnected();
                drop(place);
            });
        }
    }

    async fn connection(
        self: &Arc<Self>,
        stream: TcpStream,
        acceptor: Option<TlsAcceptor>,
        exposure: Exposure,
        mut stop: watch::Receiver<bool>,
    ) {
        let _ = stream.set_nodelay(true);
        let wire = match acceptor {
            None => Ok(Wire::Plain(Arc::new(stream))),
            Some(acceptor) => handshake(&acceptor, stream, self.limits.head).await,
        };
        let Ok(wire) = wire else { return };
        let drain = async {
            let _ = stop.wait_for(|stopping| *stopping).await;
            tokio::time::sleep(self.limits.drain).await;
        };
        tokio::select! {
            () = connection::run(Arc::clone(self), wire, exposure) => {}
            () = drain => {}
        }
    }
}

async fn handshake(acceptor: &TlsAcceptor, stream: TcpStream, patience: Duration) -> io::Result<Wire> {
    let stream = tokio::time::timeout(patience, acceptor.accept(stream)).await??;
    Ok(Wire::Tls(Box::new(stream)))
}
