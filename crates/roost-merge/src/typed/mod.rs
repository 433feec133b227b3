//! Objects seen through a schema: comparing, merging, listing and removing fields.

mod compare;
mod elements;
mod errors;
mod field_set;
mod merge;
mod reconcile;
mod remove;
mod validate;

pub(crate) use compare::{Comparison, compare};
pub(crate) use errors::TypeErrors;
pub(crate) use field_set::field_set;
pub(crate) use merge::merge;
pub(crate) use reconcile::reconcile;
pub(crate) use remove::remove;
use roost_object::merge::{Node, Shape};
use serde_json::Value;
pub use validate::Holds;
pub(crate) use validate::{is_of_type, validate, validate_types};

/// How a place is handled once the schema and the value there are both known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Leaf,
    Map,
    List,
}

/// The form of a value at a place. Null has the form that the schema names, and counts as a map where nothing is known.
pub(crate) fn form<N: Node>(node: Option<N>, value: &Value) -> Form {
    match node.map_or(Shape::Untyped, Node::shape) {
        Shape::Map => Form::Map,
        Shape::ListMap | Shape::Set => Form::List,
        Shape::Untyped if value.is_object() || value.is_null() => Form::Map,
        Shape::Atomic | Shape::Untyped => Form::Leaf,
    }
}

/// The schema of an entry of a map.
pub(crate) fn entry<N: Node>(node: Option<N>, name: &str) -> Option<N> {
    node.and_then(|node| node.field(name))
}
