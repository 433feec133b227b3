//! Where pods may run: affinity, spreading, tolerations and gates.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use super::spec::Options;
use crate::check::Check::{OneOf, OneOfGiven, Required};
use crate::check::{Check, LABEL, SelectorValues, Spot, elements, label_selector, text};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const NOT_AN_OPERATOR: &str = "not a valid selector operator";

/// Checks all three kinds of affinity.
pub(super) fn validate_affinity(affinity: &Spot<'_>, options: &Options, errors: &mut Errors) {
    let of_nodes = affinity.field("nodeAffinity");
    let required = of_nodes.field(REQUIRED);
    if required.given() {
        validate_node_selector(&required, !options.allow_invalid_node_affinity_values, errors);
    }
    of_nodes.field(PREFERRED).each(|_, term| {
        validate_weight(term, errors);
        validate_node_selector_term(&term.field("preference"), false, errors);
    });
    let values = if options.allow_invalid_affinity_values { SelectorValues::Trusted } else { SelectorValues::Checked };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let of_pods = affinity.field(kind);
        of_pods.field(REQUIRED).each(|_, term| validate_pod_affinity_term(term, values, errors));
        of_pods.field(PREFERRED).each(|_, term| {
            validate_weight(term, errors);
            validate_pod_affinity_term(&term.field("podAffinityTerm"), values, errors);
        });
    }
}

fn validate_weight(term: &Spot<'_>, errors: &mut Errors) {
    let weight = term.field("weight");
    if !(1..=100).contains(&weight.number()) {
        errors.push(Error::invalid(&weight.path, weight.number(), "must be in the range 1-100"));
    }
}

/// Checks a selector of nodes.
pub(crate) fn validate_node_selector(selector: &Spot<'_>, check_values: bool, errors: &mut Errors) {
    let terms = selector.field("nodeSelectorTerms");
    terms.check(&[Check::RequiredBecause("must have at least one node selector term")], errors);
    terms.each(|_, term| validate_node_selector_term(term, check_values, errors));
}

fn validate_node_selector_term(term: &Spot<'_>, check_values: bool, errors: &mut Errors) {
    term.field("matchExpressions").each(|_, requirement| {
        let values = requirement.field("values");
        let operator = requirement.field("operator");
        let count = values.elements().len();
        match operator.text() {
            "In" | "NotIn" if count == 0 => {
                errors.push(Error::required(&values.path, "must be specified when `operator` is 'In' or 'NotIn'"));
            }
            "Exists" | "DoesNotExist" if count > 0 => {
                values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'", errors);
            }
            "Gt" | "Lt" if count != 1 => {
                let words = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                errors.push(Error::required(&values.path, words));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            word => errors.push(Error::invalid(&operator.path, word, NOT_AN_OPERATOR)),
        }
        requirement.field("key").text_passes(names::is_qualified_name, errors);
        if check_values {
            values.each(|_, value| value.text_passes(names::is_label_value, errors));
        }
    });
    term.field("matchFields").each(|_, requirement| {
        let values = requirement.field("values");
        let operator = requirement.field("operator");
        match operator.text() {
            "In" | "NotIn" => {
                if values.elements().len() != 1 {
                    let words = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                    errors.push(Error::required(&values.path, words));
                }
            }
            word => errors.push(Error::invalid(&operator.path, word, NOT_AN_OPERATOR)),
        }
        let key = requirement.field("key");
        if key.text() == "metadata.name" {
            values.each(|_, value| value.text_passes(names::is_dns1123_subdomain, errors));
        } else {
            errors.push(Error::invalid(&key.path, key.text(), "not a valid field selector key"));
        }
    });
}

fn validate_pod_affinity_term(term: &Spot<'_>, values: SelectorValues, errors: &mut Errors) {
    label_selector(&term.field("labelSelector"), values, errors);
    label_selector(&term.field("namespaceSelector"), values, errors);
    // Stock reports all namespaces under one name that is no field.
    term.field("namespaces")
        .each(|_, namespace| Spot::new(namespace.value, term.path.child("namespace")).check(&[LABEL], errors));
    validate_label_keys(term, errors);
    let key = term.field("topologyKey");
    key.check(&[Check::RequiredBecause("can not be empty")], errors);
    key.text_passes(names::is_qualified_name, errors);
}

/// Checks the keys of labels that the pod itself adds to a selector.
pub(super) fn validate_label_keys(holder: &Spot<'_>, errors: &mut Errors) {
    let selector = holder.field("labelSelector");
    for name in ["matchLabelKeys", "mismatchLabelKeys"] {
        let keys = holder.field(name);
        if keys.filled() && !selector.given() {
            keys.forbidden("must not be specified when labelSelector is not set", errors);
        } else {
            keys.each(|_, key| key.text_passes(names::is_qualified_name, errors));
        }
    }
    let matched = elements(&holder.value["matchLabelKeys"]);
    let mut selected: Vec<&str> =
        selector.value["matchLabels"].as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    for expression in elements(&selector.value["matchExpressions"]) {
        let key = text(expression, "key");
        // Expressions that came from the keys themselves are the last ones; a second one is one too many.
        if let Some(index) = matched.iter().rposition(|matched| matched == key)
            && selected.contains(&key)
        {
            let path = holder.path.index(index);
            errors.push(Error::invalid(&path, key, "exists in both matchLabelKeys and labelSelector"));
        }
        selected.push(key);
    }
    let mismatched = elements(&holder.value["mismatchLabelKeys"]);
    holder.field("matchLabelKeys").each(|_, key| {
        if mismatched.contains(key.value) {
            key.invalid("exists in both matchLabelKeys and mismatchLabelKeys", errors);
        }
    });
}

/// How keys were checked before pods merged them into their selectors.
fn validate_label_keys_of_old(constraint: &Spot<'_>, errors: &mut Errors) {
    let keys = constraint.field("matchLabelKeys");
    if !keys.filled() {
        return;
    }
    let selector = constraint.field("labelSelector");
    if !selector.given() {
        keys.forbidden("must not be specified when labelSelector is not set", errors);
    }
    keys.each(|_, key| {
        key.text_passes(names::is_qualified_name, errors);
        let expressions = elements(&selector.value["matchExpressions"]);
        let is_selected = !selector.value["matchLabels"][key.text()].is_null()
            || expressions.iter().any(|expression| text(expression, "key") == key.text());
        if is_selected {
            key.invalid("exists in both matchLabelKeys and labelSelector", errors);
        }
    });
}

/// Checks how evenly pods are spread.
pub(super) fn validate_spread(constraints: &Spot<'_>, options: &Options, errors: &mut Errors) {
    const POLICIES: &[Check] = &[OneOfGiven(&["Honor", "Ignore"])];
    constraints.each(|index, constraint| {
        let skew = constraint.field("maxSkew");
        if skew.number() <= 0 {
            errors.push(Error::invalid(&skew.path, skew.number(), "must be greater than zero"));
        }
        constraint.field("topologyKey").check(&[Check::RequiredBecause("can not be empty")], errors);
        let action = constraint.field("whenUnsatisfiable");
        if !matches!(action.text(), "DoNotSchedule" | "ScheduleAnyway") {
            errors.push(Error::not_supported(&action.path, action.text(), &["DoNotSchedule", "ScheduleAnyway"]));
        }
        let key = text(constraint.value, "topologyKey");
        let repeats =
            |other: &Value| text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action.text();
        if constraints.elements()[index + 1..].iter().any(repeats) {
            let path = constraint.path.child("{topologyKey, whenUnsatisfiable}");
            errors.push(Error::duplicate(&path, format!("{{{key}, {}}}", action.text())));
        }
        let domains = constraint.field("minDomains");
        if domains.given() {
            if domains.number() <= 0 {
                domains.invalid("must be greater than zero", errors);
            }
            if action.text() != "DoNotSchedule" {
                let words =
                    format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}", action.text());
                domains.invalid(words, errors);
            }
        }
        constraint.field("nodeAffinityPolicy").check(POLICIES, errors);
        constraint.field("nodeTaintsPolicy").check(POLICIES, errors);
        if options.old_mixes_match_label_keys {
            validate_label_keys_of_old(constraint, errors);
        } else {
            validate_label_keys(constraint, errors);
        }
        if !options.allow_invalid_spread_selector {
            constraint.field("labelSelector").check(&[Check::Selector], errors);
        }
    });
}

/// Checks which taints a pod bears.
pub(crate) fn validate_tolerations(tolerations: &Spot<'_>, options: &Options, errors: &mut Errors) {
    tolerations.each(|_, toleration| {
        let key = toleration.field("key");
        let operator = toleration.field("operator");
        let value = toleration.field("value");
        let effect = toleration.field("effect");
        key.check(&[Check::Text(names::is_qualified_name)], errors);
        if !key.filled() && operator.text() != "Exists" {
            let words = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(Error::invalid(&operator.path, operator.text(), words));
        }
        if toleration.field("tolerationSeconds").given() && effect.text() != "NoExecute" {
            let words = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(Error::invalid(&effect.path, effect.text(), words));
        }
        match operator.text() {
            "" | "Equal" => {
                let sentences = names::is_label_value(value.text());
                if !sentences.is_empty() {
                    errors.push(Error::invalid(&operator.path, value.text(), sentences.join(";")));
                }
            }
            "Exists" => {
                if value.filled() {
                    let words = "value must be empty when `operator` is 'Exists'";
                    errors.push(Error::invalid(&operator.path, value.text(), words));
                }
            }
            "Lt" | "Gt" if options.allow_comparing_tolerations => {}
            "Lt" | "Gt" => {
                errors.push(Error::not_supported(&operator.path, operator.text(), &["Equal", "Exists", "Lt", "Gt"]));
            }
            word => errors.push(Error::not_supported(&operator.path, word, &["Equal", "Exists"])),
        }
        effect.check(&[OneOf(&["NoSchedule", "PreferNoSchedule", "NoExecute"])], errors);
    });
}

/// Checks what holds a pod back from being scheduled.
pub(super) fn validate_gates(gates: &Spot<'_>, errors: &mut Errors) {
    gates.each(|index, gate| {
        let name = text(gate.value, "name");
        let sentences = names::is_qualified_name(name);
        errors.extend(sentences.into_iter().map(|words| Error::invalid(&gate.path, name, words)));
        if gates.elements()[..index].iter().any(|earlier| text(earlier, "name") == name) {
            errors.push(Error::duplicate(&gate.path, name));
        }
    });
}

/// Checks the claims for devices that a pod makes for its containers.
pub(super) fn validate_claims(claims: &Spot<'_>, is_static_pod: bool, errors: &mut Errors) {
    claims.each(|index, claim| {
        if is_static_pod {
            errors.push(Error::forbidden(&Path::ROOT.key(""), "static pods do not support resource claims"));
            return;
        }
        let name = claim.field("name");
        let earlier = &claims.elements()[..index];
        if name.filled() && earlier.iter().any(|other| text(other, "name") == name.text()) {
            errors.push(Error::duplicate(&name.path, name.text()));
        } else {
            name.check(&[Required, LABEL], errors);
        }
        let by_name = claim.field("resourceClaimName");
        let by_template = claim.field("resourceClaimTemplateName");
        let words = match (by_name.given(), by_template.given()) {
            (true, true) => Some("at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"),
            (false, false) => Some("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"),
            _ => None,
        };
        if let Some(words) = words {
            let shown = crate::internal::print("PodResourceClaim", claim.value);
            errors.push(Error::invalid_omitted(&claim.path, format!("{shown}: {words}")));
        }
        for reference in [&by_name, &by_template] {
            if reference.given() {
                reference.text_passes(names::is_dns1123_subdomain, errors);
            }
        }
    });
}
