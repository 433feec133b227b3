//! `metadata.managedFields`: who owns which fields of an object.

mod element;
mod entries;
mod fields;
mod filter;
mod set;

pub use element::{Element, ElementKind};
pub use entries::{Entry, Managed, ManagedError, Operation};
pub use fields::FieldsError;
pub use filter::{Filter, Pattern};
pub use set::FieldSet;
