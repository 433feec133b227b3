//! Patches of documents.

use roost_kinds::TypeRef;
use roost_merge::{json_patch, merge_patch, strategic};
use roost_object::{Value, json};

use crate::{halves, type_of};

/// Every patch of every kind on every document: the bytes are a document and a patch with a zero byte between them.
pub fn patch(data: &[u8]) {
    let (document, patch) = halves(data);
    let Ok(document) = json::read(document).map(|document| document.value) else { return };
    if let Ok(patched) = json_patch::apply(&document, patch) {
        let again = json::read(patched.to_string().as_bytes()).map(|document| document.value);
        assert_eq!(again.ok(), Some(patched), "a patched document can be written and read");
    }
    let Ok(patch) = json::read(patch).map(|document| document.value) else { return };
    if merge_patch::check(&patch).is_ok() {
        let once = merge_patch::apply(document.clone(), patch.clone());
        if !has_null_in_list(&patch) {
            assert_eq!(once, merged(Some(&document), &patch), "a merge patch does what RFC 7386 says");
        }
        let twice = merge_patch::apply(once.clone(), patch.clone());
        assert_eq!(once, twice, "a merge patch that was applied changes nothing more");
    }
    let ty = type_of(&document);
    let _ = strategic::apply(document, patch, TypeRef::from(ty));
}

/// Whether a list holds a null somewhere, which stock takes out of objects in lists although the RFC does not.
fn has_null_in_list(patch: &Value) -> bool {
    let has_null = |value: &Value| value.to_string().contains("null");
    match patch {
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null_in_list),
        _ => false,
    }
}

/// A merge patch as RFC 7386 writes it down.
fn merged(document: Option<&Value>, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut fields = document.and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
        } else {
            let patched = merged(fields.get(name), change);
            fields.insert(name.clone(), patched);
        }
    }
    Value::Object(fields)
}
