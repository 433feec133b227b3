//! What the workload controllers and the scheduler decide.
//!
//! Everything here is a function of what is wanted, what is there and what time it is. It yields [`Action`]s, which
//! someone else carries out in their order. Behaviour, words and reasons are those of the stock controllers.

pub mod action;
pub mod autoscaler;
pub mod condition;
pub mod cron_job;
pub mod daemon_set;
pub mod deployment;
pub mod disruption;
pub mod endpoints;
pub mod eviction;
pub mod hash;
pub mod history;
pub mod index;
pub mod job;
pub mod metadata;
pub mod pod;
pub mod replica_set;
pub mod scheduler;
pub mod selector;
pub mod stateful_set;
pub mod template;
pub mod value;
pub mod volume;

pub use action::{Action, Event, Reference};
pub use index::{Index, Source};
pub use pod::Pod;
