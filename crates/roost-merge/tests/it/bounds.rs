//! What outsiders send cannot exhaust a thread.

use roost_merge::apply::{self, Tracking};
use roost_merge::{PatchError, json_patch, merge_patch, strategic};
use serde_json::{Value, json};

use crate::schema::{API_VERSION, thing};
use crate::strategic::pod;
use crate::updates::{NOW, object};

/// A value as deep as the reader of request bodies lets through.
fn deep(leaf: Value) -> Value {
    (0..roost_object::json::MAX_DEPTH - 8).fold(leaf, |below, _| json!({ "a": below }))
}

#[test]
fn the_deepest_objects_are_tracked_and_merged() {
    let request = Tracking::new("m", API_VERSION, NOW);
    let mut live = object(json!({"spec": {"free": deep(json!(1))}}));
    apply::update(None, &mut live, &request, thing());
    assert!(live["metadata"]["managedFields"].is_array());
    live["metadata"]["uid"] = json!("u");
    let mut new = live.clone();
    new["spec"]["free"] = deep(json!(2));
    apply::update(Some(&live), &mut new, &request, thing());
    assert_ne!(new["metadata"]["managedFields"], Value::Null);
    let config = object(json!({"spec": {"free": deep(json!(3))}}));
    let applied = apply::apply(&new, &config, &request, true, thing()).unwrap();
    assert_eq!(applied["spec"], config["spec"]);
    let dropped = apply::apply(&applied, &object(json!({})), &request, true, thing()).unwrap();
    assert_ne!(dropped, applied);
}

#[test]
fn the_deepest_patches_merge() {
    let document = json!({"metadata": {"annotations": deep(json!(1))}});
    let patch = json!({"metadata": {"annotations": deep(json!(2))}});
    assert_eq!(merge_patch::apply(document.clone(), patch.clone()), patch);
    assert!(matches!(strategic::apply(document, patch.clone(), pod()), Err(PatchError::Internal(_))));
    assert_eq!(strategic::apply(json!({}), patch.clone(), pod()), Ok(patch));
    let deeper = deep(deep(json!(1)));
    assert!(matches!(strategic::apply(json!({}), deeper, pod()), Err(PatchError::Malformed(_))));
}

#[test]
fn copies_cannot_double_for_long() {
    let operations: Vec<_> = (0..64).map(|_| json!({"op": "copy", "from": "", "path": "/a/-"})).collect();
    assert!(json_patch::apply(&json!({"a": []}), json!(operations).to_string().as_bytes()).is_err());
    let operations: Vec<_> = (0..64).map(|_| json!({"op": "copy", "from": "/a", "path": "/a/a"})).collect();
    let result = json_patch::apply(&json!({"a": {"a": 1}}), json!(operations).to_string().as_bytes());
    assert!(result.is_err() || result.unwrap().to_string().len() < 3 << 20);
}

/// Each of these would take minutes if a step of the way were quadratic.
#[test]
fn large_lists_take_linear_work() {
    let names = |count: u32| (0..count).map(move |number| format!("{:05}", number.wrapping_mul(7919) % count));
    let items: Vec<_> = names(20_000).map(|name| json!({ "name": name })).collect();
    let request = Tracking::new("m", API_VERSION, NOW);
    let config = object(json!({"spec": {"items": items}}));
    let mut live = apply::apply(apply::NOTHING, &config, &request, false, thing()).unwrap();
    live["metadata"]["uid"] = json!("u");
    let mut new = live.clone();
    new["spec"]["items"].as_array_mut().unwrap().reverse();
    apply::update(Some(&live), &mut new, &request, thing());
    assert_eq!(new["metadata"]["managedFields"], live["metadata"]["managedFields"]);
    let fewer = apply::apply(&live, &object(json!({})), &request, false, thing()).unwrap();
    assert!(fewer.get("spec").is_none());

    let scalars: Vec<_> = names(30_000).collect();
    let document = json!({"metadata": {"finalizers": scalars}, "spec": {"containers": items}});
    let deletions: Vec<_> = names(20_000).map(|name| json!({"name": name, "$patch": "delete"})).collect();
    let patch = json!({"metadata": {"finalizers": scalars}, "spec": {"containers": items}});
    assert_eq!(strategic::apply(document.clone(), patch, pod()), Ok(document.clone()));
    let patched = strategic::apply(document, json!({"spec": {"containers": deletions}}), pod()).unwrap();
    assert_eq!(patched["spec"]["containers"], json!([]));

    let numbers = json!({ "a": vec![0; 200_000] });
    let operations: Vec<_> = (0..10_000).map(|_| json!({"op": "add", "path": "/a/0", "value": 1})).collect();
    assert!(json_patch::apply(&numbers, json!(operations).to_string().as_bytes()).is_err());
    let operations: Vec<_> = (0..10_000).map(|_| json!({"op": "move", "from": "/a", "path": "/a"})).collect();
    assert!(json_patch::apply(&numbers, json!(operations).to_string().as_bytes()).is_err());
}
