//! The schema of a resource as merging sees it, wherever the resource comes from.

use roost_kinds::TypeRef;
use roost_object::Value;
use roost_object::merge::{Node, Shape};
use roost_schema::SchemaRef;

/// The schema of any resource, as merging sees it.
#[derive(Clone, Copy)]
pub(crate) enum AnyNode<'a> {
    /// From the generated tables.
    BuiltIn(TypeRef),
    /// From a structural schema.
    Custom(SchemaRef<'a>),
    /// No schema: merging goes by the values.
    Untyped,
}

impl Node for AnyNode<'_> {
    fn shape(self) -> Shape {
        match self {
            AnyNode::BuiltIn(node) => node.shape(),
            AnyNode::Custom(node) => node.shape(),
            AnyNode::Untyped => Shape::Untyped,
        }
    }

    fn field(self, name: &str) -> Option<Self> {
        match self {
            AnyNode::BuiltIn(node) => node.field(name).map(AnyNode::BuiltIn),
            AnyNode::Custom(node) => node.field(name).map(AnyNode::Custom),
            AnyNode::Untyped => Some(self),
        }
    }

    fn declares(self, name: &str) -> bool {
        match self {
            AnyNode::BuiltIn(node) => node.declares(name),
            AnyNode::Custom(node) => node.declares(name),
            AnyNode::Untyped => false,
        }
    }

    fn is_closed(self) -> bool {
        match self {
            AnyNode::BuiltIn(node) => node.is_closed(),
            AnyNode::Custom(node) => node.is_closed(),
            AnyNode::Untyped => false,
        }
    }

    fn element(self) -> Option<Self> {
        match self {
            AnyNode::BuiltIn(node) => node.element().map(AnyNode::BuiltIn),
            AnyNode::Custom(node) => node.element().map(AnyNode::Custom),
            AnyNode::Untyped => Some(self),
        }
    }

    fn list_keys(self) -> Vec<String> {
        match self {
            AnyNode::BuiltIn(node) => node.list_keys(),
            AnyNode::Custom(node) => node.list_keys(),
            AnyNode::Untyped => Vec::new(),
        }
    }

    fn default(self) -> Option<Value> {
        match self {
            AnyNode::BuiltIn(node) => node.default(),
            AnyNode::Custom(node) => node.default(),
            AnyNode::Untyped => None,
        }
    }
}
