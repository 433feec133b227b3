//! Parts of objects that are kept without being understood.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

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
