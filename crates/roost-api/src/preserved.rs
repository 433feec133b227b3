//! Parts of objects that are kept without being understood.

use std::borrow::Cow;

use schemars::transform::Transform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// An object of a platform that is not run here: it is kept as it was written, and never read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Preserved(pub Map<String, Value>);

impl JsonSchema for Preserved {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Preserved")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "An object that is kept as it was written.",
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
        })
    }
}

/// Names one string in a preserved object, by the way to it: rules that read it do not compile otherwise.
#[derive(Clone, Copy, Debug)]
pub struct ReadByRules(pub &'static [&'static str]);

impl Transform for ReadByRules {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(properties) = object_with(self.0).get("properties") {
            schema.insert("properties".to_owned(), properties.clone());
        }
    }
}

/// The schema of a preserved object with a string at the end of the way.
fn object_with(way: &[&str]) -> Value {
    let description = "Named because rules read it; kept as it was written.";
    match way {
        [] => json!({"description": description, "type": "string"}),
        [name, rest @ ..] => json!({
            "description": description,
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
            "properties": {*name: object_with(rest)},
        }),
    }
}
