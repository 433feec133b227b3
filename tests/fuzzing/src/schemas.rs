//! Custom resources: definitions, schemas, patterns.

use std::sync::LazyLock;

use roost_object::{Value, json};
use roost_schema::{Definition, Structural, cel, default_definition, definition_warnings, validate_definition};

use crate::halves;

/// A schema and an object of it, with a zero byte between them: what is pruned and defaulted stays so.
pub fn schema(data: &[u8]) {
    let (schema, object) = halves(data);
    let Ok(schema) = json::read(schema).map(|document| document.value) else { return };
    let is_valid = is_valid_definition(&schema);
    let Ok(structural) = Structural::compile(&schema) else { return };
    let Ok(object) = json::read(object).map(|document| document.value) else { return };
    if !object.is_object() {
        return;
    }
    let mut pruned = object.clone();
    structural.prune(&mut pruned);
    let mut again = pruned.clone();
    assert_eq!(structural.prune(&mut again), Vec::<String>::new(), "nothing is left to prune");
    assert_eq!(again, pruned);
    let mut full = pruned;
    structural.apply_defaults(&mut full);
    if is_valid {
        let mut again = full.clone();
        structural.apply_defaults(&mut again);
        assert_eq!(again, full, "defaults are complete after once");
    }
    let errors = structural.validate(&full);
    let update = structural.validate_update(&full, &full);
    assert!(update.len() <= errors.len(), "what does not change is not refused");
    let _ = structural.validate_rules(&full, None);
    let _ = structural.validate_rules(&full, Some(&object));
}

/// Whether a definition with this schema is one that the server takes; taken ones can be compiled.
fn is_valid_definition(schema: &Value) -> bool {
    let mut definition = serde_json::json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    default_definition(&mut definition);
    let _ = definition_warnings(&definition, None);
    let is_valid = validate_definition(&definition).is_empty();
    assert!(!is_valid || Definition::compile(&definition).is_ok(), "a valid definition can be used");
    is_valid
}

/// Looks for a pattern in a text in the two ways that expressions have.
static TWICE: LazyLock<cel::Program> = LazyLock::new(|| {
    let expression = "self.text.matches(self.pattern) == (self.text.findAll(self.pattern).size() > 0)";
    cel::compile(expression, &[("self", cel::Type::Dyn)]).expect("the expression above is well formed").program
});

/// A pattern and a text, with a zero byte between them, as a schema and a value, and as the operands of an expression.
pub fn pattern(data: &[u8]) {
    let (pattern, text) = halves(data);
    let (Ok(pattern), Ok(text)) = (std::str::from_utf8(pattern), std::str::from_utf8(text)) else { return };
    let schema = serde_json::json!({"type": "object", "properties": {"text": {"type": "string", "pattern": pattern}}});
    let _ = is_valid_definition(&schema);
    let object = serde_json::json!({"text": text, "pattern": pattern});
    if let Ok(structural) = Structural::compile(&schema) {
        let _ = structural.validate(&object);
    }
    let found =
        TWICE.evaluate(&|name| (name == "self").then(|| cel::Value::from(&object)), cel::PER_CALL_LIMIT).outcome;
    assert!(!matches!(found, Ok(cel::Value::Bool(false))), "what matches is found");
}
