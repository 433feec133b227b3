//! `ValidatingAdmissionPolicy` and `MutatingAdmissionPolicy`: expressions of the cluster's own that have a say in writes.

mod access;
mod input;
mod mutating;
mod parameters;
mod select;
mod table;
mod validating;

pub(super) use access::Caller;
pub(super) use input::Objects;
pub(super) use mutating::{Rounds, mutate};
pub(super) use table::PolicyTable;
pub(super) use validating::validate;
