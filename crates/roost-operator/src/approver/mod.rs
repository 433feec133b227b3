//! The approver of certificates for nodes: a request is approved when it is exactly what one known host may ask for.

mod decide;
mod facts;
mod request;
mod rule;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod odd_requests;

pub(crate) use decide::{JOIN_WINDOW, decide};
pub(crate) use facts::{Facts, Machine, Networks, Node};
pub(crate) use request::{MACHINE_GROUP_PREFIX, Progress, Request, Requester};
pub(crate) use rule::{Rule, Verdict};
