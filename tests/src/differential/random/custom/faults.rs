//! What is wrong, or only unusual, in a definition: one to three places of a good one are changed.

use serde_json::{Value, json};

use super::rules;
use crate::random::Random;

/// Changes a definition.
pub(super) fn change(random: &mut Random, definition: &mut Value) {
    for _ in 0..=random.below(3) {
        if random.chance(70) {
            change_schema(random, definition);
        } else {
            change_spec(random, definition);
        }
    }
}

fn change_schema(random: &mut Random, definition: &mut Value) {
    let root = "/spec/versions/0/schema/openAPIV3Schema";
    let mut places = Vec::new();
    if let Some(schema) = definition.pointer(root) {
        collect(schema, root.to_owned(), &mut places);
    }
    if places.is_empty() {
        return;
    }
    let place = random.pick(&places).clone();
    let Some(Value::Object(schema)) = definition.pointer_mut(&place) else { return };
    if random.chance(20) && !schema.is_empty() {
        let names: Vec<String> = schema.keys().cloned().collect();
        schema.remove(random.pick(&names));
        return;
    }
    if random.chance(20) {
        let rules = Value::from(vec![rules::wrong_rule(random)]);
        schema.insert("x-kubernetes-validations".to_owned(), rules);
        return;
    }
    let (name, value) = random.pick(&attributes()).clone();
    schema.insert(name.to_owned(), value);
}

/// The places of all schemas below one, itself among them.
pub(super) fn collect(schema: &Value, place: String, places: &mut Vec<String>) {
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        collect(inner, format!("{place}/properties/{name}"), places);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(name).filter(|inner| inner.is_object()) {
            collect(inner, format!("{place}/{name}"), places);
        }
    }
    places.push(place);
}

fn attributes() -> Vec<(&'static str, Value)> {
    vec![
        ("type", json!("foo")),
        ("type", json!("string")),
        ("type", json!("object")),
        ("type", json!("array")),
        ("type", json!("integer")),
        ("type", json!("null")),
        ("type", json!("")),
        ("items", json!({"type": "string"})),
        ("items", json!({})),
        ("items", json!([{"type": "string"}])),
        ("uniqueItems", json!(true)),
        ("uniqueItems", json!(false)),
        ("additionalProperties", json!(false)),
        ("additionalProperties", json!(true)),
        ("additionalProperties", json!({"type": "string"})),
        ("additionalProperties", json!({})),
        ("properties", json!({"a": {"type": "string"}})),
        ("properties", json!({"a": {}})),
        ("properties", json!({})),
        ("nullable", json!(true)),
        ("default", json!("a")),
        ("default", json!(1)),
        ("default", json!({})),
        ("default", json!([])),
        ("default", json!({"unknown": 1})),
        ("default", json!(null)),
        ("default", json!("2020-01-01")),
        ("x-kubernetes-list-type", json!("set")),
        ("x-kubernetes-list-type", json!("map")),
        ("x-kubernetes-list-type", json!("foo")),
        ("x-kubernetes-list-type", json!("atomic")),
        ("x-kubernetes-list-map-keys", json!(["key", "zz"])),
        ("x-kubernetes-list-map-keys", json!([])),
        ("x-kubernetes-list-map-keys", json!(["key", "key"])),
        ("x-kubernetes-map-type", json!("atomic")),
        ("x-kubernetes-map-type", json!("foo")),
        ("x-kubernetes-preserve-unknown-fields", json!(true)),
        ("x-kubernetes-preserve-unknown-fields", json!(false)),
        ("x-kubernetes-embedded-resource", json!(true)),
        ("x-kubernetes-embedded-resource", json!(false)),
        ("x-kubernetes-int-or-string", json!(true)),
        ("anyOf", json!([{"type": "integer"}, {"type": "string"}])),
        ("allOf", json!([{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"minimum": 1}])),
        ("allOf", json!([{"type": "string"}])),
        ("allOf", json!([{"properties": {"x": {"minimum": 1}}}])),
        ("anyOf", json!([{"properties": {"x": {"type": "string"}}}])),
        ("anyOf", json!([{"description": "d", "default": 1, "nullable": true, "title": "t"}])),
        ("anyOf", json!([{"items": {"enum": ["a"]}}])),
        ("anyOf", json!([{"additionalProperties": {"enum": ["a"]}}])),
        ("anyOf", json!([{"x-kubernetes-preserve-unknown-fields": true}])),
        ("anyOf", json!([{"x-kubernetes-validations": [{"rule": "true"}]}])),
        ("oneOf", json!([{"required": ["a"]}, {"required": ["b"]}])),
        ("oneOf", json!([])),
        ("not", json!({"required": ["a"]})),
        ("not", json!({"type": "string"})),
        ("not", json!({})),
        ("$ref", json!("#/definitions/a")),
        ("$schema", json!("http://json-schema.org/draft-04/schema#")),
        ("id", json!("x")),
        ("definitions", json!({"a": {"type": "string"}})),
        ("definitions", json!({})),
        ("patternProperties", json!({"^a": {"type": "string"}})),
        ("dependencies", json!({"a": ["b"]})),
        ("additionalItems", json!(true)),
        ("additionalItems", json!(false)),
        ("pattern", json!("(")),
        ("pattern", json!("(?=a)")),
        ("pattern", json!("[z-a]")),
        ("pattern", json!("a{1001}")),
        ("pattern", json!(r"\8")),
        ("pattern", json!("a**")),
        ("format", json!("foo")),
        ("format", json!("date-time")),
        ("format", json!("int32")),
        ("minimum", json!(5)),
        ("minimum", json!(1.5)),
        ("maximum", json!(-5)),
        ("exclusiveMinimum", json!(true)),
        ("multipleOf", json!(0)),
        ("multipleOf", json!(-2)),
        ("enum", json!([])),
        ("enum", json!(["a", "a"])),
        ("enum", json!([1, "a", null])),
        ("enum", json!([{"b": 1, "a": [2]}])),
        ("maxLength", json!(-1)),
        ("minLength", json!(5)),
        ("maxItems", json!(-1)),
        ("minItems", json!(10)),
        ("maxProperties", json!(-1)),
        ("required", json!(["a", "a"])),
        ("required", json!([])),
        ("required", json!([""])),
        ("description", json!("d")),
        ("externalDocs", json!({"url": "u"})),
        ("example", json!({"a": 1})),
        ("unknown", json!("x")),
        ("x-unknown", json!("x")),
        ("type", json!(5)),
        ("required", json!("a")),
        ("maxLength", json!("a")),
        ("maxLength", json!(1.5)),
    ]
}

fn change_spec(random: &mut Random, definition: &mut Value) {
    let changes = [
        ("/spec/group", json!("")),
        ("/spec/group", json!("nodots")),
        ("/spec/group", json!("Upper.example.com")),
        ("/spec/group", json!("things.k8s.io")),
        ("/spec/scope", json!("foo")),
        ("/spec/scope", json!("")),
        ("/spec/names/plural", json!("")),
        ("/spec/names/plural", json!("Things")),
        ("/spec/names/plural", json!("others")),
        ("/spec/names/kind", json!("thing kind")),
        ("/spec/names/kind", json!("")),
        ("/spec/names/listKind", json!("Thing")),
        ("/spec/names/singular", json!("A b")),
        ("/spec/names/shortNames", json!(["A", "b", "b"])),
        ("/spec/names/categories", json!(["A", "x y"])),
        ("/spec/versions", json!([])),
        ("/spec/versions/0/name", json!("V1")),
        ("/spec/versions/0/name", json!("")),
        ("/spec/versions/0/name", json!("v2")),
        ("/spec/versions/0/served", json!(false)),
        ("/spec/versions/0/storage", json!(false)),
        ("/spec/versions/0/storage", json!("yes")),
        ("/spec/versions/0/schema", json!(null)),
        ("/spec/versions/0/schema", json!({})),
        ("/spec/versions/0/schema", json!({"openAPIV3Schema": {}})),
        ("/spec/versions/0/schema", json!({"openAPIV3Schema": {"type": "string"}})),
        ("/spec/versions/0/schema", json!({"openAPIV3Schema": {"x-kubernetes-preserve-unknown-fields": true}})),
        ("/spec/versions/0/deprecationWarning", json!("w")),
        ("/spec/versions/0/deprecated", json!(true)),
        ("/spec/versions/0/subresources", json!({"scale": {}})),
        ("/spec/versions/0/subresources", json!({"status": {"x": 1}})),
        (
            "/spec/versions/0/subresources",
            json!({"scale": {"specReplicasPath": ".status.a", "statusReplicasPath": "status.a"}}),
        ),
        (
            "/spec/versions/0/subresources",
            json!({"scale": {"specReplicasPath": ".spec.a[0]", "statusReplicasPath": ".status.a", "labelSelectorPath": ".metadata.x"}}),
        ),
        ("/spec/versions/0/additionalPrinterColumns", json!([{"name": "", "type": "x", "jsonPath": ""}])),
        (
            "/spec/versions/0/additionalPrinterColumns",
            json!([{"name": "a", "type": "string", "jsonPath": "x", "format": "f"}]),
        ),
        (
            "/spec/versions/0/additionalPrinterColumns",
            json!([{"name": "a", "type": "date", "jsonPath": ".spec[", "format": "date-time"}]),
        ),
        (
            "/spec/versions/0/additionalPrinterColumns",
            json!([{"name": "a", "type": "string", "jsonPath": ".spec.a", "priority": "x"}]),
        ),
        ("/spec/versions/0/selectableFields", json!([{"jsonPath": ""}])),
        ("/spec/versions/0/selectableFields", json!([{"jsonPath": ".spec.nothing"}, {"jsonPath": ".spec.nothing"}])),
        ("/spec/versions/0/selectableFields", json!([{"jsonPath": ".metadata.name"}, {"jsonPath": "spec"}])),
        ("/spec/versions/0/selectableFields", json!([{"jsonPath": ".spec"}, {"jsonPath": ".spec.a[0]"}, {}])),
        ("/spec/conversion", json!({"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}})),
        ("/spec/conversion", json!({"strategy": "Webhook"})),
        (
            "/spec/conversion",
            json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1", "V2"], "clientConfig": {"url": "http://x"}}}),
        ),
        (
            "/spec/conversion",
            json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {"name": "A", "namespace": "", "port": 0, "path": "x"}}}}),
        ),
        ("/spec/conversion", json!({"strategy": "foo"})),
        ("/spec/preserveUnknownFields", json!(true)),
        ("/spec/preserveUnknownFields", json!(false)),
        ("/spec/validation", json!({"openAPIV3Schema": {"type": "object"}})),
        ("/metadata/name", json!("other")),
        ("/metadata/annotations", json!({"api-approved.kubernetes.io": "x"})),
        ("/metadata/labels", json!({"a b": "c"})),
        ("/status", json!({"conditions": [], "acceptedNames": {"plural": "x"}, "storedVersions": ["v9"]})),
    ];
    let (place, value) = random.pick(&changes).clone();
    let Some((parent, name)) = place.rsplit_once('/') else { return };
    if let Some(Value::Object(fields)) = definition.pointer_mut(parent) {
        fields.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::change;
    use crate::differential::random::custom::definition::Definition;
    use crate::random::Random;

    #[test]
    fn changes_depend_on_their_numbers_alone() {
        let definition = Definition::draw(Random::new(3), "a.example.com").object;
        let changed = |seed| {
            let mut object = definition.clone();
            change(&mut Random::new(seed), &mut object);
            object
        };
        assert_eq!(changed(5), changed(5));
        let different = (0..50).filter(|seed| changed(*seed) != definition).count();
        assert!(different > 40, "only {different} of 50 changes change something");
    }

    #[test]
    fn a_definition_without_a_schema_can_be_changed() {
        let mut definition = json!({"spec": {"versions": [{}]}});
        (0..50).for_each(|seed| change(&mut Random::new(seed), &mut definition));
    }
}
