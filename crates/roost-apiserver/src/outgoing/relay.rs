//! Requests that are answered by somebody behind the server: sent on, and the answer handed back as it comes.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, COOKIE, HOST, TRANSFER_ENCODING, UPGRADE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Incoming;
use hyper::client::conn::http1::handshake;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, copy_bidirectional};
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::TlsConnector;

use super::{connect, trust};
use crate::cluster::Cluster;
use crate::respond::Body;
use crate::tunnel::Tunnels;

/// How long the way to a backend may take to open.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the straight way may take where there is another one.
const DIRECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Headers that concern one connection only.
const HOP_BY_HOP: [&str; 6] =
    ["keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "proxy-connection"];

/// Where a request is sent on to.
pub(crate) struct Backend {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// None for plain HTTP.
    pub(crate) tls: Option<Arc<ClientConfig>>,
    pub(crate) path_and_query: String,
    /// The tunnels that may lead there, and the node that it is on.
    pub(crate) tunnel: Option<(Arc<Tunnels>, String)>,
}

/// A connection of any kind.
trait Connection: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Connection for S {}

impl Backend {
    /// The whole address, as messages show it.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority(), self.path_and_query)
    }

    fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Sends a request on a connection of its own. Who asked stays here; what they asked goes on.
    pub(crate) async fn send(
        &self,
        method: Method,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Incoming>, String> {
        let stream = self.connect().await?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.path_and_query.parse().map_err(|_| "the path is no path".to_owned())?;
        *request.headers_mut() = outgoing_headers(headers);
        if let Ok(host) = HeaderValue::from_str(&self.authority()) {
            request.headers_mut().insert(HOST, host);
        }
        exchange(stream, request).await
    }

    /// A connection by the way that leads there. A node that keeps a tunnel open is reached by that when it is not
    /// reached directly, or somebody else is found there.
    async fn connect(&self) -> Result<Box<dyn Connection>, String> {
        let tunnel = self.tunnel.as_ref().filter(|(tunnels, node)| tunnels.has(node));
        let Some((tunnels, node)) = tunnel else { return self.direct(CONNECT_TIMEOUT).await };
        if !tunnels.avoids_direct(node) {
            match self.direct(DIRECT_TIMEOUT).await {
                Ok(stream) => return Ok(stream),
                Err(why) => tracing::debug!(%node, %why, "a node is reached by its tunnel"),
            }
            tunnels.avoid_direct(node);
        }
        self.secured(tunnels.open(node).await?).await
    }

    async fn direct(&self, timeout: Duration) -> Result<Box<dyn Connection>, String> {
        let opened = tokio::time::timeout(timeout, connect::dial_host(&self.host, self.port));
        let stream = opened.await.map_err(|_| format!("dial tcp {}: i/o timeout", self.authority()))??;
        stream.set_nodelay(true).ok();
        self.secured(stream).await
    }

    async fn secured<S: Connection + 'static>(&self, stream: S) -> Result<Box<dyn Connection>, String> {
        let Some(tls) = &self.tls else { return Ok(Box::new(stream)) };
        let name = ServerName::try_from(self.host.clone()).map_err(|error| error.to_string())?;
        let secured = TlsConnector::from(Arc::clone(tls)).connect(name, stream);
        let secured = tokio::time::timeout(CONNECT_TIMEOUT, secured).await;
        let secured = secured.map_err(|_| "net/http: TLS handshake timeout".to_owned())?;
        Ok(Box::new(secured.map_err(|error| trust::words(&error, &self.host))?))
    }
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| connect::words(&error))?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            tracing::debug!(%error, "a connection to a backend ended");
        }
    });
    sender.send_request(request).await.map_err(|error| connect::words(&error))
}

/// What of a caller's headers a backend gets to see: neither their credential nor whom they play.
fn outgoing_headers(headers: &HeaderMap) -> HeaderMap {
    let mut passed = headers.clone();
    let switches = headers.contains_key(UPGRADE);
    for name in [AUTHORIZATION, COOKIE, HOST, CONTENT_LENGTH, TRANSFER_ENCODING] {
        passed.remove(name);
    }
    let personal: Vec<_> = passed
        .keys()
        .filter(|name| name.as_str().starts_with("impersonate-") || HOP_BY_HOP.contains(&name.as_str()))
        .cloned()
        .collect();
    for name in personal {
        passed.remove(name);
    }
    passed.remove(CONNECTION);
    if switches {
        passed.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    }
    passed
}

/// What an open stream holds on to until it ends.
pub(crate) struct Hold {
    pub(crate) cluster: Arc<Cluster>,
    /// A place among the caller's open streams.
    pub(crate) _place: OwnedSemaphorePermit,
}

/// Hands an answer on as it comes. Once protocols were switched, both ends are joined until one of them closes.
pub(crate) fn pass_on(mut answer: Response<Incoming>, client: Option<OnUpgrade>, hold: Hold) -> Response<Body> {
    let switched = answer.status() == StatusCode::SWITCHING_PROTOCOLS;
    if switched && let Some(client) = client {
        let backend = hyper::upgrade::on(&mut answer);
        tokio::spawn(async move {
            let joined = async {
                let (client, backend) = tokio::try_join!(client, backend)?;
                let _ = copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(backend)).await;
                Ok::<_, hyper::Error>(())
            };
            tokio::select! {
                _ = joined => {}
                () = hold.cluster.closing() => {}
            }
        });
        let (parts, _) = answer.into_parts();
        return Response::from_parts(parts, crate::respond::full(Bytes::new()));
    }
    let (mut parts, body) = answer.into_parts();
    for name in [CONNECTION, TRANSFER_ENCODING] {
        parts.headers.remove(name);
    }
    let frames = stream::unfold((body, hold), |(mut body, hold)| async move {
        let closing = hold.cluster.closing();
        let frame = tokio::select! {
            frame = body.frame() => frame?.ok()?,
            () = closing => return None,
        };
        Some((Ok::<_, std::convert::Infallible>(frame), (body, hold)))
    });
    Response::from_parts(parts, StreamBody::new(frames.boxed()).boxed_unsync())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_learns_what_was_asked_but_not_by_whom() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer secret"),
            ("impersonate-user", "admin"),
            ("cookie", "a=b"),
            ("connection", "upgrade, keep-alive"),
            ("upgrade", "SPDY/3.1"),
            ("x-stream-protocol-version", "v4.channel.k8s.io"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let passed = outgoing_headers(&headers);
        let mut names: Vec<&str> = passed.keys().map(http::HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["connection", "upgrade", "x-stream-protocol-version"]);
        assert_eq!(passed["connection"], "Upgrade");
    }

    #[test]
    fn addresses_are_shown_whole() {
        let backend = |host: &str| Backend {
            host: host.into(),
            port: 80,
            tls: None,
            path_and_query: "/x?a=b".into(),
            tunnel: None,
        };
        assert_eq!(backend("192.0.2.1").url(), "http://192.0.2.1:80/x?a=b");
        assert_eq!(backend("2001:db8::1").url(), "http://[2001:db8::1]:80/x?a=b");
    }
}
