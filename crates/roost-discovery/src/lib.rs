//! The host-facing service: hosts introduce themselves, are told what to do, and say how far they are.
//!
//! The wire is upstream's, version 2. Every call shows a token that is good for one environment and for a while. Who a
//! host is and what becomes of it is decided behind the trait [`Registry`]; nothing here knows a Kubernetes client.

mod answer;
mod logs;
mod registry;
mod route;
mod server;
mod token;

pub use logs::Logs;
pub use registry::{Ask, Caller, Document, FileQuery, Refusal, Registry};
pub use server::{Server, Settings};
pub use token::{Claims, Signer, TokenProblem};
