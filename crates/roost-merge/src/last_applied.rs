//! The annotation in which kubectl keeps what it applied from the client's side.

use roost_object::merge::Node;
use serde_json::{Map, Value};

use crate::go_text;
use crate::managed::FieldSet;
use crate::typed;

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// All annotations together may not be larger.
const MAX_ANNOTATIONS_SIZE: usize = 256 * 1024;

/// Whether an object carries the annotation.
pub(crate) fn is_present(object: &Value) -> bool {
    annotation(object).is_some()
}

fn annotation(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())
}

/// Sets the annotation to what was applied, or removes it if it has become too large.
pub(crate) fn refresh(object: &mut Value, config: &Value) {
    let mut config = config.clone();
    if let Some(annotations) = annotations_mut(&mut config) {
        annotations.remove(ANNOTATION);
    } else if let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("annotations");
    }
    let mut text = String::new();
    go_text::write_json(&mut text, &config);
    text.push('\n');
    let Some(annotations) = annotations_mut(object) else { return };
    annotations.insert(ANNOTATION.to_owned(), text.into());
    let size: usize = annotations.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    if size > MAX_ANNOTATIONS_SIZE {
        annotations.remove(ANNOTATION);
    }
}

/// The annotations with empty texts for nulls, as stock reads them.
fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let annotations = object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()?;
    for value in annotations.values_mut().filter(|value| value.is_null()) {
        *value = Value::String(String::new());
    }
    Some(annotations)
}

/// The fields that kubectl applied from the client's side and nobody changed since: taking those over from there is no
/// conflict. None if the annotation says nothing usable.
pub(crate) fn allowed_conflicts<N: Node>(live: &Value, api_version: &str, node: N) -> Option<FieldSet> {
    let last: Value = serde_json::from_str(annotation(live)?).ok()?;
    if last.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
        return None;
    }
    typed::validate(&last, node).ok()?;
    typed::validate(live, node).ok()?;
    let comparison = typed::compare(&last, live, node).ok()?;
    let mut fields = typed::field_set(&last, node);
    fields.subtract(&comparison.modified);
    fields.subtract(&comparison.added);
    fields.subtract(&comparison.removed);
    Some(fields)
}
