//! Expressions and paths.

use roost_schema::cel::{self, Type};
use roost_schema::columns::JsonPath;

/// Expressions, compiled and, where that works, evaluated on a small object within a budget.
pub fn expression(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let variables = [("self", Type::Dyn), ("oldSelf", Type::Dyn)];
    let _ = cel::compile_patch(text, &variables);
    let Ok(compiled) = cel::compile(text, &variables) else { return };
    let object = serde_json::json!({"a": [1, 2.5, "three", null, {"b": true}], "s": "some words", "n": -7, "t": "2026-01-02T03:04:05Z"});
    let variable = |name: &str| (name == "self" || name == "oldSelf").then(|| cel::Value::from(&object));
    let evaluation = compiled.program.evaluate(&variable, cel::PER_CALL_LIMIT);
    let again = compiled.program.evaluate(&variable, cel::PER_CALL_LIMIT);
    assert_eq!(evaluation.cost, again.cost, "an expression costs the same every time");
    assert_eq!(evaluation.outcome.is_ok(), again.outcome.is_ok(), "an expression ends the same way every time");
}

/// Paths of printer columns, looked up in a small object.
pub fn json_path(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(path) = JsonPath::parse(text) else { return };
    let object = serde_json::json!({"a": [{"b": 1}, {"b": "c", "d": [[1, 2], [3]]}], "status": {"x": {"y": null}}});
    let found = path.find(&object).map(|found| found.first().map(|value| value.clone().into_owned()));
    assert_eq!(found.flatten(), path.first(&object), "the first of what is found is what is found first");
}
