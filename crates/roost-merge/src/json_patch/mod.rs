//! JSON patch (RFC 6902) with the habits of the library behind the stock server.

mod document;
mod text;

use document::{Spent, add, encoded_size, find, get, position, remove};
use roost_object::json;
use serde_json::{Map, Value};

pub use text::{check_tests, text};

use crate::PatchError;

/// How many operations a patch may have; stock's limit.
pub const MAX_OPERATIONS: usize = 10_000;

/// How many bytes of JSON the copies of one patch may add together; stock's limit, which stops patches that double a
/// value with each operation.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// Applies a patch. Nothing is changed unless every operation succeeds.
pub fn apply(document: &Value, patch: &[u8]) -> Result<Value, PatchError> {
    let operations = decode(patch)?;
    let mut document = document.clone();
    let mut spent = Spent::default();
    for operation in operations {
        run(&mut document, operation, &mut spent).map_err(PatchError::Unprocessable)?;
    }
    Ok(document)
}

fn decode(patch: &[u8]) -> Result<Vec<Map<String, Value>>, PatchError> {
    let malformed = |error: &dyn std::fmt::Display| PatchError::Malformed(format!("error decoding patch: {error}"));
    let mismatch = |value: &Value, into: &str| {
        malformed(&format!("json: cannot unmarshal {} into Go {into}", json::Kind::of(value).go()))
    };
    let operations = match json::read(patch).map_err(|error| malformed(&error))?.value {
        Value::Array(operations) => operations,
        Value::Null => Vec::new(),
        other => return Err(mismatch(&other, "value of type []handlers.jsonPatchOp")),
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooManyOperations { count: operations.len() });
    }
    let check = |operation| match operation {
        Value::Object(fields) => {
            for name in ["op", "path", "from"] {
                match fields.get(name) {
                    None | Some(Value::Null | Value::String(_)) => {}
                    Some(other) => {
                        return Err(mismatch(other, &format!("struct field jsonPatchOp.{name} of type string")));
                    }
                }
            }
            Ok(fields)
        }
        Value::Null => Ok(Map::new()),
        other => Err(mismatch(&other, "value of type handlers.jsonPatchOp")),
    };
    operations.into_iter().map(check).collect()
}

fn run(document: &mut Value, mut operation: Map<String, Value>, spent: &mut Spent) -> Result<(), String> {
    let value = operation.remove("value");
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let kind = text("op").unwrap_or("unknown");
    let path = |verb: &str| text("path").ok_or(format!("{verb} operation failed to decode path: missing value"));
    let from = |verb: &str| text("from").ok_or(format!("{verb} operation failed to decode from: missing value"));
    match kind {
        "add" => {
            let path = path("add")?;
            let value = spent.fitting(value.unwrap_or_default(), path)?;
            let (container, key) = find(document, path)
                .ok_or(format!("add operation does not apply: doc is missing path: \"{path}\": missing value"))?;
            add(container, &key, value, spent).map_err(|error| format!("error in add for path: '{path}': {error}"))
        }
        "remove" => {
            let path = path("remove")?;
            let (container, key) = find(document, path)
                .ok_or(format!("remove operation does not apply: doc is missing path: \"{path}\": missing value"))?;
            remove(container, &key, spent)
                .map_err(|error| format!("error in remove for path: '{path}': {error}"))
                .map(drop)
        }
        "replace" => replace(document, path("replace")?, value, spent),
        "move" => {
            let from = from("move")?;
            let (container, key) = find(document, from)
                .ok_or(format!("move operation does not apply: doc is missing from path: {from}: missing value"))?;
            let moved =
                remove(container, &key, spent).map_err(|error| format!("error in move for path: '{key}': {error}"))?;
            let path = path("move")?;
            let moved = spent.fitting(moved, path)?;
            let (container, key) = find(document, path).ok_or(format!(
                "move operation does not apply: doc is missing destination path: {path}: missing value"
            ))?;
            add(container, &key, moved, spent).map_err(|error| format!("error in move for path: '{path}': {error}"))
        }
        "copy" => copy(document, from("copy")?, path("copy")?, spent),
        "test" => test(document, path("test")?, value.as_ref()),
        other => Err(format!("Unexpected kind: {other}")),
    }
}

/// Replacing a field that is not there adds it; replacing a list element that is not there fails.
fn replace(document: &mut Value, path: &str, value: Option<Value>, spent: &mut Spent) -> Result<(), String> {
    if path.is_empty() {
        return match value {
            Some(value @ (Value::Object(_) | Value::Array(_))) => {
                *document = value;
                Ok(())
            }
            _ => Err("replace operation value must be object or array: %!w(<nil>)".to_owned()),
        };
    }
    let (container, key) = find(document, path)
        .ok_or(format!("replace operation does not apply: doc is missing path: {path}: missing value"))?;
    let value = spent.fitting(value.unwrap_or_default(), path)?;
    match container {
        Value::Array(items) => {
            let at = position(&key, items.len())
                .map_err(|_| format!("replace operation does not apply: doc is missing key: {path}: missing value"))?;
            items[at] = value;
        }
        Value::Object(fields) => {
            fields.insert(key, value);
        }
        _ => {}
    }
    Ok(())
}

fn copy(document: &mut Value, from: &str, path: &str, spent: &mut Spent) -> Result<(), String> {
    let (container, key) = find(document, from)
        .ok_or(format!("copy operation does not apply: doc is missing from path: {from}: missing value"))?;
    let source = get(container, &key).map_err(|error| format!("error in copy for from: '{from}': {error}"))?;
    spent.copied += source.map_or(0, |source| encoded_size(source, MAX_COPIED_BYTES));
    if spent.copied > MAX_COPIED_BYTES {
        return Err(format!(
            "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit {MAX_COPIED_BYTES}",
            spent.copied
        ));
    }
    let duplicate = spent.fitting(source.cloned().unwrap_or_default(), path)?;
    let (container, key) = find(document, path)
        .ok_or(format!("copy operation does not apply: doc is missing destination path: {path}: missing value"))?;
    add(container, &key, duplicate, spent).map_err(|error| format!("error while adding value during copy: {error}"))
}

fn test(document: &mut Value, path: &str, expected: Option<&Value>) -> Result<(), String> {
    let failed = || Err(format!("testing value {path} failed: test failed"));
    if path.is_empty() {
        return if Some(&*document) == expected { Ok(()) } else { failed() };
    }
    let (container, key) =
        find(document, path).ok_or(format!("test operation does not apply: is missing path: {path}: missing value"))?;
    let actual = get(container, &key).map_err(|error| format!("error in test for path: '{path}': {error}"))?;
    if actual.unwrap_or(&Value::Null) == expected.unwrap_or(&Value::Null) { Ok(()) } else { failed() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(document: &Value, patch: &Value) -> Result<Value, PatchError> {
        apply(document, patch.to_string().as_bytes())
    }

    #[test]
    fn operations_change_what_they_name() {
        let document = json!({"a": {"b": [1, 2, 3]}, "n": null, "x/y": {"~": 1}});
        for (patch, expected) in [
            (
                json!([{"op": "add", "path": "/c", "value": 1}]),
                json!({"a": {"b": [1, 2, 3]}, "n": null, "x/y": {"~": 1}, "c": 1}),
            ),
            (
                json!([{"op": "replace", "path": "/missing", "value": 1}]),
                json!({"a": {"b": [1, 2, 3]}, "n": null, "x/y": {"~": 1}, "missing": 1}),
            ),
            (
                json!([{"op": "add", "path": "/a/b/-", "value": 4}]),
                json!({"a": {"b": [1, 2, 3, 4]}, "n": null, "x/y": {"~": 1}}),
            ),
            (
                json!([{"op": "add", "path": "/a/b/1", "value": 4}]),
                json!({"a": {"b": [1, 4, 2, 3]}, "n": null, "x/y": {"~": 1}}),
            ),
            (
                json!([{"op": "add", "path": "/a/b/-1", "value": 4}]),
                json!({"a": {"b": [1, 2, 3, 4]}, "n": null, "x/y": {"~": 1}}),
            ),
            (json!([{"op": "remove", "path": "/a/b/-1"}]), json!({"a": {"b": [1, 2]}, "n": null, "x/y": {"~": 1}})),
            (
                json!([{"op": "replace", "path": "/a/b/0", "value": 0}]),
                json!({"a": {"b": [0, 2, 3]}, "n": null, "x/y": {"~": 1}}),
            ),
            (json!([{"op": "remove", "path": "/x~1y/~0"}]), json!({"a": {"b": [1, 2, 3]}, "n": null, "x/y": {}})),
            (
                json!([{"op": "move", "from": "/a/b", "path": "/b"}]),
                json!({"a": {}, "b": [1, 2, 3], "n": null, "x/y": {"~": 1}}),
            ),
            (
                json!([{"op": "copy", "from": "/a/b/0", "path": "/n"}]),
                json!({"a": {"b": [1, 2, 3]}, "n": 1, "x/y": {"~": 1}}),
            ),
            (json!([{"op": "test", "path": "/missing", "value": null}]), document.clone()),
            (json!([{"op": "test", "path": "/n"}]), document.clone()),
            (
                json!([{"op": "add", "path": "ignored/c"}]),
                json!({"a": {"b": [1, 2, 3]}, "n": null, "x/y": {"~": 1}, "c": null}),
            ),
            (json!([]), document.clone()),
            (json!(null), document.clone()),
        ] {
            assert_eq!(patched(&document, &patch).unwrap(), expected, "{patch}");
        }
    }

    #[test]
    fn what_does_not_apply_says_why() {
        let document = json!({"a": {"b": [1]}, "s": "x", "n": null});
        for (operation, expected) in [
            (
                json!({"op": "remove", "path": "/zz"}),
                "error in remove for path: '/zz': Unable to remove nonexistent key: zz: missing value",
            ),
            (
                json!({"op": "remove", "path": "/zz/y"}),
                "remove operation does not apply: doc is missing path: \"/zz/y\": missing value",
            ),
            (
                json!({"op": "add", "path": "/s/y", "value": 1}),
                "add operation does not apply: doc is missing path: \"/s/y\": missing value",
            ),
            (
                json!({"op": "add", "path": "/n/y", "value": 1}),
                "add operation does not apply: doc is missing path: \"/n/y\": missing value",
            ),
            (
                json!({"op": "add", "path": "", "value": {}}),
                "add operation does not apply: doc is missing path: \"\": missing value",
            ),
            (
                json!({"op": "add", "path": "/a/b/2", "value": 1}),
                "error in add for path: '/a/b/2': Unable to access invalid index: 2: invalid index referenced",
            ),
            (
                json!({"op": "replace", "path": "/a/b/1", "value": 1}),
                "replace operation does not apply: doc is missing key: /a/b/1: missing value",
            ),
            (
                json!({"op": "replace", "path": "", "value": 1}),
                "replace operation value must be object or array: %!w(<nil>)",
            ),
            (json!({"op": "test", "path": "/s", "value": "y"}), "testing value /s failed: test failed"),
            (json!({"op": "test", "path": "/s"}), "testing value /s failed: test failed"),
            (
                json!({"op": "move", "from": "/zz", "path": "/y"}),
                "error in move for path: 'zz': Unable to remove nonexistent key: zz: missing value",
            ),
            (json!({"op": "jump", "path": "/y"}), "Unexpected kind: jump"),
            (json!({"path": "/y"}), "Unexpected kind: unknown"),
            (json!({"op": "add"}), "add operation failed to decode path: missing value"),
        ] {
            assert_eq!(patched(&document, &json!([operation])), Err(PatchError::Unprocessable(expected.into())));
        }
    }

    #[test]
    fn bombs_are_refused() {
        let doubling: Vec<_> = (0..200).map(|_| json!({"op": "copy", "from": "/a", "path": "/a/-"})).collect();
        let document = json!({"a": ["x".repeat(1000)]});
        let error = patched(&document, &Value::Array(doubling)).unwrap_err();
        assert!(error.to_string().starts_with("Unable to complete the copy"), "{error}");
        let nesting: Vec<_> = (1..300)
            .map(|step| json!({"op": "add", "path": "/a/0".repeat(step), "value": {"a": [{"a": [0]}]}}))
            .collect();
        let error = patched(&json!({"a": [0]}), &Value::Array(nesting)).unwrap_err();
        assert_eq!(error, PatchError::Unprocessable("exceeded max depth".into()));
        let many = vec![json!({"op": "test", "path": "/a"}); MAX_OPERATIONS + 1];
        let error = patched(&document, &Value::Array(many)).unwrap_err();
        assert_eq!(error.to_string(), "The allowed maximum operations in a JSON patch is 10000, got 10001");
        assert_eq!(error.status().code, 413);
    }

    #[test]
    fn what_is_no_patch_is_refused() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        for (patch, expected) in [
            (r#"{"op":"add"}"#, "json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
            ("[1]", "json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
            (r#"[{"op":5}]"#, "json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
            ("[{", "unexpected end of JSON input"),
            ("", "unexpected end of JSON input"),
            ("garbage", "invalid character 'g' looking for beginning of value"),
            (deep.as_str(), "invalid character '[' exceeded max depth"),
        ] {
            let error = apply(&json!({}), patch.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), format!("error decoding patch: {expected}"));
            assert_eq!(error.status().code, 400);
        }
    }
}
