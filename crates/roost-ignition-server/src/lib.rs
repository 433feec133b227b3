//! The node-facing server: a booting machine shows its pool's token and gets a payload of its own.
//!
//! The wire is upstream's, answer for answer. Who may have what is decided behind the trait [`Authority`]; nothing here
//! knows a Kubernetes client.

mod answer;
mod artifacts;
mod authority;
mod certificate;
mod limits;
mod metrics;
mod patience;
mod reception;
mod request;
mod server;
mod servers;

pub use artifacts::{ArtifactFile, Artifacts, ArtifactsError, PATH as ARTIFACTS_PATH};
pub use authority::{
    Authority, Fetch, HostIdentity, Payload, PlaneId, Purpose, Refresh, Refusal, Rejection, RejectionReason, Token,
};
pub use certificate::{CertificateError, ServingCertificate, tls_config};
pub use limits::{Counter, Limits, Rate, caller};
pub use metrics::Metrics;
pub use reception::{Patience, converse, receive};
pub use server::{Server, ServerSettings};
pub use servers::{Listen, ServeError, Servers};
