//! Persistent volumes.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Quantity, Value, names};

use super::source;
use crate::check::Check::OneOf;
use crate::check::{IMMUTABLE, SUBDOMAIN, Spot, elements, immutable, text};
use crate::fill::{Fill, round_resource_list};
use crate::pod::warnings::old_node_label;
use crate::pod::{fill_block_volume, validate_node_selector};
use crate::{internal, shown};

const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
/// The annotation that named the class before there was a field for it.
pub(super) const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const MOUNT_OPTIONS_ANNOTATION: &str = "volume.beta.kubernetes.io/mount-options";
/// The sources that the older way of saying how to mount works with.
const MOUNTABLE: [&str; 13] = [
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
];
const INLINE: &str = "may not be specified in the context of inline volumes";
const AFFINITY_LABELS: [(&str, &str); 5] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
];

pub(super) fn defaults(volume: &mut Value) {
    let spec = volume.at_or_empty("spec");
    spec.fill_text("persistentVolumeReclaimPolicy", "Retain");
    spec.fill("volumeMode", "Filesystem");
    source_defaults(spec);
    volume.at_or_empty("status").fill_text("phase", "Pending");
}

/// Fills in what the source of a volume leaves open.
pub(super) fn source_defaults(spec: &mut Value) {
    round_resource_list(spec.at("capacity"));
    if let Some(host_path) = spec.at("hostPath") {
        host_path.fill("type", "");
    }
    fill_block_volume(spec);
}

pub(super) fn prepare_create(volume: &mut Value) {
    volume.put("status", serde_json::json!({"phase": "Pending"}));
}

/// Notes when the volume came into its phase.
pub(super) fn stamp(volume: &mut Value, old: Option<&Value>, now: &str) {
    const FIELD: &str = "lastPhaseTransitionTime";
    let Some(status) = volume.at("status") else { return };
    match old.map(|old| &old["status"]) {
        None => status.put(FIELD, now),
        Some(before) if text(before, "phase") == text(status, "phase") => {
            if !before[FIELD].is_null() {
                status.fill(FIELD, before[FIELD].clone());
            }
        }
        Some(before) => {
            if status[FIELD].is_null() || status[FIELD] == before[FIELD] {
                status.put(FIELD, now);
            }
        }
    }
}

pub(super) fn validate(volume: &Value, old: Option<&Value>, errors: &mut Errors) {
    let root = Spot::root(volume);
    let check_values = old.is_none_or(|old| !has_bad_values(&old["spec"]["nodeAffinity"]["required"]));
    let name = text(&volume["metadata"], "name");
    validate_spec(&root.field("spec"), name, false, check_values, errors);
    if volume["metadata"]["annotations"].get(MOUNT_OPTIONS_ANNOTATION).is_some()
        && MOUNTABLE.iter().all(|source| volume["spec"][source].is_null())
    {
        let annotations = Path::new("metadata.annotations");
        let path = annotations.child(MOUNT_OPTIONS_ANNOTATION);
        errors.push(Error::forbidden(&path, "may not specify mount options for this volume type"));
    }
}

/// Values that an older server let through stay allowed.
fn has_bad_values(selector: &Value) -> bool {
    elements(&selector["nodeSelectorTerms"])
        .iter()
        .flat_map(|term| elements(&term["matchExpressions"]))
        .flat_map(|expression| elements(&expression["values"]))
        .any(|value| !names::is_label_value(value.as_str().unwrap_or_default()).is_empty())
}

/// Checks the spec of a volume, or of one that is described where it is attached.
pub(super) fn validate_spec(spec: &Spot<'_>, name: &str, inline: bool, check_values: bool, errors: &mut Errors) {
    let capacity = spec.field("capacity");
    let has_capacity = capacity.value.as_object().is_some_and(|map| !map.is_empty());
    if inline {
        if spec.field("claimRef").given() {
            spec.field("claimRef").forbidden(INLINE, errors);
        }
        if has_capacity {
            capacity.forbidden(INLINE, errors);
        }
        if !spec.field("csi").given() {
            let words = "has to be specified in the context of inline volumes";
            errors.push(Error::required(&spec.path.child("csi"), words));
        }
    }
    validate_access_modes(&spec.field("accessModes"), errors);
    if !inline {
        validate_capacity(&capacity, has_capacity, errors);
    }
    let policy = spec.field("persistentVolumeReclaimPolicy");
    if inline {
        if policy.filled() && policy.text() != "Retain" {
            policy.forbidden("may only be Retain in the context of inline volumes", errors);
        }
    } else {
        policy.check(&[OneOf(&["Delete", "Recycle", "Retain"])], errors);
    }
    let affinity = spec.field("nodeAffinity");
    if affinity.given() && inline {
        affinity.forbidden(INLINE, errors);
    } else if affinity.given() {
        let required = affinity.field("required");
        if required.given() {
            validate_node_selector(&required, check_values, errors);
        } else {
            errors.push(Error::required(&required.path, "must specify required node constraints"));
        }
    }
    source::validate(spec, name, errors);
    let root = text(&spec.value["hostPath"], "path");
    let is_root = root.starts_with('/') && root.split('/').all(|step| matches!(step, "" | "." | ".."));
    if is_root && policy.text() == "Recycle" {
        policy.forbidden("may not be 'recycle' for a hostPath mount of '/'", errors);
    }
    validate_classes(spec, inline, errors);
}

fn validate_access_modes(modes: &Spot<'_>, errors: &mut Errors) {
    if !modes.filled() {
        errors.push(Error::required(&modes.path, ""));
    }
    let (mut alone, mut other) = (false, false);
    for mode in modes.elements().iter().map(|mode| mode.as_str().unwrap_or_default()) {
        match mode {
            "ReadWriteOncePod" => alone = true,
            _ if ACCESS_MODES.contains(&mode) => other = true,
            _ => errors.push(Error::not_supported(&modes.path, mode, ACCESS_MODES)),
        }
    }
    if alone && other {
        modes.forbidden("may not use ReadWriteOncePod with other access modes", errors);
    }
}

fn validate_capacity(capacity: &Spot<'_>, given: bool, errors: &mut Errors) {
    if !given {
        errors.push(Error::required(&capacity.path, ""));
    }
    let only_storage = capacity.value.as_object().is_some_and(|map| map.len() == 1 && map.contains_key("storage"));
    if !only_storage {
        errors.push(Error::not_supported(&capacity.path, capacity.value.clone(), &["storage"]));
    }
    capacity.entries(|_, amount| {
        let Ok(quantity) = Quantity::from_value(amount.value) else { return };
        if quantity.value() < 0 {
            errors.push(Error::invalid(&amount.path, quantity.value(), "must be a valid resource quantity"));
        }
        if quantity.is_zero() || quantity.is_negative() {
            errors.push(Error::invalid(&amount.path, quantity.to_string(), "must be greater than zero"));
        }
    });
}

fn validate_classes(spec: &Spot<'_>, inline: bool, errors: &mut Errors) {
    let (class, mode, attributes) =
        (spec.field("storageClassName"), spec.field("volumeMode"), spec.field("volumeAttributesClassName"));
    if inline {
        if class.filled() {
            class.forbidden(INLINE, errors);
        }
        if mode.given() && mode.text() != "Filesystem" {
            mode.forbidden("may not specify volumeMode other than Filesystem in the context of inline volumes", errors);
        }
        return;
    }
    class.check(&[SUBDOMAIN], errors);
    if mode.given() && !matches!(mode.text(), "Block" | "Filesystem") {
        errors.push(Error::not_supported(&mode.path, mode.text(), &["Block", "Filesystem"]));
    }
    if attributes.given() {
        if attributes.filled() {
            attributes.text_passes(names::is_dns1123_subdomain, errors);
        } else {
            errors.push(Error::required(&attributes.path, "an empty string is disallowed"));
        }
        if !spec.field("csi").given() {
            let words = "has to be specified when using volumeAttributesClassName";
            errors.push(Error::required(&spec.path.child("csi"), words));
        }
    }
}

pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    let start = errors.len();
    validate(new, Some(old), errors);
    // Stock looks twice, and reports what it finds twice.
    let about_spec = |error: &&Error| !error.field.ends_with(MOUNT_OPTIONS_ANNOTATION);
    let found: Vec<_> = errors[start..].iter().filter(about_spec).cloned().collect();
    errors.extend(found);
    let (before, mut after) = (source::of(&old["spec"]), source::of(&new["spec"]));
    // The secret for expansion may be added later.
    if !before["csi"].is_null()
        && before["csi"]["controllerExpandSecretRef"].is_null()
        && let Some(csi) = after.at("csi")
    {
        csi.drop_field("controllerExpandSecretRef");
    }
    if !internal::same("PersistentVolumeSource", &before, &after) {
        let lines = |source: &Value| internal::print_lines("PersistentVolumeSource", source);
        let difference = internal::diff(&lines(&before), &lines(&after));
        let words = format!("spec.persistentvolumesource is immutable after creation\n{difference}");
        errors.push(Error::forbidden(&Path::new("spec.persistentvolumesource"), words));
    }
    immutable(
        &Spot::new(&new["spec"]["volumeMode"], Path::new("volumeMode")),
        &old["spec"]["volumeMode"],
        "*s",
        errors,
    );
    let (was, is) = (&old["spec"]["nodeAffinity"], &new["spec"]["nodeAffinity"]);
    let is_same = |other: &Value| internal::same("*VolumeNodeAffinity", is, other);
    if !was.is_null() && !is_same(was) && !is_same(&with_current_labels(was, is)) {
        let words = format!("{IMMUTABLE}, except for updating from beta label to GA");
        errors.push(shown::invalid(&Path::new("nodeAffinity"), "*VolumeNodeAffinity", is, &words));
    }
    let attributes = |volume: &Value| volume["spec"].get("volumeAttributesClassName").is_some();
    if attributes(old) && !attributes(new) {
        let path = Path::new("spec.volumeAttributesClassName");
        errors.push(Error::forbidden(&path, "update from non-nil value to nil is forbidden"));
    }
}

/// The old affinity, with those labels renamed that the new one renamed to what they are called today.
fn with_current_labels(old: &Value, new: &Value) -> Value {
    let mut renamed = old.clone();
    let new_terms = elements(&new["required"]["nodeSelectorTerms"]);
    let Some(required) = renamed.at("required") else { return renamed };
    for (term, new_term) in required.each("nodeSelectorTerms").zip(new_terms) {
        for list in ["matchExpressions", "matchFields"] {
            for (expression, new_expression) in term.each(list).zip(elements(&new_term[list])) {
                let (key, new_key) = (text(expression, "key"), text(new_expression, "key"));
                let current = AFFINITY_LABELS.iter().find(|(beta, _)| *beta == key).map(|(_, current)| *current);
                // Stock looks for the name in a map, which has an empty one for all others.
                if current.unwrap_or_default() == new_key {
                    expression.put("key", new_expression["key"].clone());
                }
            }
        }
    }
    renamed
}

pub(super) fn validate_status_update(new: &Value, _old: &Value, errors: &mut Errors) {
    if text(&new["metadata"], "resourceVersion").is_empty() {
        errors.push(Error::required(&Path::new("resourceVersion"), ""));
    }
}

pub(super) fn warnings(volume: &Value, warnings: &mut Vec<String>) {
    for (annotation, attribute, since) in
        [(CLASS_ANNOTATION, "storageClassName", "v1.8"), (MOUNT_OPTIONS_ANNOTATION, "mountOptions", "v1.31")]
    {
        if volume["metadata"]["annotations"].get(annotation).is_some() {
            warnings.push(format!(
                "metadata.annotations[{annotation}]: deprecated since {since}; use \"{attribute}\" attribute instead"
            ));
        }
    }
    let spec = &volume["spec"];
    if text(spec, "persistentVolumeReclaimPolicy") == "Recycle" {
        warnings.push("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.".to_owned());
    }
    let path = Path::new("spec.nodeAffinity.required.nodeSelectorTerms");
    Spot::new(&spec["nodeAffinity"]["required"]["nodeSelectorTerms"], path).each(|_, term| {
        term.field("matchExpressions").each(|_, expression| {
            let key = expression.field("key");
            if let Some(words) = old_node_label(key.text()) {
                warnings.push(format!("{}: {} is {words}", key.path, key.text()));
            }
        });
    });
    for (field, shown, deprecated, gone) in [
        ("cephfs", "cephfs", "v1.28", "v1.31"),
        ("photonPersistentDisk", "photonPersistentDisk", "v1.11", "v1.16"),
        ("scaleIO", "scaleIO", "v1.16", "v1.22"),
        ("storageos", "storageOS", "v1.22", "v1.25"),
        ("glusterfs", "glusterfs", "v1.25", "v1.26"),
        ("rbd", "rbd", "v1.28", "v1.31"),
    ] {
        if !spec[field].is_null() {
            warnings.push(format!("spec.{shown}: deprecated in {deprecated}, non-functional in {gone}+"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    fn volume() -> Value {
        json!({"metadata": {"name": "v"}, "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/x"}}})
    }

    #[test]
    fn a_volume_needs_modes_capacity_and_a_source() {
        let mut good = volume();
        defaults(&mut good);
        assert!(words(|errors| validate(&good, None, errors)).is_empty());
        assert_eq!(good["spec"]["hostPath"], json!({"path": "/x", "type": ""}));
        assert_eq!(
            words(|errors| validate(&json!({"spec": {}}), None, errors)),
            [
                "spec.accessModes: Required value",
                "spec.capacity: Required value",
                r#"spec.capacity: Unsupported value: null: supported values: "storage""#,
                "spec: Required value: must specify a volume type",
            ]
        );
        let bad = json!({"spec": {"capacity": {"storage": "-1"}, "accessModes": ["ReadWriteOncePod", "ReadWriteOnce"],
            "local": {"path": "../x"}, "nfs": {}, "persistentVolumeReclaimPolicy": "Odd"}});
        assert_eq!(
            words(|errors| validate(&bad, None, errors)),
            [
                "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
                "spec.capacity[storage]: Invalid value: -1: must be a valid resource quantity",
                r#"spec.capacity[storage]: Invalid value: "-1": must be greater than zero"#,
                r#"spec.persistentVolumeReclaimPolicy: Unsupported value: "Odd": supported values: "Delete", "Recycle", "Retain""#,
                "spec.nfs.server: Required value",
                "spec.nfs.path: Required value",
                r#"spec.nfs.path: Invalid value: "": must be an absolute path"#,
                "spec.local: Forbidden: may not specify more than 1 volume type",
            ]
        );
    }

    #[test]
    fn the_source_stays() {
        let old = volume();
        let mut new = volume();
        new["spec"]["hostPath"]["path"] = json!("/y");
        let found = words(|errors| validate_update(&new, &old, errors));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with(
            "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n@@"
        ));
    }

    #[test]
    fn affinity_may_only_follow_renamed_labels() {
        let affinity = |key: &str| json!({"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "Exists"}]}]}}}});
        let old = affinity("beta.kubernetes.io/os");
        let found = |new: &Value| {
            words(|errors| validate_update(new, &old, errors))
                .into_iter()
                .filter(|words| words.starts_with("nodeAffinity"))
                .count()
        };
        assert_eq!((found(&affinity("kubernetes.io/os")), found(&affinity("other"))), (0, 1));
    }

    #[test]
    fn phases_are_stamped_when_they_change() {
        let mut new = json!({"status": {"phase": "Bound"}});
        stamp(&mut new, Some(&json!({"status": {"phase": "Available", "lastPhaseTransitionTime": "a"}})), "b");
        assert_eq!(new["status"]["lastPhaseTransitionTime"], json!("b"));
        let mut same = json!({"status": {"phase": "Bound"}});
        stamp(&mut same, Some(&new), "c");
        assert_eq!(same["status"]["lastPhaseTransitionTime"], json!("b"));
    }
}
