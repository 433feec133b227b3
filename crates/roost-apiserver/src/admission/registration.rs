//! The rows of rules of what configures admission: those of its kinds, and what is wrong with its expressions, which
//! need the expression language.

use std::sync::LazyLock;

use roost_admission::policy::{check_conditions, check_mutating, check_validating, device_selector_problem};
use roost_object::Value;
use roost_object::field::{Error, Errors, Kind, Path};
use roost_rules::{Rules, devices};
use roost_schema::columns::JsonPath;

const GROUP: &str = "admissionregistration.k8s.io";

/// The fields of what configures admission in the order in which they are checked.
const ORDER: &[&str] = &[
    "spec.failurePolicy",
    "spec.paramKind",
    "spec.matchConstraints",
    "spec.matchConditions",
    "spec.variables",
    "spec.validations",
    "spec.auditAnnotations",
    "spec.mutations",
    "spec.reinvocationPolicy",
];

/// The rules of a kind that configures admission with expressions.
pub(crate) fn rules_of(group: &str, kind: &str) -> Option<&'static Rules> {
    static ROWS: LazyLock<[Rules; 4]> = LazyLock::new(|| {
        let row = |kind: &str, validate: fn(&Value, &mut Errors), update: fn(&Value, &Value, &mut Errors)| Rules {
            validate,
            validate_update: update,
            ..*roost_rules::of(GROUP, kind)
        };
        [
            Rules {
                validate_status_update: policy_status_errors,
                ..row(
                    "ValidatingAdmissionPolicy",
                    |policy, errors| policy_errors("ValidatingAdmissionPolicy", check_validating, policy, None, errors),
                    |new, old, errors| {
                        policy_errors("ValidatingAdmissionPolicy", check_validating, new, Some(old), errors);
                    },
                )
            },
            row(
                "MutatingAdmissionPolicy",
                |policy, errors| policy_errors("MutatingAdmissionPolicy", check_mutating, policy, None, errors),
                |new, old, errors| policy_errors("MutatingAdmissionPolicy", check_mutating, new, Some(old), errors),
            ),
            row(
                "ValidatingWebhookConfiguration",
                |hooks, errors| webhook_errors("ValidatingWebhookConfiguration", hooks, None, errors),
                |new, old, errors| webhook_errors("ValidatingWebhookConfiguration", new, Some(old), errors),
            ),
            row(
                "MutatingWebhookConfiguration",
                |hooks, errors| webhook_errors("MutatingWebhookConfiguration", hooks, None, errors),
                |new, old, errors| webhook_errors("MutatingWebhookConfiguration", new, Some(old), errors),
            ),
        ]
    });
    match group {
        GROUP => ROWS.iter().find(|row| row.kind == kind),
        DEVICES => device_rules().iter().find(|row| row.kind == kind),
        _ => None,
    }
}

/// The group of what claims devices, which selects them with expressions.
const DEVICES: &str = "resource.k8s.io";

fn device_rules() -> &'static [Rules; 3] {
    static ROWS: LazyLock<[Rules; 3]> = LazyLock::new(|| {
        [
            Rules {
                validate: |class, errors| devices::validate_class(class, device_selector_problem, errors),
                validate_update: |new, _, errors| devices::validate_class(new, device_selector_problem, errors),
                ..*roost_rules::of(DEVICES, "DeviceClass")
            },
            Rules {
                validate: |claim, errors| devices::validate_claim(claim, device_selector_problem, errors),
                ..*roost_rules::of(DEVICES, "ResourceClaim")
            },
            Rules {
                validate: |template, errors| devices::validate_template(template, device_selector_problem, errors),
                validate_update: |new, old, errors| {
                    devices::validate_template_update(new, old, device_selector_problem, errors);
                },
                ..*roost_rules::of(DEVICES, "ResourceClaimTemplate")
            },
        ]
    });
    &ROWS
}

/// What the kind's own rules find.
fn plain_errors(kind: &str, new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let rules = roost_rules::of(GROUP, kind);
    match old {
        None => (rules.validate)(new, errors),
        Some(old) => (rules.validate_update)(new, old, errors),
    }
}

fn policy_errors(kind: &str, check: fn(&Value, &mut Errors), new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let mut found = Errors::new();
    plain_errors(kind, new, old, &mut found);
    let (spec, path) = (&new["spec"], Path::new("spec"));
    let untouched =
        old.is_some_and(|old| ["paramKind", "matchConditions"].iter().all(|field| spec[*field] == old["spec"][*field]));
    if !untouched {
        check_conditions(spec, spec["paramKind"].is_object(), &path, &mut found);
    }
    check(new, &mut found);
    let place = |error: &Error| {
        let below = |prefix: &&str| error.field.strip_prefix(prefix);
        let (field, rest) = ORDER
            .iter()
            .enumerate()
            .find_map(|(place, prefix)| Some((place, below(prefix)?)))
            .unwrap_or((ORDER.len(), ""));
        // Lists of these fields are walked once; what is deeper below has been walked in its own order.
        let (element, turn) = if rest.starts_with('[') { (index_of(rest), turn_of(error)) } else { (0, 0) };
        (field, element, turn)
    };
    found.sort_by_key(place);
    errors.extend(found);
}

/// The places that warnings about expressions name are paths.
fn policy_status_errors(new: &Value, old: &Value, errors: &mut Errors) {
    let mut rest = Errors::new();
    (roost_rules::of(GROUP, "ValidatingAdmissionPolicy").validate_status_update)(new, old, &mut rest);
    let list = Path::new("status.typeChecking.expressionWarnings");
    let warnings = new.pointer("/status/typeChecking/expressionWarnings").and_then(Value::as_array);
    for (index, warning) in warnings.into_iter().flatten().enumerate() {
        let place = list.index(index);
        let own = place.to_string();
        let others = rest.iter().position(|error| !error.field.starts_with(&own)).unwrap_or(rest.len());
        errors.extend(rest.drain(..others));
        let reference = warning["fieldRef"].as_str().unwrap_or_default().trim();
        if let Err(why) = JsonPath::parse(reference) {
            errors.push(Error::invalid(&place.child("fieldRef"), reference, format!("invalid JSONPath: {why}")));
        }
    }
    errors.extend(rest);
}

fn webhook_errors(kind: &str, new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let mut found = Errors::new();
    plain_errors(kind, new, old, &mut found);
    let path = Path::new("webhooks");
    for (index, webhook) in new["webhooks"].as_array().into_iter().flatten().enumerate() {
        let before = old.map(|old| &old["webhooks"][index]["matchConditions"]);
        if before != Some(&webhook["matchConditions"]) {
            check_conditions(webhook, false, &path.index(index), &mut found);
        }
    }
    found.sort_by_key(|error| {
        let rest = error.field.split_once("].").map_or("", |(_, rest)| rest);
        let (field, condition) = match rest.strip_prefix("matchConditions") {
            Some(condition) => (1, index_of(condition)),
            None if rest.starts_with("admissionReviewVersions") => (2, 0),
            None if error.kind == Kind::Duplicate => (3, 0),
            None => (0, 0),
        };
        (index_of(&error.field), field, condition, turn_of(error))
    });
    errors.extend(found);
}

/// When a complaint about a condition, validation, mutation or annotation has its turn: expressions come before what is said
/// about them or beside them, and names that repeat others come last.
fn turn_of(error: &Error) -> usize {
    let has = |list: &str| error.field.contains(list);
    match error.field.rsplit('.').next() {
        _ if error.kind == Kind::Duplicate => 3,
        Some("valueExpression") if has("auditAnnotations[") => 1,
        last if has("mutations[") => usize::from(last != Some("expression")),
        _ if !has("matchConditions[") && !has("validations[") => 0,
        Some("expression") => 0,
        Some("messageExpression") => 1,
        _ => 2,
    }
}

/// The first index in a path: errors of one element stay together.
fn index_of(field: &str) -> usize {
    let digits = field.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(digits, _)| digits);
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
