//! Objects of the built-in kinds from trees, by the rules of the converter that stock uses after a strategic merge and an
//! apply. It words its complaints otherwise than the JSON decoder, and cuts numbers to the size of their fields.

use roost_object::Quantity;
use roost_object::time::Timestamp;
use serde_json::{Map, Value};

use crate::json::{self, Decoded, bytes};
use crate::table::{Shape, Type};

/// Makes an object of a tree, or returns the first complaint in the order of the type's fields.
pub fn convert(tree: Value, ty: &'static Type) -> Result<Decoded, String> {
    value(&tree, Shape::Struct(ty), ty.go)?;
    json::decode_wrapping(tree, ty).map_err(|error| error.to_string())
}

fn value(tree: &Value, shape: Shape, go: &str) -> Result<(), String> {
    if tree.is_null() {
        return Ok(());
    }
    match (shape, tree) {
        (Shape::Struct(ty), Value::Object(fields)) => structure(fields, ty),
        (Shape::Struct(_), _) => Err(format!("cannot restore struct from: {}", go_kind(tree))),
        (Shape::Map(element), Value::Object(entries)) => {
            entries.values().try_for_each(|entry| value(entry, element.ty, element.go))
        }
        (Shape::Map(_), _) => Err(format!("cannot restore map from {}", go_kind(tree))),
        (Shape::List(element) | Shape::Items(element), Value::Array(elements)) => {
            elements.iter().try_for_each(|item| value(item, element.ty, element.go))
        }
        (Shape::Bytes, Value::String(text)) => {
            let failed = |offset| format!("error decoding from json: illegal base64 data at input byte {offset}");
            bytes::decode(text).map(drop).map_err(failed)
        }
        (Shape::List(_) | Shape::Items(_) | Shape::Bytes, _) if !tree.is_array() => {
            Err(format!("cannot restore slice from {}", go_kind(tree)))
        }
        (Shape::String | Shape::Bool | Shape::Int32 | Shape::Int64 | Shape::Float64, _) => scalar(tree, shape, go),
        (Shape::Time | Shape::MicroTime, Value::String(text)) => {
            let micros = matches!(shape, Shape::MicroTime);
            let parsed = if micros { Timestamp::parse_micros(text) } else { Timestamp::parse(text) };
            parsed.map(drop).map_err(|error| error.to_string())
        }
        (Shape::Time | Shape::MicroTime, _) => Err(unreadable(tree, "string")),
        (Shape::Quantity, _) => {
            let text = tree.as_str().map_or_else(|| tree.to_string(), str::to_owned);
            Quantity::parse(text.trim_ascii()).map(drop).map_err(|error| error.to_string())
        }
        (Shape::IntOrString, Value::String(_)) => Ok(()),
        (Shape::IntOrString, _) if tree.as_i64().is_some_and(|number| i32::try_from(number).is_ok()) => Ok(()),
        (Shape::IntOrString, _) => Err(unreadable(tree, "int32")),
        _ => Ok(()),
    }
}

fn structure(fields: &Map<String, Value>, ty: &'static Type) -> Result<(), String> {
    for field in ty.fields {
        match (field.inline, field.ty) {
            (true, Shape::Struct(inlined)) => structure(fields, inlined)?,
            _ => {
                if let Some(tree) = fields.get(field.json) {
                    value(tree, field.ty, field.go)?;
                }
            }
        }
    }
    Ok(())
}

/// Numbers become other numbers and nothing else; Go can make a text of a whole number, so that complaint is worded
/// otherwise.
fn scalar(tree: &Value, shape: Shape, go: &str) -> Result<(), String> {
    let cannot = || Err(format!("cannot convert {} to {go}", go_kind(tree)));
    match (shape, tree) {
        (Shape::String, Value::String(_)) | (Shape::Bool, Value::Bool(_)) | (Shape::Float64, Value::Number(_)) => {
            Ok(())
        }
        (Shape::String, Value::Number(number)) if !number.is_f64() => cannot(),
        (Shape::Int32 | Shape::Int64, Value::Number(number)) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() != 0.0 => cannot(),
            _ => Ok(()),
        },
        _ => Err(format!("unrecognized type: {}", kind_of(shape))),
    }
}

fn unreadable(tree: &Value, go: &str) -> String {
    let found = match tree {
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(number) if go == "int32" => match number.as_f64() {
            Some(float) if number.is_f64() && float.abs() < 1e21 => format!("number {float}"),
            _ => format!("number {number}"),
        },
        Value::Number(_) => "number".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
        Value::String(_) | Value::Null => "string".to_owned(),
    };
    format!("json: cannot unmarshal {found} into Go value of type {go}")
}

fn kind_of(shape: Shape) -> &'static str {
    match shape {
        Shape::String => "string",
        Shape::Bool => "bool",
        Shape::Int32 => "int32",
        Shape::Int64 => "int64",
        _ => "float64",
    }
}

/// The kind of Go value that JSON decodes to.
fn go_kind(tree: &Value) -> &'static str {
    match tree {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn complaints_are_worded_as_the_converter_words_them() {
        let ty = crate::type_of("apps/v1", "Deployment").unwrap();
        let cases = [
            (json!({"spec": []}), "cannot restore struct from: slice"),
            (json!({"spec": "text"}), "cannot restore struct from: string"),
            (json!({"spec": {"template": {"spec": {"containers": {"name": "c"}}}}}), "cannot restore slice from map"),
            (json!({"spec": {"replicas": "many"}}), "unrecognized type: int32"),
            (json!({"spec": {"replicas": 1.5}}), "cannot convert float64 to int32"),
            (json!({"spec": {"paused": "yes"}}), "unrecognized type: bool"),
            (json!({"metadata": {"labels": {"a": 1}}}), "cannot convert int64 to string"),
            (json!({"metadata": {"labels": "a"}}), "cannot restore map from string"),
            (
                json!({"metadata": {"creationTimestamp": 5}}),
                "json: cannot unmarshal number into Go value of type string",
            ),
        ];
        for (tree, expected) in cases {
            assert_eq!(convert(tree.clone(), ty).unwrap_err(), expected, "{tree}");
        }
        assert!(convert(json!({"spec": {"replicas": 2, "selector": null}, "nonsense": 1}), ty).is_ok());
    }

    #[test]
    fn numbers_lose_the_bits_that_do_not_fit() {
        let ty = crate::type_of("apps/v1", "Deployment").unwrap();
        let converted = convert(json!({"spec": {"replicas": 4_294_967_301_i64}}), ty).unwrap().value;
        assert_eq!(converted["spec"]["replicas"], 5);
    }
}
