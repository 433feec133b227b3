//! Classes of storage, and of the attributes of volumes.

use std::collections::{BTreeMap, BTreeSet};

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use crate::check::{Spot, elements, immutable, text};
use crate::fill::Fill;
use crate::internal;
use crate::pod::warnings::old_node_label;

/// A class may have this many parameters.
const PARAMETERS_MAX: usize = 512;
/// All parameters of a class together may have this many bytes.
const PARAMETERS_SIZE_MAX: usize = 256 * 1024;

pub(super) fn defaults(class: &mut Value) {
    class.fill("reclaimPolicy", "Delete");
    class.fill("volumeBindingMode", "Immediate");
}

pub(super) fn validate(class: &Value, errors: &mut Errors) {
    let root = Spot::root(class);
    validate_driver(&root.field("provisioner"), errors);
    validate_parameters(&root.field("parameters"), true, errors);
    let policy = root.field("reclaimPolicy");
    if policy.filled() && !matches!(policy.text(), "Delete" | "Retain") {
        errors.push(Error::not_supported(&policy.path, policy.text(), &["Delete", "Retain"]));
    }
    let mode = root.field("volumeBindingMode");
    if !mode.given() {
        errors.push(Error::required(&mode.path, ""));
    } else if !matches!(mode.text(), "Immediate" | "WaitForFirstConsumer") {
        errors.push(Error::not_supported(&mode.path, mode.text(), &["Immediate", "WaitForFirstConsumer"]));
    }
    validate_topologies(&root.field("allowedTopologies"), errors);
}

fn validate_driver(driver: &Spot<'_>, errors: &mut Errors) {
    if driver.filled() {
        let lowered = driver.text().to_lowercase();
        errors.extend(
            names::is_qualified_name(&lowered)
                .into_iter()
                .map(|words| Error::invalid(&driver.path, lowered.as_str(), words)),
        );
    } else {
        errors.push(Error::required(&driver.path, ""));
    }
}

fn validate_parameters(parameters: &Spot<'_>, may_be_empty: bool, errors: &mut Errors) {
    let given = parameters.value.as_object();
    let count = given.map_or(0, roost_object::Map::len);
    if count > PARAMETERS_MAX {
        return errors.push(Error::too_long(&parameters.path, PARAMETERS_MAX));
    }
    let mut size = 0;
    for (key, value) in given.into_iter().flatten() {
        if key.is_empty() {
            errors.push(Error::invalid(&parameters.path, "", "field can not be empty."));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > PARAMETERS_SIZE_MAX {
        errors.push(Error::too_long(&parameters.path, PARAMETERS_SIZE_MAX));
    }
    if !may_be_empty && count == 0 {
        errors.push(Error::required(&parameters.path, "must contain at least one key/value pair"));
    }
}

fn validate_topologies(topologies: &Spot<'_>, errors: &mut Errors) {
    let mut seen: Vec<BTreeMap<String, BTreeSet<String>>> = Vec::new();
    topologies.each(|_, term| {
        let mut labels: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let expressions = term.field("matchLabelExpressions");
        expressions.each(|_, expression| {
            let (key, values) = (expression.field("key"), expression.field("values"));
            if !values.filled() {
                errors.push(Error::required(&values.path, ""));
            }
            values.each(|index, value| {
                if elements(values.value)[..index].contains(value.value) {
                    errors.push(Error::duplicate(&value.path, value.text()));
                }
            });
            key.text_passes(names::is_qualified_name, errors);
            let set = values.elements().iter().filter_map(Value::as_str).map(str::to_owned).collect();
            if labels.insert(key.text().to_owned(), set).is_some() {
                errors.push(Error::duplicate(&key.path, key.text()));
            }
        });
        // An empty term equals the rows that stock reserves for all terms at first.
        let repeats = seen.iter().filter(|earlier| **earlier == labels).count();
        let reserved = if labels.is_empty() { topologies.elements().len() } else { 0 };
        for _ in 0..repeats + reserved {
            errors.push(Error::duplicate(&expressions.path, ""));
        }
        seen.push(labels);
    });
}

pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate(new, errors);
    let root = Spot::root(new);
    let shapes = [("parameters", "{s"), ("provisioner", "s"), ("reclaimPolicy", "*s"), ("volumeBindingMode", "*s")];
    for (field, shape) in shapes {
        immutable(&root.field(field), &old[field], shape, errors);
    }
}

pub(super) fn warnings(class: &Value, warnings: &mut Vec<String>) {
    let path = Path::new("allowedTopologies");
    Spot::new(&class["allowedTopologies"], path).each(|_, term| {
        term.field("matchLabelExpressions").each(|_, expression| {
            let key = expression.field("key");
            if let Some(words) = old_node_label(key.text()) {
                warnings.push(format!("{}: {words}", key.path));
            }
        });
    });
}

pub(super) fn validate_attributes(class: &Value, errors: &mut Errors) {
    let root = Spot::root(class);
    validate_driver(&root.field("driverName"), errors);
    validate_parameters(&root.field("parameters"), false, errors);
}

pub(super) fn validate_attributes_update(new: &Value, old: &Value, errors: &mut Errors) {
    if text(new, "driverName") != text(old, "driverName") {
        errors.push(Error::forbidden(&Path::new("driverName"), "updates to driverName are forbidden."));
    }
    if !internal::same("{s", &new["parameters"], &old["parameters"]) {
        errors.push(Error::forbidden(&Path::new("parameters"), "updates to parameters are forbidden."));
    }
    validate_attributes(new, errors);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn classes_name_a_provisioner() {
        let mut class = json!({"reclaimPolicy": "Recycle", "allowedTopologies": [
            {"matchLabelExpressions": [{"key": "a", "values": ["b", "b"]}]}, {"matchLabelExpressions": [{"key": "a", "values": ["b"]}]}]});
        defaults(&mut class);
        assert_eq!(
            words(|errors| validate(&class, errors)),
            [
                "provisioner: Required value",
                r#"reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain""#,
                r#"allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "b""#,
                r#"allowedTopologies[1].matchLabelExpressions: Duplicate value: """#,
            ]
        );
    }

    #[test]
    fn classes_stay() {
        let old =
            json!({"provisioner": "a", "driverName": "a", "volumeBindingMode": "Immediate", "parameters": {"x": "y"}});
        let new = json!({"provisioner": "b", "driverName": "b", "volumeBindingMode": "Immediate"});
        assert_eq!(
            words(|errors| validate_update(&new, &old, errors)),
            [
                "parameters: Invalid value: null: field is immutable",
                r#"provisioner: Invalid value: "b": field is immutable"#
            ]
        );
        assert_eq!(
            words(|errors| validate_attributes_update(&new, &old, errors)),
            [
                "driverName: Forbidden: updates to driverName are forbidden.",
                "parameters: Forbidden: updates to parameters are forbidden.",
                "parameters: Required value: must contain at least one key/value pair",
            ]
        );
    }
}
