//! Horizontal pod autoscalers, in the version that is stored (`autoscaling/v2`).

use roost_object::field::{Error, Errors};
use roost_object::{Quantity, Value, names};
use serde_json::json;

use super::counts;
use crate::check::Check::{NonNegativeQuantity, Required, RequiredBecause, Text};
use crate::check::{Check, LABEL, Spot, elements, text};
use crate::fill::Fill;
use crate::{Rules, drop_status, keep_spec, keep_status, resource_name};

const WINDOW_MAX: i64 = 3600;
const PERIOD_MAX: i64 = 1800;
/// What the processors of pods should be used by when nothing is said, in percent.
const DEFAULT_UTILIZATION: i64 = 80;
/// Where the first version keeps metrics that it has no field for.
const OTHER_METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";

pub(super) const RULES: Rules = Rules {
    group: "autoscaling",
    kind: "HorizontalPodAutoscaler",
    defaults: fill,
    prepare_create: drop_status,
    prepare_update: keep_status,
    prepare_status_update: keep_spec,
    validate: |new, errors| validate(new, None, errors),
    validate_update: |new, old, errors| validate(new, Some(old), errors),
    validate_status_update: |new, _, errors| {
        let root = Spot::root(new);
        counts::not_negative(&root.field("status"), &["currentReplicas", "desiredReplicas"], errors);
    },
    ..Rules::NONE
};

fn fill(autoscaler: &mut Value) {
    let is_first_version = text(autoscaler, "apiVersion") == "autoscaling/v1";
    let has_other_metrics = autoscaler["metadata"]["annotations"][OTHER_METRICS].is_string();
    let spec = autoscaler.at_or_empty("spec");
    spec.fill("minReplicas", 1);
    if is_first_version {
        if !has_other_metrics {
            spec.fill("targetCPUUtilizationPercentage", DEFAULT_UTILIZATION);
        }
        return;
    }
    if elements(&spec["metrics"]).is_empty() {
        let target = json!({"type": "Utilization", "averageUtilization": DEFAULT_UTILIZATION});
        spec["metrics"] = json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
    }
    let Some(behavior) = spec.at("behavior") else { return };
    let up = behavior.at_or_empty("scaleUp");
    up.fill("stabilizationWindowSeconds", 0);
    up.fill("selectPolicy", "Max");
    up.fill(
        "policies",
        json!([
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ]),
    );
    let down = behavior.at_or_empty("scaleDown");
    down.fill("selectPolicy", "Max");
    down.fill("policies", json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]));
}

/// How strictly the version of a referenced object is checked.
#[derive(Clone, Copy)]
struct References {
    may_lack_group: bool,
    may_be_anything: bool,
}

fn validate(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let root = Spot::root(new);
    let spec = root.field("spec");
    let minimum = spec.field("minReplicas");
    let maximum = spec.field("maxReplicas");
    let lowest = i64::from(old.is_none_or(|old| old["spec"]["minReplicas"] != 0));
    if minimum.given() && minimum.number() < lowest {
        minimum.invalid(format!("must be greater than or equal to {lowest}"), errors);
    }
    match maximum.number() {
        0 => errors.push(Error::required(&maximum.path, "must be set and greater than 0")),
        number if number < 0 => maximum.invalid("must be greater than or equal to 1", errors),
        _ => {}
    }
    if minimum.given() && maximum.number() < minimum.number() {
        let words = "must be greater than or equal to `minReplicas`";
        errors.push(Error::invalid(&maximum.path, maximum.number(), words));
    }
    let target = spec.field("scaleTargetRef");
    let is_unchanged = old.is_some_and(|old| {
        let before = &old["spec"]["scaleTargetRef"];
        ["apiVersion", "kind"].iter().all(|name| text(before, name) == text(target.value, name))
    });
    let may_lack_group = target.field("kind").text() == "ReplicationController";
    validate_reference(&target, References { may_lack_group, may_be_anything: is_unchanged }, errors);
    let had_bad_reference = old.is_some_and(|old| {
        elements(&old["spec"]["metrics"]).iter().any(|metric| {
            metric["type"] == "Object"
                && version_problem(text(&metric["object"]["describedObject"], "apiVersion"), true).is_some()
        })
    });
    let references = References { may_lack_group: true, may_be_anything: had_bad_reference };
    let metrics = spec.field("metrics");
    metrics.each(|_, metric| validate_metric(metric, references, errors));
    let counts_more_than_pods =
        metrics.elements().iter().any(|metric| matches!(text(metric, "type"), "Object" | "External"));
    if minimum.given() && minimum.number() == 0 && !counts_more_than_pods {
        let words = "must specify at least one Object or External metric to support scaling to zero replicas";
        metrics.forbidden(words, errors);
    }
    let behavior = spec.field("behavior");
    for direction in ["scaleUp", "scaleDown"] {
        validate_scaling(&behavior.field(direction), errors);
    }
}

fn validate_reference(reference: &Spot<'_>, strictness: References, errors: &mut Errors) {
    static NAME: &[Check] = &[Required, Text(names::is_path_segment)];
    reference.field("kind").check(NAME, errors);
    reference.field("name").check(NAME, errors);
    let version = reference.field("apiVersion");
    if !strictness.may_be_anything
        && let Some(problem) = version_problem(version.text(), strictness.may_lack_group)
    {
        errors.push(Error::invalid(&version.path, version.text(), problem));
    }
}

fn version_problem(version: &str, may_lack_group: bool) -> Option<String> {
    if version.matches('/').count() > 1 {
        return Some(format!("unexpected GroupVersion string: {version}"));
    }
    let has_group = version.split_once('/').is_some_and(|(group, _)| !group.is_empty());
    (!has_group && !may_lack_group).then(|| "apiVersion must specify API group".to_owned())
}

fn validate_scaling(rules: &Spot<'_>, errors: &mut Errors) {
    if !rules.given() {
        return;
    }
    let window = rules.field("stabilizationWindowSeconds");
    if window.number() < 0 {
        window.invalid("must be greater than or equal to zero", errors);
    }
    if window.number() > WINDOW_MAX {
        window.invalid(format!("must be less than or equal to {WINDOW_MAX}"), errors);
    }
    rules.field("selectPolicy").one_of_if_given(&["Disabled", "Max", "Min"], errors);
    let policies = rules.field("policies");
    policies.check(&[RequiredBecause("must specify at least one Policy")], errors);
    policies.each(|_, policy| {
        let kind = policy.field("type");
        if !matches!(kind.text(), "Pods" | "Percent") {
            errors.push(Error::not_supported(&kind.path, kind.text(), &["Percent", "Pods"]));
        }
        let period = policy.field("periodSeconds");
        for number in [&policy.field("value"), &period] {
            if number.number() <= 0 {
                errors.push(Error::invalid(&number.path, number.number(), "must be greater than zero"));
            }
        }
        if period.number() > PERIOD_MAX {
            period.invalid(format!("must be less than or equal to {PERIOD_MAX}"), errors);
        }
    });
    rules.field("tolerance").check(&[NonNegativeQuantity], errors);
}

/// The kinds of metrics: their type and field, in the order in which stock looks for them.
static METRICS: &[(&str, &str)] = &[
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
static METRIC_TYPES: &[&str] = &["ContainerResource", "External", "Object", "Pods", "Resource"];

fn validate_metric(metric: &Spot<'_>, references: References, errors: &mut Errors) {
    let kind = metric.field("type");
    kind.check(&[RequiredBecause("must specify a metric source type")], errors);
    let expected = METRICS.iter().find(|(name, _)| *name == kind.text()).map(|(_, field)| *field);
    if expected.is_none() {
        errors.push(Error::not_supported(&kind.path, kind.text(), METRIC_TYPES));
    }
    let present: Vec<&str> =
        METRICS.iter().map(|(_, field)| *field).filter(|field| metric.field(field).given()).collect();
    if let Some(first) = present.first() {
        validate_source(first, &metric.field(first), references, errors);
    }
    match expected {
        Some(field) if !metric.field(field).given() => {
            let words = "must populate information for the given metric source";
            errors.push(Error::required(&metric.field(field).path, words));
        }
        Some(_) => {}
        None => errors.push(Error::not_supported(&kind.path, kind.text(), METRIC_TYPES)),
    }
    if present.len() != 1 {
        for field in present.into_iter().filter(|field| Some(*field) != expected) {
            metric.field(field).forbidden("must populate the given metric source only", errors);
        }
    }
}

fn validate_source(kind: &str, source: &Spot<'_>, references: References, errors: &mut Errors) {
    static METRIC_NAME: &[Check] = &[RequiredBecause("must specify a metric name"), Text(names::is_path_segment)];
    let target = source.field("target");
    let given = |name| target.field(name).given();
    let (value, average, utilization) = (given("value"), given("averageValue"), given("averageUtilization"));
    let require = |name: &str, words: &str, errors: &mut Errors| {
        errors.push(Error::required(&target.field(name).path, words));
    };
    match kind {
        "object" => validate_reference(&source.field("describedObject"), references, errors),
        "resource" | "containerResource" => {
            let name = source.field("name");
            name.check(&[RequiredBecause("must specify a resource name")], errors);
            if kind == "containerResource" {
                if name.filled() {
                    resource_name::validate_for_container(name.text(), &name.path, errors);
                }
                source.field("container").check(&[RequiredBecause("must specify a container"), LABEL], errors);
            }
        }
        _ => {}
    }
    if matches!(kind, "object" | "external" | "pods") {
        source.field("metric").field("name").check(METRIC_NAME, errors);
    }
    validate_target(&target, errors);
    match kind {
        "object" if !value && !average => {
            require("averageValue", "must set either a target value or averageValue", errors);
        }
        "external" if !value && !average => {
            require("averageValue", "must set either a target value for metric or a per-pod target", errors);
        }
        "external" if value && average => {
            let words = "may not set both a target value for metric and a per-pod target";
            target.field("value").forbidden(words, errors);
        }
        "pods" if !average => require("averageValue", "must specify a positive target averageValue", errors),
        "resource" | "containerResource" if !utilization && !average => {
            require("averageUtilization", "must set either a target raw value or a target utilization", errors);
        }
        "resource" | "containerResource" if utilization && average => {
            let words = "may not set both a target raw value and a target utilization";
            target.field("averageValue").forbidden(words, errors);
        }
        _ => {}
    }
}

fn validate_target(target: &Spot<'_>, errors: &mut Errors) {
    let kind = target.field("type");
    kind.check(&[RequiredBecause("must specify a metric target type")], errors);
    if !matches!(kind.text(), "Utilization" | "Value" | "AverageValue") {
        errors.push(Error::invalid(&kind.path, kind.text(), "must be either Utilization, Value, or AverageValue"));
    }
    for name in ["value", "averageValue"] {
        let amount = target.field(name);
        if amount.given() && Quantity::from_value(amount.value).is_ok_and(|found| found <= Quantity::ZERO) {
            amount.invalid("must be positive", errors);
        }
    }
    let utilization = target.field("averageUtilization");
    if utilization.given() && utilization.number() < 1 {
        utilization.invalid("must be greater than 0", errors);
    }
}
