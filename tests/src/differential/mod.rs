//! The differential suite: the same requests to two servers, and what differs in their answers.
//!
//! The requests are data (`tests/differential/*.yaml`); docs/testing.md describes the format. The second server's
//! answer is the only expectation, so a sequence cannot be wrong about what stock does.

pub mod comparison;
pub mod execution;
mod form;
pub mod normalization;
pub mod random;
pub mod report;
pub mod substitution;
pub mod suite;
pub mod table;
pub mod watching;

pub use report::Summary;
pub use suite::{Detail, Options, Servers, run};
