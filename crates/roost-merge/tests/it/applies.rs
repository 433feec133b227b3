//! Server-side apply.

use roost_merge::apply::{self, ApplyError, Holds, NOTHING, Tracking};
use serde_json::{Value, json};

use crate::schema::{API_VERSION, Place, thing};
use crate::updates::{EARLIER, NOW, entry, object, with_entries};

pub(crate) fn apply_by(manager: &str, live: &Value, config: Value, force: bool) -> Result<Value, ApplyError> {
    apply::apply(live, &object(config), &Tracking::new(manager, API_VERSION, NOW), force, thing())
}

pub(crate) fn earlier(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["uid"] = json!("u");
    for entry in object.pointer_mut("/metadata/managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
        if entry.get("time").is_some() {
            entry["time"] = json!(EARLIER);
        }
    }
    object
}

fn fields_of(object: &Value, manager: &str) -> Value {
    let entries = object["metadata"]["managedFields"].as_array();
    entries
        .into_iter()
        .flatten()
        .find(|entry| entry["manager"] == manager)
        .map(|entry| entry["fieldsV1"].clone())
        .unwrap_or_default()
}

#[test]
fn an_applier_owns_what_it_mentions() {
    let config = json!({"metadata": {"labels": {"a": "b"}}, "spec": {
        "number": 1, "pair": {"a": 1}, "atomicPair": {"a": 1}, "pairs": {"k": {"a": 1}}, "set": ["a"], "numbers": [],
        "items": [{"name": "i", "ports": [{"port": 80}]}], "free": {"u": {"v": 1}}, "labels": {},
    }});
    let applied = apply_by("m", NOTHING, config, false).unwrap();
    assert_eq!(
        applied["metadata"]["managedFields"],
        json!([entry(
            "m",
            "Apply",
            NOW,
            json!({
                "f:metadata": {"f:labels": {"f:a": {}}},
                "f:spec": {
                    "f:number": {}, "f:pair": {"f:a": {}}, "f:atomicPair": {},
                    "f:pairs": {"f:k": {".": {}, "f:a": {}}}, "f:set": {"v:\"a\"": {}},
                    "f:items": {"k:{\"name\":\"i\"}": {
                        ".": {}, "f:name": {}, "f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}},
                    }},
                    "f:free": {"f:u": {".": {}, "f:v": {}}}, "f:labels": {},
                },
            })
        )])
    );
}

#[test]
fn an_applier_that_only_shares_has_no_time() {
    let live = earlier(&apply_by("one", NOTHING, json!({"spec": {"number": 1}}), false).unwrap());
    let shared = apply_by("two", &live, json!({"spec": {"number": 1}}), false).unwrap();
    let mut second = entry("two", "Apply", NOW, json!({"f:spec": {"f:number": {}}}));
    second.as_object_mut().unwrap().remove("time");
    assert_eq!(
        shared["metadata"]["managedFields"],
        json!([second, entry("one", "Apply", EARLIER, json!({"f:spec": {"f:number": {}}}))])
    );
}

#[test]
fn applying_again_changes_nothing() {
    let live =
        earlier(&apply_by("m", NOTHING, json!({"spec": {"number": 1, "items": [{"name": "i"}]}}), false).unwrap());
    let again = apply_by("m", &live, json!({"spec": {"number": 1, "items": [{"name": "i"}]}}), false).unwrap();
    assert_eq!(again, live);
}

#[test]
fn conflicts_name_owner_and_field() {
    let entries = json!([
        entry("applier", "Apply", EARLIER, json!({"f:spec": {"f:number": {}}})),
        entry(
            "updater",
            "Update",
            EARLIER,
            json!({"f:spec": {"f:items": {"k:{\"name\":\"i\"}": {".": {}, "f:name": {}, "f:value": {}}}}})
        ),
    ]);
    let live = with_entries(object(json!({"spec": {"number": 1, "items": [{"name": "i", "value": 1}]}})), entries);
    let error = apply_by("m", &live, json!({"spec": {"number": 2}}), false).unwrap_err();
    assert_eq!(error.to_string(), r#"Apply failed with 1 conflict: conflict with "applier": .spec.number"#);
    let status = error.status();
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    let cause = &status.details.unwrap().causes[0];
    assert_eq!(
        (cause.reason.as_str(), cause.message.as_str(), cause.field.as_str()),
        ("FieldManagerConflict", r#"conflict with "applier""#, ".spec.number")
    );
    let both = json!({"spec": {"number": 2, "items": [{"name": "i", "value": 2}]}});
    let error = apply_by("m", &live, both.clone(), false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 2 conflicts: conflicts with \"applier\":\n- .spec.number\nconflicts with \"updater\" using test.io/v1:\n- .spec.items[name=\"i\"].value"
    );
    let forced = apply_by("m", &live, both, true).unwrap();
    assert_eq!(fields_of(&forced, "applier"), Value::Null);
    assert_eq!(
        fields_of(&forced, "updater"),
        json!({"f:spec": {"f:items": {"k:{\"name\":\"i\"}": {".": {}, "f:name": {}}}}})
    );
}

#[test]
fn what_an_applier_drops_goes_unless_others_own_it() {
    let applied = json!({"spec": {"number": 1, "text": "a", "items": [{"name": "i", "value": 1}, {"name": "j"}], "labels": {"a": "1", "b": "2"}}});
    let live = earlier(&apply_by("one", NOTHING, applied, false).unwrap());
    let live = earlier(
        &apply_by("two", &live, json!({"spec": {"text": "a", "items": [{"name": "i"}], "labels": {"b": "2"}}}), false)
            .unwrap(),
    );
    let rest = apply_by("one", &live, json!({"spec": {"flag": true}}), false).unwrap();
    assert_eq!(rest["spec"], json!({"flag": true, "text": "a", "items": [{"name": "i"}], "labels": {"b": "2"}}));
    let nothing = apply_by("two", &earlier(&rest), json!({}), false).unwrap();
    assert_eq!(nothing["spec"], json!({"flag": true}));
    assert_eq!(fields_of(&nothing, "two"), Value::Null);
}

#[test]
fn what_an_update_added_stays() {
    let live =
        earlier(&apply_by("m", NOTHING, json!({"spec": {"items": [{"name": "i", "value": 1}]}}), false).unwrap());
    let mut updated = live.clone();
    updated["spec"]["items"][0]["labels"] = json!({"u": "1"});
    updated["spec"]["number"] = json!(1);
    apply::update(Some(&live), &mut updated, &Tracking::new("u", API_VERSION, NOW), thing());
    let less = apply_by("m", &updated, json!({"spec": {"items": [{"name": "i"}]}}), false).unwrap();
    assert_eq!(less["spec"], json!({"items": [{"name": "i", "labels": {"u": "1"}}], "number": 1}));
    let nothing = apply_by("m", &updated, json!({}), false).unwrap();
    assert_eq!(nothing["spec"], json!({"items": null, "number": 1}));
}

#[test]
fn lists_take_the_order_of_the_configuration() {
    let names = |list: &[&str]| -> Value { list.iter().map(|name| json!({ "name": name })).collect() };
    for (live, config, expected) in [
        (&["a", "b", "c"][..], &["c", "a"][..], &["b", "c", "a"][..]),
        (&["a", "b", "c"], &["b", "d"], &["a", "b", "c", "d"]),
        (&["a", "b"], &["c", "d"], &["a", "b", "c", "d"]),
        (&["a", "b", "c"], &["c", "b", "a"], &["c", "b", "a"]),
        (&["a", "x", "b"], &["b", "y", "a"], &["x", "b", "y", "a"]),
        (&[], &["b", "a"], &["b", "a"]),
    ] {
        let owner = entry("u", "Update", EARLIER, json!({"f:spec": {}}));
        let live = with_entries(object(json!({"spec": {"items": names(live)}})), json!([owner]));
        let merged = apply_by("m", &live, json!({"spec": {"items": names(config)}}), true).unwrap();
        assert_eq!(merged["spec"]["items"], names(expected), "{config:?} over {live}");
    }
}

#[test]
fn the_owner_of_what_nobody_tracked_is_named() {
    let mut live = object(json!({"spec": {"number": 1, "text": "a"}}));
    live["metadata"]["uid"] = json!("u");
    let applied = apply_by("m", &live, json!({"spec": {"number": 1}}), false).unwrap();
    assert_eq!(fields_of(&applied, "before-first-apply"), json!({"f:spec": {".": {}, "f:number": {}, "f:text": {}}}));
    assert_eq!(fields_of(&applied, "m"), json!({"f:spec": {"f:number": {}}}));
}

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

#[test]
fn kubectl_takes_over_what_it_applied_from_the_clients_side() {
    let last = json!({"apiVersion": API_VERSION, "kind": "Thing", "metadata": {"name": "x"}, "spec": {"number": 1, "text": "a"}});
    let entries = json!([entry(
        "kubectl-client-side-apply",
        "Update",
        EARLIER,
        json!({
            "f:metadata": {"f:annotations": {".": {}, format!("f:{LAST_APPLIED}"): {}}},
            "f:spec": {".": {}, "f:number": {}, "f:text": {}},
        })
    )]);
    let live = with_entries(
        object(
            json!({"metadata": {"annotations": {LAST_APPLIED: last.to_string()}}, "spec": {"number": 1, "text": "b"}}),
        ),
        entries,
    );
    let error = apply_by("kubectl", &live, json!({"spec": {"number": 2, "text": "c"}}), false).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using test.io/v1: .spec.text"#
    );
    assert!(apply_by("other", &live, json!({"spec": {"number": 2}}), false).is_err());
    let applied = apply_by("kubectl", &live, json!({"spec": {"number": 2}}), false).unwrap();
    assert_eq!(applied["spec"]["number"], 2);
    assert_eq!(
        applied["metadata"]["annotations"][LAST_APPLIED],
        "{\"apiVersion\":\"test.io/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"x\"},\"spec\":{\"number\":2}}\n"
    );
    assert_eq!(fields_of(&applied, "kubectl"), json!({"f:spec": {"f:number": {}}}));
}

#[test]
fn a_configuration_must_be_one() {
    let request = Tracking { kind: "Thing", ..Tracking::new("m", API_VERSION, NOW) };
    let run = |config: Value| apply::apply(NOTHING, &config, &request, false, thing()).unwrap_err().status();
    for (config, expected) in [
        (json!({"apiVersion": "v1", "kind": "Thing"}), "invalid object type: /v1, Kind=Thing"),
        (json!({"apiVersion": API_VERSION, "kind": "Other"}), "invalid object type: test.io/v1, Kind=Other"),
        (object(json!({"metadata": {"managedFields": []}})), "metadata.managedFields must be nil"),
    ] {
        let status = run(config);
        assert_eq!((status.code, status.message.as_str()), (400, expected));
    }
}

#[test]
fn what_does_not_fit_the_schema_is_refused_in_stocks_words() {
    let holds = |place: Place| match place {
        Place::Unknown => Holds::Anything,
        Place::Known(schema) => match schema["type"].as_str() {
            Some("string") => Holds::Text,
            Some("integer") => Holds::Number,
            Some("boolean") => Holds::Boolean,
            Some("array") => Holds::List,
            Some("object") => Holds::Map,
            _ => Holds::Anything,
        },
    };
    for (spec, expected) in [
        (json!({"foo": 1}), ".spec.foo: field not declared in schema"),
        (json!({"number": "3"}), ".spec.number: expected numeric (int or float), got string"),
        (json!({"number": {"a": 1}}), ".spec.number: expected numeric (int or float), got map[string]interface {}"),
        (json!({"flag": "yes"}), ".spec.flag: expected boolean, got &{yes}"),
        (json!({"text": 5}), ".spec.text: expected string, got &value.valueUnstructured{Value:5}"),
        (
            json!({"text": {"a": [1, null]}}),
            r#".spec.text: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":[]interface {}{1, interface {}(nil)}}}"#,
        ),
        (json!({"pair": []}), ".spec.pair: expected map, got &{[]}"),
        (json!({"atomicPair": "x"}), ".spec.atomicPair: expected map, got &{x}"),
        (json!({"labels": ["a"]}), ".spec.labels: expected map, got &{[a]}"),
        (json!({"items": "x"}), ".spec.items: expected list, got &{x}"),
        (json!({"list": {"a": "b"}}), ".spec.list: expected list, got &{map[a:b]}"),
        (json!({"list": [{"a": "b"}]}), ".spec.list[0].a: expected numeric (int or float), got string"),
        (json!({"items": [{"name": "a"}, {"name": "a"}]}), r#".spec.items: duplicate entries for key [name="a"]"#),
        (
            json!({"items": [{"name": "a", "ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]}]}),
            r#".spec.items[name="a"].ports: duplicate entries for key [port=1,protocol="TCP"]"#,
        ),
        (json!({"items": ["a"]}), ".spec.items: element 0: associative list with keys may not have non-map elements"),
        (json!({"items": [null]}), ".spec.items: element 0: associative list with keys may not have a null element"),
        (
            json!({"items": [{"value": 1}]}),
            r#".spec.items: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)"#,
        ),
        (json!({"set": ["a", "a"]}), r#".spec.set: duplicate entries for key [="a"]"#),
        (json!({"set": [{}]}), ".spec.set: element 0: associative list without keys has an element that's a map type"),
        (json!({"set": [[]]}), ".spec.set: element 0: not supported: associative list with lists as elements"),
        (
            json!({"set": [null]}),
            ".spec.set: element 0: associative list without keys has an element that's an explicit null",
        ),
        (
            json!({"flag": 1, "number": true}),
            "errors:\n  .spec.flag: expected boolean, got &{1}\n  .spec.number: expected numeric (int or float), got bool",
        ),
    ] {
        let config = object(json!({ "metadata": {"namespace": "n"}, "spec": spec }));
        let request = Tracking::new("m", API_VERSION, NOW);
        let error = apply::check(&config, &request, thing(), holds).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("failed to create typed patch object (n/x; test.io/v1, Kind=Thing): {expected}")
        );
        assert_eq!(error.status().code, 500);
    }
    let open = object(json!({"spec": {"open": {"pair": {"kept": 1}}, "any": [1], "free": {"a": [{}]}}}));
    assert_eq!(apply::check(&open, &Tracking::new("m", API_VERSION, NOW), thing(), holds), Ok(()));
}
