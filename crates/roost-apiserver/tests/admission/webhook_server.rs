//! A webhook on a loopback socket, with a certificate of its own authority.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use base64::Engine as _;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use roost_pki::CertificateAuthority;
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// What a webhook says to a review: the whole answer.
pub(crate) type Answering = fn(&Value) -> Value;

pub(crate) struct WebhookServer {
    pub(crate) address: SocketAddr,
    authority: String,
    reviews: Arc<Mutex<Vec<Value>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for WebhookServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl WebhookServer {
    /// Starts a webhook on loopback.
    pub(crate) async fn start(answering: Answering) -> WebhookServer {
        Self::start_at(IpAddr::V4(Ipv4Addr::LOCALHOST), &[], answering).await
    }

    /// Starts a webhook that is known by some names beside its address.
    pub(crate) async fn start_at(ip: IpAddr, names: &[&str], answering: Answering) -> WebhookServer {
        let now = Timestamp::now();
        let authority =
            CertificateAuthority::new("webhooks", now, SignedDuration::from_hours(1)).expect("an authority");
        let own = ip.to_string();
        let names: Vec<&str> = names.iter().copied().chain([own.as_str()]).collect();
        let issued =
            authority.issue_server("webhook", &names, now, SignedDuration::from_hours(1)).expect("a certificate");
        let key = issued.key.to_pkcs8_der().expect("a key");
        let key = PrivateKeyDer::Pkcs8(key.expose().clone().into());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![issued.certificate.to_tls()], key)
            .expect("a configuration");
        let listener = TcpListener::bind((ip, 0)).await.expect("a socket");
        let address = listener.local_addr().expect("an address");
        let reviews = Arc::new(Mutex::new(Vec::new()));
        let serving = tokio::spawn(serve(listener, Arc::new(config), answering, Arc::clone(&reviews)));
        WebhookServer { address, authority: authority.certificate().to_pem(), reviews, serving }
    }

    /// The certificate of the authority, as configurations have it.
    pub(crate) fn bundle(&self) -> String {
        base64::engine::general_purpose::STANDARD.encode(&self.authority)
    }

    /// How to reach it by its address.
    pub(crate) fn client_config(&self) -> Value {
        serde_json::json!({"url": format!("https://{}/hook", self.address), "caBundle": self.bundle()})
    }

    /// All reviews so far.
    pub(crate) fn reviews(&self) -> Vec<Value> {
        self.reviews.lock().clone()
    }
}

async fn serve(listener: TcpListener, tls: Arc<ServerConfig>, answering: Answering, reviews: Arc<Mutex<Vec<Value>>>) {
    let acceptor = TlsAcceptor::from(tls);
    // Connections end with the server.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, reviews) = (acceptor.clone(), Arc::clone(&reviews));
        connections.spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |request: Request<Incoming>| {
                let reviews = Arc::clone(&reviews);
                async move {
                    let bytes = request.into_body().collect().await?.to_bytes();
                    let review: Value = serde_json::from_slice(&bytes).unwrap_or_default();
                    let answer = answering(&review);
                    reviews.lock().push(review);
                    Ok::<_, hyper::Error>(Response::new(Full::new(Bytes::from(answer.to_string()))))
                }
            });
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
