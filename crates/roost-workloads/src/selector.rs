//! Label selectors as objects have them.

use roost_object::selector::{Operator, Requirement, Selector};
use serde_json::Value;

/// The selector that a field holds: nothing for one that is not there, everything for one that is empty. One that
/// cannot be read selects nothing.
pub fn read(selector: &Value) -> Selector {
    if selector.is_null() {
        return Selector::nothing();
    }
    parse(selector).unwrap_or_else(Selector::nothing)
}

fn parse(selector: &Value) -> Option<Selector> {
    let mut requirements = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        let values = vec![value.as_str()?.to_owned()];
        requirements.push(Requirement::new(key.as_str(), Operator::Equals, values).ok()?);
    }
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let operator = match expression["operator"].as_str()? {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            _ => return None,
        };
        let values = expression["values"].as_array().into_iter().flatten();
        let values = values.filter_map(Value::as_str).map(str::to_owned).collect();
        requirements.push(Requirement::new(expression["key"].as_str()?, operator, values).ok()?);
    }
    Some(if requirements.is_empty() { Selector::everything() } else { Selector::all_of(requirements) })
}

/// The selector of labels that must all be there.
pub fn of_labels(labels: &Value) -> Selector {
    let Some(labels) = labels.as_object() else { return Selector::everything() };
    Selector::from_set(labels.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_select_as_they_say() {
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        for (selector, expected) in [
            (json!(null), false),
            (json!({}), true),
            (json!({"matchLabels": {"app": "web"}}), true),
            (json!({"matchLabels": {"app": "db"}}), false),
            (json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}), true),
            (json!({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}), false),
            (json!({"matchExpressions": [{"key": "app", "operator": "Nonsense"}]}), false),
        ] {
            assert_eq!(read(&selector).matches(&labels), expected, "{selector}");
        }
    }
}
