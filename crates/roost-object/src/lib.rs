//! What every Kubernetes object is made of: values, names, errors, selectors, quantities and times.
//!
//! This crate does no I/O and knows no kind. What it says, it says in the words of the stock API server, because
//! controllers and people match on them.

pub mod duration;
pub mod field;
pub mod group;
pub mod json;
pub mod merge;
pub mod metadata;
pub mod names;
pub mod quantity;
pub mod selector;
pub mod status;
pub mod time;
pub mod url;
pub mod webhook;
pub mod yaml;

pub use group::{GroupKind, GroupResource, GroupVersionKind};
pub use quantity::Quantity;
pub use serde_json::{Map, Value};
pub use status::Status;
