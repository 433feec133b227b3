//! The server of a simulated kubelet: what is asked of a node over TLS with its serving certificate.

mod answer;
mod enter;
mod logs;
mod metrics;
mod permission;

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use http::header::UPGRADE;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use roost_pki::{Certificate, CertificateBundle};
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::client::Client;
use crate::clock::Clock;
use crate::identity::Identity;
use crate::pods::View;
use crate::trust::{Trust, TrustError};
pub(crate) use enter::Disks;
use enter::Entered;

/// Where kubelets listen, unless somebody else does.
const PORT: u16 = 10_250;
/// A client that has not finished its handshake by then is gone or hostile.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// A client that has not sent its headers by then is gone or hostile.
const HEADERS: Duration = Duration::from_secs(15);
/// Connections at the same time; a control plane needs a few.
const MAX_CONNECTIONS: usize = 64;
/// The pause after a connection could not be accepted.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// The certificate that a kubelet shows; none until it has one.
#[derive(Debug, Default)]
pub(crate) struct Shown(ArcSwapOption<CertifiedKey>);

impl Shown {
    pub(crate) fn set(&self, identity: &Identity, trust: &Trust) -> Result<(), TrustError> {
        let certificates = vec![identity.certificate().to_tls()];
        let certified = CertifiedKey::from_der(certificates, identity.tls_key(), &trust.provider())?;
        self.0.store(Some(Arc::new(certified)));
        Ok(())
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.load_full()
    }
}

/// Takes the kubelet's port at the host's address, or any other there. An address that is not of this machine is never
/// reached, and has no listener.
pub(crate) async fn listen(address: IpAddr) -> Option<TcpListener> {
    match TcpListener::bind((address, PORT)).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => TcpListener::bind((address, 0)).await.ok(),
        outcome => outcome.ok(),
    }
}

/// The port that a node says it listens on.
pub(crate) fn port(listener: Option<&TcpListener>) -> u16 {
    listener.and_then(|listener| listener.local_addr().ok()).map_or(PORT, |address| address.port())
}

/// What a kubelet answers with.
#[derive(Debug)]
pub(crate) struct Kubelet {
    pub(crate) node: String,
    pub(crate) client: Arc<Client>,
    pub(crate) clock: Clock,
    pub(crate) view: View,
    pub(crate) disks: Disks,
}

impl Kubelet {
    /// Serves for as long as the node lives.
    pub(crate) async fn serve(self, listener: TcpListener, tls: Arc<ServerConfig>) {
        let kubelet = Arc::new(self);
        let mut connections = JoinSet::new();
        loop {
            while connections.len() >= MAX_CONNECTIONS {
                connections.join_next().await;
            }
            match listener.accept().await {
                Ok((stream, _)) => {
                    connections.spawn(Arc::clone(&kubelet).connection(stream, TlsAcceptor::from(Arc::clone(&tls))));
                }
                Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
            }
            while connections.try_join_next().is_some() {}
        }
    }

    async fn connection(self: Arc<Self>, stream: TcpStream, tls: TlsAcceptor) {
        let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, tls.accept(stream)).await else { return };
        let leaf = stream.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let certificate = leaf.and_then(|leaf| Certificate::from_der(leaf).ok());
        let certificate = Arc::new(certificate);
        let entered: Arc<Mutex<Option<Entered>>> = Arc::default();
        let service = service_fn(|mut request| {
            let (kubelet, certificate, entered) = (Arc::clone(&self), Arc::clone(&certificate), Arc::clone(&entered));
            async move {
                let upgrade = request.headers().contains_key(UPGRADE).then(|| hyper::upgrade::on(&mut request));
                let (response, then) = kubelet.answer(&request, upgrade, certificate.as_ref().as_ref()).await;
                *entered.lock() = then;
                Ok::<_, Infallible>(response)
            }
        });
        let mut builder = hyper::server::conn::http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEADERS);
        let _ = builder.serve_connection(TokioIo::new(stream), service).with_upgrades().await;
        let then = entered.lock().take();
        if let Some(then) = then {
            then.await;
        }
    }
}

/// TLS with the node's certificate; clients may show one of an authority that is trusted for that.
pub(crate) fn tls(trust: &Trust, shown: Arc<Shown>, authorities: &str) -> Result<Arc<ServerConfig>, TrustError> {
    let wrong = |error: &dyn std::fmt::Display| TrustError::Authorities(error.to_string());
    let bundle = CertificateBundle::from_pem(authorities).map_err(|error| wrong(&error))?;
    let mut roots = RootCertStore::empty();
    for certificate in bundle.certificates() {
        roots.add(certificate.to_tls()).map_err(|error| wrong(&error))?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), trust.provider())
        .allow_unauthenticated()
        .build()
        .map_err(|error| wrong(&error))?;
    let mut config = ServerConfig::builder_with_provider(trust.provider())
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(shown);
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
