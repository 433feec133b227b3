//! Claims for volumes, as templates inside pods and stateful sets.

use roost_object::field::{Error, Errors};
use roost_object::{Quantity, metadata};

use crate::check::Check::{Required, Selector};
use crate::check::{Check, LABEL, SUBDOMAIN, Spot};
use crate::resource_name;

static ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// The metadata that a template for a claim may carry is only labels and annotations. This is all the rest, under the
/// names stock reports it by, in its order.
static OTHER_METADATA: &[(&str, &str)] = &[
    ("name", "name"),
    ("generateName", "generateName"),
    ("namespace", "namespace"),
    ("selfLink", "selfLink"),
    ("uid", "uID"),
    ("resourceVersion", "resourceVersion"),
    ("generation", "generation"),
    ("creationTimestamp", "creationTimestamp"),
    ("deletionTimestamp", "deletionTimestamp"),
    ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
    ("ownerReferences", "ownerReferences"),
    ("finalizers", "finalizers"),
    ("managedFields", "managedFields"),
];

/// Checks a volume whose claim is created together with the pod.
pub(super) fn ephemeral(source: &Spot<'_>, errors: &mut Errors) {
    let template = source.field("volumeClaimTemplate");
    if !template.given() {
        errors.push(Error::required(&template.path, ""));
        return;
    }
    validate_template_metadata(&template.field("metadata"), errors);
    validate_spec(&template.field("spec"), errors);
}

/// Checks the metadata of a template, which has no identity.
pub(crate) fn validate_template_metadata(meta: &Spot<'_>, errors: &mut Errors) {
    metadata::validate_annotations(&meta.value["annotations"], &meta.path.child("annotations"), errors);
    metadata::validate_labels(&meta.value["labels"], &meta.path.child("labels"), errors);
    for (name, reported_as) in OTHER_METADATA {
        if meta.field(name).filled() {
            errors.push(Error::forbidden(&meta.path.child(reported_as), "cannot be set"));
        }
    }
}

/// Checks the spec of a claim.
pub(crate) fn validate_spec(spec: &Spot<'_>, errors: &mut Errors) {
    let modes = spec.field("accessModes");
    modes.check(&[Check::RequiredBecause("at least 1 access mode is required")], errors);
    spec.field("selector").check(&[Selector], errors);
    let (mut once_per_pod, mut other) = (false, false);
    for mode in modes.elements().iter().map(|mode| mode.as_str().unwrap_or_default()) {
        match mode {
            "ReadWriteOncePod" => once_per_pod = true,
            _ if ACCESS_MODES.contains(&mode) => other = true,
            _ => errors.push(Error::not_supported(&modes.path, mode, ACCESS_MODES)),
        }
    }
    if once_per_pod && other {
        modes.forbidden("may not use ReadWriteOncePod with other access modes", errors);
    }
    let resources = spec.field("resources");
    let storage = resources.path.key("storage");
    match resources.value["requests"].get("storage").map(Quantity::from_value) {
        None => errors.push(Error::required(&storage, "")),
        Some(Ok(amount)) if amount.is_zero() || amount.is_negative() => {
            errors.push(Error::invalid(&storage, amount.to_string(), "must be greater than zero"));
        }
        Some(Ok(amount)) => resource_name::validate_amount("storage", &amount, &storage, errors),
        Some(Err(_)) => {}
    }
    spec.field("storageClassName").check(&[SUBDOMAIN], errors);
    spec.field("volumeMode").one_of_if_given(&["Block", "Filesystem"], errors);
    validate_data_sources(spec, errors);
    spec.field("volumeAttributesClassName").check(&[SUBDOMAIN], errors);
}

fn validate_data_sources(spec: &Spot<'_>, errors: &mut Errors) {
    let source = spec.field("dataSource");
    let reference = spec.field("dataSourceRef");
    for data in [&source, &reference] {
        if !data.given() {
            continue;
        }
        data.field("name").check(&[Required], errors);
        let kind = data.field("kind");
        kind.check(&[Required], errors);
        let group = data.field("apiGroup");
        if !group.filled() && kind.text() != "PersistentVolumeClaim" {
            let words = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            errors.push(Error::invalid(&data.path, kind.text(), words));
        }
        group.check(&[SUBDOMAIN], errors);
        data.field("namespace").check(&[LABEL], errors);
    }
    // Stock shows a path object here, which prints as an empty structure.
    let mut report = |words: &str| errors.push(Error::invalid_omitted(&spec.path, format!("{{}}: {words}")));
    if reference.given() && reference.field("namespace").filled() {
        if source.given() {
            report("may not be specified when dataSourceRef.namespace is specified");
        }
    } else if source.given() && reference.given() {
        let differs = ["apiGroup", "kind", "name"].iter().any(|name| source.value[name] != reference.value[name]);
        if differs {
            report("must match dataSourceRef");
        }
    }
}
