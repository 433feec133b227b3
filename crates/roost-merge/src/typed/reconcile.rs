//! Owned fields after the schema changed.

use roost_object::merge::{Node, Shape};

use crate::managed::{ElementKind, FieldSet};

/// Turns ownership of parts of what is atomic by now into ownership of the whole.
pub(crate) fn reconcile<N: Node>(fields: &mut FieldSet, node: N) {
    for step in &mut fields.steps {
        if step.children.is_empty() {
            continue;
        }
        let below = match step.element.kind() {
            ElementKind::Field => node.field(step.element.name().unwrap_or_default()),
            _ => node.element(),
        };
        let Some(below) = below else { continue };
        match below.shape() {
            Shape::Atomic => {
                step.member = true;
                step.children = FieldSet::new();
            }
            Shape::Untyped => {}
            Shape::Map | Shape::ListMap | Shape::Set => reconcile(&mut step.children, below),
        }
    }
}
