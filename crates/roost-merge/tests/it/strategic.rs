//! Strategic merge patches of built-in kinds.

use roost_kinds::TypeRef;
use roost_merge::PatchError;
use roost_merge::strategic::apply;
use serde_json::{Value, json};

pub(crate) fn pod() -> TypeRef {
    TypeRef::from(roost_kinds::type_of("v1", "Pod").expect("a built-in kind"))
}

fn patched(document: Value, patch: Value) -> Result<Value, PatchError> {
    apply(document, patch, pod())
}

#[test]
fn patches_merge_lists_by_key() {
    let containers = |list: Value| json!({"spec": {"containers": list}});
    for (document, patch, expected) in [
        (
            json!({"metadata": {"labels": {"a": "1", "b": "2"}}}),
            json!({"metadata": {"labels": {"a": null, "c": "3"}}}),
            json!({"metadata": {"labels": {"b": "2", "c": "3"}}}),
        ),
        (
            containers(json!([{"name": "a", "image": "x"}, {"name": "b", "image": "y"}])),
            containers(json!([{"name": "b", "image": "z"}, {"name": "c"}])),
            containers(json!([{"name": "a", "image": "x"}, {"name": "b", "image": "z"}, {"name": "c"}])),
        ),
        (
            containers(json!([{"name": "a"}, {"name": "b"}])),
            containers(json!([{"name": "a", "$patch": "delete"}, {"name": "c"}])),
            containers(json!([{"name": "c"}, {"name": "b"}])),
        ),
        (
            containers(json!([{"name": "a"}, {"name": "b"}])),
            containers(json!([{"$patch": "replace"}, {"name": "c"}])),
            containers(json!([{"name": "c"}])),
        ),
        (
            containers(json!([{"name": "a"}, {"name": "b"}])),
            json!({"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}),
            containers(json!([{"name": "b"}, {"name": "a"}])),
        ),
        (
            containers(json!([{"name": "a"}, {"name": "b"}, {"name": "c"}])),
            json!({"spec": {
                "$setElementOrder/containers": [{"name": "d"}, {"name": "c"}],
                "containers": [{"name": "d"}, {"name": "b", "$patch": "delete"}],
            }}),
            containers(json!([{"name": "a"}, {"name": "d"}, {"name": "c"}])),
        ),
        (
            json!({"metadata": {"finalizers": ["a", "b"]}}),
            json!({"metadata": {"finalizers": ["c", "a"]}}),
            json!({"metadata": {"finalizers": ["c", "a", "b"]}}),
        ),
        (
            json!({"metadata": {"finalizers": ["a", "b", "c"]}}),
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["b"]}}),
            json!({"metadata": {"finalizers": ["a", "c"]}}),
        ),
        (
            json!({"spec": {"tolerations": [{"key": "a"}]}}),
            json!({"spec": {"tolerations": [{"key": "b"}]}}),
            json!({"spec": {"tolerations": [{"key": "b"}]}}),
        ),
        (
            json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}),
            json!({"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]}}),
            json!({"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}}),
        ),
        (
            json!({"spec": {"nodeSelector": {"a": "b"}}}),
            json!({"spec": {"nodeSelector": {"$patch": "replace", "c": "d"}}}),
            json!({"spec": {"nodeSelector": {"c": "d"}}}),
        ),
        (
            json!({"spec": {"nodeSelector": {"a": "b"}}}),
            json!({"spec": {"nodeSelector": {"$patch": "delete"}, "affinity": {"$patch": "delete"}}}),
            json!({"spec": {"nodeSelector": {}}}),
        ),
        (
            json!({}),
            json!({"spec": {"affinity": {"x": null, "y": [{"z": null}]}}}),
            json!({"spec": {"affinity": {"y": [{}]}}}),
        ),
        (json!({"a": 1}), json!(null), json!({"a": 1})),
    ] {
        assert_eq!(patched(document.clone(), patch.clone()), Ok(expected), "{patch}");
    }
}

#[test]
fn what_does_not_apply_says_why() {
    let document =
        json!({"metadata": {"finalizers": ["a"]}, "spec": {"containers": [{"name": "a"}], "nodeSelector": {"a": "b"}}});
    for (patch, code, expected) in [
        (json!({"$patch": "bogus"}), 500, "unknown patch type: bogus in map: map[$patch:bogus]"),
        (
            json!({"spec": {"containers": [{"image": "x"}]}}),
            500,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            json!({"spec": {"containers": [{"name": "a", "$patch": "merge"}]}}),
            500,
            "merging lists cannot yet be specified in the patch",
        ),
        (
            json!({"spec": {"$setElementOrder/foo": []}}),
            500,
            r#"unable to find api field in struct PodSpec for the json field "foo""#,
        ),
        (json!({"$setElementOrder": []}), 400, "invalid patch format of setElementOrder list"),
        (json!({"$setElementOrder/foo": 1}), 500, "expected a []interface {}, but received a int64"),
        (json!({"$deleteFromPrimitiveList": []}), 400, "invalid patch format of primitive list"),
        (json!({"$retainKeys": 5}), 400, "invalid patch format of retainKeys"),
        (json!({"spec": {"$retainKeys": ["a"], "nodeName": "x"}}), 400, "invalid patch format of retainKeys"),
        (
            json!({"spec": {"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "a"}]}}),
            500,
            "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
        ),
        (json!({"spec": {"containers": ["x"]}}), 500, "list element types are not identical: [[map[name:a]] [x]]"),
        (json!([]), 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ] {
        let error = patched(document.clone(), patch.clone()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{patch}");
        assert_eq!(error.status().code, code, "{patch}");
    }
}
