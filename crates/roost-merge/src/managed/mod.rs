//! `metadata.managedFields`: who owns which fields of an object.

mod element;
mod entries;
mod fields;
mod filter;
pub(crate) mod raw;
mod set;

pub use element::{Element, ElementKind};
pub use entries::{Entry, Managed, ManagedError, Operation};
pub(crate) use entries::{MAX_UPDATE_MANAGERS, sort_encoded};
pub use fields::FieldsError;
pub use filter::{Filter, Pattern};
pub use set::FieldSet;
pub(crate) use set::Step;
