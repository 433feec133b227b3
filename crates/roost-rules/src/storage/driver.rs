//! What storage drivers say about themselves, the nodes they run on, and the room they have.

use roost_object::field::{Error, Errors, Path};
use roost_object::{Quantity, Value, names};

use super::source::DRIVER_NAME;
use crate::check::{IMMUTABLE, NOT_NEGATIVE, SelectorValues, Spot, elements, immutable, label_selector, text};
use crate::fill::Fill;
use crate::internal;
use crate::pod::warnings::old_node_label;
use crate::shown;

/// The longest identity of a node for a driver.
const NODE_ID_MAX: usize = 256;

pub(super) fn defaults(driver: &mut Value) {
    let spec = driver.at_or_empty("spec");
    spec.fill("attachRequired", true);
    spec.fill("podInfoOnMount", false);
    spec.fill("storageCapacity", false);
    spec.fill("fsGroupPolicy", "ReadWriteOnceWithFSType");
    if elements(&spec["volumeLifecycleModes"]).is_empty() {
        spec.put("volumeLifecycleModes", vec!["Persistent"]);
    }
    spec.fill("requiresRepublish", false);
    spec.fill("seLinuxMount", false);
}

pub(super) fn prepare_create(driver: &mut Value) {
    driver.at_or_empty("spec").drop_field("preventPodSchedulingIfMissing");
}

/// Moves the generation, which a new driver does not have yet.
pub(super) fn prepare_update(new: &mut Value, old: &Value) {
    if old["spec"]["preventPodSchedulingIfMissing"].is_null() {
        prepare_create(new);
    }
    if !internal::same("storage.CSIDriverSpec", &new["spec"], &old["spec"]) {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or_default().saturating_add(1);
        new.at_or_empty("metadata").put("generation", generation);
    }
}

pub(super) fn validate(driver: &Value, errors: &mut Errors) {
    let root = Spot::root(driver);
    let spec = root.field("spec");
    for (field, reported) in [
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
    ] {
        if !spec.field(field).given() {
            errors.push(Error::required(&spec.path.child(reported), ""));
        }
    }
    let policy = spec.field("fsGroupPolicy");
    let policies = &["File", "None", "ReadWriteOnceWithFSType"];
    if policy.given() && !policies.contains(&policy.text()) {
        errors.push(Error::not_supported(&policy.path, policy.text(), policies));
    }
    validate_token_requests(&spec.field("tokenRequests"), errors);
    let modes = spec.field("volumeLifecycleModes");
    for mode in modes.elements().iter().map(|mode| mode.as_str().unwrap_or_default()) {
        if !matches!(mode, "Persistent" | "Ephemeral") {
            errors.push(Error::not_supported(&modes.path, mode, &["Persistent", "Ephemeral"]));
        }
    }
    let mount = spec.field("seLinuxMount");
    if !mount.given() {
        errors.push(Error::required(&mount.path, ""));
    }
    let period = spec.field("nodeAllocatableUpdatePeriodSeconds");
    if period.given() && period.number() < 10 {
        period.invalid("must be greater than or equal to 10 seconds", errors);
    }
    let in_secrets = spec.field("serviceAccountTokenInSecrets");
    if in_secrets.given() && !spec.field("tokenRequests").filled() {
        in_secrets.invalid("serviceAccountTokenInSecrets is set but no tokenRequests are specified", errors);
    }
}

fn validate_token_requests(requests: &Spot<'_>, errors: &mut Errors) {
    requests.each(|index, request| {
        let audience = request.field("audience");
        if elements(requests.value)[..index].iter().any(|earlier| text(earlier, "audience") == audience.text()) {
            return errors.push(Error::duplicate(&audience.path, audience.text()));
        }
        let expiration = request.field("expirationSeconds");
        if expiration.given() && expiration.number() < 600 {
            expiration.invalid("may not specify a duration less than 10 minutes", errors);
        }
        if expiration.number() > 1 << 32 {
            expiration.invalid("may not specify a duration larger than 2^32 seconds", errors);
        }
    });
}

pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate(new, errors);
    for (field, reported, shape) in
        [("attachRequired", "attachedRequired", "*b"), ("volumeLifecycleModes", "volumeLifecycleModes", "[s")]
    {
        let spec = Path::new("spec");
        immutable(&Spot::new(&new["spec"][field], spec.child(reported)), &old["spec"][field], shape, errors);
    }
}

pub(super) fn warnings(driver: &Value, warnings: &mut Vec<String>) {
    let spec = &driver["spec"];
    if !elements(&spec["tokenRequests"]).is_empty() && spec["serviceAccountTokenInSecrets"].is_null() {
        warnings.push("spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes".to_owned());
    }
}

pub(super) fn validate_node(node: &Value, errors: &mut Errors) {
    let root = Spot::root(node);
    let spec = root.field("spec");
    let drivers = spec.field("drivers");
    drivers.each(|index, driver| {
        let (name, id) = (driver.field("name"), driver.field("nodeID"));
        name.check(DRIVER_NAME, errors);
        if !id.filled() {
            errors.push(Error::required(&id.path, ""));
        }
        if id.text().len() > NODE_ID_MAX {
            id.invalid(format!("must be {NODE_ID_MAX} characters or less"), errors);
        }
        let allocatable = driver.field("allocatable");
        let count = allocatable.field("count");
        if count.number() < 0 {
            count.invalid(NOT_NEGATIVE, errors);
        }
        if drivers.elements()[..index].iter().any(|earlier| text(earlier, "name") == name.text()) {
            errors.push(Error::duplicate(&name.path, name.text()));
        }
        let keys = elements(&driver.value["topologyKeys"]);
        for (index, key) in keys.iter().enumerate() {
            let key_text = key.as_str().unwrap_or_default();
            if key_text.is_empty() {
                errors.push(Error::required(&driver.path, ""));
            }
            if keys[..index].contains(key) {
                errors.push(Error::duplicate(&driver.path, key_text));
            }
            let problems = names::is_qualified_name(key_text);
            errors.extend(problems.into_iter().map(|words| Error::invalid(&driver.path, key_text, words)));
        }
    });
}

pub(super) fn validate_node_update(new: &Value, old: &Value, errors: &mut Errors) {
    validate_node(new, errors);
    let lasting = |driver: &Value| {
        let mut driver = driver.clone();
        driver.drop_field("allocatable");
        driver
    };
    for before in elements(&old["spec"]["drivers"]) {
        for after in elements(&new["spec"]["drivers"]) {
            let (was, is) = (lasting(before), lasting(after));
            if text(&was, "name") == text(&is, "name") && !internal::same("storage.CSINodeDriver", &was, &is) {
                let path = Path::new("spec.drivers");
                errors.push(shown::invalid(&path, "storage.CSINodeDriver", &is, IMMUTABLE));
            }
        }
    }
}

pub(super) fn validate_capacity(capacity: &Value, errors: &mut Errors) {
    validate_offer(capacity, SelectorValues::Checked, errors);
}

fn validate_offer(capacity: &Value, values: SelectorValues, errors: &mut Errors) {
    let root = Spot::root(capacity);
    label_selector(&root.field("nodeTopology"), values, errors);
    root.field("storageClassName").text_passes(names::is_dns1123_subdomain, errors);
    let amount = root.field("capacity");
    if let Ok(quantity) = Quantity::from_value(amount.value)
        && quantity.is_negative()
    {
        errors.push(Error::invalid(&amount.path, quantity.to_string(), NOT_NEGATIVE));
    }
}

pub(super) fn validate_capacity_update(new: &Value, old: &Value, errors: &mut Errors) {
    let mut before = Errors::new();
    label_selector(&Spot::root(&old["nodeTopology"]), SelectorValues::Checked, &mut before);
    validate_offer(new, if before.is_empty() { SelectorValues::Checked } else { SelectorValues::Trusted }, errors);
    let root = Spot::root(new);
    if !internal::same("*LabelSelector", &new["nodeTopology"], &old["nodeTopology"]) {
        let path = Path::new("nodeTopology");
        errors.push(shown::invalid(&path, "*LabelSelector", &new["nodeTopology"], IMMUTABLE));
    }
    immutable(&root.field("storageClassName"), &old["storageClassName"], "s", errors);
}

pub(super) fn capacity_warnings(capacity: &Value, warnings: &mut Vec<String>) {
    let root = Spot::root(capacity);
    let topology = root.field("nodeTopology");
    topology.field("matchExpressions").each(|_, expression| {
        let key = expression.field("key");
        if let Some(words) = old_node_label(key.text()) {
            warnings.push(format!("{}: {} is {words}", key.path, key.text()));
        }
    });
    for (label, _) in topology.value["matchLabels"].as_object().into_iter().flatten() {
        if let Some(words) = old_node_label(label) {
            warnings.push(format!("nodeTopology.matchLabels.{label}: {words}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn drivers_get_their_defaults() {
        let mut driver = json!({});
        defaults(&mut driver);
        assert_eq!(
            driver,
            json!({"spec": {"attachRequired": true, "podInfoOnMount": false, "storageCapacity": false, "fsGroupPolicy": "ReadWriteOnceWithFSType",
                "volumeLifecycleModes": ["Persistent"], "requiresRepublish": false, "seLinuxMount": false}})
        );
        assert!(words(|errors| validate(&driver, errors)).is_empty());
        let mut new = driver.clone();
        new["spec"]["attachRequired"] = json!(false);
        new["spec"]["tokenRequests"] = json!([{"audience": "a", "expirationSeconds": 1}, {"audience": "a"}]);
        assert_eq!(
            words(|errors| validate_update(&new, &driver, errors)),
            [
                "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes",
                r#"spec.tokenRequests[1].audience: Duplicate value: "a""#,
                "spec.attachedRequired: Invalid value: false: field is immutable",
            ]
        );
        prepare_update(&mut new, &driver);
        assert_eq!(new["metadata"]["generation"], json!(1));
    }

    #[test]
    fn drivers_on_nodes_keep_their_identity() {
        let old = json!({"spec": {"drivers": [{"name": "d", "nodeID": "a", "topologyKeys": ["x", "x"], "allocatable": {"count": 3}}]}});
        let new = json!({"spec": {"drivers": [{"name": "d", "nodeID": "b", "topologyKeys": ["x", "x"], "allocatable": {"count": -1}}]}});
        assert_eq!(
            words(|errors| validate_node_update(&new, &old, errors)),
            [
                "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
                r#"spec.drivers[0]: Duplicate value: "x""#,
                r#"spec.drivers: Invalid value: {"Name":"d","NodeID":"b","TopologyKeys":["x","x"],"Allocatable":null}: field is immutable"#,
            ]
        );
    }
}
