//! What a cluster's own objects demand of a write: limit ranges, quotas, pod security levels, policies and webhooks.
//!
//! Everything here is a pure function of objects. Reading them, calling webhooks and writing usage back is the business
//! of the API server.

pub mod amounts;
pub mod conversion;
pub mod limits;
pub mod matching;
pub mod pod_security;
pub mod policy;
pub mod quota;
pub mod webhook;
