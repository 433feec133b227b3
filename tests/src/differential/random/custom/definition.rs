//! Random definitions of custom resources.

use serde_json::{Value, json};

use super::schema::{Schemas, loosened};
use crate::random::Random;

/// The path of definitions.
pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A field of every schema that shows which state of the definition is served: the first takes only 1, the second also 2.
pub(super) const PROBE: &str = "probe";

/// How often, in a hundred, schemas have rules; each definition draws one of these.
const RULES: &[u64] = &[0, 5, 12, 25];

/// A definition and what is known of it.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) object: Value,
    pub(super) group: String,
}

impl Definition {
    /// Draws one.
    pub(super) fn draw(random: Random, group: &str) -> Self {
        let mut schemas = Schemas::new(random);
        schemas.rules = *schemas.random.pick(RULES);
        let has_scale = schemas.random.chance(40);
        let mut first = version(&mut schemas, "v1", has_scale);
        first["storage"] = json!(true);
        let mut versions = vec![first.clone()];
        if schemas.random.chance(40) {
            let mut second = if schemas.random.chance(50) { version(&mut schemas, "v2", has_scale) } else { first };
            second["name"] = json!(schemas.random.pick(&["v2", "v1beta1", "other"]));
            second["storage"] = json!(false);
            if schemas.random.chance(30) {
                second["deprecated"] = json!(true);
                if schemas.random.chance(50) {
                    second["deprecationWarning"] = json!("use v1");
                }
            }
            versions.push(second);
        }
        let scope = *schemas.random.pick(&["Namespaced", "Namespaced", "Cluster"]);
        let mut names = json!({"plural": "things", "kind": "Thing"});
        let others = [
            ("singular", json!("thing")),
            ("listKind", json!("Things")),
            ("shortNames", json!(["th"])),
            ("categories", json!(["all"])),
        ];
        for (name, value) in others {
            if schemas.random.chance(30) {
                names[name] = value;
            }
        }
        let object = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("things.{group}")},
            "spec": {"group": group, "scope": scope, "names": names, "versions": versions},
        });
        Self { object, group: group.to_owned() }
    }

    /// The same with schemas that take every value of their shape.
    pub(super) fn loosened(&self) -> Self {
        let mut loose = self.clone();
        for version in loose.object["spec"]["versions"].as_array_mut().into_iter().flatten() {
            let schema = &mut version["schema"]["openAPIV3Schema"];
            *schema = loosened(schema);
            schema["properties"][PROBE] = json!({"type": "integer", "maximum": 1});
        }
        loose
    }

    pub(super) fn path(&self) -> String {
        format!("{DEFINITIONS}/things.{}", self.group)
    }

    /// The versions, each with its schema.
    pub(super) fn versions(&self) -> Vec<(String, &Value)> {
        let versions = self.object["spec"]["versions"].as_array().into_iter().flatten();
        versions
            .map(|version| {
                (version["name"].as_str().unwrap_or_default().to_owned(), &version["schema"]["openAPIV3Schema"])
            })
            .collect()
    }

    /// The path that the objects of a version are created at.
    pub(super) fn collection(&self, version: &str) -> String {
        let namespace = if self.object["spec"]["scope"] == "Cluster" {
            String::new()
        } else {
            format!("namespaces/{}/", super::super::schema::NAMESPACE)
        };
        format!("/apis/{}/{version}/{namespace}things", self.group)
    }
}

fn version(schemas: &mut Schemas, name: &str, has_scale: bool) -> Value {
    let mut spec = schemas.object(5, 0);
    let mut status = schemas.object(2, 0);
    let mut subresources = json!({});
    if schemas.random.chance(60) {
        subresources["status"] = json!({});
    }
    if has_scale {
        spec["properties"]["replicas"] = json!({"type": "integer"});
        status["properties"]["replicas"] = json!({"type": "integer"});
        status["properties"]["selector"] = json!({"type": "string"});
        subresources["scale"] = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
        if schemas.random.chance(60) {
            subresources["scale"]["labelSelectorPath"] = json!(".status.selector");
        }
    }
    let probe = json!({"type": "integer", "maximum": 2, "description": "The second state."});
    let mut root = json!({"type": "object", "properties": {"spec": spec, "status": status, PROBE: probe}});
    if schemas.random.chance(15) {
        root["required"] = json!(["spec"]);
    }
    if schemas.random.chance(10) {
        root["properties"]["metadata"] =
            json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}}});
    }
    if schemas.random.chance(schemas.rules * 2) {
        let rules = [
            "self.metadata.name.startsWith('a')",
            "has(self.spec)",
            "self.kind == 'Thing' && self.apiVersion.endsWith('1')",
            "!has(self.status) || self.status == oldSelf.status",
            "self.metadata.?generateName.orValue('') == ''",
        ];
        root["x-kubernetes-validations"] = json!([{"rule": schemas.random.pick(&rules)}]);
    }
    let mut version = json!({"name": name, "served": true, "schema": {"openAPIV3Schema": root}});
    if subresources.as_object().is_some_and(|subresources| !subresources.is_empty()) {
        version["subresources"] = subresources;
    }
    shown(schemas, &mut version);
    version
}

/// The columns and the fields to select by.
fn shown(schemas: &mut Schemas, version: &mut Value) {
    let fields = version.pointer("/schema/openAPIV3Schema/properties/spec/properties").and_then(Value::as_object);
    let fields: Vec<(String, Value)> =
        fields.into_iter().flatten().map(|(name, schema)| (name.clone(), schema.clone())).collect();
    let random = &mut schemas.random;
    let mut columns = Vec::new();
    for (name, schema) in &fields {
        if !random.chance(25) {
            continue;
        }
        let path = match schema["type"].as_str() {
            Some("array") => *random.pick(&["", "[0]", "[*]", "[*].key", "[?(@.key==\"a\")].second"]),
            Some("object") => *random.pick(&["", ".a", "['a']"]),
            _ => "",
        };
        let types = ["string", "string", "integer", "number", "boolean", "date"];
        let own = schema["type"].as_str().filter(|kind| types.contains(kind)).unwrap_or("string");
        let kind = if random.chance(70) { own } else { random.pick(&types) };
        let mut column = json!({"name": format!("C-{name}"), "type": kind, "jsonPath": format!(".spec.{name}{path}")});
        for (key, value) in [("priority", json!(1)), ("format", json!("int32")), ("description", json!("d"))] {
            if random.chance(15) {
                column[key] = value;
            }
        }
        columns.push(column);
    }
    if random.chance(20) {
        columns.push(json!({"name": "Since", "type": "date", "jsonPath": ".metadata.creationTimestamp"}));
    }
    if !columns.is_empty() {
        version["additionalPrinterColumns"] = Value::from(columns);
    }
    let scalar = |schema: &Value| {
        matches!(schema["type"].as_str(), Some("string" | "integer" | "boolean")) && schema.get("format").is_none()
    };
    let selectable: Vec<Value> = fields
        .iter()
        .filter(|(_, schema)| scalar(schema) && random.chance(40))
        .map(|(name, _)| json!({"jsonPath": format!(".spec.{name}")}))
        .collect();
    if !selectable.is_empty() {
        version["selectableFields"] = Value::from(selectable);
    }
}
