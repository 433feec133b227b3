//! Claims for devices, templates of claims, and classes of devices.

use std::collections::BTreeMap;

use roost_object::field::{Error, Errors};
use roost_object::{Value, names};

use super::Compile;
use super::list::{DRIVER_NAME, own_text, validate_list, validate_opaque_data, validate_qualified_name, validate_set};
use crate::check::{Check, SUBDOMAIN, Spot, elements, immutable, text};
use crate::fill::Fill;
use crate::pod::validate_template_metadata;
use crate::resource_name;

const LIST_MAX: usize = 32;
const FIRST_AVAILABLE_MAX: usize = 8;
const EXPRESSION_MAX: usize = 10 * 1024;
pub(super) const EFFECTS: &[&str] = &["NoExecute", "NoSchedule", "None"];
const REFERENCE: &str =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

pub(super) fn defaults(claim: &mut Value) {
    spec_defaults(claim.at_or_empty("spec"));
    let allocation = claim.at("status").and_then(|status| status.at("allocation"));
    if let Some(devices) = allocation.and_then(|allocation| allocation.at("devices")) {
        devices.each("results").for_each(toleration_defaults);
    }
}

pub(super) fn template_defaults(template: &mut Value) {
    spec_defaults(template.at_or_empty("spec").at_or_empty("spec"));
}

fn spec_defaults(spec: &mut Value) {
    let Some(devices) = spec.at("devices") else { return };
    for request in devices.each("requests") {
        if let Some(exactly) = request.at("exactly") {
            request_defaults(exactly);
        }
        request.each("firstAvailable").for_each(request_defaults);
    }
}

fn request_defaults(request: &mut Value) {
    request.fill_text("allocationMode", "ExactCount");
    if text(request, "allocationMode") == "ExactCount" {
        request.fill_number("count", 1);
    }
    toleration_defaults(request);
}

fn toleration_defaults(holder: &mut Value) {
    for toleration in holder.each("tolerations") {
        toleration.fill_text("operator", "Equal");
    }
}

/// The requests of a claim by name, with their subrequests.
pub(super) struct RequestNames<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> RequestNames<'a> {
    pub(super) fn of(devices: &'a Value) -> Self {
        let requests = elements(&devices["requests"]).iter();
        let parts = |request: &'a Value| {
            elements(&request["firstAvailable"]).iter().map(|part| text(part, "name")).collect::<Vec<_>>()
        };
        Self(requests.map(|request| (text(request, "name"), parts(request))).collect())
    }

    fn has(&self, name: &str) -> bool {
        match name.split_once('/') {
            None => self.0.contains_key(name),
            Some((request, part)) => self.0.get(request).is_some_and(|parts| parts.contains(&part)),
        }
    }

    /// Checks a reference to a request.
    pub(super) fn validate(&self, reference: &Spot<'_>, errors: &mut Errors) {
        let name = reference.text();
        if name.matches('/').count() > 1 {
            return errors.push(Error::invalid(&reference.path, name, REFERENCE));
        }
        for part in name.split('/') {
            let problems = names::is_dns1123_label(part);
            errors.extend(problems.into_iter().map(|words| Error::invalid(&reference.path, part, words)));
        }
        if !self.has(name) {
            errors.push(Error::invalid(&reference.path, name, REFERENCE));
        }
    }
}

/// Checks a claim.
pub fn validate(claim: &Value, compile: Compile, errors: &mut Errors) {
    validate_spec(&Spot::root(claim).field("spec"), compile, errors);
}

fn validate_spec(spec: &Spot<'_>, compile: Compile, errors: &mut Errors) {
    let devices = spec.field("devices");
    let known = RequestNames::of(devices.value);
    let name = |request: &Value| text(request, "name").to_owned();
    validate_set(&devices.field("requests"), LIST_MAX, name, errors, |request, errors| {
        request.field("name").text_passes(names::is_dns1123_label, errors);
        let (exactly, first) = (request.field("exactly"), request.field("firstAvailable"));
        match (exactly.given(), first.filled()) {
            (false, false) => {
                let words = "exactly one of `exactly` or `firstAvailable` is required";
                errors.push(Error::required(&request.path, words));
            }
            (true, true) => {
                let words = "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set";
                errors.push(Error::invalid(&request.path, Value::Null, words));
            }
            (true, false) => validate_request(&exactly, compile, errors),
            (false, true) => validate_set(&first, FIRST_AVAILABLE_MAX, name, errors, |part, errors| {
                part.field("name").text_passes(names::is_dns1123_label, errors);
                validate_request(part, compile, errors);
            }),
        }
    });
    validate_list(&devices.field("constraints"), LIST_MAX, errors, |constraint, errors| {
        validate_set(&constraint.field("requests"), LIST_MAX, own_text, errors, |one, errors| {
            known.validate(one, errors);
        });
        let (same_value, distinct) = (constraint.field("matchAttribute"), constraint.field("distinctAttribute"));
        if same_value.given() {
            validate_attribute_name(&same_value, errors);
        } else if distinct.given() {
            validate_attribute_name(&distinct, errors);
        } else {
            let words =
                "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple fields are set";
            errors.push(Error::required(&constraint.path, words));
        }
    });
    validate_list(&devices.field("config"), LIST_MAX, errors, |config, errors| {
        validate_set(&config.field("requests"), LIST_MAX, own_text, errors, |one, errors| {
            known.validate(one, errors);
        });
        validate_configuration(config, errors);
    });
}

fn validate_attribute_name(name: &Spot<'_>, errors: &mut Errors) {
    validate_qualified_name(name.text(), &name.path, errors);
    if !name.text().contains('/') {
        name.invalid("a fully qualified name must be a domain and a name separated by a slash", errors);
    }
}

fn validate_request(request: &Spot<'_>, compile: Compile, errors: &mut Errors) {
    request.field("deviceClassName").check(&[Check::Required, SUBDOMAIN], errors);
    validate_selectors(&request.field("selectors"), compile, errors);
    let (mode, count) = (request.field("allocationMode"), request.field("count"));
    match mode.text() {
        "All" if count.filled() => count.invalid("must not be specified when allocationMode is 'All'", errors),
        "All" => {}
        "ExactCount" => {
            if count.number() <= 0 {
                errors.push(Error::invalid(&count.path, count.number(), "must be greater than zero"));
            }
        }
        other => errors.push(Error::not_supported(&mode.path, other, &["All", "ExactCount"])),
    }
    request.field("tolerations").each(|_, toleration| {
        let (operator, value) = (toleration.field("operator"), toleration.field("value"));
        toleration.field("key").check(&[Check::Text(names::is_qualified_name)], errors);
        match operator.text() {
            "Exists" if value.filled() => value.invalid("must be empty for operator `Exists`", errors),
            "Exists" => {}
            "Equal" => value.text_passes(names::is_label_value, errors),
            _ => operator.check(&[Check::Required, Check::OneOf(&["Equal", "Exists"])], errors),
        }
        toleration.field("effect").check(&[Check::OneOf(EFFECTS)], errors);
    });
}

fn validate_selectors(selectors: &Spot<'_>, compile: Compile, errors: &mut Errors) {
    validate_list(selectors, LIST_MAX, errors, |selector, errors| {
        let cel = selector.field("cel");
        let expression = cel.field("expression");
        if !cel.given() {
            errors.push(Error::required(&cel.path, ""));
        } else if expression.text().len() > EXPRESSION_MAX {
            errors.push(Error::too_long(&expression.path, EXPRESSION_MAX));
        } else if let Some(problem) = compile(expression.text()) {
            errors.push(Error::invalid(&expression.path, expression.text(), problem));
        }
    });
}

/// Checks what only a driver understands.
pub(super) fn validate_configuration(config: &Spot<'_>, errors: &mut Errors) {
    let opaque = config.field("opaque");
    if !opaque.given() {
        return errors.push(Error::required(&opaque.path, ""));
    }
    opaque.field("driver").check(DRIVER_NAME, errors);
    validate_opaque_data(&opaque.field("parameters"), errors);
}

pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_immutable(new, old, "resource.ResourceClaimSpec", errors);
}

fn validate_immutable(new: &Value, old: &Value, kind: &str, errors: &mut Errors) {
    let root = Spot::root(new);
    let spec = root.field("spec");
    immutable(&spec, &old["spec"], kind, errors);
}

/// Checks a template of claims.
pub fn validate_template(template: &Value, compile: Compile, errors: &mut Errors) {
    let root = Spot::root(template);
    let spec = root.field("spec");
    validate_template_metadata(&spec.field("metadata"), errors);
    validate_spec(&spec.field("spec"), compile, errors);
}

/// Checks a change of a template of claims.
pub fn validate_template_update(new: &Value, old: &Value, compile: Compile, errors: &mut Errors) {
    validate_template(new, compile, errors);
    validate_immutable(new, old, "resource.ResourceClaimTemplateSpec", errors);
}

/// Checks a class of devices.
pub fn validate_class(class: &Value, compile: Compile, errors: &mut Errors) {
    let root = Spot::root(class);
    let spec = root.field("spec");
    validate_selectors(&spec.field("selectors"), compile, errors);
    validate_list(&spec.field("config"), LIST_MAX, errors, validate_configuration);
    let resource = spec.field("extendedResourceName");
    if resource.given() && !resource_name::is_extended(resource.text()) {
        resource.invalid("must be a valid extended resource name", errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn requests_ask_for_one_device_unless_they_say_otherwise() {
        let mut claim =
            json!({"spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "c"}}]}}});
        defaults(&mut claim);
        assert_eq!(
            claim["spec"]["devices"]["requests"][0]["exactly"],
            json!({"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1})
        );
        assert!(words(|errors| validate(&claim, |_| None, errors)).is_empty());
    }

    #[test]
    fn claims_are_checked_and_stay() {
        let claim = json!({"spec": {"devices": {"requests": [{"name": "a"}, {"name": "a", "exactly": {"allocationMode": "Odd"}}],
            "constraints": [{"requests": ["b"], "matchAttribute": "x"}, {}], "config": [{"opaque": {"driver": "d", "parameters": []}}]}}});
        assert_eq!(
            words(|errors| validate(&claim, |_| None, errors)),
            [
                "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
                "spec.devices.requests[1].exactly.deviceClassName: Required value",
                r#"spec.devices.requests[1].exactly.allocationMode: Unsupported value: "Odd": supported values: "All", "ExactCount""#,
                r#"spec.devices.requests[1]: Duplicate value: "a""#,
                r#"spec.devices.constraints[0].requests[0]: Invalid value: "b": must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"#,
                r#"spec.devices.constraints[0].matchAttribute: Invalid value: "x": a fully qualified name must be a domain and a name separated by a slash"#,
                r#"spec.devices.constraints[1]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set"#,
                r#"spec.devices.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object"#,
            ]
        );
        let found = words(|errors| validate_update(&claim, &json!({"spec": {}}), errors));
        assert!(found[0].ends_with(": field is immutable"), "{found:?}");
    }
}
