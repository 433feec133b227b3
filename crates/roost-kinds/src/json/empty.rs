//! Lists and maps with nothing in them. Go tells them from missing ones as long as it has the object in memory; in JSON
//! only some of them are written, and protobuf has no way to write one. Schemas of custom resources are alike: where items
//! are neither a schema nor a list, Go writes a null, which nobody reads back.

use std::borrow::Cow;

use serde_json::Value;

use crate::table::{Field, Shape, Type};
use crate::zero;

/// The form that decides which of them go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Written to JSON.
    Written,
    /// Written to JSON and read again.
    Json,
    /// Written to protobuf and read again.
    Protobuf,
    /// With nothing of which Go's semantic comparison says that it is as good as missing.
    Compared,
}

/// The object as Go writes it to JSON: this is what owners of fields, webhooks and policies see.
pub fn written<'a>(object: &'a Value, ty: &'static Type) -> Cow<'a, Value> {
    in_form(object, ty, Form::Written)
}

/// The object as stock compares it with another one to find out whether something changed.
pub fn compared<'a>(object: &'a Value, ty: &'static Type) -> Cow<'a, Value> {
    in_form(object, ty, Form::Compared)
}

/// The object as a stock server stores it.
pub fn stored<'a>(object: &'a Value, ty: &'static Type) -> Cow<'a, Value> {
    in_form(object, ty, if keeps_empty(ty) { Form::Json } else { Form::Protobuf })
}

/// Stock stores most kinds as protobuf, which does not tell an empty list or map from a missing one; definitions of custom
/// resources and API services are stored as JSON, which does.
fn keeps_empty(ty: &Type) -> bool {
    ty.openapi.starts_with("io.k8s.apiextensions-apiserver.") || ty.openapi.starts_with("io.k8s.kube-aggregator.")
}

fn in_form<'a>(object: &'a Value, ty: &'static Type, form: Form) -> Cow<'a, Value> {
    if !loses(object, Shape::Struct(ty), form) {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    clear(&mut object, Shape::Struct(ty), form);
    Cow::Owned(object)
}

/// Whether anything is empty at all. Most values are not, and those need no look at their types.
fn holds_empty(value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements.is_empty() || elements.iter().any(holds_empty),
        Value::Object(fields) => fields.is_empty() || fields.values().any(holds_empty),
        Value::Null => true,
        _ => false,
    }
}

/// Whether the value of a field is left out in the form.
fn goes(field: &Field, value: &Value, form: Form) -> bool {
    let is_empty = match (value, field.ty) {
        (Value::Array(elements), Shape::List(_) | Shape::Items(_)) => elements.is_empty(),
        (Value::Object(entries), Shape::Map(_)) => entries.is_empty(),
        (value, Shape::SchemaOrArray(_)) => {
            return matches!(form, Form::Json | Form::Protobuf) && holds_neither(value);
        }
        _ => false,
    };
    is_empty && (matches!(form, Form::Protobuf | Form::Compared) || (field.omit.empty && !field.pointer))
}

/// Whether what may be a schema or a list is neither.
fn holds_neither(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// Whether the value of a field is left out of JSON because there is nothing in it.
pub(super) fn is_unwritten(field: &Field, value: &Value) -> bool {
    goes(field, value, Form::Written)
}

/// Whether the form leaves something out of the value.
fn loses(value: &Value, shape: Shape, form: Form) -> bool {
    if !holds_empty(value) {
        return false;
    }
    if may_be_neither(shape) && value.is_array() && holds_neither(value) {
        return true;
    }
    let goes_below = |field: &Field, value: &Value| goes(field, value, form) || loses(value, field.ty, form);
    match (beside_schemas(shape, value), value) {
        (Shape::Struct(ty), Value::Object(fields)) => fields
            .iter()
            .any(|(name, value)| holds_empty(value) && ty.field(name).is_some_and(|field| goes_below(field, value))),
        (shape, value) => children(shape).is_some_and(|shape| match value {
            Value::Array(elements) => elements.iter().any(|element| loses(element, shape, form)),
            Value::Object(entries) => entries.values().any(|entry| loses(entry, shape, form)),
            _ => false,
        }),
    }
}

/// Leaves out what the form does not have.
fn clear(value: &mut Value, shape: Shape, form: Form) {
    if may_be_neither(shape) && holds_neither(value) {
        *value = Value::Null;
        return;
    }
    match (beside_schemas(shape, value), value) {
        (Shape::Struct(ty), Value::Object(fields)) => fields.retain(|name, value| {
            let Some(field) = ty.field(name) else { return true };
            if !goes(field, value, form) {
                clear(value, field.ty, form);
                return true;
            }
            *value = Value::Null;
            zero::is_always_written(field)
        }),
        (shape, value) => {
            let Some(shape) = children(shape) else { return };
            match value {
                Value::Array(elements) => elements.iter_mut().for_each(|element| clear(element, shape, form)),
                Value::Object(entries) => entries.values_mut().for_each(|entry| clear(entry, shape, form)),
                _ => {}
            }
        }
    }
}

fn may_be_neither(shape: Shape) -> bool {
    matches!(shape, Shape::SchemaOrArray(_) | Shape::SchemaOrStringArray(_))
}

/// What a place holds where it may hold a schema or something simpler.
fn beside_schemas(shape: Shape, value: &Value) -> Shape {
    match (shape, value) {
        (
            Shape::SchemaOrBool(schema) | Shape::SchemaOrArray(schema) | Shape::SchemaOrStringArray(schema),
            Value::Object(_),
        ) => schema.ty,
        (Shape::SchemaOrArray(schema), _) => Shape::List(schema),
        _ => shape,
    }
}

/// The shape of the entries of a list or map.
fn children(shape: Shape) -> Option<Shape> {
    match shape {
        Shape::List(element) | Shape::Items(element) | Shape::Map(element) => Some(element.ty),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(value: &Value) -> [Value; 2] {
        let ty = crate::type_of("rbac.authorization.k8s.io/v1", "Role").unwrap();
        let decoded = crate::json::decode(value.clone(), ty).unwrap().value;
        [written(&decoded, ty).into_owned(), stored(&decoded, ty).into_owned()]
    }

    #[test]
    fn what_is_empty_is_written_where_the_field_always_is_and_stored_nowhere() {
        let sent = json!({"metadata": {"finalizers": [], "labels": {}}, "rules": []});
        assert_eq!(role(&sent), [json!({"metadata": {}, "rules": []}), json!({"metadata": {}, "rules": null})]);
        let sent = json!({"rules": [{"verbs": [], "resources": []}]});
        assert_eq!(
            role(&sent),
            [json!({"metadata": {}, "rules": [{"verbs": []}]}), json!({"metadata": {}, "rules": [{"verbs": null}]})]
        );
    }

    #[test]
    fn a_struct_without_fields_is_no_empty_map() {
        let ty = crate::type_of("v1", "Pod").unwrap();
        let sent = json!({"spec": {"containers": [], "securityContext": {}, "nodeSelector": {}}});
        let pod = crate::json::decode(sent, ty).unwrap().value;
        let spec = json!({"containers": null, "securityContext": {}});
        assert_eq!(*stored(&pod, ty), json!({"metadata": {}, "spec": spec, "status": {}}));
        assert!(matches!(written(&json!({"spec": {"securityContext": {}}}), ty), Cow::Borrowed(_)));
    }

    #[test]
    fn definitions_are_stored_as_they_are_written() {
        let ty = crate::type_of("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
        let sent = json!({"spec": {"names": {"shortNames": [], "kind": "A"}, "versions": []}});
        let definition = crate::json::decode(sent, ty).unwrap().value;
        assert_eq!(stored(&definition, ty)["spec"]["versions"], json!([]));
        assert!(stored(&definition, ty)["spec"]["names"].get("shortNames").is_none());
    }

    #[test]
    fn items_that_are_neither_schema_nor_list_are_written_but_not_read_back() {
        let ty = crate::type_of("apiextensions.k8s.io/v1", "CustomResourceDefinition").unwrap();
        for items in [json!(1), json!("a"), json!([])] {
            let sent = json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": {"items": items}}}]}});
            let definition = crate::json::decode(sent, ty).unwrap().value;
            let schema = |object: Cow<'_, Value>| object["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
            assert_eq!(schema(written(&definition, ty)), json!({"items": null}));
            assert_eq!(schema(compared(&definition, ty)), json!({"items": null}));
            assert_eq!(schema(stored(&definition, ty)), json!({}));
        }
    }
}
