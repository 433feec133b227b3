//! Who hosts are and what becomes of them, as far as the service has to know.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use roost_host::wire::{ProgressReport, Registered, Registration, StepReply, Steps};
use roost_pki::Secret;

use crate::token::{Claims, TokenProblem};

/// Who calls.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The environment that its token is good for.
    pub infra_env: String,
    /// The host that it says it is.
    pub host: String,
    /// Where it calls from.
    pub peer: SocketAddr,
}

/// A host asks what to do.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What its clock shows, in seconds.
    pub timestamp: Option<i64>,
    /// Which agent speaks; empty when it does not say.
    pub agent_version: String,
    /// How long it waits for something to do.
    pub wait: Duration,
}

/// Which file of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileQuery {
    /// Its name, such as `discovery.ign`.
    pub name: String,
    /// The network card that asks.
    pub address: String,
    /// Which kind of script.
    pub script_type: String,
}

/// A file that is sent as it is.
#[derive(Clone)]
pub struct Document {
    /// What it is.
    pub content_type: &'static str,
    /// What is in it.
    pub body: Bytes,
}

/// Why a call is not answered as wished. Upstream's agent stops for ever on 401, 403, 404 and 409, so those are only for
/// what will not change by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The call says something that cannot be. Answered with 400.
    #[error("{0}")]
    Invalid(String),
    /// It may not. Answered with 403.
    #[error("{0}")]
    Forbidden(String),
    /// There is no such thing. Answered with 404.
    #[error("{0}")]
    NotFound(String),
    /// Not in this state. Answered with 409.
    #[error("{0}")]
    Conflict(String),
    /// Something that is needed does not answer now. Answered with 503.
    #[error("{0}")]
    Unavailable(String),
}

/// What stands behind the service.
pub trait Registry: Send + Sync + 'static {
    /// What a token says.
    fn verify(&self, token: &str) -> Result<Claims, TokenProblem>;

    /// A token that is good for longer than one that was shown; none while that is good for long enough.
    fn renew(&self, claims: &Claims) -> Option<Secret<String>>;

    /// A host introduces itself.
    fn register(
        &self,
        caller: Caller,
        registration: Registration,
    ) -> impl Future<Output = Result<Registered, Refusal>> + Send;

    /// A host asks what to do. Returns when there is something, or when it has waited long enough.
    fn instructions(&self, caller: Caller, ask: Ask) -> impl Future<Output = Result<Steps, Refusal>> + Send;

    /// A host says what came of a step.
    fn reply(&self, caller: Caller, reply: StepReply) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// A host says how far its installation is.
    fn progress(&self, caller: Caller, progress: ProgressReport) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// The configuration that a host is installed with.
    fn ignition(&self, caller: Caller) -> impl Future<Output = Result<Document, Refusal>> + Send;

    /// A file of an environment.
    fn file(&self, infra_env: String, query: FileQuery) -> impl Future<Output = Result<Document, Refusal>> + Send;

    /// A host sends what it and its system said.
    fn keep_logs(&self, caller: Caller, logs: Bytes) -> impl Future<Output = Result<(), Refusal>> + Send;

    /// What a host sent.
    fn logs(&self, caller: Caller) -> impl Future<Output = Result<Document, Refusal>> + Send;

    /// An environment, as upstream's image service reads it.
    fn environment(&self, infra_env: String) -> impl Future<Output = Result<Document, Refusal>> + Send;
}
