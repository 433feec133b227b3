//! End-to-end tests: Roost beside the stock parts.
//!
//! This crate owns what starts control planes for a comparison (stock's and ours), the client that speaks to both,
//! and the suites that compare them. It holds no behaviour of Roost itself.

pub mod architecture;
pub mod assets;
pub mod client;
pub mod components;
pub mod conformance;
pub mod crash;
pub mod differential;
pub mod hosted;
pub mod hostile;
pub mod hosts;
pub mod ignition;
pub mod journey;
pub mod kubeconfig;
pub mod measurement;
pub mod ours;
pub mod pki;
pub mod plane;
pub mod process;
pub mod random;
pub mod stock;
pub mod text_difference;
pub mod workloads;
