//! Removing fields and list elements from an object.

use roost_object::merge::Node;
use serde_json::{Map, Value};

use super::elements::Identity;
use super::{Form, entry, form};
use crate::managed::{Element, FieldSet};

/// The object without the given paths. Containers that lose everything become null, as stock leaves them.
pub(crate) fn remove<N: Node>(object: &Value, paths: &FieldSet, node: N) -> Value {
    if paths.is_empty() { object.clone() } else { place(object, paths, Some(node)) }
}

fn place<N: Node>(value: &Value, paths: &FieldSet, node: Option<N>) -> Value {
    match (form(node, value), value) {
        (Form::Map, Value::Object(fields)) => {
            let kept = fields.iter().filter_map(|(name, item)| {
                let rest = match paths.get(&Element::field(name)) {
                    None => item.clone(),
                    Some(step) if step.member => return None,
                    Some(step) => place(item, &step.children, entry(node, name)),
                };
                Some((name.clone(), rest))
            });
            let kept: Map<_, _> = kept.collect();
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        (Form::List, Value::Array(items)) => {
            let Some(identity) = node.map(Identity::of) else { return value.clone() };
            let kept =
                items.iter().filter_map(|item| match identity.step(item).ok().and_then(|step| paths.get(&step)) {
                    None => Some(item.clone()),
                    Some(step) if step.member => None,
                    Some(step) => Some(place(item, &step.children, identity.element())),
                });
            let kept: Vec<_> = kept.collect();
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
        (Form::Leaf, Value::String(_) | Value::Number(_) | Value::Bool(_)) => value.clone(),
        _ => Value::Null,
    }
}
