//! The approver of certificates for nodes: a request is approved when it is exactly what one known host may ask for.

#![cfg_attr(not(test), expect(dead_code, reason = "the watch that feeds it comes with the machines"))]

mod decide;
mod facts;
mod request;
mod rule;

#[cfg(test)]
mod cases;
#[cfg(test)]
mod odd_requests;
