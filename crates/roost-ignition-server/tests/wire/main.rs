//! The server as machines see it: real sockets, real TLS.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod artifacts;
mod certificates;
mod connections;
mod harness;
mod limits;
mod requests;
