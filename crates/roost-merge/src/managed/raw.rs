//! Field sets changed in place in their `FieldsV1` form, for the many writes that touch few fields of few managers.

use roost_object::merge::{Node, Shape};
use serde_json::{Map, Value};

use super::fields::write;
use super::set::FieldSet;

/// The key by which a path that leads to members says that it is one itself.
const ITSELF: &str = ".";

type Fields = Map<String, Value>;

/// Takes out the paths of a set, each without what lies below it.
pub(crate) fn subtract(fields: &mut Fields, set: &FieldSet) {
    for step in &set.steps {
        let Some(Value::Object(below)) = fields.get_mut(step.element.as_str()) else { continue };
        let was_member = is_member(below);
        below.remove(ITSELF);
        subtract(below, &step.children);
        let member = was_member && !step.member;
        if !below.is_empty() {
            if member {
                below.insert(ITSELF.to_owned(), Value::Object(Map::new()));
            }
        } else if !member {
            fields.remove(step.element.as_str());
        }
    }
}

/// Adds the paths of a set.
pub(crate) fn extend(fields: &mut Fields, set: FieldSet) {
    for step in set.steps {
        if let Some(Value::Object(below)) = fields.get_mut(step.element.as_str()) {
            let member = is_member(below) || step.member;
            extend(below, step.children);
            if member && !below.is_empty() {
                below.insert(ITSELF.to_owned(), Value::Object(Map::new()));
            }
        } else {
            let below = write(step.children, step.member);
            fields.insert(step.element.into_string(), Value::Object(below));
        }
    }
}

/// Turns ownership of parts of what is atomic by now into ownership of the whole.
pub(crate) fn reconcile<N: Node>(fields: &mut Fields, node: N) {
    for (key, below) in fields {
        let Value::Object(below) = below else { continue };
        if below.is_empty() {
            continue;
        }
        let place = match key.strip_prefix("f:") {
            Some(name) => node.field(name),
            None => node.element(),
        };
        let Some(place) = place else { continue };
        match place.shape() {
            Shape::Atomic => below.clear(),
            Shape::Untyped => {}
            Shape::Map | Shape::ListMap | Shape::Set => reconcile(below, place),
        }
    }
}

fn is_member(below: &Fields) -> bool {
    below.is_empty() || below.contains_key(ITSELF)
}
