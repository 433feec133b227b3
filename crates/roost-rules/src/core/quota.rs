//! Quotas: what they limit, and for which objects.

use std::collections::BTreeSet;

use roost_object::field::{Error, Errors, Path};
use roost_object::{Quantity, Value};

use super::resource_names::{is_standard_for_quota, validate_amount, validate_for_quota};
use crate::check::{IMMUTABLE, Spot, elements, text};
use crate::fill::{Fill, round_resource_list};
use crate::shown;

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];
const CONFLICTS: [[&str; 2]; 2] = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

pub(super) fn defaults(quota: &mut Value) {
    if let Some(spec) = quota.at("spec") {
        round_resource_list(spec.at("hard"));
    }
    if let Some(status) = quota.at("status") {
        round_resource_list(status.at("hard"));
        round_resource_list(status.at("used"));
    }
}

pub(super) fn validate(quota: &Value, errors: &mut Errors) {
    validate_spec(quota, errors);
    validate_amounts(quota, errors);
}

pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_spec(new, errors);
    let scopes = |quota: &Value| -> BTreeSet<String> {
        elements(&quota["spec"]["scopes"]).iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    if scopes(new) != scopes(old) {
        errors.push(Error::invalid(&Path::new("spec.scopes"), new["spec"]["scopes"].clone(), IMMUTABLE));
    }
}

pub(super) fn validate_status_update(new: &Value, _old: &Value, errors: &mut Errors) {
    if text(&new["metadata"], "resourceVersion").is_empty() {
        errors.push(Error::required(&Path::new("resourceVersion"), ""));
    }
    validate_amounts(new, errors);
}

fn validate_amounts(quota: &Value, errors: &mut Errors) {
    let status = Path::new("status");
    for name in ["hard", "used"] {
        validate_resources(&Spot::new(&quota["status"][name], status.child(name)), errors);
    }
}

fn validate_resources(resources: &Spot<'_>, errors: &mut Errors) {
    resources.entries(|name, amount| {
        validate_for_quota(name, &amount.path, errors);
        validate_amount(name, amount.value, &amount.path, errors);
    });
}

fn validate_spec(quota: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let spec = Spot::new(&quota["spec"], path);
    let hard = spec.field("hard");
    validate_resources(&hard, errors);

    let limited: Vec<&str> =
        hard.value.as_object().into_iter().flat_map(|map| map.keys()).map(String::as_str).collect();
    let misplaced =
        |scope: &str| limited.iter().filter(|name| is_standard_for_quota(name) && !fits(scope, name)).count();
    let scopes = spec.field("scopes");
    for scope in scopes.elements().iter().filter_map(Value::as_str) {
        if !SCOPES.contains(&scope) {
            scopes.invalid("unsupported scope", errors);
        }
        for _ in 0..misplaced(scope) {
            scopes.invalid("unsupported scope applied to resource", errors);
        }
    }
    if scopes.filled() {
        conflicts(&scopes, elements(scopes.value).iter().filter_map(Value::as_str), scopes.value, errors);
    }

    let selector = spec.field("scopeSelector");
    if selector.given() {
        validate_selector(&selector, &misplaced, scopes.value, errors);
    }
}

fn conflicts<'a>(reported: &Spot<'_>, scopes: impl Iterator<Item = &'a str>, shown: &Value, errors: &mut Errors) {
    let scopes: Vec<&str> = scopes.collect();
    for pair in CONFLICTS {
        if pair.iter().all(|scope| scopes.contains(scope)) {
            errors.push(Error::invalid(&reported.path, shown.clone(), "conflicting scopes"));
        }
    }
}

fn validate_selector(selector: &Spot<'_>, misplaced: &dyn Fn(&str) -> usize, scopes: &Value, errors: &mut Errors) {
    let expressions = selector.field("matchExpressions");
    let path = expressions.path;
    for expression in expressions.elements() {
        let scope = text(expression, "scopeName");
        let operator = text(expression, "operator");
        if !SCOPES.contains(&scope) {
            errors.push(Error::invalid(&path.child("scopeName"), scope, "unsupported scope"));
        }
        for _ in 0..misplaced(scope) {
            errors.push(shown::invalid(
                &path,
                "*ScopeSelector",
                selector.value,
                "unsupported scope applied to resource",
            ));
        }
        if !matches!(scope, "PriorityClass" | "VolumeAttributesClass")
            && SCOPES.contains(&scope)
            && operator != "Exists"
        {
            errors.push(Error::invalid(
                &path.child("operator"),
                operator,
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
            ));
        }
        let values = &expression["values"];
        match (operator, elements(values).is_empty()) {
            ("In" | "NotIn", true) => errors.push(Error::required(
                &path.child("values"),
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )),
            ("Exists" | "DoesNotExist", false) => errors.push(Error::invalid(
                &path.child("values"),
                values.clone(),
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
            )),
            ("In" | "NotIn" | "Exists" | "DoesNotExist", _) => {}
            _ => errors.push(Error::invalid(&path.child("operator"), operator, "not a valid selector operator")),
        }
    }
    conflicts(&expressions, expressions.elements().iter().map(|one| text(one, "scopeName")), scopes, errors);
}

/// Whether a resource can be limited for the objects of a scope only.
fn fits(scope: &str, resource: &str) -> bool {
    let computed =
        matches!(resource, "cpu" | "memory" | "limits.cpu" | "limits.memory" | "requests.cpu" | "requests.memory");
    match scope {
        "Terminating" | "NotTerminating" | "NotBestEffort" | "PriorityClass" | "CrossNamespacePodAffinity" => {
            resource == "pods" || computed
        }
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}

pub(super) fn warnings(quota: &Value, warnings: &mut Vec<String>) {
    let hard = &quota["spec"]["hard"];
    let amount = |name: &str| hard.get(name).and_then(|amount| Quantity::from_value(amount).ok());
    for name in ["cpu", "memory", "ephemeral-storage"] {
        let mut requests = format!("requests.{name}");
        if amount(&requests).is_none() && name != "ephemeral-storage" {
            name.clone_into(&mut requests);
        }
        let limits = format!("limits.{name}");
        if let (Some(request), Some(limit)) = (amount(&requests), amount(&limits))
            && request > limit
        {
            warnings.push(format!("ResourceQuota {requests} ({request}) should be less than {limits} ({limit})"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn names_and_amounts_are_checked() {
        let quota = json!({"spec": {"hard": {"pods": "1500m", "cpu": "-1", "gold": "1"}}});
        assert_eq!(
            words(|errors| validate(&quota, errors)),
            [
                r#"spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0"#,
                r#"spec.hard[gold]: Invalid value: "gold": must be a standard resource type or fully qualified"#,
                r#"spec.hard[gold]: Invalid value: "gold": must be a standard resource for quota"#,
                r#"spec.hard[pods]: Invalid value: "1500m": must be an integer"#,
            ]
        );
    }

    #[test]
    fn scopes_fit_what_is_limited() {
        let quota = json!({"spec": {"hard": {"cpu": "1"}, "scopes": ["BestEffort", "NotBestEffort", "Odd"]}});
        assert_eq!(
            words(|errors| validate(&quota, errors)),
            [
                r#"spec.scopes: Invalid value: ["BestEffort","NotBestEffort","Odd"]: unsupported scope applied to resource"#,
                r#"spec.scopes: Invalid value: ["BestEffort","NotBestEffort","Odd"]: unsupported scope"#,
                r#"spec.scopes: Invalid value: ["BestEffort","NotBestEffort","Odd"]: conflicting scopes"#,
            ]
        );
        let changed = json!({"spec": {"hard": {"cpu": "1"}}});
        assert_eq!(
            words(|errors| validate_update(&changed, &quota, errors)),
            ["spec.scopes: Invalid value: null: field is immutable"]
        );
    }

    #[test]
    fn requests_above_limits_are_worth_a_warning() {
        let mut found = Vec::new();
        warnings(&json!({"spec": {"hard": {"cpu": "2", "limits.cpu": "1"}}}), &mut found);
        assert_eq!(found, ["ResourceQuota cpu (2) should be less than limits.cpu (1)"]);
    }
}
