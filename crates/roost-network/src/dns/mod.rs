//! DNS: questions as they come over the wire, and answers as they go back.

mod answer;
mod message;
#[cfg(test)]
mod properties;

pub use answer::{Reply, chased, respond};
pub use message::{Data, Outcome, Query, Record, SMALLEST, Upstream, encode, kind, with_id};
