//! The server as hosts, BMCs and boot loaders see it: real sockets, with TLS and without.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod catalog;
mod client;
mod downloads;
mod harness;
mod limits;
mod requests;
mod tokens;
