//! `LabelSelector` objects, as `spec.selector` and its like hold them.

use serde_json::Value;

use super::Error;
use super::by_label::{Operator, Requirement, Selector};
use crate::field::quote;

/// Most conditions that one object may hold; far above what fits into the other limits of an object in practice.
const MAX_REQUIREMENTS: usize = 100_000;

impl Selector {
    /// Reads a `LabelSelector` object. A missing one (null) selects nothing, an empty one everything.
    pub fn from_object(object: &Value) -> Result<Self, Error> {
        let Some(fields) = object.as_object() else {
            return Ok(Self::nothing());
        };
        let labels = fields.get("matchLabels").and_then(Value::as_object);
        let expressions = fields.get("matchExpressions").and_then(Value::as_array);
        let count = labels.map_or(0, serde_json::Map::len) + expressions.map_or(0, Vec::len);
        if count > MAX_REQUIREMENTS {
            return Err(Error(format!("must have at most {MAX_REQUIREMENTS} items")));
        }
        let mut requirements = Vec::with_capacity(count);
        for (key, value) in labels.into_iter().flatten() {
            let value = value.as_str().unwrap_or_default().to_owned();
            requirements.push(Requirement::new(&**key, Operator::Equals, vec![value])?);
        }
        for expression in expressions.into_iter().flatten() {
            let text = |name: &str| expression.get(name).and_then(Value::as_str).unwrap_or_default();
            let operator = match text("operator") {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => return Err(Error(format!("{} is not a valid label selector operator", quote(other)))),
            };
            let values = expression.get("values").and_then(Value::as_array);
            let values = values.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
            requirements.push(Requirement::new(text("key"), operator, values)?);
        }
        Ok(Self::all_of(requirements))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_become_selectors() {
        let cases = [
            (json!({}), "", true),
            (json!(null), "", false),
            (json!({"matchLabels": {"b": "1", "a": "2"}}), "a=2,b=1", false),
            (
                json!({"matchLabels": {"app": "x"}, "matchExpressions": [
                    {"key": "tier", "operator": "In", "values": ["b", "a"]},
                    {"key": "old", "operator": "DoesNotExist"},
                    {"key": "app", "operator": "Exists"},
                    {"key": "tier", "operator": "NotIn", "values": ["c"]}]}),
                "app=x,app,!old,tier in (a,b),tier notin (c)",
                false,
            ),
        ];
        for (object, text, empty) in cases {
            let selector = Selector::from_object(&object).unwrap();
            assert_eq!(selector.to_string(), text);
            assert_eq!(selector.is_empty(), empty);
        }
        assert!(Selector::from_object(&json!(null)).unwrap().is_nothing());
    }

    #[test]
    fn bad_objects_are_refused_in_stock_words() {
        let cases = [
            (json!({"key": "a", "operator": "Near"}), r#""Near" is not a valid label selector operator"#),
            (
                json!({"key": "a", "operator": "In"}),
                "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
            ),
            (
                json!({"key": "a", "operator": "Exists", "values": ["x"]}),
                r#"values: Invalid value: ["x"]: values set must be empty for exists and does not exist"#,
            ),
        ];
        for (expression, words) in cases {
            let error = Selector::from_object(&json!({"matchExpressions": [expression]})).unwrap_err();
            assert_eq!(error.to_string(), words);
        }
    }
}
