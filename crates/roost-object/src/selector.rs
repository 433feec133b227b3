//! Selectors: which objects of a list or watch are meant, by label and by field.
//!
//! Label selectors come as text (`a=b,c in (x,y),!d`) or as `LabelSelector` objects; both become a [`Selector`]. Field
//! selectors (`metadata.name=a,status.phase!=Running`) become a [`FieldSelector`], whose field names only the kind
//! knows. Errors read as the stock server words them.

mod by_field;
mod by_label;
mod object;
mod parser;
pub mod syntax;

pub use by_field::{FieldRequirement, FieldSelector, UnsupportedField};
pub use by_label::{Labels, Operator, Requirement, Selector};

/// A label selector, under the name that the API's objects use.
pub type LabelSelector = Selector;

/// Longest selector text that is read. A request line of the stock server ends at one megabyte.
pub const MAX_TEXT_LENGTH: usize = 1 << 20;

/// Why a selector was refused, in the words of the stock server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub(crate) String);

impl Error {
    pub(crate) fn too_long() -> Self {
        Self(format!("selector must be no more than {MAX_TEXT_LENGTH} bytes"))
    }
}
