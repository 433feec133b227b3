//! Checks of label selectors as objects have them.

use roost_object::field::{Error, Errors};
use roost_object::{Value, metadata, names};

use crate::check::Spot;

/// Whether the values in a selector's expressions are checked. Objects stored before they were keep theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectorValues {
    /// Bad values are reported.
    Checked,
    /// Bad values are let through.
    Trusted,
}

/// Checks a label selector.
pub fn label_selector(selector: &Spot<'_>, values: SelectorValues, errors: &mut Errors) {
    if !selector.given() {
        return;
    }
    let labels = selector.field("matchLabels");
    metadata::validate_labels(labels.value, &labels.path, errors);
    selector.field("matchExpressions").each(|_, expression| {
        let operands = expression.field("values");
        let operator = expression.field("operator");
        match operator.text() {
            "In" | "NotIn" if !operands.filled() => {
                errors.push(Error::required(&operands.path, "must be specified when `operator` is 'In' or 'NotIn'"));
            }
            "Exists" | "DoesNotExist" if operands.filled() => {
                operands.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'", errors);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            word => errors.push(Error::invalid(&operator.path, word, "not a valid selector operator")),
        }
        expression.field("key").text_passes(names::is_qualified_name, errors);
        if values == SelectorValues::Checked {
            operands.each(|_, value| value.text_passes(names::is_label_value, errors));
        }
    });
}

/// Whether a label selector selects everything.
pub fn selector_is_empty(selector: &Value) -> bool {
    let is_empty = |name| match &selector[name] {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => true,
    };
    is_empty("matchLabels") && is_empty("matchExpressions")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Check, Field};
    use serde_json::json;

    fn words(value: &Value, fields: &[Field]) -> Vec<String> {
        let mut errors = Errors::new();
        Spot::root(value).check_fields(fields, &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn selectors_are_checked_expression_by_expression() {
        static FIELDS: &[Field] = &[("selector", &[Check::Selector])];
        let expressions = json!([{"key": "a", "operator": "In"}, {"key": "", "operator": "Exists"}, {"key": "a", "operator": "x", "values": ["-"]}]);
        let found = words(&json!({"selector": {"matchExpressions": expressions}}), FIELDS);
        assert_eq!(found.len(), 5, "{found:#?}");
        assert_eq!(
            found[0],
            "selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
        );
        assert_eq!(
            found[3],
            r#"selector.matchExpressions[2].operator: Invalid value: "x": not a valid selector operator"#
        );
    }
}
