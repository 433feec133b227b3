//! The way to a value, named as kube-openapi names it.

use std::fmt;

/// A place below the validated value: text only when an error needs it.
pub(crate) enum Place<'a> {
    Root,
    /// A property that the schema names.
    Field(&'a Place<'a>, &'a str),
    /// An entry of a map.
    Entry(&'a Place<'a>, &'a str),
    Index(&'a Place<'a>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Root => Ok(()),
            Place::Field(Place::Root, name) => f.write_str(name),
            Place::Field(parent, name) | Place::Entry(parent, name) => write!(f, "{parent}.{name}"),
            Place::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
