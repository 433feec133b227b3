//! Daemon sets: one pod of a template on every node.

use roost_object::Value;
use roost_object::field::{Error, Errors};

use super::counts::{self, amount};
use super::template;
use crate::check::{SelectorValues, Spot, elements, immutable, label_selector, selector_is_empty, text};
use crate::fill::Fill;
use crate::{Generation, Rules, drop_status, internal, keep_spec, keep_status, pod, shown};

/// How often the template changed. It is no field any more but an annotation, which the server writes.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(super) const RULES: Rules = Rules {
    group: "apps",
    kind: "DaemonSet",
    defaults: fill,
    prepare_create: |new| {
        drop_status(new);
        set_template_generation(new, template_generation(new).max(1));
        pod::drop_disabled_template(new.at_or_empty("spec"), "template");
    },
    prepare_update: |new, old| {
        pod::drop_disabled_template(new.at_or_empty("spec"), "template");
        keep_status(new, old);
        let changed = !internal::same("PodTemplateSpec", &new["spec"]["template"], &old["spec"]["template"]);
        set_template_generation(new, template_generation(old) + i64::from(changed));
    },
    prepare_status_update: keep_spec,
    generation: Generation::Spec,
    validate: |new, errors| validate(new, None, errors),
    validate_update: |new, old, errors| {
        let root = Spot::root(new);
        let spec = root.field("spec");
        immutable(&spec.field("selector"), &old["spec"]["selector"], "*LabelSelector", errors);
        validate(new, Some(old), errors);
    },
    validate_status_update: validate_status,
    warns_on_update: |new, old| template_generation(new) != template_generation(old),
    warnings: template::warn_of_template,
    ..Rules::NONE
};

fn fill(set: &mut Value) {
    set.at_or_empty("metadata").at_or_empty("annotations").fill_text(TEMPLATE_GENERATION, "0");
    let spec = set.at_or_empty("spec");
    let strategy = spec.at_or_empty("updateStrategy");
    strategy.fill_text("type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        let update = strategy.at_or_empty("rollingUpdate");
        update.fill("maxUnavailable", 1);
        update.fill("maxSurge", 0);
    } else if let Some(update) = strategy.at("rollingUpdate") {
        // Stock's own type has no way to leave them out.
        update.fill("maxUnavailable", 0);
        update.fill("maxSurge", 0);
    }
    spec.fill("revisionHistoryLimit", 10);
    pod::fill_template(spec, "template");
}

fn template_generation(set: &Value) -> i64 {
    text(&set["metadata"]["annotations"], TEMPLATE_GENERATION).parse().unwrap_or(0)
}

fn set_template_generation(set: &mut Value, generation: i64) {
    let annotations = set.at_or_empty("metadata").at_or_empty("annotations");
    annotations[TEMPLATE_GENERATION] = generation.to_string().into();
}

fn validate(new: &Value, old: Option<&Value>, errors: &mut Errors) {
    let root = Spot::root(new);
    let spec = root.field("spec");
    let selector = spec.field("selector");
    let has_bad_values = |selector: &Value| {
        elements(&selector["matchExpressions"])
            .iter()
            .flat_map(|expression| elements(&expression["values"]))
            .any(|value| !roost_object::names::is_label_value(value.as_str().unwrap_or_default()).is_empty())
    };
    let values = match old {
        Some(old) if has_bad_values(&old["spec"]["selector"]) => SelectorValues::Trusted,
        _ => SelectorValues::Checked,
    };
    label_selector(&selector, values, errors);
    let pods = spec.field("template");
    if template::selects(selector.value, pods.value) == Some(false) {
        template::not_selected(&pods, errors);
    }
    if selector.given() && selector_is_empty(selector.value) {
        let words = "empty selector is invalid for daemonset";
        errors.push(shown::invalid(&selector.path, "LabelSelector", selector.value, words));
    }
    template::validate(&pods, old.map(|old| &old["spec"]["template"]), errors);
    template::runs_always(&pods, "DaemonSet", errors);
    counts::not_negative(&spec, &["minReadySeconds"], errors);
    validate_strategy(&spec.field("updateStrategy"), errors);
    counts::not_negative(&spec, &["revisionHistoryLimit"], errors);
}

fn validate_strategy(strategy: &Spot<'_>, errors: &mut Errors) {
    let update = strategy.field("rollingUpdate");
    match strategy.field("type").text() {
        "OnDelete" => {}
        "RollingUpdate" if !update.given() => errors.push(Error::required(&update.path, "")),
        "RollingUpdate" => {
            let unavailable = update.field("maxUnavailable");
            let surge = update.field("maxSurge");
            counts::number_or_percent(&unavailable, errors);
            counts::number_or_percent(&surge, errors);
            counts::at_most_all(&unavailable, errors);
            counts::at_most_all(&surge, errors);
            match (amount(unavailable.value) != 0, amount(surge.value) != 0) {
                (true, true) => surge.invalid("may not be set when maxUnavailable is non-zero", errors),
                (false, false) => {
                    errors.push(Error::required(&unavailable.path, "cannot be 0 when maxSurge is 0"));
                }
                _ => {}
            }
        }
        _ => {
            let words = &["RollingUpdate", "OnDelete"];
            errors.push(shown::not_supported(&strategy.path, "DaemonSetUpdateStrategy", strategy.value, words));
        }
    }
}

fn validate_status(new: &Value, old: &Value, errors: &mut Errors) {
    static COUNTS: &[&str] = &[
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ];
    let root = Spot::root(new);
    let status = root.field("status");
    counts::not_negative(&status, COUNTS, errors);
    counts::collisions_only_grow(&status, &old["status"], errors);
}
