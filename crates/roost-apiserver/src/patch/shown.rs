//! Patched objects as stock's messages show them.
//!
//! Stock's patch library parses only what a patch touches. That it writes in the order of the alphabet; all else stays
//! as it was, in the order of the Go type.

use std::collections::BTreeMap;

use roost_kinds::{Shape, Type};
use roost_merge::json_patch::steps;
use roost_object::Value;

use crate::resource::{Origin, Resource};

/// What a patch did at a place.
#[derive(Clone)]
pub(super) enum Touched {
    /// It went through.
    Parsed(BTreeMap<String, Touched>),
    /// It brought the value, or looked at all of it.
    Brought,
    /// It moved or copied the value from another place, where it may have been already.
    From(String, Option<Box<Touched>>),
}

impl Touched {
    /// The places that a merge patch goes through.
    pub(super) fn by_merge(patch: &Value) -> Touched {
        match patch {
            Value::Object(fields) => {
                Touched::Parsed(fields.iter().map(|(name, value)| (name.clone(), Touched::by_merge(value))).collect())
            }
            _ => Touched::Brought,
        }
    }

    /// The places that the operations of a JSON patch go through.
    pub(super) fn by_operations(operations: &Value) -> Touched {
        let mut touched = Touched::Parsed(BTreeMap::new());
        for operation in operations.as_array().into_iter().flatten() {
            let text = |name: &str| operation.get(name).and_then(Value::as_str);
            let (from, path) = (text("from"), text("path").unwrap_or_default());
            if let Some(from) = from {
                touched.touch(from, None);
            }
            touched.touch(path, None);
            let end = match (text("op"), from) {
                (Some("move" | "copy"), Some(from)) => {
                    let before = touched.at(&steps(from).collect::<Vec<_>>()).cloned().map(Box::new);
                    Some(Touched::From(from.to_owned(), before))
                }
                (Some("add" | "replace" | "test"), _) => Some(Touched::Brought),
                _ => None,
            };
            touched.touch(path, end);
        }
        touched
    }

    fn touch(&mut self, path: &str, end: Option<Touched>) {
        let mut place = self;
        let mut steps: Vec<String> = steps(path).collect();
        let last = steps.pop();
        for step in steps {
            let Touched::Parsed(fields) = place else { return };
            place = fields.entry(step).or_insert_with(|| Touched::Parsed(BTreeMap::new()));
        }
        if let (Touched::Parsed(fields), Some(last), Some(end)) = (place, last, end) {
            fields.insert(last, end);
        }
    }

    fn at(&self, steps: &[String]) -> Option<&Touched> {
        match (self, steps) {
            (_, []) => Some(self),
            (Touched::Parsed(fields), [first, rest @ ..]) => fields.get(first)?.at(rest),
            _ => None,
        }
    }
}

/// A patched object, with the places that the patch touched.
pub(super) fn patched(object: &Value, touched: &Touched, resource: &Resource) -> String {
    let Origin::BuiltIn(built_in, _) = &resource.origin else { return object.to_string() };
    let mut out = String::new();
    let root = Some(Shape::Struct(built_in.ty));
    let nothing = Touched::Parsed(BTreeMap::new());
    let touched = if matches!(touched, Touched::Parsed(_)) { touched } else { &nothing };
    let moved = |from: &str| steps(from).fold(root, |shape, name| shape.and_then(|shape| part(shape, &name)));
    write(&mut out, object, Some(touched), root, &moved);
    out
}

fn part(shape: Shape, name: &str) -> Option<Shape> {
    child(shape, name).or_else(|| element(shape))
}

/// The shape of what stood at a path.
type Moved<'a> = &'a dyn Fn(&str) -> Option<Shape>;

fn write(out: &mut String, value: &Value, touched: Option<&Touched>, shape: Option<Shape>, moved: Moved<'_>) {
    match (value, touched) {
        (_, Some(Touched::From(from, before))) => write(out, value, before.as_deref(), moved(from), moved),
        (Value::Object(fields), Some(Touched::Parsed(touched))) => {
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
        (Value::Array(elements), Some(Touched::Parsed(touched))) => {
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
