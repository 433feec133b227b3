//! What the kinds with a pod template share: how it is checked, and how their selector relates to it.

use roost_object::Value;
use roost_object::field::{Error, Errors};
use roost_object::names;
use roost_object::selector::Selector;

use crate::check::{SelectorValues, Spot, label_selector, selector_is_empty, text};
use crate::pod::{self, PodOptions};
use crate::shown;

/// Checks a pod template at its strictest; if that fails, by what the stored template was allowed.
pub(super) fn validate(template: &Spot<'_>, old: Option<&Value>, errors: &mut Errors) {
    let before = errors.len();
    pod::validate_template(template, &PodOptions::default(), errors);
    if let Some(old) = old.filter(|_| errors.len() > before) {
        errors.truncate(before);
        pod::validate_template(template, &PodOptions::tolerating(old), errors);
    }
}

/// Checks that a selector is there and selects something.
pub(super) fn validate_selector(selector: &Spot<'_>, empty_words: &str, errors: &mut Errors) {
    if !selector.given() {
        errors.push(Error::required(&selector.path, ""));
        return;
    }
    label_selector(selector, SelectorValues::Checked, errors);
    if selector_is_empty(selector.value) {
        errors.push(shown::invalid(&selector.path, "LabelSelector", selector.value, empty_words));
    }
}

/// Whether a selector object selects a template's labels; nothing if the object is no selector.
pub(super) fn selects(selector: &Value, template: &Value) -> Option<bool> {
    if selector.is_null() {
        return Some(false);
    }
    let selector = Selector::from_object(selector).ok()?;
    Some(selector.matches_object(template))
}

/// Reports a template that its own selector does not select.
pub(super) fn not_selected(template: &Spot<'_>, errors: &mut Errors) {
    let meta = template.field("metadata");
    let labels = meta.field("labels");
    labels.invalid("`selector` does not match template `labels`", errors);
}

/// Checks that pods of a template run until they are stopped.
pub(super) fn runs_always(template: &Spot<'_>, kind: &str, errors: &mut Errors) {
    let spec = template.field("spec");
    let policy = spec.field("restartPolicy");
    if policy.text() != "Always" {
        errors.push(Error::not_supported(&policy.path, policy.text(), &["Always"]));
    }
    let deadline = spec.field("activeDeadlineSeconds");
    if deadline.given() {
        deadline.forbidden(format!("activeDeadlineSeconds in {kind} is not Supported"), errors);
    }
}

/// Warns of names that make poor host names.
pub(super) fn warn_of_name(object: &Value, warnings: &mut Vec<String>) {
    let sentences = names::is_dns1123_label(text(&object["metadata"], "name"));
    if !sentences.is_empty() {
        warnings.push(format!(
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [{}]",
            sentences.join(" ")
        ));
    }
}

/// Warnings about the template at `spec.template`, of a kind that names pods after itself.
pub(super) fn warn(object: &Value, warnings: &mut Vec<String>) {
    warn_of_name(object, warnings);
    warn_of_template(object, warnings);
}

/// Warnings about the template at `spec.template`.
pub(super) fn warn_of_template(object: &Value, warnings: &mut Vec<String>) {
    let root = Spot::root(object);
    let spec = root.field("spec");
    if spec.field("template").given() {
        pod::warn_of_template(&spec.field("template"), warnings);
    }
}
