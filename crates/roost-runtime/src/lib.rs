//! How hosted control planes run.
//!
//! A [`Plane`] says what is wanted: an API with its own keys, data and endpoint. A [`Runtime`] makes it so and says how
//! it is. Where a plane's wishes come from is the operator's business; a runtime keeps nothing that it could not be
//! told again.

mod component;
mod embedded;
mod plane;

pub use component::{Component, EMBEDDED_COMPONENTS};
pub use embedded::{EmbeddedRuntime, Front};
pub use plane::{Health, InvalidPlaneId, Plane, PlaneId, PlaneKeys};

use std::future::Future;

/// Why a runtime could not do what it was asked to. Trying again later may help in all cases.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// Somebody else listens where the plane's API is published.
    #[error(
        "port {port} is in use by another program on this machine; free it (see: ss -ltnp 'sport = :{port}'), or delete the Service kube-apiserver in the namespace {namespace} so that another port is chosen"
    )]
    PortInUse {
        /// The published port.
        port: u16,
        /// The control plane's namespace.
        namespace: String,
    },
    /// The published port cannot be listened on.
    #[error("cannot listen on port {port}")]
    Listen {
        /// The published port.
        port: u16,
        /// What the system said.
        source: std::io::Error,
    },
    /// A key or certificate of the plane cannot be used.
    #[error("{what} cannot be used; delete the Secret that holds it and it is made again")]
    Keys {
        /// Which one.
        what: &'static str,
        /// What is wrong with it.
        source: roost_pki::Error,
    },
    /// TLS refuses the plane's certificate.
    #[error("the serving certificate and its key cannot be used together")]
    Tls(#[source] rustls::Error),
    /// Another hosted cluster already has this identity.
    #[error(
        "the cluster ID {id} is already in use by the control plane in the namespace {namespace}; every cluster needs its own"
    )]
    Taken {
        /// The identity that both claim.
        id: PlaneId,
        /// Who has it.
        namespace: String,
    },
    /// Nobody could tell later what was done.
    #[error("the audit log {} cannot be written", path.display())]
    AuditLog {
        /// The file.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The plane's own objects could not be written.
    #[error("the hosted API's own objects could not be written: {0}")]
    Bootstrap(String),
    /// The plane's data could not be removed.
    #[error("the hosted cluster's data could not be removed")]
    Drop(#[source] roost_store::CommitError),
}

/// Something that runs hosted control planes.
pub trait Runtime: Send + Sync + 'static {
    /// The release that it runs when nothing else is asked for, as a pull spec.
    fn default_release(&self) -> &str;

    /// The Kubernetes version that its planes serve.
    fn version(&self) -> &str;

    /// What it runs for one plane, in the order in which it starts.
    fn components(&self) -> &'static [Component];

    /// Runs a plane as described, starting it or changing what differs.
    fn ensure(&self, plane: Plane) -> impl Future<Output = Result<(), RuntimeError>> + Send;

    /// How a plane is, by asking it.
    fn health(&self, id: &PlaneId) -> impl Future<Output = Health> + Send;

    /// Stops a plane and removes its data. Nothing happens when there is none, or when the control plane of another
    /// namespace has it.
    fn remove(&self, id: &PlaneId, namespace: &str) -> impl Future<Output = Result<(), RuntimeError>> + Send;

    /// Which planes run or have data here.
    fn planes(&self) -> Vec<PlaneId>;

    /// The namespace of the control plane that has a running plane.
    fn namespace(&self, id: &PlaneId) -> Option<String>;

    /// A client of the plane's API with all rights; none while it does not run.
    fn client(&self, id: &PlaneId) -> Option<kube::Client>;

    /// Waits until a plane woke by itself, because somebody called it.
    fn woken(&self) -> impl Future<Output = PlaneId> + Send;
}
