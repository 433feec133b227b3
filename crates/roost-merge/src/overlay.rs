//! Laying a configuration over an object without tracking who owns what: what admission policies do.

use std::fmt::Write as _;

use roost_object::merge::{Node, Shape};
use serde_json::Value;

use crate::MAX_DEPTH;
use crate::apply::Holds;
use crate::typed;

/// Merges a configuration into an object, or says in stock's words why that cannot be done. Parts that are replaced as
/// a whole may not be set, because what is not named in them would be lost.
pub fn overlay<N: Node>(object: &Value, config: &Value, node: N, holds: impl Fn(N) -> Holds) -> Result<Value, String> {
    typed::validate_types(config, node, holds)
        .map_err(|errors| format!("failed to convert patch object to typed object: {errors}"))?;
    let mut atomics = Vec::new();
    find_atomics(config, node, &mut String::new(), &mut atomics, 0);
    if !atomics.is_empty() {
        let places = atomics.join(", ");
        return Err(format!("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {places}"));
    }
    typed::merge(object.clone(), config, node).map_err(|errors| format!("failed to merge patch: {errors}"))
}

fn find_atomics<N: Node>(value: &Value, node: N, path: &mut String, found: &mut Vec<String>, depth: usize) {
    if depth >= MAX_DEPTH {
        return;
    }
    if node.shape() == Shape::Atomic && (value.is_array() || value.is_object()) {
        found.push(path.clone());
    }
    let length = path.len();
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let Some(below) = node.field(name) else { continue };
                path.push('.');
                path.push_str(name);
                find_atomics(value, below, path, found, depth + 1);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            let Some(below) = node.element() else { return };
            for (index, item) in items.iter().enumerate() {
                let _ = write!(path, "[{index}]");
                find_atomics(item, below, path, found, depth + 1);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
