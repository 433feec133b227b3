//! Documents as a whole: they hold together, and say what stock's say.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

fn third(name: &str) -> Value {
    serde_json::from_slice(&built_in(name).unwrap().write(&Undescribed, Format::Json)).unwrap()
}

fn second(kinds: &[CustomKind]) -> Value {
    serde_json::from_slice(&everything(kinds).write(&Undescribed, Format::Json)).unwrap()
}

/// Every reference below a value.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get("$ref") {
                found.insert(target.clone());
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

fn assert_complete(document: &Value, name: &str) {
    let mut found = BTreeSet::new();
    references(document, &mut found);
    for target in found {
        let pointer = target.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{target} in {name}");
    }
}

fn operations(document: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        item.as_object()
            .unwrap()
            .iter()
            .filter(|(method, _)| *method != "parameters")
            .map(move |(method, operation)| (path, method, operation))
    })
}

fn widget(schema: &Value) -> CustomKind<'_> {
    CustomKind {
        group: "example.com",
        version: "v1",
        plural: "widgets",
        kind: "Widget",
        list_kind: "WidgetList",
        namespaced: true,
        status: true,
        scale: true,
        schema: Some(schema),
        selectable_fields: vec![".spec.color"],
    }
}

#[test]
fn references_lead_somewhere() {
    for name in names() {
        assert_complete(&third(&name), &name);
    }
    let schema =
        json!({"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-embedded-resource": true}}});
    let kinds = [widget(&schema)];
    assert_complete(&second(&kinds), "everything");
    let custom: Value = serde_json::from_slice(&custom(&kinds).write(&Undescribed, Format::Json)).unwrap();
    assert_complete(&custom, "custom");
}

#[test]
fn operations_have_names_of_their_own() {
    let document = second(&[]);
    let mut seen = BTreeSet::new();
    for (path, method, operation) in operations(&document) {
        assert!(seen.insert(operation["operationId"].as_str().unwrap()), "{method} {path}");
    }
    // What a stock server of the same version counts.
    assert_eq!((document["paths"].as_object().unwrap().len(), seen.len()), (408, 814));
    assert_eq!(document["definitions"].as_object().unwrap().len(), 584);
}

#[test]
fn operations_say_what_the_tables_say() {
    let document = third("apis/apps/v1");
    let item = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"];
    let names = |parameters: &Value| -> Vec<String> {
        parameters.as_array().into_iter().flatten().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&item["parameters"]), ["name", "namespace", "pretty"]);
    let patch = &item["patch"];
    assert_eq!(names(&patch["parameters"]), ["dryRun", "fieldManager", "fieldValidation", "force"]);
    assert_eq!(patch["operationId"], "patchAppsV1NamespacedDeploymentScale");
    assert_eq!(patch["description"], "partially update scale of the specified Deployment");
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "autoscaling", "version": "v1", "kind": "Scale"})
    );
    assert!(patch["requestBody"]["content"]["application/apply-patch+yaml"].is_object());
    let deletion = &third("api/v1")["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["delete"];
    let answer = &deletion["responses"]["202"]["content"]["application/yaml"]["schema"]["$ref"];
    assert_eq!(answer, "#/components/schemas/io.k8s.api.core.v1.Pod");
}

#[test]
fn fields_say_what_the_tables_say() {
    let schemas = &third("api/v1")["components"]["schemas"];
    let container = &schemas["io.k8s.api.core.v1.Container"];
    assert_eq!(container["required"], json!(["name"]));
    let ports = &container["properties"]["ports"];
    assert_eq!(ports["x-kubernetes-list-map-keys"], json!(["containerPort", "protocol"]));
    assert_eq!(ports["x-kubernetes-patch-merge-key"], "containerPort");
    assert_eq!(
        ports["items"],
        json!({"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.ContainerPort"}], "default": {}})
    );
    let protocol = &schemas["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"];
    assert_eq!((&protocol["default"], &protocol["enum"]), (&json!("TCP"), &json!(["SCTP", "TCP", "UDP"])));
    let old = &second(&[])["definitions"]["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"];
    assert_eq!((&old["default"], &old["enum"]), (&Value::Null, &protocol["enum"]));
}

#[test]
fn custom_kinds_get_routes_and_schemas() {
    let schema = json!({"type": "object", "description": "A widget.", "properties": {"spec": {"type": "object"}}});
    let kinds = [widget(&schema)];
    let document: Value = serde_json::from_slice(&custom(&kinds).write(&Undescribed, Format::Json)).unwrap();
    let paths: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    assert_eq!(
        paths,
        [
            "/apis/example.com/v1/namespaces/{namespace}/widgets",
            "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}",
            "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/scale",
            "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/status",
            "/apis/example.com/v1/widgets",
        ]
    );
    let shown = &document["components"]["schemas"]["com.example.v1.Widget"];
    assert_eq!(shown["x-kubernetes-group-version-kind"][0]["kind"], "Widget");
    assert_eq!(shown["x-kubernetes-selectable-fields"], json!([{"fieldPath": "spec.color"}]));
    assert_eq!(shown["properties"]["apiVersion"], json!({"type": "string"}));
    let list = &document["components"]["schemas"]["com.example.v1.WidgetList"];
    assert_eq!(list["description"], "WidgetList is a list of Widget");

    let loose = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "description": "Loose."});
    let document = second(&[widget(&loose)]);
    let shown = &document["definitions"]["com.example.v1.Widget"];
    assert_eq!((&shown["properties"], &shown["description"]), (&Value::Null, &Value::Null));
}

#[test]
fn the_binary_form_has_the_numbers_of_its_messages() {
    let mut schemas = super::protobuf::Writer::default();
    super::protobuf_v3::add_schema(&mut schemas, "a", &json!({"type": "string", "default": "", "x-b": [1]}));
    let expected = [
        b"\x0a\x25\x0a\x01a\x12\x20\x0a\x1e".as_slice(),
        b"\xca\x01\x06string",
        b"\x8a\x02\x02\x1a\x00",
        b"\xa2\x02\x0d\x0a\x03x-b\x12\x06\x12\x04[1]\n",
    ]
    .concat();
    assert_eq!(schemas.into_bytes(), expected);

    let mut definitions = super::protobuf::Writer::default();
    super::protobuf_v2::add_schema(&mut definitions, "a", &json!({"type": "array", "items": {"$ref": "#/b"}}));
    let expected =
        [b"\x0a\x19\x0a\x01a\x12\x14".as_slice(), b"\xb2\x01\x07\x0a\x05array", b"\xba\x01\x07\x0a\x05\x0a\x03#/b"]
            .concat();
    assert_eq!(definitions.into_bytes(), expected);
}
