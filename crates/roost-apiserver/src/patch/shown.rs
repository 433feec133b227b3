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
    let root_shape = Some(Shape::Struct(built_in.ty));
    let moved =
        |from: &str| steps(from).iter().fold(root_shape, |shape, name| shape.and_then(|shape| part(shape, name)));
    write(&mut out, object, Some(&root), root_shape, &moved);
    out
}

/// The places that the operations of a JSON patch go through, as a tree. At its ends stand `true` for what the patch
/// brought or looked at, and for what it moved or copied the path that it came from.
pub(super) fn touched_by_operations(operations: &Value) -> Value {
    let mut touched = Value::Object(Map::new());
    for operation in operations.as_array().into_iter().flatten() {
        let text = |name: &str| operation.get(name).and_then(Value::as_str);
        if let Some(from) = text("from") {
            touch(&mut touched, from, None);
        }
        let end = match (text("op"), text("from")) {
            (Some("move" | "copy"), Some(from)) => Some(Value::from(from)),
            (Some("add" | "replace" | "test"), _) => Some(Value::Bool(true)),
            _ => None,
        };
        if let Some(path) = text("path") {
            touch(&mut touched, path, end);
        }
    }
    touched
}

fn touch(touched: &mut Value, path: &str, end: Option<Value>) {
    let mut place = touched;
    let mut steps = steps(path);
    let last = steps.pop();
    for step in steps {
        let Value::Object(fields) = place else { return };
        place = fields.entry(step).or_insert_with(|| Value::Object(Map::new()));
    }
    if let (Value::Object(fields), Some(last), Some(end)) = (place, last, end) {
        fields.insert(last, end);
    }
}

fn steps(path: &str) -> Vec<String> {
    path.split('/').skip(1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
}

fn part(shape: Shape, name: &str) -> Option<Shape> {
    child(shape, name).or_else(|| element(shape))
}

type Moved<'a> = &'a dyn Fn(&str) -> Option<Shape>;

fn write(out: &mut String, value: &Value, touched: Option<&Value>, shape: Option<Shape>, moved: Moved<'_>) {
    match (value, touched) {
        (_, Some(Value::String(from))) => write(out, value, None, moved(from), moved),
        (Value::Object(fields), Some(Value::Object(touched))) => {
            out.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(out, value, touched.get(name), shape.and_then(|shape| child(shape, name)), moved);
            }
            out.push('}');
        }
        (Value::Array(elements), Some(Value::Object(touched))) => {
            out.push('[');
            for (index, value) in elements.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                let last = touched.get("-").filter(|_| index + 1 == elements.len());
                write(out, value, touched.get(&index.to_string()).or(last), shape.and_then(element), moved);
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
                write(out, value, None, shape.and_then(element), moved);
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
