//! What webhooks and policies apply to: rules about resources, selectors, and conditions.

use std::collections::BTreeSet;

use roost_object::field::{Error, Errors};
use roost_object::{Map, Value, names};

use crate::check::{Check, SelectorValues, Spot, elements, label_selector, text};
use crate::fill::Fill;

pub(super) const FAILURE_POLICIES: &[&str] = &["Fail", "Ignore"];
pub(super) const MATCH_POLICIES: &[&str] = &["Equivalent", "Exact"];
pub(super) const REINVOCATION_POLICIES: &[&str] = &["IfNeeded", "Never"];
const OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const MUTATING_OPERATIONS: &[&str] = &["*", "CONNECT", "CREATE", "UPDATE"];
/// The internal type of the conditions under which a policy or webhook is asked.
pub(super) const MATCH_CONDITIONS: &str = "[admissionregistration.MatchCondition";

/// How many conditions one hook or policy may have.
const CONDITIONS_MAX: usize = 64;

/// Fills in what matching leaves open.
pub(super) fn fill_selectors(holder: &mut Value) {
    holder.fill("matchPolicy", "Equivalent");
    holder.fill("namespaceSelector", Map::new());
    holder.fill("objectSelector", Map::new());
}

pub(super) fn fill_rules(holder: &mut Value, lists: &[&str]) {
    for list in lists {
        for rule in holder.each(list) {
            rule.fill("scope", "*");
        }
    }
}

/// Reports a given field that is not one of some words, even if it is empty.
pub(super) fn one_of(field: &Spot<'_>, words: &[&str], errors: &mut Errors) {
    if field.given() && !words.contains(&field.text()) {
        errors.push(Error::not_supported(&field.path, field.text(), words));
    }
}

/// Reports a field that is missing or not one of some words.
pub(super) fn required_one_of(field: &Spot<'_>, words: &[&str], errors: &mut Errors) {
    if field.given() { one_of(field, words, errors) } else { errors.push(Error::required(&field.path, "")) }
}

fn has_wildcard(list: &Spot<'_>) -> bool {
    list.elements().len() > 1 && list.elements().iter().any(|one| one == "*")
}

/// Checks a rule about resources and operations.
pub(super) fn validate_rule(rule: &Spot<'_>, errors: &mut Errors) {
    let operations = rule.field("operations");
    if !operations.filled() {
        errors.push(Error::required(&operations.path, ""));
    }
    if has_wildcard(&operations) {
        operations.invalid("if '*' is present, must not specify other operations", errors);
    }
    operations.each(|_, operation| one_of(operation, OPERATIONS, errors));
    let (groups, versions) = (rule.field("apiGroups"), rule.field("apiVersions"));
    if !groups.filled() {
        errors.push(Error::required(&groups.path, ""));
    }
    if has_wildcard(&groups) {
        groups.invalid("if '*' is present, must not specify other API groups", errors);
    }
    if !versions.filled() {
        errors.push(Error::required(&versions.path, ""));
    }
    if has_wildcard(&versions) {
        versions.invalid("if '*' is present, must not specify other API versions", errors);
    }
    versions.each(|_, version| {
        if !version.filled() {
            errors.push(Error::required(&version.path, ""));
        }
    });
    validate_resources(&rule.field("resources"), errors);
    one_of(&rule.field("scope"), &["*", "Cluster", "Namespaced"], errors);
}

fn validate_resources(resources: &Spot<'_>, errors: &mut Errors) {
    if !resources.filled() {
        errors.push(Error::required(&resources.path, ""));
    }
    let (mut all_of, mut of_all) = (BTreeSet::new(), BTreeSet::new());
    let (mut everything, mut all_resources, mut one_resource) = (false, false, false);
    for (index, value) in resources.elements().iter().enumerate() {
        let path = resources.path.index(index);
        let resource = value.as_str().unwrap_or_default();
        if resource.is_empty() {
            errors.push(Error::required(&path, ""));
            continue;
        }
        everything |= resource == "*/*";
        all_resources |= resource == "*";
        let Some((name, part)) = resource.split_once('/') else {
            one_resource = resource != "*";
            continue;
        };
        if all_of.contains(name) {
            let words = format!("if '{name}/*' is present, must not specify {resource}");
            errors.push(Error::invalid(&path, resource, words));
        }
        if of_all.contains(part) {
            let words = format!("if '*/{part}' is present, must not specify {resource}");
            errors.push(Error::invalid(&path, resource, words));
        }
        if part == "*" {
            all_of.insert(name);
        }
        if name == "*" {
            of_all.insert(part);
        }
    }
    if resources.elements().len() > 1 && everything {
        resources.invalid("if '*/*' is present, must not specify other resources", errors);
    }
    if all_resources && one_resource {
        resources.invalid("if '*' is present, must not specify other resources without subresources", errors);
    }
}

/// Checks what a policy or a binding matches.
pub(super) fn validate_match(matching: &Spot<'_>, errors: &mut Errors) {
    required_one_of(&matching.field("matchPolicy"), MATCH_POLICIES, errors);
    for selector in ["namespaceSelector", "objectSelector"] {
        let selector = matching.field(selector);
        if selector.given() {
            label_selector(&selector, SelectorValues::Checked, errors);
        } else {
            errors.push(Error::required(&selector.path, ""));
        }
    }
    for rules in ["resourceRules", "excludeResourceRules"] {
        matching.field(rules).each(|_, rule| {
            let resource_names = rule.field("resourceNames");
            resource_names.each(|index, name| {
                name.text_passes(names::is_path_segment, errors);
                if resource_names.elements()[..index].contains(name.value) {
                    errors.push(Error::duplicate(&name.path, name.text()));
                }
            });
            validate_rule(rule, errors);
        });
    }
}

/// Nothing can be changed in what is deleted.
pub(super) fn validate_mutating_operations(matching: &Spot<'_>, errors: &mut Errors) {
    let rules = matching.field("resourceRules");
    let path = rules.path.child("operations");
    for rule in rules.elements() {
        for operation in elements(&rule["operations"]).iter().map(|one| one.as_str().unwrap_or_default()) {
            if !MUTATING_OPERATIONS.contains(&operation) {
                errors.push(Error::not_supported(&path, operation, MUTATING_OPERATIONS));
            }
        }
    }
}

/// Checks the frame of conditions: that each has a name and an expression.
pub(super) fn validate_conditions(conditions: &Spot<'_>, errors: &mut Errors) {
    let count = conditions.elements().len();
    if count > CONDITIONS_MAX {
        errors.push(Error::too_many(&conditions.path, count, CONDITIONS_MAX));
    }
    conditions.each(|index, condition| {
        let (name, expression) = (condition.field("name"), condition.field("expression"));
        if expression.text().trim().is_empty() {
            errors.push(Error::required(&expression.path, ""));
        }
        name.check(&[Check::Required, Check::Text(names::is_qualified_name)], errors);
        let repeats = |earlier: &Value| text(earlier, "name") == name.text();
        if name.filled() && conditions.elements()[..index].iter().any(repeats) {
            errors.push(Error::duplicate(&name.path, name.text()));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use roost_object::field::Path;
    use serde_json::json;

    fn found(rule: &Value) -> Vec<String> {
        words(|errors| validate_rule(&Spot::new(rule, Path::new("r")), errors))
    }

    #[test]
    fn wildcards_stand_alone() {
        assert_eq!(
            found(
                &json!({"operations": ["*", "CREATE"], "apiGroups": ["*", ""], "apiVersions": ["v1", ""], "resources": ["pods/*", "pods/log", "*/x", "a/x", "*", "b"], "scope": "Odd"})
            ),
            [
                r#"r.operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations"#,
                r#"r.apiGroups: Invalid value: ["*",""]: if '*' is present, must not specify other API groups"#,
                "r.apiVersions[1]: Required value",
                r#"r.resources[1]: Invalid value: "pods/log": if 'pods/*' is present, must not specify pods/log"#,
                r#"r.resources[3]: Invalid value: "a/x": if '*/x' is present, must not specify a/x"#,
                r#"r.resources: Invalid value: ["pods/*","pods/log","*/x","a/x","*","b"]: if '*' is present, must not specify other resources without subresources"#,
                r#"r.scope: Unsupported value: "Odd": supported values: "*", "Cluster", "Namespaced""#,
            ]
        );
        assert_eq!(found(&json!({})).len(), 4);
    }
}
