//! Claims for volumes.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Quantity, Value, names};

use super::volume::CLASS_ANNOTATION;
use crate::check::{IMMUTABLE, Spot, elements, immutable, text};
use crate::fill::{Fill, round_resource_list};
use crate::pod::warnings::of_claim;
use crate::pod::{fill_claim_spec, validate_claim_spec};
use crate::{internal, resource_name};

const RESIZE_STATUSES: &[&str] = &[
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
];

pub(super) fn defaults(claim: &mut Value) {
    fill_claim_spec(claim.at_or_empty("spec"));
    let status = claim.at_or_empty("status");
    status.fill_text("phase", "Pending");
    round_resource_list(status.at("capacity"));
    round_resource_list(status.at("allocatedResources"));
}

pub(super) fn prepare_create(claim: &mut Value) {
    claim.put("status", serde_json::json!({"phase": "Pending"}));
    let spec = claim.at_or_empty("spec");
    drop_unknown_sources(spec, None);
    mirror_sources(spec);
}

pub(super) fn prepare_update(new: &mut Value, old: &Value) {
    crate::keep_status(new, old);
    let spec = new.at_or_empty("spec");
    drop_unknown_sources(spec, Some(&old["spec"]));
    mirror_sources(spec);
}

/// Drops data sources that the server does not take: those in other namespaces, and those of kinds that the older
/// field never took.
fn drop_unknown_sources(spec: &mut Value, old: Option<&Value>) {
    let had = |field: &str| old.is_some_and(|old| !old[field].is_null());
    if !text(&spec["dataSourceRef"], "namespace").is_empty() && !had("dataSourceRef") {
        spec.drop_field("dataSourceRef");
    }
    let source = &spec["dataSource"];
    let known = matches!(
        (text(source, "apiGroup"), text(source, "kind")),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    );
    if !had("dataSource") && spec["dataSourceRef"].is_null() && !known {
        spec.drop_field("dataSource");
    }
}

/// Fills the older and the newer field for data sources from each other.
fn mirror_sources(spec: &mut Value) {
    let copy = |spec: &Value, field: &str| {
        let mut reference = spec[field].clone();
        reference.drop_field("namespace");
        reference
    };
    match (spec["dataSource"].is_null(), spec["dataSourceRef"].is_null()) {
        (false, true) => {
            let reference = copy(spec, "dataSource");
            spec.put("dataSourceRef", reference);
        }
        (true, false) if text(&spec["dataSourceRef"], "namespace").is_empty() => {
            let source = copy(spec, "dataSourceRef");
            spec.put("dataSource", source);
        }
        _ => {}
    }
}

pub(super) fn validate(claim: &Value, errors: &mut Errors) {
    validate_claim_spec(&Spot::root(claim).field("spec"), errors);
}

pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate(new, errors);
    let mut before = old["spec"].clone();
    mirror_sources(&mut before);
    let mut after = new["spec"].clone();
    if text(&before, "volumeName").is_empty() && !after["volumeName"].is_null() {
        before.put("volumeName", after["volumeName"].clone());
    }
    let annotation = |claim: &Value| claim["metadata"]["annotations"].get(CLASS_ANNOTATION).cloned();
    let (was, is) = (annotation(old), annotation(new));
    let (old_class, new_class) = (&old["spec"]["storageClassName"], &new["spec"]["storageClassName"]);
    let named_later = old_class.is_null() && !new_class.is_null();
    if named_later && was.as_ref() == Some(new_class) && (is.is_none() || is == was) {
        after.drop_field("storageClassName");
    } else {
        if text_of(is.as_ref()) != text_of(was.as_ref()) {
            let path = Path::new("metadata.annotations");
            errors.push(Error::invalid(&path.child(CLASS_ANNOTATION), text_of(is.as_ref()), IMMUTABLE));
        }
        if named_later && (was.is_none() || was.as_ref() == Some(new_class)) {
            after.drop_field("storageClassName");
        }
    }
    let storage = |spec: &Value| spec["resources"]["requests"].get("storage").cloned();
    if text(&new["status"], "phase") == "Bound" {
        if let Some(requests) = after.at("resources").and_then(|resources| resources.at("requests")) {
            match storage(&before) {
                Some(amount) => requests.put("storage", amount),
                None => requests.put("storage", "0"),
            }
        }
        match before["volumeAttributesClassName"].clone() {
            Value::Null => after.drop_field("volumeAttributesClassName"),
            class => after.put("volumeAttributesClassName", class),
        }
    }
    if !internal::same("PersistentVolumeClaimSpec", &after, &before) {
        let lines = |spec: &Value| internal::print_lines("PersistentVolumeClaimSpec", spec);
        let difference = internal::diff(&lines(&before), &lines(&after));
        let words = format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n{difference}"
        );
        errors.push(Error::forbidden(&Path::new("spec"), words));
    }
    validate_size(new, old, errors);
    immutable(
        &Spot::new(&new["spec"]["volumeMode"], Path::new("volumeMode")),
        &old["spec"]["volumeMode"],
        "*s",
        errors,
    );
    validate_attributes_class(new, old, errors);
}

fn text_of(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// A request may shrink again as long as it stays above what the volume has.
fn validate_size(new: &Value, old: &Value, errors: &mut Errors) {
    let amount = |value: Option<&Value>| value.and_then(|value| Quantity::from_value(value).ok());
    let (is, was) = (
        amount(new["spec"]["resources"]["requests"].get("storage")),
        amount(old["spec"]["resources"]["requests"].get("storage")),
    );
    let has = amount(old["status"]["capacity"].get("storage"));
    let zero = || Quantity::new(0, roost_object::quantity::Format::DecimalSi);
    let (is, was, has) = (is.unwrap_or_else(zero), was.unwrap_or_else(zero), has.unwrap_or_else(zero));
    if is < was && is <= has {
        let path = Path::new("spec.resources.requests.storage");
        errors.push(Error::forbidden(&path, "field can not be less than status.capacity"));
    }
}

fn validate_attributes_class(new: &Value, old: &Value, errors: &mut Errors) {
    let (is, was) = (&new["spec"]["volumeAttributesClassName"], &old["spec"]["volumeAttributesClassName"]);
    if is == was || old["status"]["currentVolumeAttributesClassName"].is_null() {
        return;
    }
    let update = match is {
        Value::Null => "nil",
        class if class == "" => "empty string",
        _ => return,
    };
    let words = format!("update to {update} is forbidden when status.currentVolumeAttributesClassName is not nil");
    errors.push(Error::forbidden(&Path::new("spec.volumeAttributesClassName"), words));
}

pub(super) fn validate_status_update(new: &Value, _old: &Value, errors: &mut Errors) {
    if text(&new["metadata"], "resourceVersion").is_empty() {
        errors.push(Error::required(&Path::new("resourceVersion"), ""));
    }
    if elements(&new["spec"]["accessModes"]).is_empty() {
        errors.push(Error::required(&Path::new("Spec.accessModes"), ""));
    }
    let root = Spot::root(new);
    let status = root.field("status");
    status.field("capacity").entries(|_, amount| validate_amount(amount, errors));
    let statuses = status.field("allocatedResourceStatuses");
    for (resource, value) in statuses.value.as_object().into_iter().flatten() {
        validate_resource(resource, &statuses.path, errors);
        if !RESIZE_STATUSES.contains(&value.as_str().unwrap_or_default()) {
            errors.push(Error::not_supported(&statuses.path, &**resource, RESIZE_STATUSES));
        }
    }
    let allocated = status.field("allocatedResources");
    allocated.entries(|resource, amount| {
        let before = errors.len();
        validate_resource(resource, &allocated.path, errors);
        if errors.len() > before {
            return;
        }
        validate_amount(amount, errors);
        if errors.len() == before
            && let Ok(quantity) = Quantity::from_value(amount.value)
        {
            resource_name::validate_amount("storage", &quantity, &amount.path, errors);
        }
    });
}

fn validate_amount(amount: &Spot<'_>, errors: &mut Errors) {
    if let Ok(quantity) = Quantity::from_value(amount.value)
        && quantity.value() < 0
    {
        errors.push(Error::invalid(&amount.path, quantity.value(), "must be a valid resource quantity"));
    }
}

fn validate_resource(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let problems = names::is_qualified_name(name);
    if problems.is_empty() {
        if resource_name::is_native(name) && name != "storage" {
            errors.push(Error::not_supported(path, name, &["storage"]));
        }
    } else {
        errors.extend(problems.into_iter().map(|words| Error::invalid(path, name, words)));
    }
}

pub(super) fn warnings(claim: &Value, warnings: &mut Vec<String>) {
    if claim["metadata"]["annotations"].get(CLASS_ANNOTATION).is_some() {
        warnings.push(format!(
            "metadata.annotations[{CLASS_ANNOTATION}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
        ));
    }
    of_claim(&Spot::root(claim).field("spec"), warnings);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    fn claim() -> Value {
        json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeMode": "Filesystem"},
            "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}})
    }

    #[test]
    fn data_sources_are_mirrored_or_dropped() {
        let mut claim = json!({"spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}});
        prepare_create(&mut claim);
        assert_eq!(claim["spec"]["dataSourceRef"], json!({"kind": "PersistentVolumeClaim", "name": "a"}));
        let mut claim = json!({"spec": {"dataSource": {"kind": "Other", "name": "a"}}});
        prepare_create(&mut claim);
        assert_eq!(claim["spec"], json!({}));
        let mut claim = json!({"spec": {"dataSourceRef": {"apiGroup": "a.b", "kind": "Other", "name": "a"}}});
        prepare_create(&mut claim);
        assert_eq!(claim["spec"]["dataSource"]["kind"], json!("Other"));
    }

    #[test]
    fn bound_claims_may_grow_and_little_else() {
        let old = claim();
        let mut new = claim();
        new["spec"]["resources"]["requests"]["storage"] = json!("2Gi");
        new["spec"]["storageClassName"] = json!("fast");
        new["spec"]["volumeName"] = json!("v");
        assert!(words(|errors| validate_update(&new, &old, errors)).is_empty());
        assert_eq!(
            words(|errors| validate_update(&old, &new, errors)).last().unwrap(),
            "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
        );
        new["spec"]["accessModes"] = json!(["ReadOnlyMany"]);
        let found = words(|errors| validate_update(&new, &old, errors));
        assert!(found[0].starts_with("spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@"));
    }

    #[test]
    fn allocated_resources_are_storage() {
        let mut new = claim();
        new["metadata"] = json!({"resourceVersion": "1"});
        new["status"]["allocatedResources"] = json!({"cpu": "1"});
        new["status"]["allocatedResourceStatuses"] = json!({"storage": "Odd"});
        assert_eq!(
            words(|errors| validate_status_update(&new, &new, errors)),
            [
                r#"status.allocatedResourceStatuses: Unsupported value: "storage": supported values: "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending""#,
                r#"status.allocatedResources: Unsupported value: "cpu": supported values: "storage""#,
            ]
        );
    }
}
