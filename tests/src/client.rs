//! A small HTTPS client that sends exactly what it is given, and keeps its connections.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{HOST, HeaderValue};
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::RootCertStore;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tokio_rustls::TlsConnector;

use crate::kubeconfig::Kubeconfig;
use crate::pki::Identity;

/// No answer of a healthy server takes longer; stock needs seconds when it is short of processor time.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);

/// What the kernel takes of a request at once. On one machine it carries all of that to the server in the sender's name,
/// and nobody else gets the processor meanwhile, which no network would do.
const SEND_BUFFER: u32 = 64 * 1024;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// A certificate or key could not be used.
    #[error("the TLS identity cannot be used: {0}")]
    Identity(String),
    /// The server's address is not one.
    #[error("{0} is not an address of a server")]
    Address(String),
    /// The connection could not be opened.
    #[error("cannot connect to {address}: {reason}")]
    Connect {
        /// The server.
        address: String,
        /// What went wrong.
        reason: String,
    },
    /// The request could not be formed.
    #[error("the request is malformed: {0}")]
    Malformed(String),
    /// The exchange broke off.
    #[error("the exchange broke off: {0}")]
    Exchange(String),
    /// The server did not answer in time.
    #[error("no answer after {} s", ANSWER_TIMEOUT.as_secs())]
    Timeout,
}

/// What is sent.
#[derive(Debug, Clone)]
pub struct Call {
    /// The method.
    pub method: Method,
    /// Path and query, sent as they are.
    pub target: String,
    /// Further headers.
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: Bytes,
}

impl Call {
    /// A call without headers and body.
    pub fn new(method: Method, target: impl Into<String>) -> Self {
        Self { method, target: target.into(), headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// A GET.
    pub fn get(target: impl Into<String>) -> Self {
        Self::new(Method::GET, target)
    }

    /// The same call with a JSON body.
    #[must_use]
    pub fn json(mut self, body: &serde_json::Value) -> Self {
        self.headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.body = Bytes::from(body.to_string());
        self
    }
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl Answer {
    /// The body as JSON, or null.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// The head of an answer, and its body as it comes.
#[derive(Debug)]
pub struct Stream {
    /// The status code.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    body: Incoming,
    // The connection ends when its sender is dropped, so the stream keeps it.
    _connection: SendRequest<Full<Bytes>>,
}

impl Stream {
    /// The next piece of the body; nothing when the server ended it.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(ClientError::Exchange(error.to_string())),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
            }
        }
    }

    /// The rest of the body.
    pub async fn rest(mut self) -> Result<Answer, ClientError> {
        let mut body = BytesMut::new();
        while let Some(data) = self.next().await? {
            body.extend_from_slice(&data);
        }
        Ok(Answer { status: self.status, headers: self.headers, body: body.freeze() })
    }
}

struct Target {
    authority: String,
    name: ServerName<'static>,
    roots: Arc<RootCertStore>,
}

fn target(url: &str, authority: &str) -> Result<Arc<Target>, ClientError> {
    let wrong = || ClientError::Address(url.to_owned());
    let uri: Uri = url.parse().map_err(|_| wrong())?;
    let host = uri.authority().ok_or_else(wrong)?;
    let name = ServerName::try_from(host.host().to_owned()).map_err(|_| wrong())?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates(authority)? {
        roots.add(certificate).map_err(identity_error)?;
    }
    Ok(Arc::new(Target { authority: host.to_string(), name, roots: Arc::new(roots) }))
}

/// A client of one server with one TLS identity.
#[derive(Clone)]
pub struct Client {
    target: Arc<Target>,
    connector: TlsConnector,
    idle: Arc<Mutex<Vec<SendRequest<Full<Bytes>>>>>,
}

impl Client {
    /// A client that shows the administrator's certificate.
    pub fn administrator(kubeconfig: &Kubeconfig) -> Result<Self, ClientError> {
        Self::connected(target(&kubeconfig.server, &kubeconfig.authority)?, Some(&kubeconfig.administrator))
    }

    /// A client of a server that shows no certificate.
    pub fn stranger(url: &str, authority: &str) -> Result<Self, ClientError> {
        Self::connected(target(url, authority)?, None)
    }

    /// A client of the same server that shows another certificate, or none.
    pub fn with_identity(&self, identity: Option<&Identity>) -> Result<Self, ClientError> {
        Self::connected(self.target.clone(), identity)
    }

    /// A client with the same identity that shares no connection with this one.
    #[must_use]
    pub fn with_own_connections(&self) -> Self {
        Self { target: self.target.clone(), connector: self.connector.clone(), idle: Arc::default() }
    }

    fn connected(target: Arc<Target>, identity: Option<&Identity>) -> Result<Self, ClientError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(identity_error)?
            .with_root_certificates(target.roots.clone());
        let configuration = match identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(identity_error)?;
                builder.with_client_auth_cert(certificates(&identity.certificate)?, key).map_err(identity_error)?
            }
        };
        Ok(Self { target, connector: TlsConnector::from(Arc::new(configuration)), idle: Arc::default() })
    }

    /// Sends a call and reads the whole answer.
    pub async fn send(&self, call: Call) -> Result<Answer, ClientError> {
        tokio::time::timeout(ANSWER_TIMEOUT, self.exchange(call)).await.map_err(|_| ClientError::Timeout)?
    }

    /// Sends a call that must not be sent twice: when the connection breaks, nobody knows what became of it.
    pub async fn send_once(&self, call: Call) -> Result<Answer, ClientError> {
        let exchange = async {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            if let Some(sender) = &mut idle
                && sender.ready().await.is_err()
            {
                idle = None;
            }
            let sender = match idle {
                Some(sender) => sender,
                None => self.connect().await?,
            };
            self.exchange_on(sender, call).await
        };
        tokio::time::timeout(ANSWER_TIMEOUT, exchange).await.map_err(|_| ClientError::Timeout)?
    }

    async fn exchange(&self, call: Call) -> Result<Answer, ClientError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(mut sender) = idle
            && sender.ready().await.is_ok()
            && let Ok(answer) = self.exchange_on(sender, call.clone()).await
        {
            return Ok(answer);
        }
        // A kept connection may have been closed by the server at any time, so only a new one's failure counts.
        self.exchange_on(self.connect().await?, call).await
    }

    async fn exchange_on(&self, mut sender: SendRequest<Full<Bytes>>, call: Call) -> Result<Answer, ClientError> {
        let response = sender.send_request(self.request(call)?).await.map_err(exchange_error)?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(exchange_error)?.to_bytes();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        Ok(Answer { status: head.status, headers: head.headers, body })
    }

    /// Sends a call on a connection of its own and returns as soon as the answer begins.
    pub async fn stream(&self, call: Call) -> Result<Stream, ClientError> {
        let open = async {
            let mut sender = self.connect().await?;
            let response = sender.send_request(self.request(call)?).await.map_err(exchange_error)?;
            let (head, body) = response.into_parts();
            Ok(Stream { status: head.status, headers: head.headers, body, _connection: sender })
        };
        tokio::time::timeout(ANSWER_TIMEOUT, open).await.map_err(|_| ClientError::Timeout)?
    }

    fn request(&self, call: Call) -> Result<Request<Full<Bytes>>, ClientError> {
        let malformed = |error: &dyn std::fmt::Display| ClientError::Malformed(error.to_string());
        let uri: Uri = call.target.parse().map_err(|error| malformed(&error))?;
        let mut request = Request::builder().method(call.method).uri(uri).body(Full::new(call.body));
        if let Ok(request) = &mut request {
            *request.headers_mut() = call.headers;
            let host = HeaderValue::from_str(&self.target.authority).map_err(|error| malformed(&error))?;
            request.headers_mut().entry(HOST).or_insert(host);
        }
        request.map_err(|error| malformed(&error))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        let failed = |reason: String| ClientError::Connect { address: self.target.authority.clone(), reason };
        let socket = dial(&self.target.authority).await.map_err(|error| failed(error.to_string()))?;
        let secured = self.connector.connect(self.target.name.clone(), socket).await;
        let secured = secured.map_err(|error| failed(error.to_string()))?;
        let (sender, connection) =
            http1::handshake(TokioIo::new(secured)).await.map_err(|error| failed(error.to_string()))?;
        tokio::spawn(async move {
            // A broken connection shows itself to whoever waits for its answer.
            let _ = connection.await;
        });
        Ok(sender)
    }
}

async fn dial(authority: &str) -> io::Result<TcpStream> {
    let address = lookup_host(authority).await?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_send_buffer_size(SEND_BUFFER)?;
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<_, _>>().map_err(identity_error)
}

fn identity_error(error: impl std::fmt::Display) -> ClientError {
    ClientError::Identity(error.to_string())
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn exchange_error(error: hyper::Error) -> ClientError {
    ClientError::Exchange(format!("{error:?}"))
}
