//! `hcp-agent`: makes a running Linux host a node of a hosted cluster, and the host that it was again; or shows it to a
//! discovery service and does what that says.
//!
//! What is decided is pure ([`preflight`], [`software`], [`intent`]); what is done goes through [`root::Root`] and
//! [`system::System`], so that all of it runs on a temporary directory, too.

pub mod apply;
pub mod change;
#[cfg(test)]
mod change_tests;
pub mod cluster;
pub mod collect;
mod containers;
mod digest;
pub mod discover;
pub mod host;
pub mod https;
pub mod ignition_client;
pub mod intent;
#[cfg(test)]
mod intent_tests;
pub mod inventory;
pub mod join;
pub mod journal;
pub mod kept;
pub mod linux;
mod network;
pub mod node_name;
pub mod node_plane;
pub mod os_release;
pub mod pod_network;
pub mod preflight;
pub mod root;
pub mod software;
pub mod status;
pub mod step;
pub mod system;
pub mod tunnel;
#[cfg(test)]
mod undo_tests;
pub mod words;
