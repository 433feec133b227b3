//! Server-side apply and the owners of fields.

use roost_kinds::TypeRef;
use roost_merge::apply::{self, Tracking};
use roost_merge::built_in;
use roost_merge::managed::{FieldSet, Managed};
use roost_object::{Value, json, yaml};

use crate::{halves, type_of};

const FIRST: &str = "2026-01-01T00:00:00Z";
const LATER: &str = "2026-01-01T00:00:09Z";

/// A live object and a configuration, with a zero byte between them: one is applied to the other, and written over it.
pub fn apply(data: &[u8]) {
    let (live, config) = halves(data);
    let Ok(live) = json::read(live).map(|document| document.value) else { return };
    let ty = type_of(&live);
    let Ok(live) = roost_kinds::json::decode(live, ty).map(|decoded| decoded.value) else { return };
    owners(&live);
    let Ok(config) = yaml::read(config).map(|document| document.value) else { return };
    let node = TypeRef::from(ty);
    let api_version = config.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
    let request = Tracking::new("fuzzer", &api_version, FIRST);
    if let Ok(typed) = roost_kinds::json::decode(config.clone(), ty) {
        update(&live, &typed.value, &Tracking { now: LATER, ..request }, node);
    }
    // Nobody gets this far without naming a version.
    if api_version.is_empty() || apply::check(&config, &request, node, built_in::holds).is_err() {
        return;
    }
    let Ok(applied) = apply::apply(&live, &config, &request, true, node) else { return };
    owners(&applied);
    // Of an object that nobody owns anything of, the next apply gives all to whoever was there before.
    if applied.pointer("/metadata/managedFields").is_none() {
        return;
    }
    let later = Tracking { now: LATER, ..request };
    let again = apply::apply(&applied, &config, &later, false, node);
    assert_eq!(again.as_ref(), Ok(&applied), "what was applied can be applied again and changes nothing");
}

/// What an object says of its owners can be written and read again.
fn owners(object: &Value) {
    let Ok(managed) = Managed::of(object) else { return };
    for entry in &managed.entries {
        let again = FieldSet::from_fields_v1(&entry.fields.to_fields_v1());
        assert_eq!(again.as_ref(), Ok(&entry.fields), "a set of fields can be written and read");
    }
    let mut copy = object.clone();
    managed.clone().store(&mut copy);
    let again = Managed::of(&copy).expect("what was written can be read");
    assert_eq!(again.entries.len(), managed.entries.len());
    assert!(managed.entries.iter().all(|entry| again.entries.contains(entry)), "entries can be written and read");
}

/// An update takes from others what it changes, whichever way that is found out: an entry of a version that is gone
/// counts for nothing, but has all entries decoded.
fn update(live: &Value, new: &Value, request: &Tracking<'_>, node: TypeRef) {
    let Ok(managed) = Managed::of(live) else { return };
    if managed.entries.is_empty() || new.get("metadata").is_none_or(|metadata| !metadata.is_object()) {
        return;
    }
    let mut plain = live.clone();
    managed.store(&mut plain);
    let mut odd = plain.clone();
    if let Some(entries) = odd.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut) {
        entries.push(serde_json::json!({"manager": "gone", "operation": "Update", "apiVersion": "gone.example.com/v1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:gone": {}}}));
    }
    let mut new = new.clone();
    if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    let (mut quick, mut thorough) = (new.clone(), new);
    apply::update(Some(&plain), &mut quick, request, node);
    apply::update(Some(&odd), &mut thorough, request, node);
    assert_eq!(quick, thorough, "owners are the same however they are found");
    owners(&quick);
}
