//! A listener for one tenant or, by server name, for many: TLS, HTTP/1.1 and HTTP/2, with limits against those who
//! stall.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use roost_pki::AnyClientCertificate;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{Acceptor, ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::LazyConfigAcceptor;
use tower::ServiceExt as _;

use crate::access::PeerCertificates;
use crate::cluster::Cluster;
use crate::pace::Paced;
use crate::party::Party;
use crate::service::ApiService;
use crate::turns::Turns;

/// A client that has not finished its handshake by then is gone or hostile.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// A client that has not sent its headers by then is gone or hostile.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);
/// Connections in all; beyond it new ones wait in the kernel.
const MAX_CONNECTIONS: usize = 16_384;
/// Requests and watches on one HTTP/2 connection.
const MAX_STREAMS: u32 = 1000;
/// How long open requests may take after the server was asked to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// HTTP/2 windows: large enough that a list of thousands of objects does not wait for acknowledgements.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;

/// The certificate that a tenant shows. It can be replaced while connections are open.
#[derive(Debug)]
pub struct ServingCertificate(ArcSwap<CertifiedKey>);

impl ServingCertificate {
    /// A chain, leaf first, and the leaf's key.
    pub fn new(
        certificates: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Arc<ServingCertificate>, rustls::Error> {
        let certified = CertifiedKey::from_der(certificates, key, &default_provider())?;
        Ok(Arc::new(ServingCertificate(ArcSwap::from_pointee(certified))))
    }

    /// Shows another certificate to those who connect from now on.
    pub fn replace(
        &self,
        certificates: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<(), rustls::Error> {
        self.0.store(Arc::new(CertifiedKey::from_der(certificates, key, &default_provider())?));
        Ok(())
    }
}

impl ResolvesServerCert for ServingCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

/// TLS for a tenant: its own certificate, and client certificates where clients have them.
pub fn tls_config(certificate: Arc<ServingCertificate>) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(default_provider());
    let verifier: Arc<dyn ClientCertVerifier> = Arc::new(AnyClientCertificate::new(Arc::clone(&provider)));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(certificate);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// A tenant as a listener knows it.
#[derive(Clone)]
pub struct Host {
    /// Whom the requests are for.
    pub cluster: Arc<Cluster>,
    /// What the connection is secured with.
    pub tls: Arc<ServerConfig>,
}

/// Who is behind a listener.
pub trait Hosts: Send + Sync + 'static {
    /// The tenant of a server name, which clients may leave out; none closes the connection. May take its time, for
    /// tenants that have to be woken first.
    fn host(&self, server_name: Option<&str>) -> impl Future<Output = Option<Host>> + Send;
}

impl Hosts for Host {
    async fn host(&self, _: Option<&str>) -> Option<Host> {
        Some(self.clone())
    }
}

/// Serves tenants until `stop` changes, then lets open requests finish. Watches end when their tenant is closed, which
/// is for the caller to do.
pub async fn serve(hosts: impl Hosts, listener: TcpListener, mut stop: watch::Receiver<bool>) {
    let hosts = Arc::new(hosts);
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.wait_for(|stopping| *stopping) => break,
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
        tokio::spawn(connect(Arc::clone(&hosts), stream, stop.clone(), place));
    }
    drop(listener);
    // Every connection has a place, and gives it back when it ends.
    let all = u32::try_from(MAX_CONNECTIONS).unwrap_or(u32::MAX);
    if tokio::time::timeout(DRAIN_TIMEOUT, places.acquire_many(all)).await.is_err() {
        tracing::warn!("some requests did not end in time and were cut off");
    }
}

/// One connection: its handshake, and then its requests in the turns of whoever is at the other end.
async fn connect(
    hosts: Arc<impl Hosts>,
    stream: TcpStream,
    mut stop: watch::Receiver<bool>,
    place: OwnedSemaphorePermit,
) {
    let _ = stream.set_nodelay(true);
    let address = stream.peer_addr().ok().map(|address| address.ip());
    let handshake = async {
        let hello = LazyConfigAcceptor::new(Acceptor::default(), Paced::new(stream)).await.ok()?;
        let name = hello.client_hello().server_name().map(str::to_owned);
        let host = hosts.host(name.as_deref()).await?;
        Some((hello.into_stream(host.tls).await.ok()?, host.cluster))
    };
    let Ok(Some((stream, cluster))) = tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake).await else { return };
    let certificates = stream.get_ref().1.peer_certificates().map(<[_]>::to_vec).unwrap_or_default();
    let leaf = certificates.first().cloned();
    let peer = PeerCertificates::new(certificates);
    let party = Party::of(&cluster.tenant, leaf.filter(|_| peer.are_good(&cluster)).as_ref(), address);
    let turns = Turns::of(Arc::clone(&party));
    let service =
        ApiService::new(Arc::clone(&cluster)).map_request(move |mut request: http::Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(peer.clone());
            request.extensions_mut().insert(Arc::clone(&party));
            request
        });
    let mut builder = auto::Builder::new(turns.clone());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .keep_alive_interval(Duration::from_secs(30));
    turns.spawn(async move {
        let _place = place;
        let service = TowerToHyperService::new(service);
        let mut connection = pin!(builder.serve_connection_with_upgrades(TokioIo::new(stream), service));
        tokio::select! {
            _ = &mut connection => return,
            _ = stop.wait_for(|stopping| *stopping) => {}
            // A tenant that sleeps or is gone is not served through connections that remember it.
            () = cluster.closing() => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(DRAIN_TIMEOUT, connection).await;
    });
}
