//! How nodes get another configuration, and how broken ones are replaced: one after the other, never more away than
//! the pool allows, and stopped by the first that does not come back.
//!
//! ```text
//! in place:  waits → taken (cordoned) → drained → desired-config → current-config and Ready → released
//! replaced:  waits → taken (cordoned) → drained → removed; its host's next boot is a new Machine
//! ```
//!
//! What is decided here is a pure function of what was read; `apply` carries it out, and everything in between is
//! written on Machines and Nodes, so that any pass may be the last of a process.

mod apply;
mod observe;
mod plan;
mod strategy;
mod words;

pub(crate) use apply::{Report, advance};
pub(crate) use observe::{CURRENT_CONFIG, UPDATE_FAILED, situation};
pub(crate) use plan::{State, plan};
pub(crate) use strategy::Strategy;
pub(crate) use words::summary;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
