//! The cases of one round: about definitions, and about the objects of one that both servers have.

use std::sync::Arc;

use serde_json::{Value, json};

use super::alteration::{altered, operations};
use super::case::{Case, VERSION};
use super::definition::{DEFINITIONS, Definition, PROBE};
use super::drawer::Drawer;
use super::faults;
use crate::differential::random::case::mixed;
use crate::differential::random::change::patch_between;
use crate::differential::random::schema::NAMESPACE;
use crate::differential::table::{PatchKind, Until};
use crate::random::Random;

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

/// How strictly unknown and duplicate fields are taken.
const STRICTNESS: &[&str] = &["", "", "&fieldValidation=Strict", "&fieldValidation=Ignore"];

/// How often, in a hundred, a value of an object is wrong.
const WRONG: &[u64] = &[0, 2, 5, 10];

/// How many places of an object an update changes.
const CHANGES: &[u64] = &[1, 1, 2, 3];

/// An object of the definition that both servers have, as stock shows it in a version.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) path: String,
    pub(super) object: Value,
    pub(super) schema: Arc<Value>,
}

/// Draws the cases of a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) seed: u64,
}

impl Round {
    /// The numbers for something that is done for the n-th time.
    pub(super) fn random(self, what: &str, number: u64) -> Random {
        Random::new(mixed(self.seed, &format!("custom {what} {number}")))
    }

    fn drawer(self, what: &str, number: u64) -> Drawer {
        let mut random = self.random(what, number);
        let wrong = *random.pick(WRONG);
        Drawer { random, wrong }
    }

    fn case(self, what: &str, request: String, content: Value) -> Case {
        Case { what: what.to_owned(), seed: self.seed, request, content, ..Case::default() }
    }

    /// A definition as it is, not stored.
    pub(super) fn definition(self, definition: &Definition) -> Case {
        self.case("definition created", format!("POST {DEFINITIONS}?dryRun=All"), definition.object.clone())
    }

    /// Definitions in which something is wrong.
    pub(super) fn wrong_definition(self, definition: &Definition, number: u64) -> Case {
        let mut random = self.random("wrong definition", number);
        let mut object = definition.object.clone();
        faults::change(&mut random, &mut object);
        let strictness = *random.pick(STRICTNESS);
        self.case("definition created", format!("POST {DEFINITIONS}?dryRun=All{strictness}"), object)
    }

    /// The definition that exists, changed.
    pub(super) fn changed_definition(self, definition: &Definition, number: u64) -> Case {
        let mut random = self.random("changed definition", number);
        let mut object = definition.object.clone();
        faults::change(&mut random, &mut object);
        object["metadata"]["resourceVersion"] = json!(VERSION);
        let case = self.case("definition replaced", format!("PUT {}?dryRun=All", definition.path()), object);
        Case { look: Some(definition.path()), ..case }
    }

    /// An object; every second one has nothing wrong.
    pub(super) fn object(self, definition: &Definition, name: &str, number: u64) -> (String, Value, Arc<Value>) {
        let mut drawer = self.drawer("object", number);
        let versions = definition.versions();
        let (version, schema) = drawer.random.pick(&versions).clone();
        let mut root = schema.clone();
        if let Some(fields) = root["properties"].as_object_mut() {
            fields.remove("metadata");
            fields.remove(PROBE);
        }
        let mut object = drawer.value(&root);
        if !object.is_object() {
            object = json!({"spec": object});
        }
        object["apiVersion"] = json!(format!("{}/{version}", definition.group));
        object["kind"] = json!("Thing");
        object["metadata"] = json!({"name": name});
        if drawer.random.chance(15) {
            object["metadata"]["labels"] = json!({"app": drawer.random.pick(&["a", "b", "x y"])});
        }
        if drawer.random.chance(10) {
            let odd = [
                ("unknown", json!(1)),
                ("generation", json!(7)),
                ("finalizers", json!(["a"])),
                ("annotations", json!({"a": "b"})),
            ];
            let (field, value) = drawer.random.pick(&odd).clone();
            object["metadata"][field] = value;
        }
        (version, object, Arc::new(schema.clone()))
    }

    /// An object that is created, but not stored.
    pub(super) fn created(self, definition: &Definition, number: u64) -> Case {
        let (version, object, schema) = self.object(definition, "new", number);
        let strictness = *self.random("strictness", number).pick(STRICTNESS);
        let target = format!("POST {}?dryRun=All{strictness}", definition.collection(&version));
        Case { schema, ..self.case("created", target, object) }
    }

    /// What an object applies of itself before others apply to it.
    pub(super) fn first_applied(self, base: &Base, number: u64) -> Value {
        let mut random = self.random("first", number);
        let mut intent = intent(base);
        for (name, value) in base.object["spec"].as_object().into_iter().flatten() {
            if random.chance(50) {
                intent["spec"][name] = value.clone();
            }
        }
        intent
    }

    /// Updates of an object that exists.
    pub(super) fn updated(self, base: &Base, number: u64) -> Vec<Case> {
        vec![
            self.replaced(base, number),
            self.merged(base, number),
            self.patched(base, number),
            self.applied(base, number),
        ]
    }

    fn alter(self, base: &Base, what: &str, number: u64) -> (Value, Drawer) {
        let mut drawer = self.drawer(&format!("{what} {}", base.path), number);
        let mut object = base.object.clone();
        let part = if drawer.random.chance(80) { "spec" } else { "status" };
        for _ in 0..*drawer.random.pick(CHANGES) {
            object[part] = altered(&mut drawer, &base.schema["properties"][part], &object[part]);
        }
        (object, drawer)
    }

    fn replaced(self, base: &Base, number: u64) -> Case {
        let (mut object, mut drawer) = self.alter(base, "replaced", number);
        object["metadata"]["resourceVersion"] = json!(VERSION);
        let strictness = *drawer.random.pick(STRICTNESS);
        let part = *drawer.random.pick(&["", "", "", "/status"]);
        let case = self.case("replaced", format!("PUT {}{part}?dryRun=All{strictness}", base.path), object);
        Case { look: Some(base.path.clone()), schema: base.schema.clone(), ..case }
    }

    fn merged(self, base: &Base, number: u64) -> Case {
        let (object, mut drawer) = self.alter(base, "merged", number);
        let strictness = *drawer.random.pick(STRICTNESS);
        let part = *drawer.random.pick(&["", "", "", "/status"]);
        let target = format!("PATCH {}{part}?dryRun=All{strictness}", base.path);
        let case = self.case("merged", target, patch_between(&base.object, &object));
        Case { patch: Some(PatchKind::Merge), schema: base.schema.clone(), ..case }
    }

    fn patched(self, base: &Base, number: u64) -> Case {
        let mut drawer = self.drawer(&format!("patched {}", base.path), number);
        let operations = operations(&mut drawer, &base.schema, &base.object);
        let strictness = *drawer.random.pick(STRICTNESS);
        let case = self.case("patched", format!("PATCH {}?dryRun=All{strictness}", base.path), operations);
        Case { patch: Some(PatchKind::Json), schema: base.schema.clone(), ..case }
    }

    fn applied(self, base: &Base, number: u64) -> Case {
        let (object, mut drawer) = self.alter(base, "applied", number);
        let mut intent = intent(base);
        for part in ["spec", "status"] {
            for (name, value) in object[part].as_object().into_iter().flatten() {
                if base.object[part].get(name) != Some(value) || drawer.random.chance(30) {
                    intent[part][name] = value.clone();
                }
            }
        }
        let managers =
            ["fieldManager=second", "fieldManager=second&force=true", "fieldManager=first", "fieldManager=creator"];
        let manager = *drawer.random.pick(&managers);
        let part = *drawer.random.pick(&["", "", "", "", "/status"]);
        let case = self.case("applied", format!("PATCH {}{part}?dryRun=All&{manager}", base.path), intent);
        Case { patch: Some(PatchKind::Apply), schema: base.schema.clone(), ..case }
    }

    /// The scale of an object, read and written.
    pub(super) fn scaled(self, definition: &Definition, base: &Base) -> Vec<Case> {
        let scale = format!("{}/scale", base.path);
        let mut cases = vec![self.case("scale read", format!("GET {scale}"), Value::Null)];
        let mut random = self.random("scale", 0);
        let counts = [json!(0), json!(5), json!(-1), json!("x"), json!(null), json!(3_000_000_000_i64), json!(1.5)];
        let mut name = json!({"name": base.object["metadata"]["name"], "resourceVersion": VERSION});
        if definition.object["spec"]["scope"] != "Cluster" {
            name["namespace"] = json!(NAMESPACE);
        }
        for _ in 0..2 {
            let count = random.pick(&counts).clone();
            let body =
                json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": name, "spec": {"replicas": count}});
            let put = self.case("scale replaced", format!("PUT {scale}?dryRun=All"), body);
            cases.push(Case { look: Some(base.path.clone()), ..put });
            let patch = json!({"spec": {"replicas": random.pick(&counts)}});
            let patch = self.case("scale merged", format!("PATCH {scale}?dryRun=All"), patch);
            cases.push(Case { patch: Some(PatchKind::Merge), ..patch });
        }
        cases
    }

    /// What is read: the definition, the objects, their tables, selections, and the documents of the group.
    pub(super) fn read(self, definition: &Definition, bases: &[Base]) -> Vec<Case> {
        let mut cases = vec![self.case("definition read", format!("GET {}", definition.path()), Value::Null)];
        for (version, schema) in definition.versions() {
            let collection = definition.collection(&version);
            let read = |what: &str, target: String| Case {
                schema: Arc::new(schema.clone()),
                ..self.case(what, target, Value::Null)
            };
            cases.push(read("listed", format!("GET {collection}")));
            cases.push(Case {
                accept: Some(TABLE.to_owned()),
                ..read("listed as a table", format!("GET {collection}"))
            });
            for selector in self.selectors(definition, &version, bases) {
                cases.push(read("selected", format!("GET {collection}?fieldSelector={selector}")));
            }
            cases.push(self.documented(definition, &version, schema));
        }
        for base in bases {
            cases.push(self.case("read", format!("GET {}", base.path), Value::Null));
        }
        cases
    }

    /// The OpenAPI document of a version, in which the words for what every object has are our own.
    fn documented(self, definition: &Definition, version: &str, schema: &Value) -> Case {
        let reversed: Vec<&str> = definition.group.split('.').rev().collect();
        let document = format!("/body/components/schemas/{}.{version}.Thing", reversed.join("."));
        let mut places = Vec::new();
        faults::collect(schema, String::new(), &mut places);
        let has_metadata = |place: &&String| {
            place.is_empty()
                || schema.pointer(place).is_some_and(|schema| schema["x-kubernetes-embedded-resource"] == true)
        };
        let ignore = places.iter().filter(has_metadata).flat_map(|place| {
            let document = document.replace('/', "~1");
            let words = ["apiVersion", "kind", "metadata"];
            words.map(|name| format!("/{document}{place}/properties/{name}/description"))
        });
        let until =
            Until { text: Some("The second state.".to_owned()), status: None, at: None, is: None, without: None };
        Case {
            ignore: ignore.collect(),
            only: vec!["/status".to_owned(), document],
            until: Some(until),
            ..self.case("documented", format!("GET /openapi/v3/apis/{}/{version}", definition.group), Value::Null)
        }
    }

    fn selectors(self, definition: &Definition, version: &str, bases: &[Base]) -> Vec<String> {
        let versions = definition.object["spec"]["versions"].as_array().into_iter().flatten();
        let fields = versions.filter(|known| known["name"] == version).flat_map(|known| {
            known["selectableFields"].as_array().into_iter().flatten().filter_map(|field| field["jsonPath"].as_str())
        });
        let mut random = self.random("selectors", 0);
        let mut selectors = vec!["spec.nothing=a".to_owned()];
        for field in fields {
            let place = field.replace('.', "/");
            let values: Vec<String> = bases
                .iter()
                .filter_map(|base| base.object.pointer(&place))
                .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                .chain([String::new(), "a".to_owned()])
                .collect();
            let sign = *random.pick(&["=", "=", "!=", "=="]);
            let value = random.pick(&values);
            selectors.push(format!("{}{sign}{}", &field[1..], encoded(value)));
        }
        selectors
    }
}

fn intent(base: &Base) -> Value {
    let name = &base.object["metadata"]["name"];
    json!({"apiVersion": base.object["apiVersion"], "kind": base.object["kind"], "metadata": {"name": name}})
}

/// A text as it stands in a query.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| {
        if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(byte).collect()
}
