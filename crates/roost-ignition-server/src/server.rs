//! One listener of one hosted cluster: TLS, HTTP/1.1, and limits against those who stall or flood.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_lc_rs::digest::{SHA256, digest};
use http::request::Parts;
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use parking_lot::Mutex;
use roost_ignition::SpecVersion;
use roost_pki::Certificate;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use crate::answer::{self, Answer};
use crate::artifacts::Artifacts;
use crate::authority::{Authority, Fetch, Payload, PlaneId, Refresh, Refusal, Rejection, RejectionReason};
use crate::certificate::{CertificateError, ServingCertificate, tls_config};
use crate::limits::{Counter, Limits, caller};
use crate::metrics::Metrics;
use crate::reception::{Patience, converse, receive};
use crate::request::{self, Asked, Named, Wanted};

/// A machine that has not finished its handshake, and then its request, by then is gone or hostile. Upstream's value.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// A machine that has not read its answer by then is gone or hostile. Upstream's value.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The authority writes to two clusters; beyond this the machine had better ask again.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// What a server is made with.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Whose payloads it serves.
    pub plane: PlaneId,
    /// How often and how much.
    pub limits: Limits,
    /// How long a machine may take to send its request.
    pub read_timeout: Duration,
    /// How long a machine may take to read its answer.
    pub write_timeout: Duration,
    /// The large files of nodes.
    pub artifacts: Arc<Artifacts>,
}

impl ServerSettings {
    /// Upstream's times and generous limits.
    pub fn new(plane: PlaneId) -> Self {
        Self {
            plane,
            limits: Limits::default(),
            read_timeout: READ_TIMEOUT,
            write_timeout: WRITE_TIMEOUT,
            artifacts: Arc::default(),
        }
    }
}

/// A server, without its listener.
pub struct Server<A> {
    authority: Arc<A>,
    settings: ServerSettings,
    addresses: Counter<IpAddr>,
    tokens: Counter<[u8; 32]>,
    open: Mutex<HashMap<IpAddr, usize>>,
    metrics: Arc<Metrics>,
}

impl<A: Authority> Server<A> {
    /// A server that asks this authority.
    pub fn new(authority: Arc<A>, settings: ServerSettings) -> Arc<Self> {
        let (limits, now) = (settings.limits, Instant::now());
        Arc::new(Self {
            authority,
            addresses: Counter::new(limits.address, limits.remembered, now),
            tokens: Counter::new(limits.token, limits.remembered, now),
            open: Mutex::default(),
            metrics: Arc::default(),
            settings,
        })
    }

    /// What was asked and answered.
    pub fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.metrics)
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
            let Some(guest) = Guest::admit(&self, peer.ip()) else {
                self.metrics.connection_refused();
                return None;
            };
            let (server, acceptor, stop) = (Arc::clone(&self), acceptor.clone(), stop.clone());
            Some(async move {
                server.connection(acceptor, stream, peer, stop).await;
                drop(guest);
            })
        })
        .await;
        Ok(())
    }

    /// One connection, from handshake to end.
    async fn connection(
        self: Arc<Self>,
        acceptor: TlsAcceptor,
        stream: TcpStream,
        peer: SocketAddr,
        stop: watch::Receiver<bool>,
    ) {
        let handshake = tokio::time::timeout(self.settings.read_timeout, acceptor.accept(stream));
        let Ok(Ok(stream)) = handshake.await else {
            self.metrics.handshake_failed();
            return;
        };
        self.metrics.connected();
        let shown = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let shown: Arc<[Certificate]> = shown.iter().filter_map(|one| Certificate::from_der(one).ok()).collect();
        let patience = Patience { read: self.settings.read_timeout, write: self.settings.write_timeout };
        converse(stream, patience, stop, |request| self.answer(request, peer, Arc::clone(&shown))).await;
    }

    async fn answer(&self, request: Request<Incoming>, peer: SocketAddr, shown: Arc<[Certificate]>) -> Answer {
        // Nobody reads a body, whatever the method; a long one ends the connection behind the answer.
        let (head, body) = request.into_parts();
        drop(body);
        let is_ignition = request::is_ignition(&head.headers);
        let answer = match request::read(&head, peer, !shown.is_empty()) {
            Asked::Health => answer::healthy(),
            Asked::NotFound => answer::not_found(),
            Asked::Malformed(problem) => answer::bad_request(problem),
            asked => match self.addresses.take(caller(peer.ip()), Instant::now()) {
                Err(wait) => {
                    let named = match asked {
                        Asked::Payload(wanted) => wanted.named,
                        Asked::Rejected(_, named, _) | Asked::Unknown(named) | Asked::Refresh(named, _) => named,
                        _ => Named::default(),
                    };
                    self.rejected(RejectionReason::Limited, named, peer);
                    answer::limited(seconds(wait), is_ignition)
                }
                Ok(()) => match asked {
                    Asked::Artifact(digest) => {
                        self.settings.artifacts.answer(&digest, &head.method, &head.headers).await
                    }
                    Asked::Payload(wanted) => self.payload(*wanted, &head, peer, is_ignition).await,
                    Asked::Refresh(named, version) => {
                        let plane = self.settings.plane.clone();
                        let refresh = Refresh { plane, chain: shown, hash: named.hash, peer };
                        let decided = self.authority.refresh(refresh);
                        self.delivered(decided, version, &head, peer, is_ignition).await
                    }
                    Asked::Rejected(reason, named, problem) => {
                        self.rejected(reason, named, peer);
                        match reason {
                            RejectionReason::BadIdentity => answer::bad_request(problem),
                            _ => answer::unauthorized(),
                        }
                    }
                    _ => answer::refused(&crate::Refusal::UnknownToken, is_ignition),
                },
            },
        };
        self.metrics.answered(answer.status());
        answer
    }

    fn rejected(&self, reason: RejectionReason, named: Named, peer: SocketAddr) {
        let Named { pool, hash } = named;
        self.authority.rejected(&Rejection { plane: self.settings.plane.clone(), pool, hash, peer, reason });
    }

    async fn payload(&self, wanted: Wanted, head: &Parts, peer: SocketAddr, is_ignition: bool) -> Answer {
        let mut key = [0; 32];
        key.copy_from_slice(digest(&SHA256, wanted.token.expose().as_bytes()).as_ref());
        if let Err(wait) = self.tokens.take(key, Instant::now()) {
            self.rejected(RejectionReason::Limited, wanted.named, peer);
            return answer::limited(seconds(wait), is_ignition);
        }
        let Wanted { token, named: Named { pool, hash }, host, version, purpose } = wanted;
        let fetch = Fetch { plane: self.settings.plane.clone(), token, pool, hash, host, peer, purpose };
        self.delivered(self.authority.payload(fetch), version, head, peer, is_ignition).await
    }

    /// Waits for a decision, and makes an answer of it.
    async fn delivered(
        &self,
        decision: impl Future<Output = Result<Payload, Refusal>>,
        version: Option<SpecVersion>,
        head: &Parts,
        peer: SocketAddr,
        is_ignition: bool,
    ) -> Answer {
        let decided = tokio::time::timeout(ANSWER_TIMEOUT, decision).await;
        let payload = match decided {
            Ok(Ok(payload)) => payload,
            Ok(Err(refusal)) => {
                tracing::info!(plane = %self.settings.plane, %peer, reason = %refusal, "no payload");
                return answer::refused(&refusal, is_ignition);
            }
            Err(_) => {
                tracing::warn!(plane = %self.settings.plane, %peer, "no payload in time");
                return answer::refused(&crate::Refusal::Unavailable(String::new()), is_ignition);
            }
        };
        let payload = match payload.readable_by(version) {
            Ok(payload) => payload,
            Err(error) => {
                tracing::warn!(plane = %self.settings.plane, %peer, %error, "the payload cannot be said in the wanted version");
                return answer::refused(&crate::Refusal::InvalidPayload, is_ignition);
            }
        };
        let answer = answer::payload(&payload, &head.headers);
        if answer.status() == StatusCode::OK && head.method != Method::HEAD {
            self.metrics.delivered(payload.pool.as_deref(), payload.body.len());
        }
        answer
    }
}

fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// The place of one connection among those of its address.
struct Guest<A> {
    server: Arc<Server<A>>,
    caller: IpAddr,
}

impl<A> Guest<A> {
    fn admit(server: &Arc<Server<A>>, address: IpAddr) -> Option<Self> {
        let caller = caller(address);
        let mut open = server.open.lock();
        let count = open.entry(caller).or_default();
        if *count >= server.settings.limits.connections_per_address {
            return None;
        }
        *count += 1;
        drop(open);
        Some(Self { server: Arc::clone(server), caller })
    }
}

impl<A> Drop for Guest<A> {
    fn drop(&mut self) {
        let mut open = self.server.open.lock();
        if let Some(count) = open.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.caller);
            }
        }
    }
}
