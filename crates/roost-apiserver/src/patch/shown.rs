//! Patched objects as stock's messages show them.
//!
//! Stock's patch library parses only what a patch touches. That it writes in the order of the alphabet; all else stays
//! as it was, in the order of the Go type.

use roost_kinds::{Shape, Type};
use roost_object::{Map, Value};

use crate::resource::{Origin, Resource};

/// A patched object, with the places that the patch touched.
pub(super) fn patched(object: &Value, touched: &Value, resource: &Resource) -> String {
    let Origin::BuiltIn(built_in, _) = &resource.origin else { return object.to_string() };
    let mut out = String::new();
    let mut root = touched.clone();
    if !root.is_object() {
        root = Value::Object(Map::new());
    }
    write(&mut out, object, Some(&root), Some(Shape::Struct(built_in.ty)));
    out
}

/// The places that the operations of a JSON patch go through, as a tree.
pub(super) fn touched_by_operations(operations: &Value) -> Value {
    let mut touched = Value::Object(Map::new());
    for operation in operations.as_array().into_iter().flatten() {
        for name in ["path", "from"] {
            let Some(path) = operation.get(name).and_then(Value::as_str) else { continue };
            let mut place = &mut touched;
            let steps: Vec<&str> = path.split('/').skip(1).collect();
            for step in steps.iter().take(steps.len().saturating_sub(1)) {
                let Value::Object(fields) = place else { break };
                let name = step.replace("~1", "/").replace("~0", "~");
                place = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
            }
        }
    }
    touched
}

fn write(out: &mut String, value: &Value, touched: Option<&Value>, shape: Option<Shape>) {
    match (value, touched) {
        (Value::Object(fields), Some(Value::Object(touched))) => {
            out.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(out, value, touched.get(name), shape.and_then(|shape| child(shape, name)));
            }
            out.push('}');
        }
        (Value::Array(elements), Some(Value::Object(touched))) => {
            out.push('[');
            for (index, value) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, value, touched.get(&index.to_string()), shape.and_then(element));
            }
            out.push(']');
        }
        (Value::Object(_), None) if let Some(Shape::Struct(ty)) = shape => typed(out, value, ty),
        (Value::Array(elements), None) => {
            out.push('[');
            for (index, value) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, value, None, shape.and_then(element));
            }
            out.push(']');
        }
        // What came with the patch itself is parsed, and so in the order of the alphabet.
        _ => out.push_str(&value.to_string()),
    }
}

fn typed(out: &mut String, value: &Value, ty: &'static Type) {
    let mut text = Vec::new();
    roost_kinds::json::write(&mut text, value, ty);
    out.push_str(&String::from_utf8_lossy(&text));
}

fn child(shape: Shape, name: &str) -> Option<Shape> {
    match shape {
        Shape::Struct(ty) => ty.field(name).map(|field| field.ty),
        Shape::Map(element) => Some(element.ty),
        _ => None,
    }
}

fn element(shape: Shape) -> Option<Shape> {
    match shape {
        Shape::List(element) | Shape::Items(element) => Some(element.ty),
        _ => None,
    }
}
