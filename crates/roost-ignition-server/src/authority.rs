//! Who decides: what a server asks for, and what it is told.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use roost_ignition::{Config, ConfigError, SpecVersion};
use roost_pki::{Certificate, Secret};

/// The hosted cluster that a listener belongs to, by whatever its owner calls it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaneId(Arc<str>);

impl PlaneId {
    /// Takes the text form of an identity.
    pub fn new(id: impl fmt::Display) -> Self {
        Self(id.to_string().into())
    }

    /// The text form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PlaneId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A pool's token as a machine showed it. It never prints.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Secret<String>);

impl Token {
    /// Wraps a token.
    pub fn new(text: String) -> Self {
        Self(Secret::new(text))
    }

    /// The token itself.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// Compares with a known token without telling by its duration how much of it was right.
    pub fn matches(&self, known: &str) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(self.expose().as_bytes(), known.as_bytes()).is_ok()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

/// What a machine says about itself, or what is seen of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostIdentity {
    /// Stable for one machine: what it sent, or else its address.
    pub id: String,
    /// Whether the machine sent the above itself.
    pub is_sent: bool,
    /// The node name that it asks for; a DNS-1123 subdomain.
    pub name: Option<String>,
    /// The addresses that it says it has.
    pub addresses: Vec<IpAddr>,
}

/// Whether a payload leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The machine gets the payload.
    Deliver,
    /// Only the headers of the answer leave (`HEAD`): nothing has to be written.
    Inspect,
}

/// One request for a payload.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// The cluster whose listener was called.
    pub plane: PlaneId,
    /// What the machine showed.
    pub token: Token,
    /// The pool that it names, as `<namespace>/<name>`. No proof of anything.
    pub pool: Option<String>,
    /// The configuration that it names. No proof of anything.
    pub hash: Option<String>,
    /// Which machine it is.
    pub host: HostIdentity,
    /// Where it calls from.
    pub peer: SocketAddr,
    /// Whether a payload leaves.
    pub purpose: Purpose,
}

/// One request of a machine that has joined, for the configuration that its node should have now.
#[derive(Clone, Debug)]
pub struct Refresh {
    /// The cluster whose listener was called.
    pub plane: PlaneId,
    /// The certificate that it showed, leaf first. It has the key; nothing else is known of it.
    pub chain: Arc<[Certificate]>,
    /// The configuration that it was told to have.
    pub hash: Option<String>,
    /// Where it calls from.
    pub peer: SocketAddr,
}

/// A payload, ready to leave.
#[derive(Clone)]
pub struct Payload {
    pub(crate) version: SpecVersion,
    pub(crate) body: Bytes,
    pub(crate) pool: Option<String>,
}

impl Payload {
    /// A payload of a config.
    pub fn from_config(config: &Config) -> Self {
        Self { version: config.version(), body: config.to_bytes().into(), pool: None }
    }

    /// A payload that is written out already, in a version that the caller knows.
    pub fn from_bytes(version: SpecVersion, body: impl Into<Bytes>) -> Self {
        Self { version, body: body.into(), pool: None }
    }

    /// Names the pool that the payload belongs to, for the metrics.
    #[must_use]
    pub fn of_pool(mut self, pool: impl Into<String>) -> Self {
        self.pool = Some(pool.into());
        self
    }

    /// The payload in a version that the machine reads: as it is when that is old enough.
    pub(crate) fn readable_by(self, wanted: Option<SpecVersion>) -> Result<Self, ConfigError> {
        match wanted {
            Some(wanted) if wanted < self.version => {
                let config = Config::parse(&self.body)?.translate(wanted)?;
                config.validate()?;
                Ok(Self { pool: self.pool, ..Self::from_config(&config) })
            }
            _ => Ok(self),
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Payload");
        debug.field("version", &self.version).field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

/// Why there is no payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The token is not known or no longer good. Answered with 511, on which Ignition tries again.
    #[error("the token is not known")]
    UnknownToken,
    /// The token is good and its payload is not built yet. Answered like the above.
    #[error("the payload is not built yet")]
    NotBuilt,
    /// What was built is nothing that Ignition accepts. Answered with 500.
    #[error("the payload is no valid config")]
    InvalidPayload,
    /// The certificate is not that of a node with a Machine; the text says why. Answered with 403.
    #[error("{0}")]
    Forbidden(String),
    /// Another machine has what this one asks for; the text says what. Answered with 409.
    #[error("{0}")]
    Conflict(String),
    /// Too many ask. Answered with 429.
    #[error("too many requests")]
    Limited {
        /// When to ask again.
        retry_after: Duration,
    },
    /// Something that is needed does not answer now; the text is for logs. Answered with 503.
    #[error("{0}")]
    Unavailable(String),
}

/// Why a request was turned away before anybody was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionReason {
    /// There is no `Authorization` header that begins with `Bearer `.
    BadHeader,
    /// The token is not base64.
    InvalidToken,
    /// What the machine says about itself is malformed.
    BadIdentity,
    /// Too many requests.
    Limited,
}

impl RejectionReason {
    /// The words of upstream's Event, where it has one.
    pub fn message(self) -> &'static str {
        match self {
            Self::BadHeader => "Bad header",
            Self::InvalidToken => "Token invalid",
            Self::BadIdentity => "Host identity invalid",
            Self::Limited => "Too many requests",
        }
    }
}

/// A request that was turned away before anybody was asked. Everything in it is a stranger's word.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// The cluster whose listener was called.
    pub plane: PlaneId,
    /// The pool that the request names.
    pub pool: Option<String>,
    /// The configuration that the request names.
    pub hash: Option<String>,
    /// Where it came from.
    pub peer: SocketAddr,
    /// Why it was turned away.
    pub reason: RejectionReason,
}

/// What stands behind a server.
pub trait Authority: Send + Sync + 'static {
    /// The payload for one host; everything that has to be written is written before this returns.
    fn payload(&self, fetch: Fetch) -> impl Future<Output = Result<Payload, Refusal>> + Send;

    /// The payload for a machine that has joined and shows its kubelet's certificate instead of a token: as for a first
    /// boot, but without a credential.
    fn refresh(&self, refresh: Refresh) -> impl Future<Output = Result<Payload, Refusal>> + Send {
        let _ = refresh;
        async { Err(Refusal::Forbidden("nodes are not changed in place here".to_owned())) }
    }

    /// Hears of requests that were turned away. Called often under attack: must not block, and should forget.
    fn rejected(&self, rejection: &Rejection) {
        let _ = rejection;
    }
}
