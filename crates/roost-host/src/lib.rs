//! A discovered host: what it says of itself, what it is told, which state it is in and whether it can be used.
//!
//! Everything here is a pure function. The words on the wire are upstream's, so that its agent can speak with our
//! service and our agent with its.

pub mod disk;
pub mod form;
pub mod identity;
pub mod inventory;
pub mod labels;
pub mod measurement;
pub mod network;
pub mod query;
pub mod state;
pub mod step;
pub mod validation;
pub mod wire;

pub use identity::HostIdentity;
pub use inventory::Inventory;
