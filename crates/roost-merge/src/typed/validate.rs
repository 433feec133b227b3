//! Whether an object follows its schema closely enough to be merged.

use std::collections::HashSet;

use roost_object::merge::{Node, Shape};
use serde_json::Value;

use super::elements::Identity;
use super::errors::TypeErrors;
use crate::MAX_DEPTH;
use crate::go_text;

/// Finds unknown fields, values of the wrong type and list elements that cannot be told apart.
pub(crate) fn validate<N: Node>(object: &Value, node: N) -> Result<(), TypeErrors> {
    let mut errors = TypeErrors::default();
    place(object, node, 0, &mut errors);
    errors.none_or(())
}

fn place<N: Node>(value: &Value, node: N, depth: usize, errors: &mut TypeErrors) {
    if value.is_null() || depth >= MAX_DEPTH {
        return;
    }
    match node.shape() {
        Shape::Untyped => {}
        Shape::Map => fields(value, node, depth, errors),
        Shape::ListMap | Shape::Set => {
            let Value::Array(items) = value else {
                return errors.push(format!("expected list, got &{{{}}}", go_text::plain(value)));
            };
            let identity = Identity::of(node);
            let mut seen = HashSet::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                let step = match identity.step(item) {
                    Ok(step) => step,
                    Err(error) => return errors.push(format!("element {index}: {error}")),
                };
                if seen.contains(&step) {
                    errors.push(format!("duplicate entries for key {step}"));
                }
                let from = errors.len();
                if let Some(element) = identity.element() {
                    place(item, element, depth + 1, errors);
                }
                errors.below(from, || step.to_string());
                seen.insert(step);
            }
        }
        Shape::Atomic => match (value, node.element()) {
            (Value::Array(items), Some(element)) => {
                for (index, item) in items.iter().enumerate() {
                    let from = errors.len();
                    place(item, element, depth + 1, errors);
                    errors.below(from, || format!("[{index}]"));
                }
            }
            (_, Some(_)) => errors.push(format!("expected list, got &{{{}}}", go_text::plain(value))),
            (Value::Object(_), None) => fields(value, node, depth, errors),
            _ => {}
        },
    }
}

fn fields<N: Node>(value: &Value, node: N, depth: usize, errors: &mut TypeErrors) {
    let Value::Object(items) = value else {
        return errors.push(format!("expected map, got &{{{}}}", go_text::plain(value)));
    };
    for (name, item) in items {
        let from = errors.len();
        let below = node.field(name);
        match below {
            Some(below) => place(item, below, depth + 1, errors),
            None => errors.push("field not declared in schema"),
        }
        errors.below(from, || format!(".{name}"));
        if below.is_none() {
            return;
        }
    }
}
