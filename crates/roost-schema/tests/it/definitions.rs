//! Definitions that stock refuses, and why.

use roost_schema::{Errors, default_definition, validate_definition, validate_definition_update};
use serde_json::{Value, json};

use crate::{cases, texts};

/// A case gives the whole definition, or only the schema of an otherwise sound one.
fn definition(case: &Value) -> Value {
    let Some(schema) = case.get("schema") else { return case.clone() };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}

/// The errors with their causes. The number in the name of a type that has none depends on stock's history.
fn shown(errors: &Errors) -> Vec<String> {
    let mut shown: Vec<String> = errors.iter().map(|error| format!("{}|{error}", error.kind.cause())).collect();
    shown.sort();
    shown
}

#[test]
fn definitions_are_refused_in_the_words_of_stock() {
    let mut count = 0;
    for case in cases(include_str!("../cases/definitions.jsonl")) {
        let mut new = definition(&case["crd"]);
        default_definition(&mut new);
        let errors = if let Some(old) = case.get("old") {
            let mut old = definition(old);
            default_definition(&mut old);
            validate_definition_update(&new, &old)
        } else {
            validate_definition(&new)
        };
        let mut expected = texts(&case["errors"]);
        // Names are checked where those of all kinds are.
        expected.retain(|error| !error.contains("|metadata.name:"));
        assert_eq!(shown(&errors), expected, "{}", case["name"]);
        count += 1;
    }
    assert!(count > 200, "only {count} cases");
}
