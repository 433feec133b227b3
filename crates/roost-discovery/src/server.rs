//! The listener: TLS, HTTP/1.1, a token for every call, and limits against those who stall or flood.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, StatusCode, request};
use hyper::body::Incoming;
use roost_host::form;
use roost_host::wire::{MAX_BODY, RENEWED_TOKEN_HEADER, TOKEN_HEADER};
use roost_ignition_server::{
    CertificateError, Counter, Limits, Patience, ServingCertificate, caller, converse, receive, tls_config,
};
use serde::de::DeserializeOwned;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::answer::{self, Answer};
use crate::logs::LARGEST_LOG;
use crate::registry::{Ask, Caller, Refusal, Registry};
use crate::route::{self, Call};
use crate::token::{Claims, TokenProblem};

/// How long and how much.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How often and how many at a time.
    pub limits: Limits,
    /// How long a host may take for its handshake, its head or its body.
    pub read_timeout: Duration,
    /// How long it may take to read a piece of an answer.
    pub write_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            read_timeout: Duration::from_secs(10),
            // Management controllers read images slowly.
            write_timeout: Duration::from_mins(1),
        }
    }
}

/// Hosts whose logs are received at a time.
const RECEIVING: usize = 4;
/// What a form has beside its file.
const FORM: usize = 4096;
/// So much longer than other bodies logs may take: they are long.
const SLOW: u32 = 6;

/// The service, without its listener.
pub struct Server<R> {
    registry: Arc<R>,
    settings: Settings,
    addresses: Counter<IpAddr>,
    receiving: Semaphore,
}

impl<R: Registry> Server<R> {
    /// A service that asks this registry.
    pub fn new(registry: Arc<R>, settings: Settings) -> Arc<Self> {
        let addresses = Counter::new(settings.limits.address, settings.limits.remembered, Instant::now());
        Arc::new(Self { registry, settings, addresses, receiving: Semaphore::new(RECEIVING) })
    }

    /// Serves until `stop` becomes true, then lets open requests finish. The certificate may be replaced meanwhile.
    pub async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        certificate: Arc<ServingCertificate>,
        stop: watch::Receiver<bool>,
    ) -> Result<(), CertificateError> {
        let acceptor = TlsAcceptor::from(Arc::new(tls_config(certificate)?));
        receive(listener, self.settings.limits.connections, stop.clone(), |stream, peer| {
            Some(Arc::clone(&self).connection(acceptor.clone(), stream, peer, stop.clone()))
        })
        .await;
        Ok(())
    }

    async fn connection(
        self: Arc<Self>,
        acceptor: TlsAcceptor,
        stream: TcpStream,
        peer: SocketAddr,
        stop: watch::Receiver<bool>,
    ) {
        let handshake = tokio::time::timeout(self.settings.read_timeout, acceptor.accept(stream));
        let Ok(Ok(stream)) = handshake.await else { return };
        let patience = Patience { read: self.settings.read_timeout, write: self.settings.write_timeout };
        converse(stream, patience, stop, |request| self.answer(request, peer)).await;
    }

    async fn answer(&self, request: Request<Incoming>, peer: SocketAddr) -> Answer {
        let (head, body) = request.into_parts();
        let call = route::read(&head.method, &head.uri);
        if call == Call::Health {
            return answer::empty(StatusCode::OK);
        }
        if let Err(wait) = self.addresses.take(caller(peer.ip()), Instant::now()) {
            return answer::limited(wait.as_secs() + 1);
        }
        match call {
            Call::Other => return answer::error(StatusCode::NOT_FOUND, "there is nothing at this path"),
            Call::WrongMethod => {
                return answer::error(StatusCode::METHOD_NOT_ALLOWED, "this path is not called in this way");
            }
            _ => {}
        }
        if !call.is_well_formed() {
            return answer::error(StatusCode::BAD_REQUEST, "the path has an id that is no UUID");
        }
        let claims = match self.claims(&head, &call) {
            Ok(claims) => claims,
            Err(problem) => return answer::unauthorized(problem),
        };
        if call.infra_env() != Some(claims.infra_env_id.as_str()) {
            let reason = "the token is of another infra-env";
            // Who follows a link learns nothing of what else there is.
            let status = if call.is_download() { StatusCode::NOT_FOUND } else { StatusCode::FORBIDDEN };
            return answer::error(status, reason);
        }
        let mut answer = match self.dispatch(call, &head, body, peer).await {
            Ok(answer) => answer,
            Err(refusal) => answer::refused(&refusal),
        };
        if let Some(token) = self.registry.renew(&claims)
            && let Ok(mut value) = HeaderValue::from_str(token.expose())
        {
            value.set_sensitive(true);
            answer.headers_mut().insert(RENEWED_TOKEN_HEADER, value);
        }
        answer
    }

    fn claims(&self, head: &request::Parts, call: &Call) -> Result<Claims, TokenProblem> {
        let shown = head.headers.get(TOKEN_HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let shown = shown.or_else(|| call.is_download().then(|| route::parameter(&head.uri, "api_key")).flatten());
        self.registry.verify(&shown.ok_or(TokenProblem::Missing)?)
    }

    async fn dispatch(
        &self,
        call: Call,
        head: &request::Parts,
        body: Incoming,
        peer: SocketAddr,
    ) -> Result<Answer, Refusal> {
        let registry = &self.registry;
        match call {
            Call::Register { infra_env } => {
                let registration: roost_host::wire::Registration = self.read(body).await?;
                let host = registration.host_id.to_ascii_lowercase();
                if !roost_host::identity::is_host_id(&host) {
                    return Err(Refusal::Invalid("host_id is no UUID".to_owned()));
                }
                let registered = registry.register(Caller { infra_env, host, peer }, registration).await?;
                Ok(answer::json(StatusCode::CREATED, &registered))
            }
            Call::Instructions { infra_env, host } => {
                let version = head.headers.get("discovery_agent_version").and_then(|value| value.to_str().ok());
                let ask = Ask {
                    timestamp: route::parameter(&head.uri, "timestamp").and_then(|text| text.parse().ok()),
                    agent_version: version.unwrap_or_default().chars().take(253).collect(),
                    wait: route::wait(&head.headers),
                };
                let steps = registry.instructions(Caller { infra_env, host, peer }, ask).await?;
                Ok(answer::json(StatusCode::OK, &steps))
            }
            Call::Reply { infra_env, host } => {
                let reply = self.read(body).await?;
                registry.reply(Caller { infra_env, host, peer }, reply).await?;
                Ok(answer::empty(StatusCode::NO_CONTENT))
            }
            Call::Progress { infra_env, host } => {
                let progress = self.read(body).await?;
                registry.progress(Caller { infra_env, host, peer }, progress).await?;
                Ok(answer::empty(StatusCode::OK))
            }
            Call::SendLogs { infra_env, host } => {
                let logs = self.logs(head, body).await?;
                registry.keep_logs(Caller { infra_env, host, peer }, logs).await?;
                Ok(answer::empty(StatusCode::NO_CONTENT))
            }
            Call::Logs { infra_env, host } => {
                Ok(answer::document(registry.logs(Caller { infra_env, host, peer }).await?))
            }
            // How far the sending is says nothing that the logs do not say when they are there.
            Call::LogsProgress { .. } => Ok(answer::empty(StatusCode::NO_CONTENT)),
            Call::Ignition { infra_env, host } => {
                Ok(answer::document(registry.ignition(Caller { infra_env, host, peer }).await?))
            }
            Call::File { infra_env, query } => Ok(answer::document(registry.file(infra_env, query).await?)),
            Call::Environment { infra_env } => Ok(answer::document(registry.environment(infra_env).await?)),
            Call::Health | Call::WrongMethod | Call::Other => Ok(answer::empty(StatusCode::NOT_FOUND)),
        }
    }

    /// Reads the logs out of the form that they come in, of a few hosts at a time.
    async fn logs(&self, head: &request::Parts, body: Incoming) -> Result<Bytes, Refusal> {
        let Ok(_turn) = self.receiving.try_acquire() else {
            return Err(Refusal::Unavailable("other hosts send their logs; send again".to_owned()));
        };
        let body = collect(body, LARGEST_LOG + FORM, self.settings.read_timeout.saturating_mul(SLOW)).await?;
        let kind = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let file = form::read(kind, &body)
            .ok_or_else(|| Refusal::Invalid(format!("logs come as a form with the file {}", form::FILE_FIELD)))?;
        Ok(body.slice_ref(file))
    }

    /// Reads a body, which is neither long nor slow.
    async fn read<T: DeserializeOwned>(&self, body: Incoming) -> Result<T, Refusal> {
        let body = collect(body, MAX_BODY, self.settings.read_timeout).await?;
        serde_json::from_slice(&body).map_err(|error| Refusal::Invalid(format!("the body cannot be read: {error}")))
    }
}

async fn collect(body: Incoming, largest: usize, patience: Duration) -> Result<Bytes, Refusal> {
    match tokio::time::timeout(patience, roost_body::read(body, largest)).await {
        Ok(Ok(whole)) => Ok(whole),
        Ok(Err(_)) => Err(Refusal::Invalid(format!("the body is longer than {largest} bytes or broken"))),
        Err(_) => Err(Refusal::Invalid("the body did not come in time".to_owned())),
    }
}
