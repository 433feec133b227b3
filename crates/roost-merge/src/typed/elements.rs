//! The identity of list elements.

use roost_object::field::quote;
use roost_object::merge::{Node, Shape};
use serde_json::Value;

use crate::managed::Element;

/// Tells the elements of one list apart.
pub(crate) struct Identity<N> {
    /// Name and default of each key, sorted by name; none for a set.
    keys: Option<Vec<(String, Option<Value>)>>,
    names: Vec<String>,
    node: N,
}

impl<N: Node> Identity<N> {
    pub(crate) fn of(node: N) -> Self {
        if node.shape() != Shape::ListMap {
            return Self { keys: None, names: Vec::new(), node };
        }
        let names = node.list_keys();
        let element = node.element();
        let mut keys: Vec<_> = names
            .iter()
            .map(|name| (name.clone(), element.and_then(|element| element.field(name)).and_then(Node::default)))
            .collect();
        keys.sort_by(|left, right| left.0.cmp(&right.0));
        Self { keys: Some(keys), names, node }
    }

    /// The schema of the elements.
    pub(crate) fn element(&self) -> Option<N> {
        self.node.element()
    }

    /// The step to a list element.
    pub(crate) fn step(&self, item: &Value) -> Result<Element, String> {
        let Some(keys) = &self.keys else { return set_step(item) };
        let fields = match item {
            Value::Object(fields) => fields,
            Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
            _ => return Err("associative list with keys may not have non-map elements".to_owned()),
        };
        let values = keys
            .iter()
            .filter_map(|(name, default)| fields.get(name).or(default.as_ref()).map(|value| (name.as_str(), value)));
        if !keys.is_empty() && values.clone().next().is_none() {
            let names: Vec<_> = self.names.iter().map(|name| quote(name)).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
                names.join(" ")
            ));
        }
        Ok(Element::key(values))
    }
}

fn set_step(item: &Value) -> Result<Element, String> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
        Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
        Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
        scalar => Ok(Element::value(scalar)),
    }
}
