//! Requests to a management controller: bounded in size and time, each on a connection of its own, because many controllers
//! forget connections that they keep open.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, ETAG, HOST, IF_MATCH, LOCATION};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use hyper_util::rt::TokioIo;
use roost_pki::Secret;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::address::Address;
use crate::error::RedfishError;
use crate::trust;

/// The largest answer that is read. Descriptions of systems have some ten thousand bytes.
const LARGEST_ANSWER: usize = 1 << 20;
/// How much of a controller's own words is shown.
const LONGEST_WORDS: usize = 300;

/// Who logs in.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// Their name.
    pub username: String,
    /// Their password.
    pub password: Secret<String>,
}

/// Whose certificate is accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verification {
    /// Those of the machine's authorities, and of these in PEM.
    Authorities(String),
    /// Everybody's.
    Nobody,
}

/// How long a controller may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// To answer one request.
    pub answer: Duration,
    /// Until what it accepted can be read back.
    pub change: Duration,
    /// Between two looks.
    pub look: Duration,
}

impl Default for Patience {
    /// Slow controllers take a minute to fetch an image and to turn a computer off.
    fn default() -> Self {
        Self { answer: Duration::from_mins(1), change: Duration::from_secs(90), look: Duration::from_secs(2) }
    }
}

/// A management controller.
#[derive(Clone, Debug)]
pub struct Controller {
    pub(crate) address: Address,
    pub(crate) patience: Patience,
    authorization: HeaderValue,
    tls: Option<Arc<ClientConfig>>,
}

/// An answer with a document, which is null when there was none.
pub(crate) struct Answer {
    pub(crate) document: Value,
    pub(crate) etag: Option<HeaderValue>,
}

impl Controller {
    /// The controller at an address. Nothing is sent yet.
    pub fn new(
        address: Address,
        credentials: &Credentials,
        verification: &Verification,
        patience: Patience,
    ) -> Result<Self, RedfishError> {
        let pair = format!("{}:{}", credentials.username, credentials.password.expose());
        let mut authorization = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(pair)))
            .map_err(|_| RedfishError::Lacks("credentials that cannot be sent".to_owned()))?;
        authorization.set_sensitive(true);
        let tls = match verification {
            _ if !address.is_secure => None,
            Verification::Authorities(authorities) => Some(trust::verified(authorities)),
            Verification::Nobody => Some(trust::unverified()),
        };
        let place = address.to_string();
        let refuse = |error: rustls::Error| RedfishError::Certificate { address: place, problem: error.to_string() };
        Ok(Self { tls: tls.transpose().map_err(refuse)?, address, patience, authorization })
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Answer, RedfishError> {
        self.ask(&Method::GET, path, None, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<(), RedfishError> {
        self.ask(&Method::POST, path, Some(body), None).await.map(drop)
    }

    /// Changes a document. Some controllers want to hear which version is meant; those are told when they ask.
    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Result<(), RedfishError> {
        match self.ask(&Method::PATCH, path, Some(body), None).await {
            Err(RedfishError::Refused { status: 412 | 428, .. }) => {
                let etag = self.get(path).await?.etag;
                self.ask(&Method::PATCH, path, Some(body), etag.as_ref()).await.map(drop)
            }
            outcome => outcome.map(drop),
        }
    }

    async fn ask(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        version: Option<&HeaderValue>,
    ) -> Result<Answer, RedfishError> {
        let stalled = |_| RedfishError::Stalled {
            method: name(method),
            path: path.to_owned(),
            seconds: self.patience.answer.as_secs(),
        };
        let asked = async {
            let first = self.ask_once(method, path, body, version).await?;
            match first {
                Asked::Answer(answer) => Ok(answer),
                // Controllers send those who forget a slash, or add one, elsewhere; once is enough.
                Asked::Elsewhere(path) => match self.ask_once(method, &path, body, version).await? {
                    Asked::Answer(answer) => Ok(answer),
                    Asked::Elsewhere(_) => Err(RedfishError::Senseless {
                        method: name(method),
                        path,
                        problem: "it redirects again and again".to_owned(),
                    }),
                },
            }
        };
        tokio::time::timeout(self.patience.answer, asked).await.map_err(stalled)?
    }

    async fn ask_once(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        version: Option<&HeaderValue>,
    ) -> Result<Asked, RedfishError> {
        let senseless =
            |problem: String| RedfishError::Senseless { method: name(method), path: path.to_owned(), problem };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, self.address.to_string())
            .header(ACCEPT, "application/json")
            .header("OData-Version", "4.0")
            .header(AUTHORIZATION, &self.authorization);
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(version) = version {
            request = request.header(IF_MATCH, version);
        }
        let text = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(text))).map_err(|error| senseless(error.to_string()))?;
        let place = (self.address.host.as_str(), self.address.port);
        let refused = |problem| RedfishError::Connect { address: self.address.to_string(), problem };
        let stream = TcpStream::connect(place).await.map_err(refused)?;
        let response = match &self.tls {
            None => self.exchange(stream, request).await,
            Some(tls) => {
                let host =
                    ServerName::try_from(self.address.host.clone()).map_err(|error| senseless(error.to_string()))?;
                let connected = TlsConnector::from(Arc::clone(tls)).connect(host, stream).await;
                let stream = connected.map_err(|error| self.untrusted(error))?;
                self.exchange(stream, request).await
            }
        };
        let broke_off =
            |problem: String| RedfishError::BrokeOff { method: name(method), path: path.to_owned(), problem };
        let (head, body) = response.map_err(broke_off)?;
        let document = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let status = head.status;
        if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN {
            return Err(RedfishError::Credentials {
                method: name(method),
                path: path.to_owned(),
                status: status.as_u16(),
            });
        }
        if status.is_redirection() {
            let location = head.headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
            let to: http::Uri = location.parse().map_err(|_| senseless(format!("it redirects to {location:?}")))?;
            return Ok(Asked::Elsewhere(to.path().to_owned()));
        }
        if !status.is_success() {
            let words = words(&document);
            return Err(RedfishError::Refused {
                method: name(method),
                path: path.to_owned(),
                status: status.as_u16(),
                words,
            });
        }
        if *method == Method::GET && !document.is_object() {
            return Err(senseless("it is no JSON object".to_owned()));
        }
        Ok(Asked::Answer(Answer { document, etag: head.headers.get(ETAG).cloned() }))
    }

    /// Sends a request and reads the whole answer; a problem is why there is none.
    async fn exchange<S>(
        &self,
        stream: S,
        request: Request<Full<Bytes>>,
    ) -> Result<(http::response::Parts, Bytes), String>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| error.to_string())?;
        let connection = tokio::spawn(connection);
        let exchanged = async {
            let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
            let (head, body) = response.into_parts();
            let body = roost_body::read(body, LARGEST_ANSWER).await.map_err(|error| error.to_string())?;
            Ok((head, body))
        }
        .await;
        connection.abort();
        exchanged
    }

    fn untrusted(&self, error: std::io::Error) -> RedfishError {
        let address = self.address.to_string();
        match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(problem @ rustls::Error::InvalidCertificate(_)) => {
                RedfishError::Certificate { address, problem: problem.to_string() }
            }
            _ => RedfishError::Connect { address, problem: error },
        }
    }
}

enum Asked {
    Answer(Answer),
    Elsewhere(String),
}

fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        _ => "PATCH",
    }
}

/// What a controller says about its refusal, behind a colon.
fn words(document: &Value) -> String {
    let error = &document["error"];
    let extended = &error["@Message.ExtendedInfo"];
    let extended = if extended.is_array() { &extended[0] } else { extended };
    let said = [&extended["Message"], &error["message"]].into_iter().find_map(Value::as_str).unwrap_or_default();
    let said: String = said.chars().filter(|letter| !letter.is_control()).take(LONGEST_WORDS).collect();
    if said.is_empty() { said } else { format!(": {said}") }
}
