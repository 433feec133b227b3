//! Checks of `metadata`, the part that all kinds share.

use serde_json::Value;

use crate::field::{Error, Errors, Path};
use crate::names;

/// All annotations of an object together may not be larger than this many bytes.
pub const ANNOTATIONS_MAX: usize = 256 * 1024;
/// The longest name of a field manager.
pub const FIELD_MANAGER_MAX: usize = 128;
/// The longest name of a subresource in `managedFields`.
const SUBRESOURCE_MAX: usize = 256;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// Checks the metadata of a new object, after a name was generated for it.
pub fn validate(
    meta: &Value,
    namespaced: bool,
    name_rule: impl Fn(&str, bool) -> Vec<String>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let generate_name = text(meta, "generateName");
    if !generate_name.is_empty() {
        let at = path.child("generateName");
        errors
            .extend(name_rule(generate_name, true).into_iter().map(|words| Error::invalid(&at, generate_name, words)));
    }
    let name = text(meta, "name");
    let at = path.child("name");
    if name.is_empty() {
        errors.push(Error::required(&at, "name or generateName is required"));
    } else {
        errors.extend(name_rule(name, false).into_iter().map(|words| Error::invalid(&at, name, words)));
    }
    let namespace = text(meta, "namespace");
    let at = path.child("namespace");
    if !namespaced {
        if !namespace.is_empty() {
            errors.push(Error::forbidden(&at, "not allowed on this type"));
        }
    } else if namespace.is_empty() {
        errors.push(Error::required(&at, ""));
    } else {
        errors
            .extend(names::is_dns1123_label(namespace).into_iter().map(|words| Error::invalid(&at, namespace, words)));
    }
    if generation(meta) < 0 {
        let at = path.child("generation");
        errors.push(Error::invalid(&at, generation(meta), "must be greater than or equal to 0"));
    }
    validate_labels(&meta["labels"], &path.child("labels"), errors);
    validate_annotations(&meta["annotations"], &path.child("annotations"), errors);
    validate_owner_references(&meta["ownerReferences"], &path.child("ownerReferences"), errors);
    validate_finalizers(&meta["finalizers"], &path.child("finalizers"), errors);
    validate_managed_fields(&meta["managedFields"], &path.child("managedFields"), errors);
}

/// Checks the metadata of an update against the stored object's.
pub fn validate_update(new: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !old["deletionTimestamp"].is_null() {
        let before = elements(&old["finalizers"]);
        let mut added: Vec<&str> = elements(&new["finalizers"])
            .iter()
            .filter(|finalizer| !before.contains(finalizer))
            .filter_map(Value::as_str)
            .collect();
        if !added.is_empty() {
            added.sort_unstable();
            added.dedup();
            let quoted: Vec<_> = added.into_iter().map(crate::field::quote).collect();
            let words = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                quoted.join(", ")
            );
            errors.push(Error::forbidden(&path.child("finalizers"), words));
        }
    }
    if text(new, "resourceVersion").is_empty() {
        errors.push(Error::invalid(&path.child("resourceVersion"), "", "must be specified for an update"));
    }
    if generation(new) < generation(old) {
        errors.push(Error::invalid(&path.child("generation"), generation(new), "must not be decremented"));
    }
    for name in ["name", "namespace", "uid"] {
        if text(new, name) != text(old, name) {
            errors.push(Error::invalid(&path.child(name), text(new, name), "field is immutable"));
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if new[name] != old[name] {
            errors.push(Error::invalid(&path.child(name), new[name].clone(), "field is immutable"));
        }
    }
    validate_labels(&new["labels"], &path.child("labels"), errors);
    validate_annotations(&new["annotations"], &path.child("annotations"), errors);
    validate_owner_references(&new["ownerReferences"], &path.child("ownerReferences"), errors);
    validate_managed_fields(&new["managedFields"], &path.child("managedFields"), errors);
}

/// Checks the keys and values of labels.
pub fn validate_labels(labels: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        errors.extend(names::is_qualified_name(key).into_iter().map(|words| Error::invalid(path, &**key, words)));
        errors.extend(names::is_label_value(value).into_iter().map(|words| Error::invalid(path, value, words)));
    }
}

/// Checks the keys of annotations, and the size of all together.
pub fn validate_annotations(annotations: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut size = 0;
    for (key, value) in annotations.as_object().into_iter().flatten() {
        size += key.len() + value.as_str().map_or(0, str::len);
        let lowered: std::borrow::Cow<'_, str> =
            if key.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
                key.into()
            } else {
                key.to_lowercase().into()
            };
        errors.extend(names::is_qualified_name(&lowered).into_iter().map(|words| Error::invalid(path, &**key, words)));
    }
    if size > ANNOTATIONS_MAX {
        errors.push(Error::too_long(path, ANNOTATIONS_MAX));
    }
}

fn validate_owner_references(references: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut first_controller: Option<String> = None;
    for reference in elements(references) {
        let api_version = text(reference, "apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        // More than one slash is no version at all.
        let (group, version) = if version.contains('/') { ("", "") } else { (group, version) };
        let kind = text(reference, "kind");
        if version.is_empty() {
            errors.push(Error::invalid(&path.child("apiVersion"), api_version, "version must not be empty"));
        }
        for name in ["kind", "name", "uid"] {
            if text(reference, name).is_empty() {
                errors.push(Error::invalid(&path.child(name), "", "must not be empty"));
            }
        }
        if (group, version, kind) == ("", "v1", "Event") {
            let words = format!("{}: /v1, Kind=Event is disallowed from being an owner", shown_owner(reference));
            errors.push(Error::invalid_omitted(path, words));
        }
        if reference["controller"] == true {
            let name = format!("{kind}/{}", text(reference, "name"));
            match &first_controller {
                Some(first) => {
                    let shown: Vec<_> = elements(references).iter().map(shown_owner).collect();
                    let words = format!(
                        "[{}]: Only one reference can have Controller set to true. Found \"true\" in references for {first} and {name}",
                        shown.join(",")
                    );
                    errors.push(Error::invalid_omitted(path, words));
                }
                None => first_controller = Some(name),
            }
        }
    }
}

/// An owner as stock shows it: in the order of its Go type.
fn shown_owner(owner: &Value) -> String {
    let always =
        ["apiVersion", "kind", "name", "uid"].map(|name| format!("\"{name}\":{}", Value::from(text(owner, name))));
    let set = ["controller", "blockOwnerDeletion"].into_iter().filter(|name| owner[*name].is_boolean());
    let parts: Vec<_> = always.into_iter().chain(set.map(|name| format!("\"{name}\":{}", owner[name]))).collect();
    format!("{{{}}}", parts.join(","))
}

fn validate_finalizers(finalizers: &Value, path: &Path<'_>, errors: &mut Errors) {
    let list = elements(finalizers);
    for finalizer in list.iter().filter_map(Value::as_str) {
        errors.extend(
            names::is_qualified_name(finalizer).into_iter().map(|words| Error::invalid(path, finalizer, words)),
        );
    }
    if list.iter().any(|finalizer| finalizer == ORPHAN) && list.iter().any(|finalizer| finalizer == FOREGROUND) {
        let words = format!("finalizer {ORPHAN} and {FOREGROUND} cannot be both set");
        errors.push(Error::invalid(path, finalizers.clone(), words));
    }
}

/// Checks the outer form of `managedFields`; the field sets themselves are checked where they are decoded.
pub fn validate_managed_fields(managed: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (index, entry) in elements(managed).iter().enumerate() {
        let path = path.index(index);
        let operation = text(entry, "operation");
        if !matches!(operation, "Apply" | "Update") {
            errors.push(Error::invalid(&path.child("operation"), operation, "must be `Apply` or `Update`"));
        }
        let fields_type = text(entry, "fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            errors.push(Error::invalid(&path.child("fieldsType"), fields_type, "must be `FieldsV1`"));
        }
        validate_field_manager(text(entry, "manager"), &path.child("manager"), errors);
        if text(entry, "subresource").len() > SUBRESOURCE_MAX {
            errors.push(Error::too_long(&path.child("subresource"), SUBRESOURCE_MAX));
        }
    }
}

/// Checks the name of a field manager: short, and printable.
pub fn validate_field_manager(manager: &str, path: &Path<'_>, errors: &mut Errors) {
    if manager.len() > FIELD_MANAGER_MAX {
        errors.push(Error::too_long(path, FIELD_MANAGER_MAX));
    }
    for (position, character) in manager.char_indices() {
        if character.is_control() || (character.is_whitespace() && character != ' ') {
            let words = format!("invalid character U+{:04X} (at position {position})", character as u32);
            errors.push(Error::invalid(path, manager, words));
        }
    }
}

/// Checks a list of conditions in the form that newer kinds share (`metav1.Condition`).
pub fn validate_conditions(conditions: &Value, path: &Path<'_>, errors: &mut Errors) {
    let list = elements(conditions);
    for (index, condition) in list.iter().enumerate() {
        let path = path.index(index);
        let kind = text(condition, "type");
        if list[..index].iter().any(|earlier| text(earlier, "type") == kind) {
            errors.push(Error::duplicate(&path.child("type"), kind));
        }
        let at = path.child("type");
        errors.extend(names::is_qualified_name(kind).into_iter().map(|words| Error::invalid(&at, kind, words)));
        let status = text(condition, "status");
        if !matches!(status, "True" | "False" | "Unknown") {
            errors.push(Error::not_supported(&path.child("status"), status, &["False", "True", "Unknown"]));
        }
        if let Some(observed) = condition["observedGeneration"].as_i64().filter(|observed| *observed < 0) {
            let at = path.child("observedGeneration");
            errors.push(Error::invalid(&at, observed, "must be greater than or equal to zero"));
        }
        if condition["lastTransitionTime"].is_null() {
            errors.push(Error::required(&path.child("lastTransitionTime"), ""));
        }
        let reason = text(condition, "reason");
        let at = path.child("reason");
        if reason.is_empty() {
            errors.push(Error::required(&at, ""));
        } else {
            errors
                .extend(names::is_condition_reason(reason).into_iter().map(|words| Error::invalid(&at, reason, words)));
            if reason.len() > 1024 {
                errors.push(Error::too_long(&at, 1024));
            }
        }
        if text(condition, "message").len() > 32 * 1024 {
            errors.push(Error::too_long(&path.child("message"), 32 * 1024));
        }
    }
}

/// A name rule for [`validate`]: a DNS subdomain.
pub fn name_is_subdomain(name: &str, prefix: bool) -> Vec<String> {
    if prefix {
        names::is_dns1123_subdomain(&names::mask_trailing_dash(name))
    } else {
        names::is_dns1123_subdomain(name)
    }
}

/// A name rule for [`validate`]: a DNS label.
pub fn name_is_label(name: &str, prefix: bool) -> Vec<String> {
    if prefix { names::is_dns1123_label(&names::mask_trailing_dash(name)) } else { names::is_dns1123_label(name) }
}

/// A name rule for [`validate`]: a DNS label that starts with a letter.
pub fn name_is_label1035(name: &str, prefix: bool) -> Vec<String> {
    if prefix { names::is_dns1035_label(&names::mask_trailing_dash(name)) } else { names::is_dns1035_label(name) }
}

/// A name rule for [`validate`]: one segment of a path.
pub fn name_is_path_segment(name: &str, prefix: bool) -> Vec<String> {
    if prefix { names::is_path_segment_prefix(name) } else { names::is_path_segment(name) }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn elements(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn generation(meta: &Value) -> i64 {
    meta["generation"].as_i64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(meta: &Value, namespaced: bool) -> Vec<String> {
        let mut errors = Errors::new();
        validate(meta, namespaced, name_is_subdomain, &Path::new("metadata"), &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_new_object_needs_a_name_and_a_namespace() {
        assert_eq!(
            check(&json!({}), true),
            ["metadata.name: Required value: name or generateName is required", "metadata.namespace: Required value"]
        );
        assert_eq!(
            check(&json!({"name": "a", "namespace": "b"}), false),
            ["metadata.namespace: Forbidden: not allowed on this type"]
        );
        assert!(check(&json!({"name": "a.b", "generateName": "a-", "namespace": "b"}), true).is_empty());
    }

    #[test]
    fn owners_must_be_complete_and_only_one_controls() {
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1", "controller": true});
        let errors = check(&json!({"name": "a", "ownerReferences": [owner.clone(), owner]}), false);
        assert_eq!(errors.len(), 1);
        assert!(errors[0].ends_with("references for Pod/a and Pod/a"), "{errors:?}");
        let errors = check(&json!({"name": "a", "ownerReferences": [{}]}), false);
        assert_eq!(errors[0], r#"metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty"#);
        assert_eq!(errors.len(), 4);
    }

    #[test]
    fn an_update_keeps_identity() {
        let old = json!({"name": "a", "uid": "1", "resourceVersion": "5", "generation": 2, "deletionTimestamp": "x", "finalizers": ["a/b"]});
        let new =
            json!({"name": "a", "uid": "2", "generation": 1, "deletionTimestamp": "x", "finalizers": ["c/d", "a/b"]});
        let mut errors = Errors::new();
        validate_update(&new, &old, &Path::new("metadata"), &mut errors);
        let words: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            words,
            [
                r#"metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"c/d"}"#,
                r#"metadata.resourceVersion: Invalid value: "": must be specified for an update"#,
                "metadata.generation: Invalid value: 1: must not be decremented",
                r#"metadata.uid: Invalid value: "2": field is immutable"#,
            ]
        );
    }

    #[test]
    fn annotations_are_limited_together() {
        let errors = check(&json!({"name": "a", "annotations": {"a": "x".repeat(ANNOTATIONS_MAX)}}), false);
        assert_eq!(errors, ["metadata.annotations: Too long: may not be more than 262144 bytes"]);
        assert!(check(&json!({"name": "a", "annotations": {"Example.COM/x": ""}}), false).is_empty());
    }
}
