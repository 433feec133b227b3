//! Policies and their bindings.

use roost_object::field::{Error, Errors};
use roost_object::{Value, metadata, names};

use super::matching::{
    FAILURE_POLICIES, MATCH_CONDITIONS, REINVOCATION_POLICIES, fill_rules, fill_selectors, one_of, required_one_of,
    validate_conditions, validate_match, validate_mutating_operations,
};
use crate::check::{Check, SUBDOMAIN, SelectorValues, Spot, label_selector, text};
use crate::fill::Fill;
use crate::internal;

const RULES: &[&str] = &["resourceRules", "excludeResourceRules"];
const AUDIT_ANNOTATIONS_MAX: usize = 20;
const AUDIT_EXPRESSION_MAX: usize = 5 * 1024;

pub(super) fn defaults(policy: &mut Value) {
    let spec = policy.at_or_empty("spec");
    spec.fill("failurePolicy", "Fail");
    if let Some(constraints) = spec.at("matchConstraints") {
        fill_selectors(constraints);
        fill_rules(constraints, RULES);
    }
}

pub(super) fn binding_defaults(binding: &mut Value) {
    if let Some(resources) = binding.at_or_empty("spec").at("matchResources") {
        fill_selectors(resources);
        fill_rules(resources, RULES);
    }
}

/// Checks what both kinds of policies have in common, up to the variables.
fn validate_frame(policy: &Value, old: Option<&Value>, mutating: bool, errors: &mut Errors) {
    let root = Spot::root(policy);
    let spec = root.field("spec");
    required_one_of(&spec.field("failurePolicy"), FAILURE_POLICIES, errors);
    let kind = spec.field("paramKind");
    if kind.given() {
        validate_parameter_kind(&kind, errors);
    }
    let constraints = spec.field("matchConstraints");
    if constraints.given() {
        validate_match(&constraints, errors);
        if !constraints.field("resourceRules").filled() {
            errors.push(Error::required(&constraints.path.child("resourceRules"), ""));
        }
        if mutating {
            validate_mutating_operations(&constraints, errors);
        }
    } else {
        errors.push(Error::required(&constraints.path, ""));
    }
    let untouched = old.is_some_and(|old| {
        let (now, before) = (&policy["spec"], &old["spec"]);
        internal::same("*admissionregistration.ParamKind", &now["paramKind"], &before["paramKind"])
            && internal::same(MATCH_CONDITIONS, &now["matchConditions"], &before["matchConditions"])
    });
    if !untouched {
        validate_conditions(&spec.field("matchConditions"), errors);
    }
    spec.field("variables").each(|_, variable| {
        let (name, expression) = (variable.field("name"), variable.field("expression"));
        if name.text().trim().is_empty() {
            errors.push(Error::required(&name.path, "name is not specified"));
        } else if !is_identifier(name.text()) {
            name.invalid("must be a valid CEL identifier", errors);
        }
        require_expression(&expression, "expression is not specified", errors);
    });
}

fn require_expression(expression: &Spot<'_>, words: &str, errors: &mut Errors) {
    if expression.text().trim().is_empty() {
        errors.push(Error::required(&expression.path, words));
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        && !names::EXPRESSION_KEYWORDS.contains(&name)
}

fn validate_parameter_kind(parameter: &Spot<'_>, errors: &mut Errors) {
    let (version, kind) = (parameter.field("apiVersion"), parameter.field("kind"));
    let mut report = |value: &str, words: String| errors.push(Error::invalid(&version.path, value, words));
    match version.text().matches('/').count() {
        _ if !version.filled() => errors.push(Error::required(&version.path, "")),
        0 | 1 => {
            let (group, name) = version.text().split_once('/').unwrap_or(("", version.text()));
            let problems = names::is_dns1123_subdomain(group);
            if !group.is_empty() && !problems.is_empty() {
                report(group, problems.join(","));
            }
            let problems = names::is_dns1035_label(name);
            if name.is_empty() {
                report(version.text(), "version must be specified".to_owned());
            } else if !problems.is_empty() {
                report(name, problems.join(","));
            }
        }
        _ => report(version.text(), format!("unexpected GroupVersion string: {}", version.text())),
    }
    let problems = names::is_dns1035_label(&kind.text().to_lowercase());
    if !kind.filled() {
        errors.push(Error::required(&kind.path, ""));
    } else if !problems.is_empty() {
        kind.invalid(format!("may have mixed case, but should otherwise match: {}", problems.join(",")), errors);
    }
}

pub(super) fn validate(policy: &Value, old: Option<&Value>, errors: &mut Errors) {
    validate_frame(policy, old, false, errors);
    let root = Spot::root(policy);
    let spec = root.field("spec");
    let (validations, annotations) = (spec.field("validations"), spec.field("auditAnnotations"));
    if !validations.filled() && !annotations.filled() {
        let words = "validations or auditAnnotations must contain at least one item";
        errors.push(Error::required(&validations.path, words));
        errors.push(Error::required(&annotations.path, words));
        return;
    }
    validations.each(|_, validation| validate_validation(validation, errors));
    if annotations.elements().len() > AUDIT_ANNOTATIONS_MAX {
        annotations.invalid(format!("must not have more than {AUDIT_ANNOTATIONS_MAX} auditAnnotations"), errors);
    }
    let name = text(&policy["metadata"], "name");
    annotations.each(|index, annotation| {
        let (key, expression) = (annotation.field("key"), annotation.field("valueExpression"));
        if name.is_empty() {
            errors.push(Error::invalid(&key.path, key.text(), "requires metadata.name be non-empty"));
        } else {
            let qualified = format!("{name}/{}", key.text());
            errors.extend(
                names::is_qualified_name(&qualified)
                    .into_iter()
                    .map(|words| Error::invalid(&key.path, qualified.as_str(), words)),
            );
        }
        require_expression(&expression, "valueExpression is not specified", errors);
        if expression.text().trim().len() > AUDIT_EXPRESSION_MAX {
            let words = format!("must not exceed {AUDIT_EXPRESSION_MAX} bytes in length");
            errors.push(Error::required(&expression.path, words));
        }
        if annotations.elements()[..index].iter().any(|earlier| text(earlier, "key") == key.text()) {
            errors.push(Error::duplicate(&key.path, key.text()));
        }
    });
}

fn validate_validation(validation: &Spot<'_>, errors: &mut Errors) {
    const EMPTY: &str = "must be non-empty if specified";
    require_expression(&validation.field("expression"), "expression is not specified", errors);
    let (expression, message) = (validation.field("messageExpression"), validation.field("message"));
    if expression.filled() && expression.text().trim().is_empty() {
        expression.invalid(EMPTY, errors);
    }
    if message.filled() && message.text().trim().is_empty() {
        message.invalid(EMPTY, errors);
    } else if message.text().trim().contains(['\n', '\r']) {
        message.invalid("must not contain line breaks", errors);
    }
    one_of(&validation.field("reason"), &["Forbidden", "Invalid", "RequestEntityTooLarge"], errors);
}

pub(super) fn validate_status_update(new: &Value, _old: &Value, errors: &mut Errors) {
    let root = Spot::root(new);
    let status = root.field("status");
    let checking = status.field("typeChecking");
    checking.field("expressionWarnings").each(|_, warning| {
        warning.field("warning").check(&[Check::Required], errors);
        let reference = warning.field("fieldRef");
        require_expression(&reference, "", errors);
    });
    let conditions = status.field("conditions");
    metadata::validate_conditions(conditions.value, &conditions.path, errors);
}

pub(super) fn validate_mutating(policy: &Value, old: Option<&Value>, errors: &mut Errors) {
    validate_frame(policy, old, true, errors);
    let root = Spot::root(policy);
    let spec = root.field("spec");
    let mutations = spec.field("mutations");
    if !mutations.filled() {
        errors.push(Error::required(&mutations.path, "mutations must contain at least one item"));
    }
    mutations.each(|_, mutation| {
        let kind = mutation.field("patchType");
        let (wanted, other) = match kind.text() {
            "" => return errors.push(Error::required(&kind.path, "")),
            "JSONPatch" => ("jsonPatch", "applyConfiguration"),
            "ApplyConfiguration" => ("applyConfiguration", "jsonPatch"),
            word => {
                let kinds = &["ApplyConfiguration", "JSONPatch"];
                return errors.push(Error::not_supported(&kind.path, word, kinds));
            }
        };
        let patch = mutation.field(wanted);
        if patch.given() {
            require_expression(&patch.field("expression"), "", errors);
        } else {
            errors.push(Error::required(&patch.path, format!("must be specified when patchType is {}", kind.text())));
        }
        if mutation.field(other).given() {
            let words = format!("must not be specified when patchType is {}", kind.text());
            errors.push(Error::invalid(&mutation.path.child(other), format!("{{{other}}}"), words));
        }
    });
    spec.field("reinvocationPolicy").check(&[Check::Required, Check::OneOf(REINVOCATION_POLICIES)], errors);
}

fn validate_binding_frame(spec: &Spot<'_>, errors: &mut Errors) {
    spec.field("policyName").check(&[Check::Required, SUBDOMAIN], errors);
    let parameter = spec.field("paramRef");
    if parameter.given() {
        validate_parameter(&parameter, errors);
    }
    let resources = spec.field("matchResources");
    if resources.given() {
        validate_match(&resources, errors);
    }
}

fn validate_parameter(parameter: &Spot<'_>, errors: &mut Errors) {
    const EXCLUSIVE: &str = "name and selector are mutually exclusive";
    let (name, selector) = (parameter.field("name"), parameter.field("selector"));
    if name.filled() {
        name.text_passes(names::is_path_segment, errors);
        if selector.given() {
            name.forbidden(EXCLUSIVE, errors);
        }
    }
    if selector.given() {
        label_selector(&selector, SelectorValues::Checked, errors);
        if name.filled() {
            selector.forbidden(EXCLUSIVE, errors);
        }
    }
    if !name.filled() && !selector.given() {
        errors.push(Error::required(&parameter.path, "one of name or selector must be specified"));
    }
    parameter.field("parameterNotFoundAction").check(&[Check::Required, Check::OneOf(&["Deny", "Allow"])], errors);
}

pub(super) fn validate_binding(binding: &Value, errors: &mut Errors) {
    let root = Spot::root(binding);
    let spec = root.field("spec");
    validate_binding_frame(&spec, errors);
    let actions = spec.field("validationActions");
    actions.each(|index, action| {
        one_of(action, &["Audit", "Deny", "Warn"], errors);
        if actions.elements()[..index].contains(action.value) {
            errors.push(Error::duplicate(&action.path, action.text()));
        }
    });
    let has = |wanted: &str| actions.elements().iter().any(|action| action == wanted);
    if has("Deny") && has("Warn") {
        actions.invalid("must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)", errors);
    }
    if !actions.filled() {
        errors.push(Error::required(&actions.path, "at least one validation action is required"));
    }
}

pub(super) fn validate_mutating_binding(binding: &Value, errors: &mut Errors) {
    let root = Spot::root(binding);
    let spec = root.field("spec");
    validate_binding_frame(&spec, errors);
    validate_mutating_operations(&spec.field("matchResources"), errors);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn policies_match_and_validate_something() {
        let mut policy = json!({"spec": {"paramKind": {"apiVersion": "a/b/c", "kind": "K_"}, "variables": [{"name": "in"}], "matchConstraints": {}}});
        defaults(&mut policy);
        let found = words(|errors| validate(&policy, None, errors));
        assert_eq!(
            found[0],
            r#"spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c"#
        );
        assert!(found[1].starts_with(r#"spec.paramKind.kind: Invalid value: "K_": may have mixed case, but should otherwise match: a DNS-1035 label"#));
        assert_eq!(
            found[2..],
            [
                "spec.matchConstraints.resourceRules: Required value",
                r#"spec.variables[0].name: Invalid value: "in": must be a valid CEL identifier"#,
                "spec.variables[0].expression: Required value: expression is not specified",
                "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
                "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
            ]
        );
    }

    #[test]
    fn validations_say_what_is_wrong() {
        let policy = json!({"metadata": {"name": "p"}, "spec": {"failurePolicy": "Fail", "validations": [{"expression": "", "message": "a\nb", "messageExpression": " ", "reason": "Odd"}],
            "auditAnnotations": [{"key": "k", "valueExpression": "x"}, {"key": "k", "valueExpression": ""}]}});
        assert_eq!(
            words(|errors| validate(&policy, None, errors)),
            [
                "spec.matchConstraints: Required value",
                "spec.validations[0].expression: Required value: expression is not specified",
                r#"spec.validations[0].messageExpression: Invalid value: " ": must be non-empty if specified"#,
                r#"spec.validations[0].message: Invalid value: "a\nb": must not contain line breaks"#,
                r#"spec.validations[0].reason: Unsupported value: "Odd": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge""#,
                "spec.auditAnnotations[1].valueExpression: Required value: valueExpression is not specified",
                r#"spec.auditAnnotations[1].key: Duplicate value: "k""#,
            ]
        );
    }

    #[test]
    fn mutations_are_of_one_kind() {
        let policy = json!({"spec": {"failurePolicy": "Fail", "mutations": [{"patchType": "JSONPatch", "applyConfiguration": {}}]}});
        assert_eq!(
            words(|errors| validate_mutating(&policy, None, errors)),
            [
                "spec.matchConstraints: Required value",
                "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
                r#"spec.mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch"#,
                "spec.reinvocationPolicy: Required value",
            ]
        );
    }

    #[test]
    fn bindings_act() {
        let binding = json!({"spec": {"policyName": "p", "paramRef": {"name": "n", "selector": {}}, "validationActions": ["Deny", "Warn", "Deny"]}});
        let found = words(|errors| validate_binding(&binding, errors));
        assert_eq!(
            found[..4],
            [
                "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
                "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
                "spec.paramRef.parameterNotFoundAction: Required value",
                r#"spec.validationActions[2]: Duplicate value: "Deny""#,
            ]
        );
    }
}
