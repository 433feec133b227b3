//! What creates, updates and patches make of `managedFields`.

use roost_merge::apply::{self, Tracking};
use roost_merge::managed::Filter;
use serde_json::{Value, json};

use crate::schema::{API_VERSION, thing};

pub(crate) const EARLIER: &str = "2024-01-01T00:00:00Z";
pub(crate) const NOW: &str = "2024-01-01T00:00:09Z";

/// A test object; `metadata` and the rest are merged into the least that an object has.
pub(crate) fn object(rest: Value) -> Value {
    let least = json!({"apiVersion": API_VERSION, "kind": "Thing", "metadata": {"name": "x"}});
    roost_merge::merge_patch::apply(least, rest)
}

/// An entry as stock writes it.
pub(crate) fn entry(manager: &str, operation: &str, time: &str, fields: Value) -> Value {
    let mut entry = json!({
        "apiVersion": API_VERSION, "fieldsType": "FieldsV1", "manager": manager, "operation": operation, "time": time,
    });
    entry["fieldsV1"] = fields;
    entry
}

pub(crate) fn with_entries(mut object: Value, entries: Value) -> Value {
    object["metadata"]["uid"] = json!("u");
    object["metadata"]["managedFields"] = entries;
    object
}

fn update_by(manager: &str, live: Option<&Value>, mut new: Value) -> Value {
    apply::update(live, &mut new, &Tracking::new(manager, API_VERSION, NOW), thing());
    new["metadata"].get_mut("managedFields").map(Value::take).unwrap_or_default()
}

#[test]
fn a_create_owns_all_but_what_names_the_object() {
    let new = object(json!({
        "metadata": {"namespace": "n", "generation": 1, "labels": {"a": "b"}, "finalizers": ["f"]},
        "spec": {
            "number": 1, "pair": {"a": 1}, "atomicPair": {"a": 1}, "pairs": {"k": {"a": 1}}, "list": [{"a": 1}],
            "items": [{"name": "i", "ports": [{"port": 80}]}], "free": {"u": {"v": 1}}, "labels": {}, "set": [],
        },
    }));
    let fields = json!({
        "f:metadata": {"f:finalizers": {".": {}, "v:\"f\"": {}}, "f:labels": {".": {}, "f:a": {}}},
        "f:spec": {
            ".": {},
            "f:number": {}, "f:pair": {".": {}, "f:a": {}}, "f:atomicPair": {},
            "f:pairs": {".": {}, "f:k": {".": {}, "f:a": {}}}, "f:list": {},
            "f:items": {".": {}, "k:{\"name\":\"i\"}": {
                ".": {}, "f:name": {},
                "f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
            }},
            "f:free": {".": {}, "f:u": {".": {}, "f:v": {}}}, "f:labels": {}, "f:set": {},
        },
    });
    assert_eq!(update_by("m", None, new), json!([entry("m", "Update", NOW, fields)]));
}

#[test]
fn a_manager_without_a_name_is_unknown() {
    let entries = update_by("", None, object(json!({"spec": {"number": 1}})));
    assert_eq!(entries[0]["manager"], "unknown");
}

#[test]
fn an_update_takes_what_it_changes() {
    let old = entry("old", "Update", EARLIER, json!({"f:spec": {".": {}, "f:number": {}, "f:text": {}, "f:flag": {}}}));
    let live = with_entries(object(json!({"spec": {"number": 1, "text": "a", "flag": true}})), json!([old]));
    let new = object(json!({"spec": {"number": 2, "text": "a"}, "metadata": {"uid": "u"}}));
    assert_eq!(
        update_by("new", Some(&live), new),
        json!([
            entry("old", "Update", EARLIER, json!({"f:spec": {".": {}, "f:text": {}}})),
            entry("new", "Update", NOW, json!({"f:spec": {"f:number": {}}})),
        ])
    );
}

#[test]
fn an_update_that_changes_nothing_keeps_all_entries() {
    let entries = json!([
        entry("a", "Apply", EARLIER, json!({"f:spec": {"f:number": {}}})),
        entry("b", "Update", EARLIER, json!({"f:spec": {"f:text": {}}})),
    ]);
    let live =
        with_entries(object(json!({"spec": {"number": 1, "text": "a", "items": [{"name": "i"}]}})), entries.clone());
    assert_eq!(update_by("b", Some(&live), live.clone()), entries);
    let mut bare = live.clone();
    bare["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(update_by("c", Some(&live), bare), entries);
}

#[test]
fn a_manager_adds_to_what_it_has() {
    let own = entry("m", "Update", EARLIER, json!({"f:spec": {"f:labels": {}}}));
    let live = with_entries(object(json!({"spec": {"labels": {}}})), json!([own]));
    let new = object(json!({"spec": {"labels": {"a": "b"}}}));
    let fields = json!({"f:spec": {"f:labels": {".": {}, "f:a": {}}}});
    assert_eq!(update_by("m", Some(&live), new), json!([entry("m", "Update", NOW, fields)]));
}

#[test]
fn entries_are_forgotten_on_request_and_stay_forgotten() {
    let own = entry("m", "Update", EARLIER, json!({"f:spec": {"f:number": {}}}));
    let live = with_entries(object(json!({"spec": {"number": 1}})), json!([own]));
    for reset in [json!([]), json!([{}])] {
        let new = with_entries(object(json!({"spec": {"number": 2}})), reset);
        assert_eq!(update_by("m", Some(&live), new), Value::Null);
    }
    let untracked = with_entries(object(json!({"spec": {"number": 1}})), Value::Null);
    assert_eq!(update_by("m", Some(&untracked), object(json!({"spec": {"number": 2}}))), Value::Null);
}

#[test]
fn entries_that_do_not_decode_are_not_taken() {
    let own = entry("m", "Update", EARLIER, json!({"f:spec": {"f:number": {}}}));
    let live = with_entries(object(json!({"spec": {"number": 1}})), json!([own]));
    for bad in [json!([{"manager": "x"}]), json!([entry("x", "Update", EARLIER, json!({"nonsense": {}}))])] {
        let new = with_entries(object(json!({"spec": {"number": 1}})), bad);
        assert_eq!(update_by("m", Some(&live), new), json!([own]));
    }
}

#[test]
fn entries_can_be_edited_but_not_through_a_subresource() {
    let own = entry("m", "Update", EARLIER, json!({"f:spec": {"f:number": {}}}));
    let other = entry("x", "Apply", EARLIER, json!({"f:spec": {"f:number": {}}}));
    let live = with_entries(object(json!({"spec": {"number": 1}})), json!([own]));
    let new = with_entries(object(json!({"spec": {"number": 1}})), json!([other]));
    assert_eq!(update_by("m", Some(&live), new.clone()), json!([other]));
    let request = Tracking { subresource: "status", ..Tracking::new("m", API_VERSION, NOW) };
    let mut through_status = new;
    apply::update(Some(&live), &mut through_status, &request, thing());
    assert_eq!(through_status["metadata"]["managedFields"], json!([own]));
}

#[test]
fn what_the_resource_resets_is_not_taken() {
    let filter = Filter::except_fields(&[&["status"]]);
    let request = Tracking { filter: &filter, ..Tracking::new("m", API_VERSION, NOW) };
    let mut new = object(json!({"spec": {"number": 1}, "status": {"number": 1}}));
    apply::update(None, &mut new, &request, thing());
    assert_eq!(new["metadata"]["managedFields"][0]["fieldsV1"], json!({"f:spec": {".": {}, "f:number": {}}}));
}

#[test]
fn repeated_list_elements_are_owned_as_one() {
    let new = object(
        json!({"spec": {"set": ["a", "b", "a"], "items": [{"name": "i", "value": 1}, {"name": "i", "value": 2}]}}),
    );
    let entries = update_by("m", None, new);
    assert_eq!(
        entries[0]["fieldsV1"]["f:spec"],
        json!({
            ".": {},
            "f:items": {".": {}, "k:{\"name\":\"i\"}": {}},
            "f:set": {".": {}, "v:\"a\"": {}, "v:\"b\"": {}},
        })
    );
}

#[test]
fn an_object_that_cannot_be_tracked_loses_its_entries() {
    let own = entry("m", "Update", EARLIER, json!({"f:spec": {"f:number": {}}}));
    let live = with_entries(object(json!({"spec": {"number": 1}})), json!([own]));
    let new = object(json!({"spec": {"number": 1, "items": [{"value": 1}]}}));
    assert_eq!(update_by("m", Some(&live), new), Value::Null);
}

#[test]
fn parts_of_what_became_atomic_become_the_whole() {
    let own =
        entry("m", "Update", EARLIER, json!({"f:spec": {"f:atomicPair": {"f:a": {}}, "f:list": {".": {}, "i:0": {}}}}));
    let live = with_entries(object(json!({"spec": {"atomicPair": {"a": 1}, "list": [{}]}})), json!([own]));
    let entries = update_by("m", Some(&live), live.clone());
    assert_eq!(entries[0]["fieldsV1"], json!({"f:spec": {"f:atomicPair": {}, "f:list": {}}}));
}

#[test]
fn the_eleventh_updater_merges_the_oldest_two() {
    let mut live = with_entries(object(json!({"spec": {"labels": {}}})), json!([]));
    for number in 0..10 {
        let name = format!("m{number}");
        let time = format!("2024-01-01T00:00:0{number}Z");
        live["spec"]["labels"][&name] = json!("v");
        let fields = json!({"f:spec": {"f:labels": {format!("f:{name}"): {}}}});
        live["metadata"]["managedFields"].as_array_mut().unwrap().push(entry(&name, "Update", &time, fields));
    }
    let mut new = live.clone();
    new["spec"]["number"] = json!(1);
    let entries = update_by("new", Some(&live), new);
    let managers: Vec<_> = entries.as_array().unwrap().iter().map(|entry| entry["manager"].as_str().unwrap()).collect();
    assert_eq!(managers, ["ancient-changes", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9", "new"]);
    assert_eq!(entries[0]["fieldsV1"], json!({"f:spec": {"f:labels": {"f:m0": {}, "f:m1": {}}}}));
    assert_eq!(entries[0]["time"], "2024-01-01T00:00:01Z");
}

#[test]
fn entries_of_other_versions_lose_what_changes_and_go_with_their_version() {
    let in_version = |version: &str, fields: Value| {
        let mut entry = entry("m", "Update", EARLIER, fields);
        entry["apiVersion"] = json!(version);
        entry
    };
    let fields = json!({"f:spec": {"f:number": {}, "f:text": {}}});
    let live = with_entries(
        object(json!({"spec": {"number": 1, "text": "a"}})),
        json!([in_version("test.io/v1beta1", fields.clone()), in_version("gone.io/v1", fields)]),
    );
    let entries = update_by("m", Some(&live), object(json!({"spec": {"number": 2, "text": "a"}})));
    assert_eq!(
        entries,
        json!([
            in_version("test.io/v1beta1", json!({"f:spec": {"f:text": {}}})),
            entry("m", "Update", NOW, json!({"f:spec": {"f:number": {}}})),
        ])
    );
}
