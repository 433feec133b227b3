//! Webhooks.

use roost_object::field::{Error, Errors};
use roost_object::{Value, names, webhook};

use super::matching::{
    FAILURE_POLICIES, MATCH_CONDITIONS, MATCH_POLICIES, REINVOCATION_POLICIES, fill_rules, fill_selectors, one_of,
    validate_conditions, validate_rule,
};
use crate::check::{SelectorValues, Spot, elements, label_selector, text};
use crate::fill::Fill;
use crate::internal;

const NO_SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun"];
const SIDE_EFFECTS: &[&str] = &["None", "NoneOnDryRun", "Some", "Unknown"];
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

pub(super) fn defaults(configuration: &mut Value) {
    for hook in configuration.each("webhooks") {
        hook.fill("failurePolicy", "Fail");
        fill_selectors(hook);
        hook.fill("timeoutSeconds", 10);
        fill_rules(hook, &["rules"]);
        if let Some(service) = hook.at("clientConfig").and_then(|config| config.at("service")) {
            service.fill("port", 443);
        }
    }
}

pub(super) fn mutating_defaults(configuration: &mut Value) {
    defaults(configuration);
    for hook in configuration.each("webhooks") {
        hook.fill("reinvocationPolicy", "Never");
    }
}

/// What is asked of hooks. An update need not be better than what it updates.
struct Demands {
    conditions: bool,
    no_side_effects: bool,
    known_version: bool,
    unique_names: bool,
    values: SelectorValues,
}

impl Demands {
    fn of(new: &Value, old: Option<&Value>) -> Self {
        let Some(old) = old else {
            return Self {
                conditions: true,
                no_side_effects: true,
                known_version: true,
                unique_names: true,
                values: SelectorValues::Checked,
            };
        };
        let (new, old) = (elements(&new["webhooks"]), elements(&old["webhooks"]));
        let names: Vec<&str> = old.iter().map(|hook| text(hook, "name")).collect();
        let mut bad_selectors = Errors::new();
        for hook in old {
            for selector in ["namespaceSelector", "objectSelector"] {
                label_selector(&Spot::root(&hook[selector]), SelectorValues::Checked, &mut bad_selectors);
            }
        }
        Self {
            conditions: new.len() != old.len()
                || new.iter().zip(old).any(|(new, old)| {
                    !internal::same(MATCH_CONDITIONS, &new["matchConditions"], &old["matchConditions"])
                }),
            no_side_effects: old.iter().all(|hook| NO_SIDE_EFFECTS.contains(&text(hook, "sideEffects"))),
            known_version: old.iter().all(|hook| {
                let versions = elements(&hook["admissionReviewVersions"]);
                versions.is_empty() || versions.iter().any(|version| VERSIONS.iter().any(|known| version == known))
            }),
            unique_names: names.iter().enumerate().all(|(index, name)| !names[..index].contains(name)),
            values: if bad_selectors.is_empty() { SelectorValues::Checked } else { SelectorValues::Trusted },
        }
    }
}

pub(super) fn validate(configuration: &Value, old: Option<&Value>, errors: &mut Errors) {
    let demands = Demands::of(configuration, old);
    let root = Spot::root(configuration);
    let hooks = root.field("webhooks");
    hooks.each(|index, hook| {
        validate_hook(hook, &demands, errors);
        validate_versions(&hook.field("admissionReviewVersions"), demands.known_version, errors);
        let name = hook.field("name");
        let repeats = |earlier: &Value| text(earlier, "name") == name.text();
        if demands.unique_names && name.filled() && hooks.elements()[..index].iter().any(repeats) {
            errors.push(Error::duplicate(&name.path, name.text()));
        }
    });
}

fn validate_hook(hook: &Spot<'_>, demands: &Demands, errors: &mut Errors) {
    validate_name(&hook.field("name"), errors);
    hook.field("rules").each(|_, rule| validate_rule(rule, errors));
    one_of(&hook.field("failurePolicy"), FAILURE_POLICIES, errors);
    one_of(&hook.field("matchPolicy"), MATCH_POLICIES, errors);
    let allowed = if demands.no_side_effects { NO_SIDE_EFFECTS } else { SIDE_EFFECTS };
    let effects = hook.field("sideEffects");
    if effects.given() {
        one_of(&effects, allowed, errors);
    } else {
        errors.push(Error::required(&effects.path, format!("must specify one of {}", allowed.join(", "))));
    }
    let timeout = hook.field("timeoutSeconds");
    if timeout.given() && !(1..=30).contains(&timeout.number()) {
        timeout.invalid("the timeout value must be between 1 and 30 seconds", errors);
    }
    label_selector(&hook.field("namespaceSelector"), demands.values, errors);
    label_selector(&hook.field("objectSelector"), demands.values, errors);
    one_of(&hook.field("reinvocationPolicy"), REINVOCATION_POLICIES, errors);
    let client = hook.field("clientConfig");
    let (address, service) = (client.field("url"), client.field("service"));
    match (address.given(), service.given()) {
        (true, false) => webhook::validate_url(address.text(), &address.path, errors),
        (false, true) => webhook::validate_service(service.value, &service.path, errors),
        _ => errors.push(Error::required(&client.path, "exactly one of url or service is required")),
    }
    if demands.conditions {
        validate_conditions(&hook.field("matchConditions"), errors);
    }
}

fn validate_name(name: &Spot<'_>, errors: &mut Errors) {
    let problems = names::is_dns1123_subdomain(name.text());
    if !name.filled() {
        errors.push(Error::required(&name.path, ""));
    } else if !problems.is_empty() {
        name.invalid(problems.join(","), errors);
    } else if name.text().split('.').count() < 3 {
        name.invalid("should be a domain with at least three segments separated by dots", errors);
    }
}

fn validate_versions(versions: &Spot<'_>, demand_known: bool, errors: &mut Errors) {
    if !versions.filled() {
        return errors.push(Error::required(&versions.path, "must specify one of v1, v1beta1"));
    }
    versions.each(|index, version| {
        if versions.elements()[..index].contains(version.value) {
            version.invalid("duplicate version", errors);
        } else {
            version.text_passes(names::is_dns1035_label, errors);
        }
    });
    let known = versions.elements().iter().any(|version| VERSIONS.iter().any(|known| version == known));
    if demand_known && !known {
        versions.invalid("must include at least one of v1, v1beta1", errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn hooks_get_their_defaults() {
        let mut hooks = json!({"webhooks": [{"rules": [{}], "clientConfig": {"service": {}}}]});
        mutating_defaults(&mut hooks);
        assert_eq!(
            hooks["webhooks"][0],
            json!({"failurePolicy": "Fail", "matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "timeoutSeconds": 10,
                "reinvocationPolicy": "Never", "rules": [{"scope": "*"}], "clientConfig": {"service": {"port": 443}}})
        );
    }

    #[test]
    fn hooks_are_named_reached_and_harmless() {
        let hooks = json!({"webhooks": [{"name": "a.b", "timeoutSeconds": 31, "sideEffects": "Some", "clientConfig": {}, "admissionReviewVersions": ["v2", "v2"],
            "matchConditions": [{"name": "x", "expression": " "}]}, {"name": "a.b.c", "clientConfig": {"url": "https://x"}}]});
        assert_eq!(
            words(|errors| validate(&hooks, None, errors)),
            [
                r#"webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments separated by dots"#,
                r#"webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun""#,
                "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
                "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
                "webhooks[0].matchConditions[0].expression: Required value",
                r#"webhooks[0].admissionReviewVersions[1]: Invalid value: "v2": duplicate version"#,
                r#"webhooks[0].admissionReviewVersions: Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1"#,
                "webhooks[1].sideEffects: Required value: must specify one of None, NoneOnDryRun",
                "webhooks[1].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
            ]
        );
        let tolerated = words(|errors| validate(&hooks, Some(&hooks), errors));
        assert!(!tolerated.iter().any(|words| words.contains("expression") || words.contains("at least one of")));
    }
}
