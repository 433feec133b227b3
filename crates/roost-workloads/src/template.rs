//! From a template to a pod.

use serde_json::{Value, json};

use crate::metadata;

/// The longest name that is still the start of a generated one.
const LONGEST_PREFIX: usize = 253;

/// A pod of an owner, by the owner's template, with a name that the server completes.
pub fn pod(owner: &Value, template: &Value) -> Value {
    let name = owner["metadata"]["name"].as_str().unwrap_or_default();
    let prefix = format!("{name}-");
    let prefix = if prefix.len() > LONGEST_PREFIX { name.to_owned() } else { prefix };
    let mut own = json!({
        "generateName": prefix,
        "namespace": owner["metadata"]["namespace"],
        "ownerReferences": [metadata::controller_reference(owner)],
    });
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template["metadata"].get(field) {
            own[field] = value.clone();
        }
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": template["spec"]})
}
