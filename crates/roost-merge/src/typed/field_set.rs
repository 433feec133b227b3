//! The fields that an applied configuration mentions, and so claims.

use roost_object::merge::Node;
use serde_json::Value;

use super::elements::Identity;
use super::{Form, entry, form};
use crate::MAX_DEPTH;
use crate::managed::{Element, FieldSet, Step};

/// The set of all fields and list elements of an object.
pub(crate) fn field_set<N: Node>(object: &Value, node: N) -> FieldSet {
    place(object, Some(node), 0).1
}

/// Whether the place is a member by its own form, and the set below it.
fn place<N: Node>(value: &Value, node: Option<N>, depth: usize) -> (bool, FieldSet) {
    let mut below = FieldSet::new();
    if depth >= MAX_DEPTH {
        return (true, below);
    }
    match form(node, value) {
        Form::Leaf => return (true, below),
        Form::Map => {
            for (name, item) in value.as_object().into_iter().flatten() {
                let inside = entry(node, name);
                let (is_leaf, children) = place(item, inside, depth + 1);
                let is_void = item.is_null() || item.as_object().is_some_and(serde_json::Map::is_empty);
                let is_entry = || !node.is_some_and(|node| node.declares(name));
                let member = is_leaf || is_void || is_entry();
                below.place(Element::field(name), member, children);
            }
        }
        Form::List => {
            let (Some(node), Value::Array(items)) = (node, value) else { return (false, below) };
            let identity = Identity::of(node);
            let steps = items.iter().map(|item| {
                let step = identity.step(item).unwrap_or_else(|_| Element::unidentified());
                Step::new(step, true, place(item, identity.element(), depth + 1).1)
            });
            // Repeated elements are one place with nothing below it.
            below = FieldSet::from_steps(steps.collect(), |step, _| step.children = FieldSet::new());
        }
    }
    (false, below)
}
