//! Nodes: taints, resources, pod networks, and what stays once it is set.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use super::resource_names::validate_amount;
use crate::address_range;
use crate::check::{Check, Field, LABEL, SUBDOMAIN, Spot, annotated_list, elements, text};
use crate::fill::{Fill, round_resource_list};
use crate::shown;

const TAINTS_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/taints";
const AVOIDED_PODS_ANNOTATION: &str = "scheduler.alpha.kubernetes.io/preferAvoidPods";
const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

static CONFIG_MAP_SOURCE: &[Field] = &[
    ("namespace", &[Check::Required, LABEL]),
    ("name", &[Check::Required, SUBDOMAIN]),
    ("kubeletConfigKey", &[Check::Required, Check::Text(names::is_config_map_key)]),
];

pub(super) fn defaults(node: &mut Value) {
    let spec = node.at_or_empty("spec");
    let first = elements(&spec["podCIDRs"]).first().and_then(Value::as_str).unwrap_or_default();
    match (text(spec, "podCIDR"), first) {
        ("", "") => {}
        // The older field wins when the two differ, for the sake of clients that know only that one.
        ("", first) => spec.put("podCIDR", first.to_owned()),
        (single, first) if single != first => spec.put("podCIDRs", vec![Value::from(single)]),
        _ => {}
    }
    if let Some(status) = node.at("status") {
        round_resource_list(status.at("capacity"));
        round_resource_list(status.at("allocatable"));
        if let Some(capacity) = status.at("capacity").cloned() {
            status.fill("allocatable", capacity);
        }
    }
}

pub(super) fn prepare_create(node: &mut Value) {
    if let Some(spec) = node.at("spec") {
        spec.drop_field("configSource");
    }
    if let Some(status) = node.at("status") {
        status.drop_field("config");
    }
}

pub(super) fn prepare_update(new: &mut Value, old: &Value) {
    crate::keep_status(new, old);
    if old["spec"]["configSource"].is_null()
        && let Some(spec) = new.at("spec")
    {
        spec.drop_field("configSource");
    }
}

pub(super) fn prepare_status_update(new: &mut Value, old: &Value) {
    crate::keep_spec(new, old);
    if old["status"]["config"].is_null()
        && let Some(status) = new.at("status")
    {
        status.drop_field("config");
    }
}

pub(super) fn validate(node: &Value, errors: &mut Errors) {
    validate_annotations(node, errors);
    let metadata = Path::new("metadata");
    validate_taints(&Spot::new(&node["spec"]["taints"], metadata.child("taints")), errors);
    validate_status(node, errors);
    let swap = metadata.child("nodeSwapStatus");
    if let Some(capacity) = node["status"]["nodeInfo"]["swap"]["capacity"].as_i64()
        && capacity <= 0
    {
        errors.push(Error::invalid(&swap.child("capacity"), capacity, "must be greater than zero"));
    }
    validate_features(node, errors);

    let spec = Path::new("spec");
    let networks = Spot::new(&node["spec"]["podCIDRs"], spec.child("podCIDRs"));
    networks.each(|_, network| address_range::validate(network.text(), &[], &network.path, errors));
    let read: Vec<_> = networks
        .elements()
        .iter()
        .map(|network| address_range::parse_leniently(network.as_str().unwrap_or_default()))
        .collect();
    if read.len() < 2 {
        return;
    }
    if let Some(index) = read.iter().position(Option::is_none) {
        let text = networks.elements()[index].as_str().unwrap_or_default();
        let words = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{index}]: <nil> (invalid CIDR address: {text})"
        );
        errors.push(Error::internal(&networks.path, words));
    }
    let families: Vec<bool> = read.into_iter().flatten().map(|(address, _)| address.is_ipv6()).collect();
    if families.len() != 2 || families[0] == families[1] || networks.elements().len() > 2 {
        networks.invalid("may specify no more than one CIDR for each IP family", errors);
    }
}

fn validate_annotations(node: &Value, errors: &mut Errors) {
    let annotations = &node["metadata"]["annotations"];
    let path = Path::new("metadata.annotations");
    let taints = text(annotations, TAINTS_ANNOTATION);
    if !taints.is_empty() {
        match annotated_list(taints, "[]core.Taint") {
            Ok(taints) => validate_taints(&Spot::new(&taints, path.child(TAINTS_ANNOTATION)), errors),
            Err(why) => errors.push(Error::invalid(&path, TAINTS_ANNOTATION, why)),
        }
    }
    let avoided = text(annotations, AVOIDED_PODS_ANNOTATION);
    if !avoided.is_empty() {
        match roost_kinds::json::read(avoided.as_bytes(), &roost_kinds::AVOIDED_PODS) {
            Ok(avoided) => {
                let entries = &avoided.value["preferAvoidPods"];
                validate_avoided(&Spot::new(entries, path.child(AVOIDED_PODS_ANNOTATION)), errors);
            }
            Err(error) => {
                errors.push(Error::invalid(&path.child("AvoidPods"), AVOIDED_PODS_ANNOTATION, error.to_string()));
            }
        }
    }
}

fn validate_avoided(entries: &Spot<'_>, errors: &mut Errors) {
    entries.each(|_, entry| {
        let signature = entry.path.child("PodSignature");
        match &entry.value["podSignature"]["podController"] {
            Value::Null => errors.push(Error::required(&signature, "")),
            owner if owner["controller"] == false => {
                let path = signature.child("PodController");
                errors.push(Error::invalid(&path.child("Controller"), false, "must point to a controller"));
            }
            _ => {}
        }
    });
}

fn validate_taints(taints: &Spot<'_>, errors: &mut Errors) {
    taints.each(|index, taint| {
        taint.field("key").text_passes(names::is_qualified_name, errors);
        let value = taint.field("value");
        let problems = names::is_label_value(value.text());
        if !problems.is_empty() {
            errors.push(Error::invalid(&value.path, value.text(), problems.join(";")));
        }
        taint.field("effect").check(&[Check::Required, Check::OneOf(EFFECTS)], errors);
        let repeats = |earlier: &Value| {
            text(earlier, "key") == text(taint.value, "key") && text(earlier, "effect") == text(taint.value, "effect")
        };
        if taints.elements()[..index].iter().any(repeats) {
            let mut repeated = shown::duplicate(&taint.path, "Taint", taint.value);
            repeated.detail.push_str(": taints must be unique by key and effect pair");
            errors.push(repeated);
        }
    });
}

fn validate_status(node: &Value, errors: &mut Errors) {
    for list in ["capacity", "allocatable"] {
        let status = Path::new("status");
        let path = status.child(list);
        for (name, amount) in node["status"][list].as_object().into_iter().flatten() {
            validate_amount(name, amount, &path.child(name), errors);
        }
    }
}

fn validate_features(node: &Value, errors: &mut Errors) {
    let status = Path::new("status");
    let features = Spot::new(&node["status"]["declaredFeatures"], status.child("declaredFeatures"));
    features.each(|index, feature| {
        let name = feature.text();
        if name.len() > names::SUBDOMAIN_MAX {
            let words = format!("invalid feature name {name:?}: must be no more than {} characters", names::SUBDOMAIN_MAX);
            feature.invalid(words, errors);
        } else if !is_feature(name) {
            feature.invalid(
                format!("invalid feature name {name:?}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"),
                errors,
            );
        }
        if let Some(next) = features.elements().get(index + 1).and_then(Value::as_str) {
            let path = features.path.index(index + 1);
            match name.cmp(next) {
                std::cmp::Ordering::Equal => errors.push(Error::duplicate(&path, next)),
                std::cmp::Ordering::Greater => {
                    errors.push(Error::invalid(&path, next, "list must be sorted alphabetically"));
                }
                std::cmp::Ordering::Less => {}
            }
        }
    });
}

fn is_feature(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.split('/').all(|segment| {
            segment.starts_with(|first: char| first.is_ascii_alphabetic())
                && segment.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
}

pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_annotations(new, errors);
    validate_status(new, errors);
    validate_features(new, errors);
    let status = Path::new("status");
    let addresses = Spot::new(&new["status"]["addresses"], status.child("addresses"));
    addresses.each(|index, address| {
        if addresses.elements()[..index].contains(address.value) {
            errors.push(shown::duplicate(&address.path, "NodeAddress", address.value));
        }
    });
    let before = elements(&old["spec"]["podCIDRs"]);
    let after = elements(&new["spec"]["podCIDRs"]);
    if !before.is_empty() {
        let changes = if before.len() == after.len() {
            before.iter().zip(after).filter(|(old, new)| old != new).count()
        } else {
            1
        };
        for _ in 0..changes {
            let words = "node updates may not change podCIDR except from \"\" to valid";
            errors.push(Error::forbidden(&Path::new("spec.podCIDRs"), words));
        }
    }
    let provider = text(&old["spec"], "providerID");
    if !provider.is_empty() && provider != text(&new["spec"], "providerID") {
        let words = "node updates may not change providerID except from \"\" to valid";
        errors.push(Error::forbidden(&Path::new("spec.providerID"), words));
    }
    validate_config(new, errors);
    let metadata = Path::new("metadata");
    validate_taints(&Spot::new(&new["spec"]["taints"], metadata.child("taints")), errors);
    if text(&new["spec"], "externalID") != text(&old["spec"], "externalID") {
        errors.push(Error::forbidden(&Path::new("spec.externalID"), "may not be updated"));
    }
}

/// Checks the configuration that nodes once took from config maps.
fn validate_config(node: &Value, errors: &mut Errors) {
    let root = Spot::root(node);
    let (spec, status) = (root.field("spec"), root.field("status"));
    let source = spec.field("configSource");
    if source.given() {
        let config_map = source.field("configMap");
        if config_map.given() {
            for (field, words) in
                [("uid", "uid must not be set in spec"), ("resourceVersion", "resourceVersion must not be set in spec")]
            {
                if config_map.field(field).filled() {
                    config_map.field(field).forbidden(words, errors);
                }
            }
            config_map.check_fields(CONFIG_MAP_SOURCE, errors);
        } else {
            errors.push(one_reference(&source));
        }
    }
    let config = status.field("config");
    for name in ["assigned", "active", "lastKnownGood"] {
        let source = config.field(name);
        let config_map = source.field("configMap");
        if config_map.given() {
            config_map.check_fields(&[("uid", &[Check::Required]), ("resourceVersion", &[Check::Required])], errors);
            config_map.check_fields(CONFIG_MAP_SOURCE, errors);
        } else if source.given() {
            errors.push(one_reference(&source));
        }
    }
}

fn one_reference(source: &Spot<'_>) -> Error {
    shown::invalid(&source.path, "NodeConfigSource", source.value, "exactly one reference subfield must be non-nil")
}

pub(super) fn warnings(node: &Value, warnings: &mut Vec<String>) {
    let spec = &node["spec"];
    if !spec["configSource"].is_null() {
        warnings.push("spec.configSource: the feature is removed".to_owned());
    }
    if !text(spec, "externalID").is_empty() {
        warnings.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned());
    }
    let path = Path::new("spec.podCIDRs");
    for (index, network) in elements(&spec["podCIDRs"]).iter().enumerate() {
        address_range::warn(network.as_str().unwrap_or_default(), &path.index(index), warnings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn the_two_fields_of_pod_networks_agree() {
        for (spec, expected) in [
            (json!({"podCIDR": "10.0.0.0/24"}), json!({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]})),
            (json!({"podCIDRs": ["10.0.0.0/24"]}), json!({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]})),
            (json!({"podCIDR": "a", "podCIDRs": ["b", "c"]}), json!({"podCIDR": "a", "podCIDRs": ["a"]})),
        ] {
            let mut node = json!({"spec": spec});
            defaults(&mut node);
            assert_eq!(node["spec"], expected);
        }
    }

    #[test]
    fn what_is_not_said_to_be_taken_is_free() {
        let mut node = json!({"status": {"capacity": {"cpu": 2}}});
        defaults(&mut node);
        assert_eq!(node["status"], json!({"capacity": {"cpu": "2"}, "allocatable": {"cpu": "2"}}));
    }

    #[test]
    fn taints_are_checked_and_unique() {
        let node = json!({"spec": {"taints": [
            {"key": "a", "effect": "NoSchedule"}, {"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "b", "effect": "Never"}, {"key": "c"}]}});
        assert_eq!(
            words(|errors| validate(&node, errors)),
            [
                r#"metadata.taints[1]: Duplicate value: {"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair"#,
                r#"metadata.taints[2].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute""#,
                "metadata.taints[3].effect: Required value",
            ]
        );
    }

    #[test]
    fn pod_networks_and_providers_stay() {
        let old = json!({"spec": {"podCIDRs": ["10.0.0.0/24"], "providerID": "a"}});
        let new = json!({"spec": {"podCIDRs": ["10.0.1.0/24"], "providerID": "b"}, "status": {"addresses": [
            {"type": "InternalIP", "address": "1.1.1.1"}, {"type": "InternalIP", "address": "1.1.1.1"}]}});
        assert_eq!(
            words(|errors| validate_update(&new, &old, errors)),
            [
                r#"status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"1.1.1.1"}"#,
                r#"spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid"#,
                r#"spec.providerID: Forbidden: node updates may not change providerID except from "" to valid"#,
            ]
        );
    }
}
