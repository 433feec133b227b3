//! What Go writes for values that nobody set, and when it writes nothing.

use serde_json::{Map, Value};

use crate::table::{Element, Field, Shape, Type};

/// Whether a value of this field is left out of JSON. Structs are never empty for Go, pointers only when absent.
pub(crate) fn omits(field: &Field, value: &Value) -> bool {
    field.omit.empty && !field.pointer && can_be_empty(field.ty) && is_empty(value)
}

/// Whether the field is written even when nobody set it.
pub(crate) fn is_always_written(field: &Field) -> bool {
    if field.omit.zero {
        return false;
    }
    !field.omit.empty || !(field.pointer || can_be_empty(field.ty))
}

/// Whether `omitempty` says anything about values of this shape.
fn can_be_empty(shape: Shape) -> bool {
    matches!(
        shape,
        Shape::String
            | Shape::Bool
            | Shape::Int32
            | Shape::Int64
            | Shape::Float64
            | Shape::Bytes
            | Shape::List(_)
            | Shape::Items(_)
            | Shape::Map(_)
    )
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(truth) => !truth,
        Value::Number(number) => number.as_i64() == Some(0) || number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// What Go writes for a value that nobody set.
pub(crate) fn value(shape: Shape, pointer: bool) -> Value {
    if pointer {
        return Value::Null;
    }
    match shape {
        Shape::String => Value::String(String::new()),
        Shape::Bool | Shape::SchemaOrBool(_) => Value::Bool(false),
        Shape::Int32 | Shape::Int64 | Shape::Float64 | Shape::IntOrString => Value::from(0),
        Shape::Quantity => Value::from("0"),
        Shape::Struct(ty) => {
            let mut fields = Map::new();
            fill(ty, &mut fields);
            Value::Object(fields)
        }
        Shape::Bytes
        | Shape::List(_)
        | Shape::Items(_)
        | Shape::Map(_)
        | Shape::Time
        | Shape::MicroTime
        | Shape::RawExtension
        | Shape::FieldsV1
        | Shape::Json
        | Shape::SchemaOrArray(_)
        | Shape::SchemaOrStringArray(_) => Value::Null,
    }
}

/// What Go writes for an entry of a list or map that nobody set. Bytes and wrapped lists come back from protobuf as empty
/// ones, which is not the same as missing.
pub(crate) fn element(element: &Element) -> Value {
    match element.ty {
        Shape::Bytes => Value::String(String::new()),
        Shape::Items(_) => Value::Array(Vec::new()),
        shape => value(shape, element.pointer),
    }
}

/// Adds the fields that Go writes even when nobody set them.
pub(crate) fn fill(ty: &Type, fields: &mut Map<String, Value>) {
    for field in ty.fields {
        if field.inline {
            if let Shape::Struct(inlined) = field.ty
                && !field.pointer
            {
                fill(inlined, fields);
            }
        } else if is_always_written(field) && !fields.contains_key(field.json) {
            fields.insert(field.json.to_owned(), value(field.ty, field.pointer));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_struct_that_nobody_filled_has_the_fields_go_writes() {
        let zero = |api_version, kind| value(Shape::Struct(crate::type_of(api_version, kind).unwrap()), false);
        assert_eq!(zero("v1", "Pod"), json!({"metadata": {}, "spec": {"containers": null}, "status": {}}));
        assert_eq!(
            zero("apps/v1", "Deployment"),
            json!({
                "metadata": {},
                "spec": {
                    "selector": null,
                    "strategy": {},
                    "template": {"metadata": {}, "spec": {"containers": null}}
                },
                "status": {}
            })
        );
        assert_eq!(zero("rbac.authorization.k8s.io/v1", "Role"), json!({"metadata": {}, "rules": null}));
    }
}
