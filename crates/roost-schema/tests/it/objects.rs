//! Objects as stock decodes, prunes, defaults and validates them.

use roost_schema::{Errors, Structural};
use serde_json::{Value, json};

use crate::cases;

fn shown(errors: &Errors) -> Vec<String> {
    let mut shown: Vec<String> = errors.iter().map(|error| format!("{}|{error}", error.kind.cause())).collect();
    shown.sort();
    shown
}

/// Errors after which rules are not run.
fn blocks_rules(errors: &Errors) -> bool {
    const BLOCKING: [&str; 5] = [
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    ];
    errors.iter().any(|error| BLOCKING.contains(&error.kind.cause()))
}

fn decide(schema: &Structural, mut object: Value, old: Option<Value>) -> Value {
    let unknown = match schema.decode(&mut object) {
        Ok(unknown) => unknown,
        Err(error) => return json!({"coerce": error.to_string()}),
    };
    schema.apply_defaults(&mut object);
    let old = old.map(|mut old| {
        schema.decode(&mut old).expect("the old object is well formed");
        schema.apply_defaults(&mut old);
        old
    });
    let mut errors = match &old {
        Some(old) => schema.validate_update(&object, old),
        None => schema.validate(&object),
    };
    let mut warnings = Vec::new();
    if !blocks_rules(&errors) {
        let mut outcome = schema.validate_rules(&object, old.as_ref());
        errors.append(&mut outcome.errors);
        warnings = outcome.warnings;
        warnings.sort();
    }
    json!({"unknown": unknown, "object": object, "errors": shown(&errors), "warnings": warnings})
}

/// Go writes whole floats without a fraction, so that the table does not tell them from integers.
fn without_fractions(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = number.as_f64().filter(|float| !number.is_i64() && float.fract() == 0.0) {
                *value = json!(whole as i64);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(without_fractions),
        Value::Object(map) => map.values_mut().for_each(without_fractions),
        _ => {}
    }
}

#[test]
fn objects_are_decided_on_as_stock_does() {
    let mut count = 0;
    for mut case in cases(include_str!("../cases/objects.jsonl")) {
        let schema = Structural::compile(&case["schema"]).expect("the schema is structural");
        let object = case["object"].take();
        let old = case.get_mut("old").map(Value::take);
        let shown = format!("{} for {object}", case["schema"]);
        let mut decided = decide(&schema, object, old);
        without_fractions(&mut decided["object"]);
        without_fractions(&mut case["expect"]["object"]);
        assert_eq!(decided, case["expect"], "{shown}");
        count += 1;
    }
    assert!(count > 100, "only {count} cases");
}
