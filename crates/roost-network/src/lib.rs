//! The pod network of one node, decided and not done: from Nodes, Services, EndpointSlices and network policies to the
//! configuration of the network plugins, routes to other nodes, the peers of their mesh, one table of the packet filter, and answers to questions
//! about names.
//!
//! Nothing here touches a host; `hcp-agent` does what these plans say.

pub mod balance;
pub mod dns;
pub mod filter;
pub mod mesh;
pub mod model;
pub mod plugin;
pub mod policy;
pub mod routes;
mod settings;
pub mod zone;

pub use settings::Settings;

/// An FNV-1a hash, stable between versions and hosts.
pub(crate) fn stable_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
