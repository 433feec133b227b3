//! A Kubernetes API server as a library.
//!
//! [`Cluster`] is one tenant on a [`roost_store::Store`]; [`ApiService`] is its API as a `tower` service, to be put
//! behind a listener ([`serve`]) or, with the feature `client`, straight under a `kube::Client`. There is one generic
//! handler over a table of resources; kinds differ only in the rows of tables and schemas.

mod access;
mod admission;
mod after;
mod allocate;
mod allowance;
mod audit;
mod body;
mod bootstrap;
mod call;
mod classify;
#[cfg(feature = "client")]
mod client;
mod clock;
mod cluster;
mod conversion;
mod custom;
mod definition;
mod derived;
mod documents;
mod engine;
mod escalation;
mod flow;
mod handle;
mod health;
mod heavy;
mod identity;
mod inside;
mod metrics;
mod negotiate;
mod node;
mod openapi;
mod options;
mod outgoing;
mod pace;
mod party;
mod patch;
mod read;
mod registered;
mod request;
mod resource;
mod resource_metrics;
mod respond;
mod route;
mod seal;
mod server;
mod service;
mod stored;
mod subresource;
mod threads;
mod tokens;
mod tunnel;
mod turns;
mod versions;
mod write;

pub use access::{InProcess, PeerCertificates};
pub use audit::AuditLog;
pub use cluster::{Cluster, ClusterConfig};
pub use documents::KUBERNETES_VERSION;
pub use engine::Engine;
pub use identity::Identity;
pub use respond::Body;
pub use server::{Host, Hosts, ServingCertificate, serve, tls_config};
pub use service::ApiService;
