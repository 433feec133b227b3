//! A host's connection to the discovery service: HTTP/1.1 over TLS, opened when it is needed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use roost_host::form;
use roost_host::wire::{OWN_AGENT, PREFER_HEADER, RENEWED_TOKEN_HEADER, TOKEN_HEADER};
use roost_pki::Secret;
use rustls::ClientConfig;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::access::{AccessError, place};
use crate::client::words;
use crate::network::Network;
use crate::retry::Backoff;
use crate::timing;

/// The largest answer that is read.
const MAX_ANSWER: usize = 4 << 20;
/// How long an answer may take beyond what the host is willing to wait.
const ANSWER: Duration = Duration::from_secs(20);

/// Why a call brought nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error(transparent)]
    Place(#[from] AccessError),
    #[error("no connection: {0}")]
    Connect(String),
    #[error("no answer in time")]
    Late,
    #[error("the service answered {code}: {body}")]
    Refused { code: StatusCode, body: String },
    #[error("the answer makes no sense: {0}")]
    Answer(String),
}

impl CallError {
    pub(super) fn is(&self, wanted: StatusCode) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == wanted)
    }

    /// Whether the same call may be answered in a while.
    fn is_passing(&self) -> bool {
        match self {
            Self::Connect(_) | Self::Late => true,
            Self::Refused { code, .. } => code.is_server_error(),
            Self::Place(_) | Self::Answer(_) => false,
        }
    }
}

/// The connection of one host.
pub(super) struct Service {
    host: String,
    port: u16,
    network: Arc<Network>,
    tls: Arc<ClientConfig>,
    token: Secret<String>,
    open: Option<Open>,
}

struct Open {
    sender: SendRequest<Full<Bytes>>,
    carrier: JoinHandle<()>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.carrier.abort();
    }
}

impl Service {
    pub(super) fn new(
        url: &str,
        network: Arc<Network>,
        tls: Arc<ClientConfig>,
        token: Secret<String>,
    ) -> Result<Self, CallError> {
        let (host, port) = place(url)?;
        Ok(Self { host, port, network, tls, token, open: None })
    }

    /// The token that is shown now.
    pub(super) fn into_token(self) -> Secret<String> {
        self.token
    }

    /// Calls the service and reads what it answers.
    pub(super) async fn call<T: DeserializeOwned>(
        &mut self,
        method: Method,
        target: &str,
        body: Option<&Value>,
        wait: Duration,
    ) -> Result<T, CallError> {
        let bytes = self.send(method, target, body, wait).await?;
        serde_json::from_slice(&bytes).map_err(|error| CallError::Answer(error.to_string()))
    }

    /// Calls the service again and again while it does not answer, as a host does in the middle of its installation.
    pub(super) async fn insist(
        &mut self,
        method: Method,
        target: &str,
        body: Option<&Value>,
    ) -> Result<Bytes, CallError> {
        let mut backoff = Backoff::new(timing::RETRY, timing::LONGEST_HOST_RETRY);
        loop {
            match self.send(method.clone(), target, body, Duration::ZERO).await {
                Err(error) if error.is_passing() => backoff.wait().await,
                outcome => return outcome,
            }
        }
    }

    /// Calls the service for the bytes that it answers with.
    pub(super) async fn send(
        &mut self,
        method: Method,
        target: &str,
        body: Option<&Value>,
        wait: Duration,
    ) -> Result<Bytes, CallError> {
        let body = body.map(|body| ("application/json".to_owned(), body.to_string().into_bytes()));
        self.send_bytes(method, target, body, wait).await
    }

    /// Sends a file.
    pub(super) async fn upload(&mut self, target: &str, file_name: &str, content: &[u8]) -> Result<(), CallError> {
        let form = form::write(file_name, content);
        self.send_bytes(Method::POST, target, Some(form), Duration::ZERO).await.map(drop)
    }

    async fn send_bytes(
        &mut self,
        method: Method,
        target: &str,
        body: Option<(String, Vec<u8>)>,
        wait: Duration,
    ) -> Result<Bytes, CallError> {
        let outcome = tokio::time::timeout(wait + ANSWER, self.exchange(method, target, body, wait)).await;
        let outcome = outcome.unwrap_or(Err(CallError::Late));
        if !matches!(outcome, Ok(_) | Err(CallError::Refused { .. })) {
            self.open = None;
        }
        outcome
    }

    async fn exchange(
        &mut self,
        method: Method,
        target: &str,
        body: Option<(String, Vec<u8>)>,
        wait: Duration,
    ) -> Result<Bytes, CallError> {
        let authority = if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        };
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .header(HOST, authority)
            .header(TOKEN_HEADER, self.token.expose())
            .header("discovery_agent_version", format!("{OWN_AGENT}sim"));
        if !wait.is_zero() {
            request = request.header(PREFER_HEADER, format!("wait={}", wait.as_secs()));
        }
        let bytes = match body {
            Some((content_type, body)) => {
                request = request.header(CONTENT_TYPE, content_type);
                Bytes::from(body)
            }
            None => Bytes::new(),
        };
        let request = request.body(Full::new(bytes)).map_err(|error| CallError::Answer(error.to_string()))?;
        let broken = |error: hyper::Error| CallError::Connect(words(&error));
        let sender = self.sender().await?;
        sender.ready().await.map_err(broken)?;
        let response = sender.send_request(request).await.map_err(broken)?;
        let code = response.status();
        let renewed = response.headers().get(RENEWED_TOKEN_HEADER).and_then(|value| value.to_str().ok());
        if let Some(renewed) = renewed {
            self.token = Secret::new(renewed.to_owned());
        }
        let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
        let body = body.map_err(|error| CallError::Connect(error.to_string()))?.to_bytes();
        if code.is_success() {
            Ok(body)
        } else {
            Err(CallError::Refused { code, body: String::from_utf8_lossy(&body[..body.len().min(512)]).into_owned() })
        }
    }

    async fn sender(&mut self) -> Result<&mut SendRequest<Full<Bytes>>, CallError> {
        if self.open.as_ref().is_some_and(|open| open.sender.is_closed()) {
            self.open = None;
        }
        if self.open.is_none() {
            let name = rustls_pki_types::ServerName::try_from(self.host.clone())
                .map_err(|_| CallError::Connect(format!("{} is no name", self.host)))?;
            let connect = self.network.connect(&self.host, self.port, name, Arc::clone(&self.tls));
            let connected = tokio::time::timeout(timing::HOST_CONNECT, connect).await.map_err(|_| CallError::Late)?;
            let stream = connected.map_err(|error| CallError::Connect(error.to_string()))?;
            let (sender, connection) =
                http1::handshake(TokioIo::new(stream)).await.map_err(|error| CallError::Connect(words(&error)))?;
            let network = Arc::clone(&self.network);
            let carrier = tokio::spawn(async move { network.carry(connection).await });
            self.open = Some(Open { sender, carrier });
        }
        let open = self.open.as_mut().ok_or(CallError::Late)?;
        Ok(&mut open.sender)
    }
}
