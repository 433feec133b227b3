//! One connection to an API: HTTP/2 over TLS, opened when it is needed and again when it was lost.

use std::fmt;
use std::io;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::access::Access;
use crate::network::Network;
use crate::timing;
use crate::watch::Watch;

/// The largest answer that is read: a node that runs the most pods that anybody allows stays far below it.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// What may be under way on one stream and on the whole connection. A node reads little, and there are a thousand.
const WINDOW: u32 = 64 << 10;

/// How a body is to be understood.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    Json,
    StrategicPatch,
}

impl Content {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Json => "application/json",
            Self::StrategicPatch => "application/strategic-merge-patch+json",
        })
    }
}

/// Why a request brought nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("no connection: {0}")]
    Connect(#[from] io::Error),
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("no answer in time")]
    Late,
    /// The server answered, and said no.
    #[error("{code}: {message}")]
    Refused { code: StatusCode, message: String },
    #[error("the answer makes no sense: {0}")]
    Answer(String),
}

impl ClientError {
    /// Whether the server answered with this code.
    pub(crate) fn is(&self, wanted: StatusCode) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == wanted)
    }

    /// Whether the answer says to begin a list or watch anew.
    pub(crate) fn is_expired(&self) -> bool {
        self.is(StatusCode::GONE)
    }
}

/// A connection's sender, and the task that carries it.
struct Open {
    sender: SendRequest<Full<Bytes>>,
    carrier: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.carrier.abort();
    }
}

/// A client of one API with one identity. Dropping it closes its connection.
pub(crate) struct Client {
    access: Access,
    network: Arc<Network>,
    tls: ArcSwap<ClientConfig>,
    agent: HeaderValue,
    open: Mutex<Option<Open>>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client({:?})", self.access)
    }
}

impl Client {
    pub(crate) fn new(access: Access, network: Arc<Network>, tls: Arc<ClientConfig>, version: &str) -> Self {
        let agent = HeaderValue::from_str(&format!("kubelet/{version} (linux/amd64) roost-sim"))
            .unwrap_or(HeaderValue::from_static("kubelet"));
        Self { access, network, tls: ArcSwap::new(tls), agent, open: Mutex::new(None) }
    }

    /// Shows another certificate from now on, which takes another connection.
    pub(crate) async fn set_tls(&self, tls: Arc<ClientConfig>) {
        self.tls.store(tls);
        *self.open.lock().await = None;
    }

    pub(crate) async fn get(&self, target: &str) -> Result<Value, ClientError> {
        self.exchange(Method::GET, target, Content::Json, None).await
    }

    pub(crate) async fn create(&self, target: &str, object: &Value) -> Result<Value, ClientError> {
        self.exchange(Method::POST, target, Content::Json, Some(object)).await
    }

    pub(crate) async fn update(&self, target: &str, object: &Value) -> Result<Value, ClientError> {
        self.exchange(Method::PUT, target, Content::Json, Some(object)).await
    }

    pub(crate) async fn patch(&self, target: &str, patch: &Value) -> Result<Value, ClientError> {
        self.exchange(Method::PATCH, target, Content::StrategicPatch, Some(patch)).await
    }

    pub(crate) async fn delete(&self, target: &str, options: &Value) -> Result<Value, ClientError> {
        self.exchange(Method::DELETE, target, Content::Json, Some(options)).await
    }

    /// Begins a watch.
    pub(crate) async fn watch(&self, target: &str) -> Result<Watch, ClientError> {
        let answer = self.send(Method::GET, target, Content::Json, None);
        let response = tokio::time::timeout(timing::REQUEST, answer).await.map_err(|_| ClientError::Late)??;
        if response.status().is_success() {
            Ok(Watch::new(response.into_body()))
        } else {
            Err(refusal(response.status(), &read(response).await?))
        }
    }

    async fn exchange(
        &self,
        method: Method,
        target: &str,
        content: Content,
        body: Option<&Value>,
    ) -> Result<Value, ClientError> {
        let exchange = async {
            let response = self.send(method, target, content, body).await?;
            let status = response.status();
            let bytes = read(response).await?;
            if status.is_success() {
                serde_json::from_slice(&bytes).map_err(|error| ClientError::Answer(error.to_string()))
            } else {
                Err(refusal(status, &bytes))
            }
        };
        let outcome = tokio::time::timeout(timing::REQUEST, exchange).await.unwrap_or(Err(ClientError::Late));
        if matches!(outcome, Err(ClientError::Late | ClientError::Broken(_))) {
            // Nobody answers there any more; the next request takes a new connection.
            *self.open.lock().await = None;
        }
        outcome
    }

    async fn send(
        &self,
        method: Method,
        target: &str,
        content: Content,
        body: Option<&Value>,
    ) -> Result<Response<Incoming>, ClientError> {
        self.network.wait().await;
        let mut sender = self.sender().await?;
        let broken = |error: hyper::Error| ClientError::Broken(words(&error));
        sender.ready().await.map_err(broken)?;
        sender.send_request(self.request(method, target, content, body)?).await.map_err(broken)
    }

    async fn sender(&self) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        let mut open = self.open.lock().await;
        if let Some(open) = open.as_ref().filter(|open| !open.sender.is_closed()) {
            return Ok(open.sender.clone());
        }
        // Connections are opened seldom, and every request would carry the room for it.
        let connection = Box::pin(self.connect()).await?;
        let sender = connection.sender.clone();
        *open = Some(connection);
        Ok(sender)
    }

    async fn connect(&self) -> Result<Open, ClientError> {
        let Access { host, port, server_name, .. } = &self.access;
        let stream = self.network.connect(host, *port, server_name.clone(), self.tls.load_full()).await?;
        let (sender, connection) = Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .keep_alive_interval(timing::KEEP_ALIVE)
            .keep_alive_timeout(timing::KEEP_ALIVE_ANSWER)
            .keep_alive_while_idle(true)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|error| ClientError::Broken(words(&error)))?;
        let network = Arc::clone(&self.network);
        let carrier = tokio::spawn(async move { network.carry(connection).await });
        Ok(Open { sender, carrier })
    }

    fn request(
        &self,
        method: Method,
        target: &str,
        content: Content,
        body: Option<&Value>,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let Access { host, port, token, .. } = &self.access;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("https://{host}:{port}{target}"))
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, self.agent.clone());
        if let Some(token) = token {
            request = request.header(AUTHORIZATION, format!("Bearer {}", token.expose()));
        }
        let bytes = match body {
            Some(body) => {
                request = request.header(CONTENT_TYPE, content.header());
                body.to_string().into()
            }
            None => Bytes::new(),
        };
        request.body(Full::new(bytes)).map_err(|error| ClientError::Answer(error.to_string()))
    }
}

async fn read(response: Response<Incoming>) -> Result<Bytes, ClientError> {
    let body = Limited::new(response.into_body(), MAX_ANSWER_BYTES).collect().await;
    body.map(http_body_util::Collected::to_bytes).map_err(|error| ClientError::Broken(error.to_string()))
}

fn refusal(code: StatusCode, body: &[u8]) -> ClientError {
    let status: Value = serde_json::from_slice(body).unwrap_or_default();
    let message = status["message"].as_str().unwrap_or("no reason given").to_owned();
    ClientError::Refused { code, message }
}

/// An error with what it came from.
pub(crate) fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
