//! Whether an object follows its schema closely enough to be merged.

use std::collections::HashSet;

use roost_object::merge::{Node, Shape};
use serde_json::Value;

use super::elements::Identity;
use super::errors::TypeErrors;
use crate::MAX_DEPTH;
use crate::go_text;

/// What the values of a place are, for messages about values that do not fit.
///
/// Merging itself does not need to know it: there, a text and a number are leaves alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Any value, or nothing is known.
    Anything,
    /// A text.
    Text,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A text, a number, true or false: times, quantities, ports and other texts with a format.
    Scalar,
    /// A list.
    List,
    /// A struct or map.
    Map,
}

/// Finds unknown fields, values of the wrong type and list elements that cannot be told apart.
pub(crate) fn validate<N: Node>(object: &Value, node: N) -> Result<(), TypeErrors> {
    validate_types(object, node, |_| Holds::Anything)
}

/// [`validate`] with what is known about scalars.
pub(crate) fn validate_types<N: Node>(object: &Value, node: N, holds: impl Fn(N) -> Holds) -> Result<(), TypeErrors> {
    let mut walk = Walk { errors: TypeErrors::default(), holds, repeats: false };
    walk.place(object, node, false, 0);
    walk.errors.none_or(())
}

/// Whether all values are of their types; elements that cannot be told apart do not matter.
pub(crate) fn is_of_type<N: Node>(object: &Value, node: N, holds: impl Fn(N) -> Holds) -> bool {
    let mut walk = Walk { errors: TypeErrors::default(), holds, repeats: true };
    walk.place(object, node, false, 0);
    walk.errors.len() == 0
}

struct Walk<F> {
    errors: TypeErrors,
    holds: F,
    /// Whether elements may be there more than once.
    repeats: bool,
}

impl<F> Walk<F> {
    /// `open` says that a place above keeps unknown fields, which stock takes to hold for all places below but metadata.
    fn place<N: Node>(&mut self, value: &Value, node: N, open: bool, depth: usize)
    where
        F: Fn(N) -> Holds,
    {
        if value.is_null() || depth >= MAX_DEPTH {
            return;
        }
        match node.shape() {
            // Whatever a map holds, it is a map.
            Shape::Untyped if (self.holds)(node) == Holds::Map && !value.is_object() => self.expected("map", value),
            Shape::Untyped => {}
            Shape::Map => self.fields(value, node, open, depth),
            Shape::ListMap | Shape::Set => self.items(value, node, open, depth),
            Shape::Atomic => match (self.holds)(node) {
                Holds::Map => self.fields(value, node, open, depth),
                Holds::List => self.elements(value, node, open, depth),
                Holds::Anything if node.element().is_some() => self.elements(value, node, open, depth),
                Holds::Anything if value.is_object() => self.fields(value, node, open, depth),
                holds => self.scalar(value, holds),
            },
        }
    }

    fn scalar(&mut self, value: &Value, holds: Holds) {
        match holds {
            Holds::Text if !value.is_string() => {
                let shown = go_text::syntax(value);
                self.errors.push(format!("expected string, got &value.valueUnstructured{{Value:{shown}}}"));
            }
            Holds::Number if !value.is_number() => {
                self.errors.push(format!("expected numeric (int or float), got {}", go_text::type_name(value)));
            }
            Holds::Boolean if !value.is_boolean() => self.expected("boolean", value),
            Holds::Scalar if value.is_array() || value.is_object() => self.expected("any scalar", value),
            _ => {}
        }
    }

    fn expected(&mut self, what: &str, value: &Value) {
        self.errors.push(format!("expected {what}, got &{{{}}}", go_text::plain(value)));
    }

    /// The elements of an atomic list.
    fn elements<N: Node>(&mut self, value: &Value, node: N, open: bool, depth: usize)
    where
        F: Fn(N) -> Holds,
    {
        let Value::Array(items) = value else { return self.expected("list", value) };
        let Some(element) = node.element() else { return };
        for (index, item) in items.iter().enumerate() {
            let from = self.errors.len();
            self.place(item, element, open, depth + 1);
            self.errors.below(from, || format!("[{index}]"));
        }
    }

    /// The elements of a list that merges.
    fn items<N: Node>(&mut self, value: &Value, node: N, open: bool, depth: usize)
    where
        F: Fn(N) -> Holds,
    {
        let Value::Array(items) = value else { return self.expected("list", value) };
        let identity = Identity::of(node);
        let mut seen = HashSet::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let step = match identity.step(item) {
                Ok(step) => step,
                Err(error) => return self.errors.push(format!("element {index}: {error}")),
            };
            if !self.repeats && seen.contains(&step) {
                self.errors.push(format!("duplicate entries for key {step}"));
            }
            let from = self.errors.len();
            if let Some(element) = identity.element() {
                self.place(item, element, open, depth + 1);
            }
            self.errors.below(from, || step.to_string());
            seen.insert(step);
        }
    }

    fn fields<N: Node>(&mut self, value: &Value, node: N, open: bool, depth: usize)
    where
        F: Fn(N) -> Holds,
    {
        let Value::Object(fields) = value else { return self.expected("map", value) };
        let open = open || node.field("\0").is_some_and(|entry| entry.shape() == Shape::Untyped);
        for (name, item) in fields {
            let from = self.errors.len();
            let Some(below) = node.field(name) else {
                if open {
                    continue;
                }
                self.errors.push("field not declared in schema");
                self.errors.below(from, || format!(".{name}"));
                return;
            };
            self.place(item, below, open && !below.is_closed(), depth + 1);
            self.errors.below(from, || format!(".{name}"));
        }
    }
}
