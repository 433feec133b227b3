//! JSON merge patch (RFC 7386) with the habits of the library behind the stock server.

use roost_object::json;
use serde_json::{Map, Value};

use crate::PatchError;
use crate::lazy::Node;

/// Whether a body can be a merge patch at all: it must be an object.
pub fn check(patch: &Value) -> Result<(), PatchError> {
    let kind = match patch {
        Value::Object(_) => return Ok(()),
        Value::Null => return Err(PatchError::Malformed("Invalid JSON Patch".to_owned())),
        other => json::Kind::of(other).go(),
    };
    Err(PatchError::Malformed(format!(
        "error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    )))
}

/// A map whose patch is under way: the maps below it wait for it.
struct Level {
    target: Map<String, Value>,
    patch: serde_json::map::IntoIter,
    /// Where the finished map goes in the level above.
    name: String,
}

/// Applies a merge patch. Its depth is bounded by memory only.
pub fn apply(document: Value, patch: Value) -> Value {
    let (target, patch) = match (document, patch) {
        (Value::Object(target), Value::Object(patch)) => (target, patch),
        (_, mut patch) => {
            prune_nulls(&mut patch);
            return patch;
        }
    };
    let mut levels = vec![Level { target, patch: patch.into_iter(), name: String::new() }];
    loop {
        let Some(level) = levels.last_mut() else { return Value::Null };
        match level.patch.next() {
            Some((name, Value::Null)) => {
                level.target.remove(&name);
            }
            Some((name, mut item)) => match (level.target.remove(&name), item) {
                (Some(Value::Object(target)), Value::Object(patch)) => {
                    levels.push(Level { target, patch: patch.into_iter(), name });
                }
                (present, other) => {
                    item = other;
                    // What replaces an object is taken as it is; anything else loses its nulls.
                    if !matches!(present, Some(Value::Object(_))) {
                        prune_nulls(&mut item);
                    }
                    level.target.insert(name, item);
                }
            },
            None => {
                let Some(done) = levels.pop() else { return Value::Null };
                match levels.last_mut() {
                    Some(above) => above.target.insert(done.name, Value::Object(done.target)),
                    None => return Value::Object(done.target),
                };
            }
        }
    }
}

/// What a merge patch makes of the text of a document. The patch has been applied to the document's value before.
pub fn text(document: &str, patch: &str) -> Option<String> {
    let mut document = Node::document(document)?;
    merge(&mut document, Node::unopened(patch)?);
    Some(document.text())
}

fn merge(place: &mut Node, mut patch: Node) {
    let Some(fields) = place.fields() else {
        prune(&mut patch);
        *place = patch;
        return;
    };
    // What replaces an object is taken as it is.
    let Some(changes) = patch.fields() else {
        *place = patch;
        return;
    };
    for (name, mut change) in std::mem::take(changes) {
        if change.is_null() {
            fields.remove(&name);
            continue;
        }
        if let Some(current) = fields.get_mut(&name).filter(|current| !current.is_null()) {
            merge(current, change);
        } else {
            prune(&mut change);
            fields.insert(name, change);
        }
    }
}

/// Looks into everything that a patch brings, for nulls.
fn prune(node: &mut Node) {
    node.open_all();
    let mut rest = vec![node];
    while let Some(node) = rest.pop() {
        match node {
            Node::Object(fields) => {
                fields.retain(|_, value| !value.is_null());
                rest.extend(fields.values_mut());
            }
            Node::List(elements) => rest.extend(elements),
            Node::Text(_) => {}
        }
    }
}

/// Removes the fields that are null from a value and from everything in it. Null elements of lists stay.
fn prune_nulls(value: &mut Value) {
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            Value::Object(fields) => {
                fields.retain(|_, item| !item.is_null());
                rest.extend(fields.values_mut());
            }
            Value::Array(items) => rest.extend(items),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn patches_merge_as_stock_merges_them() {
        for (document, patch, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
            (json!({"a": 1}), json!({"a": [{"b": null}, null]}), json!({"a": [{}, null]})),
            (json!({"a": {"x": 1}}), json!({"a": [{"b": null}]}), json!({"a": [{"b": null}]})),
            (json!({"a": null}), json!({"a": {"b": null, "c": 1}}), json!({"a": {"c": 1}})),
            (json!([1]), json!({"a": null, "b": 1}), json!({"b": 1})),
        ] {
            assert_eq!(apply(document.clone(), patch.clone()), expected, "{document} {patch}");
        }
    }

    #[test]
    fn only_objects_are_patches() {
        assert!(check(&json!({})).is_ok());
        assert_eq!(check(&json!(null)).unwrap_err().to_string(), "Invalid JSON Patch");
        assert_eq!(
            check(&json!([])).unwrap_err().to_string(),
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
        );
    }

    #[test]
    fn deep_patches_need_no_stack() {
        let nest = |leaf: Value| (0..1_000).fold(leaf, |inner, _| json!({ "a": inner }));
        let (document, patch, expected) = (nest(json!({"x": 1})), nest(json!({"y": 2})), nest(json!({"x": 1, "y": 2})));
        let merged = apply(document, patch);
        let (mut left, mut right) = (&merged, &expected);
        while let (Some(below), Some(twin)) = (left.get("a"), right.get("a")) {
            (left, right) = (below, twin);
        }
        assert_eq!(left, right);
        assert_eq!(left, &json!({"x": 1, "y": 2}));
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from), (0..3).prop_map(Value::from)];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn object() -> impl Strategy<Value = Value> {
        prop::collection::btree_map("[abc]", json_value(), 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    fn without_nulls(mut value: Value) -> Value {
        prune_nulls(&mut value);
        value
    }

    #[test]
    fn what_replaces_an_object_stays_as_it_is_written() {
        let document = r#"{"kind":"K","a":{"z":1,"y":{"x":1,"w":2}},"b":{"d":1,"c":2},"list":[1]}"#;
        let patch = r#"{"a":{"y":[{"b":1,"a":null}],"v":{"b":1,"a":null}},"list":[{"b":1,"a":null,"a":2},null]}"#;
        let expected = r#"{"a":{"v":{"b":1},"y":[{"b":1,"a":null}],"z":1},"b":{"d":1,"c":2},"kind":"K","list":[{"a":2,"b":1},null]}"#;
        assert_eq!(text(document, patch).as_deref(), Some(expected));
    }

    proptest! {
        #[test]
        fn the_text_says_what_the_value_says(document in object(), patch in object()) {
            let text = text(&document.to_string(), &patch.to_string()).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), apply(document, patch));
        }

        #[test]
        fn a_patch_applies_once(document in object(), patch in object()) {
            let once = apply(document.map_arrays(), patch.map_arrays());
            prop_assert_eq!(apply(once.clone(), patch.map_arrays()), once);
        }

        #[test]
        fn an_empty_patch_changes_nothing(document in object()) {
            prop_assert_eq!(apply(document.clone(), json!({})), document);
        }

        #[test]
        fn a_patch_on_nothing_is_the_patch_without_nulls(patch in object()) {
            prop_assert_eq!(apply(json!({}), patch.clone()), without_nulls(patch));
        }
    }

    trait MapArrays {
        fn map_arrays(&self) -> Value;
    }

    impl MapArrays for Value {
        /// The value with its lists as texts: inside of lists stock's nulls depend on what the list replaces.
        fn map_arrays(&self) -> Value {
            match self {
                Value::Array(items) => Value::String(format!("{items:?}")),
                Value::Object(fields) => {
                    Value::Object(fields.iter().map(|(name, item)| (name.clone(), item.map_arrays())).collect())
                }
                other => other.clone(),
            }
        }
    }
}
