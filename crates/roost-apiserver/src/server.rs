//! A listener for one tenant: TLS, HTTP/1.1 and HTTP/2, with limits against those who stall.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::server::danger::ClientCertVerifier;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

use crate::access::PeerCertificates;
use crate::client_certificates::AnyClientCertificate;
use crate::cluster::Cluster;
use crate::service::ApiService;

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

/// TLS for a tenant: its own certificate, and client certificates where clients have them.
pub fn tls_config(
    certificates: Vec<rustls_pki_types::CertificateDer<'static>>,
    key: rustls_pki_types::PrivateKeyDer<'static>,
) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier: Arc<dyn ClientCertVerifier> = Arc::new(AnyClientCertificate::new(Arc::clone(&provider)));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Serves a tenant until `stop` changes, then lets open requests finish.
pub async fn serve(
    cluster: Arc<Cluster>,
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    mut stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let acceptor = TlsAcceptor::from(tls);
    let graceful = GracefulShutdown::new();
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
        let watcher = graceful.watcher();
        let connection = connect(Arc::clone(&cluster), acceptor.clone(), stream, watcher);
        tokio::spawn(async move {
            connection.await;
            drop(place);
        });
    }
    drop(listener);
    cluster.close();
    tokio::select! {
        () = graceful.shutdown() => {}
        () = tokio::time::sleep(DRAIN_TIMEOUT) => tracing::warn!("some requests did not end in time and were cut off"),
    }
    Ok(())
}

/// One connection, from handshake to end.
async fn connect(
    cluster: Arc<Cluster>,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await else { return };
    let certificates = stream.get_ref().1.peer_certificates().map(<[_]>::to_vec).unwrap_or_default();
    let peer = PeerCertificates::new(certificates);
    let service = ApiService::new(cluster).map_request(move |mut request: http::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(peer.clone());
        request
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .keep_alive_interval(Duration::from_secs(30));
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(service));
    let _ = watcher.watch(connection.into_owned()).await;
}
