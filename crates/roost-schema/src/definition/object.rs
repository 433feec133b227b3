//! Validation of custom resources as their version's strategy does it, in stock's order.

use roost_object::field::{Error, Errors, Kind, Path};
use serde_json::Value;

use super::{ScalePaths, Version};
use crate::rules::RuleOutcome;
use crate::wording;

impl Version {
    /// Checks a new object. `errors` are those that the caller found in its type and metadata: they come first, and
    /// keep rules from running when they are of a kind that rules could stumble over.
    pub fn validate_create(&self, object: &Value, mut errors: Errors) -> RuleOutcome {
        if let Some(schema) = &self.schema {
            errors.append(&mut schema.validate_values(object, None, ""));
        }
        self.validate_scale(object, true, &mut errors);
        if let Some(schema) = &self.schema {
            schema.validate_embedded(object, &Path::ROOT, &mut errors);
            schema.validate_lists(object, &Path::ROOT, &mut errors);
        }
        self.finish(object, None, errors)
    }

    /// Checks a changed object; `errors` as in [`Version::validate_create`].
    pub fn validate_update(&self, new: &Value, old: &Value, mut errors: Errors) -> RuleOutcome {
        if let Some(schema) = &self.schema {
            errors.append(&mut schema.validate_values(new, Some(old), ""));
        }
        self.validate_scale(new, true, &mut errors);
        if let Some(schema) = &self.schema {
            schema.validate_embedded(new, &Path::ROOT, &mut errors);
            schema.validate_lists_update(new, old, &mut errors);
        }
        self.finish(new, Some(old), errors)
    }

    /// Checks a change through the status subresource; `errors` as in [`Version::validate_create`].
    pub fn validate_status_update(&self, new: &Value, old: &Value, mut errors: Errors) -> RuleOutcome {
        if let Some(schema) = &self.schema {
            if let (Some(status), Some(status_schema)) = (new.get("status"), schema.property("status")) {
                let before = old.get("status").unwrap_or(&Value::Null);
                errors.append(&mut status_schema.validate_values(status, Some(before), "status"));
            }
            self.validate_scale(new, false, &mut errors);
            schema.validate_lists_update(new, old, &mut errors);
        }
        self.finish(new, Some(old), errors)
    }

    fn finish(&self, new: &Value, old: Option<&Value>, mut errors: Errors) -> RuleOutcome {
        let Some(schema) = self.schema.as_ref().filter(|schema| schema.below.rules) else {
            return RuleOutcome { errors, warnings: Vec::new() };
        };
        if errors.iter().any(|error| blocks_rules(error.kind)) {
            let words = "some validation rules were not checked because the object was invalid; correct the existing \
                         errors to complete validation";
            errors.push(Error::invalid(&Path::new("<nil>"), Value::Null, words));
            return RuleOutcome { errors, warnings: Vec::new() };
        }
        let mut outcome = schema.validate_rules(new, old);
        errors.append(&mut outcome.errors);
        RuleOutcome { errors, warnings: outcome.warnings }
    }

    fn validate_scale(&self, object: &Value, spec: bool, errors: &mut Errors) {
        let Some(scale) = &self.scale else { return };
        let ScalePaths { spec_replicas, status_replicas, label_selector } = scale;
        if spec {
            replicas(object, spec_replicas, errors);
        }
        replicas(object, status_replicas, errors);
        if let Some(path) = label_selector {
            match nested(object, path) {
                Ok(None | Some(Value::String(_))) => {}
                Ok(Some(other)) => {
                    errors.push(Error::invalid(&Path::new(path), "", accessor_error(path, other, "string")));
                }
                Err(words) => errors.push(Error::invalid(&Path::new(path), "", words)),
            }
        }
    }
}

/// Errors of these kinds mean that a rule may meet values of types or sizes for which it was not made.
fn blocks_rules(kind: Kind) -> bool {
    matches!(kind, Kind::NotSupported | Kind::Required | Kind::TooLong | Kind::TooMany | Kind::TypeInvalid)
}

fn replicas(object: &Value, path: &str, errors: &mut Errors) {
    let field = Path::new(path);
    match nested(object, path) {
        Ok(None) => {}
        Ok(Some(value)) => match value.as_i64() {
            None => errors.push(Error::invalid(&field, 0, accessor_error(path, value, "int64"))),
            Some(number) if number < 0 => {
                errors.push(Error::invalid(&field, number, "should be a non-negative integer"));
            }
            Some(number) if number > i64::from(i32::MAX) => {
                let words = format!("should be less than or equal to {}", i32::MAX);
                errors.push(Error::invalid(&field, number, words));
            }
            Some(_) => {}
        },
        Err(words) => errors.push(Error::invalid(&field, 0, words)),
    }
}

fn nested<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    let mut walked = String::new();
    for name in path.strip_prefix('.').unwrap_or(path).split('.') {
        walked.push('.');
        walked.push_str(name);
        match value {
            Value::Null => return Ok(None),
            Value::Object(map) => match map.get(name) {
                None => return Ok(None),
                Some(inner) => value = inner,
            },
            other => return Err(accessor_error(&walked, other, "map[string]interface{}")),
        }
    }
    Ok(Some(value))
}

fn accessor_error(path: &str, value: &Value, wanted: &str) -> String {
    let (shown, given) = match value {
        Value::String(text) => (text.clone(), "string"),
        Value::Bool(flag) => (flag.to_string(), "bool"),
        Value::Number(number) if number.is_i64() => (number.to_string(), "int64"),
        Value::Number(number) => (wording::float(number.as_f64().unwrap_or_default()), "float64"),
        Value::Null => ("<nil>".to_owned(), "<nil>"),
        Value::Array(_) => (wording::go_value(value), "[]interface {}"),
        Value::Object(_) => (wording::go_value(value), "map[string]interface {}"),
    };
    let path = if path.starts_with('.') { path.to_owned() } else { format!(".{path}") };
    format!("{path} accessor error: {shown} is of the type {given}, expected {wanted}")
}
