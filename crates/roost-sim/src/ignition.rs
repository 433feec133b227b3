//! Ignition on a simulated host: from user-data over TLS to the payload, tried again as Ignition tries again.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, HOST, USER_AGENT};
use http::{HeaderName, HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_util::rt::TokioIo;
use roost_ignition::Config;
use rustls_pki_types::ServerName;
use serde_json::{Value, json};

use crate::access::{AccessError, place};
use crate::client::words;
use crate::clock::Clock;
use crate::identity::Identity;
use crate::network::Network;
use crate::retry::Backoff;
use crate::spec::NodeSpec;
use crate::timing;
use crate::trust::{Trust, TrustError};

const HTTP1: &[u8] = b"http/1.1";
/// Which configuration is asked for.
const CONFIG_HASH: &str = "targetconfigversionhash";
/// What Ignition sends, so that servers answer in a version that it knows.
const ACCEPTED: &str = "application/vnd.coreos.ignition+json;version=3.5.0, */*;q=0.1";
/// The most of a refusal's words that is shown.
const LONGEST_REFUSAL: usize = 512;

/// Why a host has no payload.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("the user-data is no Ignition config")]
    UserData(#[source] roost_ignition::ConfigError),
    #[error("the user-data names no config to fetch")]
    NothingToFetch,
    #[error("an authority of the user-data cannot be read")]
    Authority,
    #[error(transparent)]
    Place(#[from] AccessError),
    #[error(transparent)]
    Trust(#[from] TrustError),
    #[error("the header {0} of the user-data cannot be sent")]
    Header(String),
    #[error("no answer from the ignition server: {0}")]
    Exchange(String),
    #[error("the ignition server answered {code}: {body}")]
    Refused { code: StatusCode, body: String },
    #[error("the payload is no Ignition config")]
    Payload(#[source] roost_ignition::ConfigError),
}

impl FetchError {
    /// Whether Ignition would try again by itself: it does for lost connections and what servers blame on themselves.
    fn is_passing(&self) -> bool {
        match self {
            Self::Exchange(_) => true,
            Self::Refused { code, .. } => code.is_server_error(),
            _ => false,
        }
    }
}

/// What user-data says about the payload.
struct Pointer {
    authorities: String,
    host: String,
    port: u16,
    target: String,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Pointer {
    fn read(user_data: &[u8], spec: &NodeSpec) -> Result<Self, FetchError> {
        let config = Config::parse(user_data).map_err(FetchError::UserData)?.to_value();
        let merged = &config["ignition"]["config"]["merge"][0];
        let source = merged["source"].as_str().ok_or(FetchError::NothingToFetch)?;
        let (host, port) = place(source)?;
        let uri: http::Uri = source.parse().map_err(|_| AccessError::Server(source.to_owned()))?;
        let authorities = config["ignition"]["security"]["tls"]["certificateAuthorities"].as_array();
        let authorities = authorities.into_iter().flatten().map(|authority| contents(&authority["source"]));
        let mut headers = Vec::new();
        for header in merged["httpHeaders"].as_array().into_iter().flatten() {
            let (name, value) = (header["name"].as_str().unwrap_or_default(), header["value"].as_str());
            headers.push(field(name, value.unwrap_or_default())?);
        }
        headers.push(field("roost-host-id", &spec.host_id)?);
        headers.push(field("roost-host-name", &spec.name)?);
        headers.push(field("roost-host-addresses", &spec.address.to_string())?);
        Ok(Self {
            authorities: authorities.collect::<Option<Vec<_>>>().ok_or(FetchError::Authority)?.join("\n"),
            host,
            port,
            target: uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string),
            headers,
        })
    }
}

fn field(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), FetchError> {
    let pair = name.parse().ok().zip(value.parse().ok());
    pair.ok_or_else(|| FetchError::Header(name.to_owned()))
}

/// What a data URL holds, read as Ignition reads the contents of a file.
fn contents(source: &Value) -> Option<String> {
    let file = json!({"path": "/authority", "contents": {"source": source}});
    let config = Config::from_value(json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [file]}})).ok()?;
    String::from_utf8(config.file("/authority")?.contents().ok()?).ok()
}

/// A host's way to its payload.
pub(crate) struct Fetcher<'a> {
    pub(crate) spec: &'a NodeSpec,
    pub(crate) network: &'a Network,
    pub(crate) trust: &'a Trust,
    pub(crate) clock: Clock,
}

impl Fetcher<'_> {
    /// Fetches the payload. What passes is waited for and told; what does not is returned.
    pub(crate) async fn fetch(&self, user_data: &[u8], told: impl Fn(String)) -> Result<Config, FetchError> {
        let pointer = Pointer::read(user_data, self.spec)?;
        let tls = self.trust.client(&pointer.authorities, None, self.clock, HTTP1)?;
        let mut backoff = Backoff::new(timing::IGNITION_RETRY, timing::IGNITION_LONGEST_RETRY);
        loop {
            let exchange = self.exchange(&pointer, Arc::clone(&tls));
            let late = || Err(FetchError::Exchange("it took too long".to_owned()));
            match tokio::time::timeout(timing::IGNITION_ANSWER, exchange).await.unwrap_or_else(|_| late()) {
                Ok(body) => return Config::parse(&body).map_err(FetchError::Payload),
                Err(error) if error.is_passing() => told(error.to_string()),
                Err(error) => return Err(error),
            }
            backoff.wait().await;
        }
    }

    /// Fetches what a node that has joined should have now, with its certificate instead of the token.
    pub(crate) async fn refresh(
        &self,
        user_data: &[u8],
        identity: &Identity,
        hash: &str,
    ) -> Result<Config, FetchError> {
        let mut pointer = Pointer::read(user_data, self.spec)?;
        pointer.headers.retain(|(name, _)| name != AUTHORIZATION && name.as_str() != CONFIG_HASH);
        pointer.headers.push(field(CONFIG_HASH, hash)?);
        let tls = self.trust.client(&pointer.authorities, Some(identity), self.clock, HTTP1)?;
        let late = |_| Err(FetchError::Exchange("it took too long".to_owned()));
        let exchange = tokio::time::timeout(timing::IGNITION_ANSWER, self.exchange(&pointer, tls));
        Config::parse(&exchange.await.unwrap_or_else(late)?).map_err(FetchError::Payload)
    }

    async fn exchange(&self, pointer: &Pointer, tls: Arc<rustls::ClientConfig>) -> Result<Bytes, FetchError> {
        let lost = |error: &dyn std::error::Error| FetchError::Exchange(words(error));
        let Pointer { host, port, .. } = pointer;
        let name = ServerName::try_from(host.clone()).map_err(|error| lost(&error))?;
        self.network.wait().await;
        let stream = self.network.connect(host, *port, name, tls).await.map_err(|error| lost(&error))?;
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = handshake.map_err(|error| lost(&error))?;
        let answer = async {
            let response = sender.send_request(request(pointer)).await.map_err(|error| lost(&error))?;
            let code = response.status();
            let body = Limited::new(response.into_body(), roost_ignition::MAX_BYTES).collect().await;
            let body = body.map_err(|error| FetchError::Exchange(error.to_string()))?.to_bytes();
            if code.is_success() { Ok(body) } else { Err(FetchError::Refused { code, body: shown(&body) }) }
        };
        tokio::select! {
            answer = answer => answer,
            () = self.network.carry(connection) => Err(FetchError::Exchange("the connection was lost".to_owned())),
        }
    }
}

fn request(pointer: &Pointer) -> Request<Empty<Bytes>> {
    let Pointer { host, port, target, headers, .. } = pointer;
    let host = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = target.parse().unwrap_or_default();
    let fields = request.headers_mut();
    if let Ok(host) = HeaderValue::from_str(&host) {
        fields.insert(HOST, host);
    }
    fields.insert(USER_AGENT, HeaderValue::from_static("Ignition/2.25.1"));
    fields.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
    for (name, value) in headers {
        fields.insert(name.clone(), value.clone());
    }
    request
}

/// The beginning of a refusal, on one line.
fn shown(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(LONGEST_REFUSAL)]);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use roost_ignition::{Pointer as Source, user_data};
    use roost_pki::Secret;
    use serde_json::json;

    use super::{FetchError, Pointer};
    use crate::spec::{NodeSpec, Start};

    #[test]
    fn user_data_is_followed() {
        let config = user_data(&Source {
            endpoint: "ignition.example.com:30080".to_owned(),
            address: None,
            certificate_authority: "AUTHORITY".to_owned(),
            token: Secret::new("token".to_owned()),
            node_pool: "clusters/demo".to_owned(),
            config_hash: "abc".to_owned(),
            proxy: None,
            agent: None,
        });
        let spec = NodeSpec::new("node-1", Start::UserData(Vec::new()));
        let pointer = Pointer::read(&config.to_bytes(), &spec).unwrap();
        assert_eq!((pointer.host.as_str(), pointer.port), ("ignition.example.com", 30_080));
        assert_eq!((pointer.target.as_str(), pointer.authorities.as_str()), ("/ignition", "AUTHORITY"));
        let header = |name: &str| pointer.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        assert_eq!(header("authorization").unwrap(), "Bearer dG9rZW4=");
        assert_eq!(header("nodepool").unwrap(), "clusters/demo");
        assert_eq!(header("roost-host-name").unwrap(), "node-1");
        assert_eq!(header("roost-host-addresses").unwrap(), "127.0.0.1");
    }

    #[test]
    fn user_data_that_leads_nowhere_is_refused() {
        let spec = NodeSpec::new("node-1", Start::UserData(Vec::new()));
        let read = |config: serde_json::Value| Pointer::read(config.to_string().as_bytes(), &spec).err();
        assert!(matches!(read(json!({})), Some(FetchError::UserData(_))));
        assert!(matches!(read(json!({"ignition": {"version": "3.2.0"}})), Some(FetchError::NothingToFetch)));
        let plain = json!({"ignition": {"version": "3.2.0", "config": {"merge": [{"source": "http://h/ignition"}]}}});
        assert!(matches!(read(plain), Some(FetchError::Place(_))));
    }
}
