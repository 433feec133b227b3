//! What the schemas of fields say beyond their types: CEL rules, and the marks of well-known types.

use schemars::Schema;
use schemars::transform::Transform;
use serde::Serialize;
use serde_json::{Value, json};

/// The form of a quantity such as `8Gi`.
pub const QUANTITY_PATTERN: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// A CEL rule and what the user reads when it does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    rule: &'static str,
    message: &'static str,
}

impl Rule {
    /// A rule with its message.
    pub const fn new(rule: &'static str, message: &'static str) -> Self {
        Self { rule, message }
    }
}

/// Adds CEL rules to the schema of a type or a field, after those that it has.
#[derive(Clone, Copy, Debug)]
pub struct Rules<const N: usize>(pub [Rule; N]);

impl<const N: usize> Transform for Rules<N> {
    fn transform(&mut self, schema: &mut Schema) {
        append(schema, &self.0);
    }
}

/// Adds CEL rules to the schema of the elements of a list.
#[derive(Clone, Copy, Debug)]
pub struct ItemRules<const N: usize>(pub [Rule; N]);

impl<const N: usize> Transform for ItemRules<N> {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(items) = schema.get_mut("items").and_then(|items| <&mut Schema>::try_from(items).ok()) {
            append(items, &self.0);
        }
    }
}

fn append(schema: &mut Schema, rules: &[Rule]) {
    let list = schema.ensure_object().entry("x-kubernetes-validations").or_insert_with(|| json!([]));
    if let Value::Array(list) = list {
        list.extend(rules.iter().map(|rule| json!(rule)));
    }
}

/// Marks the parts of a label selector, which is replaced as a whole.
pub fn label_selector(schema: &mut Schema) {
    schema.insert("x-kubernetes-map-type".to_owned(), json!("atomic"));
    let Some(expressions) = schema.get_mut("properties").and_then(|all| all.get_mut("matchExpressions")) else {
        return;
    };
    expressions["x-kubernetes-list-type"] = json!("atomic");
    expressions["items"]["properties"]["values"]["x-kubernetes-list-type"] = json!("atomic");
}

/// Bounds the fields of a list of `metav1.Condition`, and makes it a map by type.
pub fn conditions(schema: &mut Schema) {
    schema.insert("x-kubernetes-list-type".to_owned(), json!("map"));
    schema.insert("x-kubernetes-list-map-keys".to_owned(), json!(["type"]));
    let Some(fields) = schema.get_mut("items").and_then(|items| items.get_mut("properties")) else { return };
    let bounds = [
        ("message", json!({"maxLength": 32768})),
        ("observedGeneration", json!({"minimum": 0})),
        ("reason", json!({"minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"})),
        ("status", json!({"enum": ["True", "False", "Unknown"]})),
        ("type", json!({"maxLength": 316, "pattern": CONDITION_TYPE_PATTERN})),
    ];
    for (field, bounds) in bounds {
        if let (Some(field), Value::Object(bounds)) = (fields[field].as_object_mut(), bounds) {
            field.extend(bounds);
        }
    }
}

const CONDITION_TYPE_PATTERN: &str =
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$";

/// Takes the width from an integer that has none in the API.
pub fn any_width(schema: &mut Schema) {
    schema.remove("format");
}
