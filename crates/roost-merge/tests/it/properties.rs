//! What holds for all objects, configurations and patches.

use std::collections::BTreeMap;

use proptest::prelude::*;
use roost_merge::apply::{self, NOTHING, Tracking};
use roost_merge::managed::{Element, FieldSet, Managed};
use roost_merge::strategic::{self, PatchField, StrategicSchema};
use roost_merge::{equal_ignoring_managed_time, merge_patch};
use serde_json::{Value, json};

use crate::applies::{apply_by, earlier};
use crate::schema::{API_VERSION, THING, thing};
use crate::updates::{NOW, object};

fn scalar() -> BoxedStrategy<Value> {
    prop_oneof![(0..3).prop_map(Value::from), Just(json!("t")), Just(json!(1.5)), any::<bool>().prop_map(Value::from)]
        .boxed()
}

fn free() -> BoxedStrategy<Value> {
    scalar()
        .prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
        .boxed()
}

/// Values that follow a schema; elements of lists that merge are unique.
fn value(schema: &'static Value) -> BoxedStrategy<Value> {
    match schema["type"].as_str() {
        None => free(),
        Some("string") if schema.get("default").is_some() => {
            prop_oneof![Just(json!("TCP")), Just(json!("UDP"))].boxed()
        }
        Some("string") => "[abc<]".prop_map(Value::from).boxed(),
        Some("integer") => prop_oneof![Just(1), Just(2), Just(10)].prop_map(Value::from).boxed(),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("array") => {
            let keys: Vec<&str> = schema["x-kubernetes-list-map-keys"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let merges = schema.get("x-kubernetes-list-type").is_some();
            let element = filled(&schema["items"], &keys);
            let unique = move |items: Vec<Value>| {
                let id = |item: &Value| match keys.as_slice() {
                    [] => item.to_string(),
                    keys => keys.iter().map(|key| item[key].to_string()).collect(),
                };
                let mut seen = Vec::new();
                items
                    .into_iter()
                    .filter(|item| {
                        !merges
                            || !seen.contains(&id(item)) && {
                                seen.push(id(item));
                                true
                            }
                    })
                    .collect::<Vec<_>>()
            };
            // Nobody owns an empty list that merges, so nobody can take it back.
            prop::collection::vec(element, usize::from(merges)..4)
                .prop_map(move |items| unique.clone()(items).into())
                .boxed()
        }
        _ => filled(schema, &[]),
    }
}

/// An object with the given fields always there.
fn filled(schema: &'static Value, always: &[&'static str]) -> BoxedStrategy<Value> {
    if schema["type"] != "object" {
        return value(schema);
    }
    let mut fields = Just(serde_json::Map::new()).boxed();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let field = if always.contains(&name.as_str()) {
            value(field).prop_map(Some).boxed()
        } else {
            prop::option::weighted(0.35, value(field)).boxed()
        };
        fields = (fields, field)
            .prop_map(move |(mut fields, field)| {
                fields.extend(field.map(|field| (name.clone(), field)));
                fields
            })
            .boxed();
    }
    if let Some(entry) = schema.get("additionalProperties") {
        fields =
            prop::collection::btree_map("[abc]", value(entry), 0..3).prop_map(|map| map.into_iter().collect()).boxed();
    } else if schema["x-kubernetes-preserve-unknown-fields"] == true {
        fields = (fields, prop::collection::btree_map("[uvw]", free(), 0..3))
            .prop_map(|(mut fields, more)| {
                fields.extend(more);
                fields
            })
            .boxed();
    }
    fields.prop_map(Value::Object).boxed()
}

/// What an applier may say: labels, a specification and a status.
fn config() -> BoxedStrategy<Value> {
    let properties = &THING["properties"];
    let labels = value(&properties["metadata"]["properties"]["labels"]);
    let spec = value(&properties["spec"]);
    let status = prop::option::weighted(0.3, value(&properties["status"]));
    (prop::option::of(labels), spec, status)
        .prop_map(|(labels, spec, status)| {
            let mut config = json!({ "spec": spec });
            if let Some(labels) = labels {
                config["metadata"] = json!({ "labels": labels });
            }
            if let Some(status) = status {
                config["status"] = status;
            }
            config
        })
        .boxed()
}

fn path() -> impl Strategy<Value = Vec<Element>> {
    let element = prop_oneof![
        "[a-c:<\"]{1,3}".prop_map(|name| Element::field(&name)),
        (0..12u32, "[ab<]").prop_map(|(port, name)| Element::key([("name", &json!(name)), ("port", &json!(port))])),
        scalar().prop_map(|value| Element::value(&value)),
        (0..3usize).prop_map(Element::index),
    ];
    prop::collection::vec(element, 1..4)
}

fn field_set() -> impl Strategy<Value = FieldSet> {
    prop::collection::vec(path(), 0..8).prop_map(|paths| {
        let mut set = FieldSet::new();
        for path in &paths {
            set.insert(path);
        }
        set
    })
}

fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"].as_object_mut().expect("objects have metadata").remove("managedFields");
    object
}

/// The value without nulls and empty containers: stock leaves a null where the last field of a map was taken out.
fn without_voids(value: &Value) -> Value {
    let is_void = |value: &Value| {
        value.is_null()
            || value.as_object().is_some_and(serde_json::Map::is_empty)
            || value.as_array().is_some_and(Vec::is_empty)
    };
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, item)| (name.clone(), without_voids(item)))
            .filter(|(_, item)| !is_void(item))
            .collect(),
        Value::Array(items) => items.iter().map(without_voids).collect(),
        scalar => scalar.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn field_sets_survive_encoding(set in field_set()) {
        prop_assert_eq!(FieldSet::from_fields_v1(&set.to_fields_v1()), Ok(set.clone()));
        let text = set.to_fields_v1().to_string();
        prop_assert_eq!(FieldSet::from_fields_v1(&serde_json::from_str(&text).unwrap()), Ok(set));
    }

    #[test]
    fn field_sets_are_sets(a in field_set(), b in field_set(), probe in path()) {
        prop_assert_eq!(a.union(&b).contains(&probe), a.contains(&probe) || b.contains(&probe));
        prop_assert_eq!(a.intersection(&b).contains(&probe), a.contains(&probe) && b.contains(&probe));
        prop_assert_eq!(a.difference(&b).contains(&probe), a.contains(&probe) && !b.contains(&probe));
        prop_assert_eq!(a.intersects(&b), !a.intersection(&b).is_empty());
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert_eq!(a.len(), a.paths().len());
    }

    #[test]
    fn applying_twice_is_applying_once(first in config(), second in config()) {
        let live = earlier(&apply_by("one", NOTHING, first, false).unwrap());
        let once = apply_by("two", &live, second.clone(), true).unwrap();
        let twice = apply_by("two", &once, second, false).unwrap();
        prop_assert!(equal_ignoring_managed_time(&once, &twice), "{once}\n{twice}");
    }

    #[test]
    fn applying_nothing_takes_back_what_was_applied(applied in config()) {
        let live = earlier(&apply_by("m", NOTHING, applied, false).unwrap());
        let rest = apply_by("m", &live, json!({}), false).unwrap();
        prop_assert_eq!(bare(&rest), object(json!({"metadata": {"uid": "u"}})));
        prop_assert!(rest["metadata"].get("managedFields").is_none());
    }

    #[test]
    fn what_one_applier_takes_back_is_not_what_another_applied(first in config(), second in config()) {
        let live = earlier(&apply_by("one", NOTHING, first, false).unwrap());
        let both = earlier(&apply_by("two", &live, second.clone(), true).unwrap());
        let rest = apply_by("one", &both, json!({}), false).unwrap();
        let alone = apply_by("two", NOTHING, second, false).unwrap();
        let owned = |object: &Value| Managed::of(object).unwrap().entries.iter().find(|entry| entry.manager == "two").map(|entry| entry.fields.clone());
        prop_assert_eq!(owned(&rest), owned(&alone));
        let again = apply_by("two", &rest, bare(&alone), false).unwrap();
        prop_assert_eq!(without_voids(&bare(&again)), without_voids(&bare(&rest)));
    }

    #[test]
    fn an_update_to_the_same_is_none(applied in config()) {
        let live = earlier(&apply_by("m", NOTHING, applied, false).unwrap());
        let mut new = live.clone();
        apply::update(Some(&live), &mut new, &Tracking::new("u", API_VERSION, NOW), thing());
        prop_assert_eq!(new, live);
    }

    #[test]
    fn entries_changed_in_place_are_those_that_decoding_gives(first in config(), second in config(), third in config()) {
        let live = earlier(&apply_by("one", NOTHING, first, false).unwrap());
        let live = earlier(&apply_by("two", &live, second, true).unwrap());
        let mut new = object(third);
        new["metadata"]["uid"] = json!("u");
        let request = Tracking::new("u", API_VERSION, NOW);
        let mut in_place = new.clone();
        apply::update(Some(&live), &mut in_place, &request, thing());
        // The same entries in another order are edited ones, which are decoded.
        let mut reversed = live["metadata"]["managedFields"].clone();
        reversed.as_array_mut().unwrap().reverse();
        prop_assume!(reversed != live["metadata"]["managedFields"]);
        new["metadata"]["managedFields"] = reversed;
        apply::update(Some(&live), &mut new, &request, thing());
        prop_assert_eq!(in_place, new);
    }
}

/// A kind of maps, scalars and one list that merges by name.
#[derive(Clone, Copy)]
enum Model {
    Map,
    List,
}

impl StrategicSchema for Model {
    fn patch_field(self, name: &str) -> Result<PatchField<Self>, String> {
        Ok(match name {
            "list" => PatchField { schema: Some(Model::List), strategy: "merge", merge_key: "name" },
            _ => PatchField { schema: Some(Model::Map), strategy: "", merge_key: "" },
        })
    }

    fn patch_element(self) -> Option<Self> {
        matches!(self, Model::List).then_some(Model::Map)
    }
}

fn maps() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![(0..3).prop_map(Value::from), Just(Value::Null), Just(json!("t"))];
    let any = leaf.prop_recursive(3, 16, 3, |inner| {
        prop::collection::btree_map("[abc]", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect()))
    });
    prop::collection::btree_map("[abc]", any, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())).boxed()
}

fn list() -> impl Strategy<Value = BTreeMap<String, Value>> {
    prop::collection::btree_map("[a-e]", maps(), 0..4)
}

fn elements(list: &BTreeMap<String, Value>) -> Value {
    list.iter().map(|(name, fields)| merge_patch::apply(fields.clone(), json!({ "name": name }))).collect()
}

proptest! {
    #[test]
    fn without_lists_a_strategic_patch_is_a_merge_patch(document in maps(), patch in maps()) {
        let strategic = strategic::apply(document.clone(), patch.clone(), Model::Map);
        prop_assert_eq!(strategic, Ok(merge_patch::apply(document, patch)));
    }

    #[test]
    fn lists_merge_as_maps_by_their_key(document in list(), patch in list(), deleted in "[a-e]") {
        let mut items = elements(&patch).as_array().unwrap().clone();
        items.retain(|item| item["name"] != deleted);
        items.push(json!({"name": deleted, "$patch": "delete"}));
        let merged = strategic::apply(json!({"list": elements(&document)}), json!({ "list": items }), Model::Map).unwrap();
        let mut model = document;
        model.remove(&deleted);
        for (name, fields) in patch {
            if name != deleted {
                // A new element is taken with its nulls; one that is there is patched.
                match model.get_mut(&name) {
                    Some(present) => *present = merge_patch::apply(present.take(), fields),
                    None => drop(model.insert(name, fields)),
                }
            }
        }
        let by_name = |list: &Value| -> BTreeMap<String, Value> {
            list.as_array().into_iter().flatten().map(|item| (item["name"].as_str().unwrap().to_owned(), item.clone())).collect()
        };
        prop_assert_eq!(by_name(&merged["list"]), by_name(&elements(&model)));
    }
}
