//! The definitions in an engine: what it accepts, fills in and refuses.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod fleet;
mod hosted_cluster;
mod hosts;
mod node_pool;
mod plane;
mod requests;
