//! Validation of definitions, in stock's order and words.

mod conversion;
mod default_values;
mod extensions;
mod open_api;
mod props;
mod rules;
mod shown;
mod spec;
mod structural;
mod versions;

use roost_object::field::{Error, Errors, Kind, Path};
use serde_json::Value;

use self::props::Props;
use self::spec::SpecView;
use crate::wording;
use roost_object::url::Url;

const APPROVAL: &str = "api-approved.kubernetes.io";

/// What is asked of a definition. Updates are not held to rules that the stored definition already breaks.
struct Options {
    require_recognised_review_version: bool,
    require_immutable_names: bool,
    require_schema: bool,
    require_valid_type: bool,
    require_structural: bool,
    require_pruned_defaults: bool,
    require_atomic_sets: bool,
    require_list_keys: bool,
    allow_invalid_ca_bundle: bool,
    /// Versions whose schema did not change: their rules may cost what they cost.
    unchanged: Vec<String>,
    /// Versions that may keep more selectable fields than allowed; the empty name stands for all versions together.
    many_selectable: Vec<String>,
}

impl Options {
    fn create() -> Options {
        Options {
            require_recognised_review_version: true,
            require_immutable_names: false,
            require_schema: true,
            require_valid_type: true,
            require_structural: true,
            require_pruned_defaults: true,
            require_atomic_sets: true,
            require_list_keys: true,
            allow_invalid_ca_bundle: true,
            unchanged: Vec::new(),
            many_selectable: Vec::new(),
        }
    }

    fn update(new: &SpecView<'_>, old: &SpecView<'_>, old_crd: &Value) -> Options {
        let established = has_condition(old_crd, "Established");
        let schemas = old.schemas();
        let any = |test: &mut dyn FnMut(Props<'_>) -> bool| schemas.iter().any(|schema| schema.any(test));
        Options {
            require_recognised_review_version: conversion::has_recognised_version(old.props),
            require_immutable_names: established,
            require_schema: versions::all_have_schemas(old),
            require_valid_type: !any(&mut |props| open_api::has_invalid_type(props)),
            require_structural: !schemas.iter().any(|schema| open_api::is_not_structural(*schema)),
            require_pruned_defaults: !schemas.iter().any(|schema| default_values::has_unpruned(*schema)),
            require_atomic_sets: !any(&mut |props| extensions::has_compound_set(props)),
            require_list_keys: !any(&mut |props| extensions::has_invalid_list_keys(props)),
            allow_invalid_ca_bundle: !established || conversion::has_invalid_ca_bundle(old.props),
            unchanged: versions::unchanged_schemas(new, old),
            many_selectable: versions::many_selectable(new, old),
        }
    }
}

/// Checks a new definition, after defaulting. Metadata is not checked here.
pub fn validate_definition(crd: &Value) -> Errors {
    let mut errors = Errors::new();
    if let Some(spec) = SpecView::of(crd) {
        versions::validate_spec(&spec, Options::create(), &Path::new("spec"), &mut errors);
        after_spec(crd, &spec, None, &mut errors);
    } else {
        errors.push(Error::required(&Path::new("spec"), ""));
    }
    errors
}

/// Checks a changed definition against its old state. Metadata is not checked here.
pub fn validate_definition_update(new: &Value, old: &Value) -> Errors {
    let mut errors = Errors::new();
    let (Some(spec), Some(old_spec)) = (SpecView::of(new), SpecView::of(old)) else {
        return vec![Error::required(&Path::new("spec"), "")];
    };
    let options = Options::update(&spec, &old_spec, old);
    let immutable_names = options.require_immutable_names;
    let path = Path::new("spec");
    versions::validate_spec(&spec, options, &path, &mut errors);
    let mut fixed = |new: &str, old: &str, path: &Path<'_>| {
        if new != old {
            errors.push(Error::invalid(path, new, "field is immutable"));
        }
    };
    let names_path = path.child("names");
    if immutable_names {
        fixed(spec.props.text("scope"), old_spec.props.text("scope"), &path.child("scope"));
        fixed(spec.names.text("kind"), old_spec.names.text("kind"), &names_path.child("kind"));
    }
    fixed(spec.props.text("group"), old_spec.props.text("group"), &path.child("group"));
    fixed(spec.names.text("plural"), old_spec.names.text("plural"), &names_path.child("plural"));
    after_spec(new, &spec, Some((old, &old_spec)), &mut errors);
    errors
}

/// Checks the changed status of a definition. Metadata is not checked here.
pub fn validate_definition_status(new: &Value) -> Errors {
    let mut errors = Errors::new();
    if let Some(names) = Props::of(&new["status"]["acceptedNames"]) {
        versions::validate_names(names, &Path::new("status.acceptedNames"), &mut errors);
    }
    errors
}

/// What a writer of a definition should know: formats that are not checked. An update only tells of new ones.
pub fn definition_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let formats = |crd: &Value| -> Vec<String> {
        let mut formats = Vec::new();
        for schema in SpecView::of(crd).iter().flat_map(SpecView::schemas) {
            schema.any(&mut |props| {
                let format = props.text("format");
                if !format.is_empty() && !crate::validate::format::is_recognised(format, props.kind()) {
                    formats.push(format.to_owned());
                }
                false
            });
        }
        formats
    };
    let known = old.map(formats).unwrap_or_default();
    let new = formats(new).into_iter().filter(|format| !known.contains(format));
    new.map(|format| format!("unrecognized format {}", roost_object::field::quote(&format))).collect()
}

fn after_spec(crd: &Value, spec: &SpecView<'_>, old: Option<(&Value, &SpecView<'_>)>, errors: &mut Errors) {
    let status_path = Path::new("status");
    let status = crd.get("status").and_then(Props::of);
    if let Some(accepted) = status.and_then(|status| status.schema("acceptedNames")) {
        versions::validate_names(accepted, &status_path.child("acceptedNames"), errors);
    }
    let stored = status.map(|status| status.names("storedVersions")).unwrap_or_default();
    stored_versions(&stored, spec, &status_path.child("storedVersions"), errors);
    approval(crd, spec, old.map(|(crd, _)| crd), errors);
    let was_preserving = old.is_some_and(|(_, old)| old.preserves_unknown_fields());
    if spec.preserves_unknown_fields() && !was_preserving {
        let path = Path::new("spec.preserveUnknownFields");
        let words = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
                     instead";
        errors.push(Error::invalid(&path, true, words));
    }
}

fn stored_versions(stored: &[&str], spec: &SpecView<'_>, path: &Path<'_>, errors: &mut Errors) {
    let shown = shown::names(stored);
    let invalid = |words: String| wording::error_showing(Kind::Invalid, path.to_string(), &shown, &words);
    if stored.is_empty() {
        errors.push(invalid("must have at least one stored version".to_owned()));
        return;
    }
    // A name counts for one version, as on stock.
    let mut left = stored.to_vec();
    for version in &spec.versions {
        let name = version.props.text("name");
        if version.props.flag("storage") && !left.contains(&name) {
            errors.push(invalid(format!("must have the storage version {name}")));
        }
        left.retain(|stored| *stored != name);
    }
    for (index, name) in stored.iter().enumerate() {
        if left.contains(name) {
            let words = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            );
            errors.push(Error::invalid(&path.index(index), *name, words));
        }
    }
}

#[derive(PartialEq, Eq)]
enum Approval {
    Invalid,
    Given,
    Missing,
}

fn approval_of(crd: &Value) -> (Approval, String) {
    let annotations = crd.pointer("/metadata/annotations");
    let text = annotations.and_then(|map| map.get(APPROVAL)).and_then(Value::as_str).unwrap_or_default();
    let state = if text.is_empty() {
        Approval::Missing
    } else if text.starts_with("unapproved")
        || Url::parse(text).is_ok_and(|url| !url.host.is_empty() && !url.scheme.is_empty())
    {
        Approval::Given
    } else {
        Approval::Invalid
    };
    (state, text.to_owned())
}

/// Groups of the Kubernetes community need an annotation that says where the API was approved.
fn approval(crd: &Value, spec: &SpecView<'_>, old: Option<&Value>, errors: &mut Errors) {
    let group = spec.props.text("group");
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    let (state, text) = approval_of(crd);
    if !is_protected || old.is_some_and(|old| approval_of(old).0 == state) {
        return;
    }
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let annotations = Path::new("metadata.annotations");
    let path = annotations.key(APPROVAL);
    match state {
        Approval::Given => {}
        Approval::Missing => {
            let words = format!("protected groups must have approval annotation \"{APPROVAL}\", {see}");
            errors.push(Error::required(&path, words));
        }
        Approval::Invalid => {
            let words = format!(
                "protected groups must have approval annotation \"{APPROVAL}\" with either a URL or a reason starting \
                 with \"unapproved\", {see}"
            );
            errors.push(Error::invalid(&path, text, words));
        }
    }
}

fn has_condition(crd: &Value, kind: &str) -> bool {
    let conditions = crd.pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == kind);
    found.is_some_and(|condition| condition["status"] == "True")
}
