//! What drivers offer: devices, their attributes, and what they share.

use std::sync::LazyLock;

use regex::Regex;
use roost_object::field::{Error, Errors, Path};
use roost_object::{Value, names};

use super::capacity::validate_policy;
use super::claim::EFFECTS;
use super::list::{
    DRIVER_NAME, QUALIFIED_NAME_MAX, validate_binding_conditions, validate_list, validate_pool_name,
    validate_qualified_name, validate_set,
};
use crate::check::{Check, LABEL, Spot, elements, immutable, text};
use crate::fill::Fill;
use crate::internal;
use crate::pod::validate_node_selector;
use crate::shown;

const DEVICES_MAX: usize = 128;
const ADVANCED_DEVICES_MAX: usize = 64;
const COUNTER_SETS_MAX: usize = 8;
const COUNTERS_MAX: usize = 32;
const CONSUMPTIONS_MAX: usize = 2;
const PROPERTIES_MAX: usize = 32;
const TAINTS_MAX: usize = 16;
const VALUE_MAX: usize = 64;

pub(super) fn prepare_create(slice: &mut Value) {
    slice.at_or_empty("metadata").put("generation", 1);
    drop_disabled(slice, None);
}

/// Moves the generation: for what is dropped then, too.
pub(super) fn prepare_update(new: &mut Value, old: &Value) {
    let ty = roost_kinds::type_of("resource.k8s.io/v1", "ResourceSlice");
    if ty.is_some_and(|ty| roost_kinds::json::stored(new, ty)["spec"] != old["spec"]) {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or_default().saturating_add(1);
        new.at_or_empty("metadata").put("generation", generation);
    }
    drop_disabled(new, Some(old));
}

/// Drops the fields whose features are not on by default.
fn drop_disabled(slice: &mut Value, old: Option<&Value>) {
    const LISTS: [&str; 4] = ["bools", "ints", "strings", "versions"];
    let before = old.map(|old| elements(&old["spec"]["devices"])).unwrap_or_default();
    let has_mappings = before.iter().any(|device| !device["nodeAllocatableResourceMappings"].is_null());
    let has_lists = before.iter().any(|device| {
        device["attributes"]
            .as_object()
            .into_iter()
            .flatten()
            .any(|(_, attribute)| LISTS.iter().any(|list| !attribute[list].is_null()))
    });
    let Some(spec) = slice.at("spec") else { return };
    for device in spec.each("devices") {
        if !has_mappings {
            device.drop_field("nodeAllocatableResourceMappings");
        }
        if !has_lists && let Some(Value::Object(attributes)) = device.at("attributes") {
            for attribute in attributes.values_mut() {
                for list in LISTS {
                    attribute.drop_field(list);
                }
            }
        }
    }
}

/// Notes when taints were added.
pub(super) fn stamp(slice: &mut Value, _old: Option<&Value>, now: &str) {
    let Some(spec) = slice.at("spec") else { return };
    for device in spec.each("devices") {
        for taint in device.each("taints") {
            taint.fill("timeAdded", now);
        }
    }
}

pub(super) fn validate(slice: &Value, old: Option<&Value>, errors: &mut Errors) {
    let root = Spot::root(slice);
    let spec = root.field("spec");
    spec.field("driver").check(DRIVER_NAME, errors);
    let pool = spec.field("pool");
    validate_pool_name(&pool.field("name"), errors);
    let (count, generation) = (pool.field("resourceSliceCount"), pool.field("generation"));
    if count.number() <= 0 {
        errors.push(Error::invalid(&count.path, count.number(), "must be greater than zero"));
    }
    if generation.number() < 0 {
        generation.invalid("must be greater than or equal to zero", errors);
    }
    if let Some(old) = old {
        immutable(&pool.field("name"), &old["spec"]["pool"]["name"], "s", errors);
        immutable(&spec.field("driver"), &old["spec"]["driver"], "s", errors);
        immutable(&spec.field("nodeName"), &old["spec"]["nodeName"], "*s", errors);
    }
    validate_reach(&spec, errors);
    if spec.field("sharedCounters").given() && spec.field("devices").given() {
        errors.push(Error::invalid(&spec.path, "", "only one of `sharedCounters` or `devices` is allowed"));
    }
    let devices = spec.field("devices");
    let advanced =
        |device: &Value| ["taints", "consumesCounters"].iter().any(|list| !elements(&device[list]).is_empty());
    let max = if devices.elements().iter().any(advanced) { ADVANCED_DEVICES_MAX } else { DEVICES_MAX };
    let per_device = spec.field("perDeviceNodeSelection").is_true();
    let name = |device: &Value| text(device, "name").to_owned();
    validate_set(&devices, max, name, errors, |device, errors| {
        let before = old.and_then(|old| {
            elements(&old["spec"]["devices"]).iter().find(|one| text(one, "name") == text(device.value, "name"))
        });
        validate_device(device, before, per_device, errors);
    });
    validate_set(&spec.field("sharedCounters"), COUNTER_SETS_MAX, name, errors, |set, errors| {
        set.field("name").check(&[Check::Required, LABEL], errors);
        validate_counters(&set.field("counters"), errors);
    });
}

/// Checks which nodes can use the devices: exactly one way to say it.
fn validate_reach(spec: &Spot<'_>, errors: &mut Errors) {
    const ONE_OF: &str = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    let mut set = Vec::new();
    let (node, selector) = (spec.field("nodeName"), spec.field("nodeSelector"));
    if node.filled() {
        set.push("`nodeName`");
        node.text_passes(names::is_dns1123_subdomain, errors);
    } else if node.given() {
        node.invalid("must be either unset or set to a non-empty string", errors);
    }
    if selector.given() {
        set.push("`nodeSelector`");
        validate_node_selector(&selector, true, errors);
        let terms = selector.field("nodeSelectorTerms");
        if terms.elements().len() != 1 {
            let words = "must have exactly one node selector term";
            errors.push(shown::invalid(&terms.path, "[NodeSelectorTerm", terms.value, words));
        }
    }
    for (field, shown) in [("allNodes", "`allNodes`"), ("perDeviceNodeSelection", "`perDeviceNodeSelection`")] {
        let flag = spec.field(field);
        if flag.is_true() {
            set.push(shown);
        } else if flag.given() {
            flag.invalid("must be either unset or set to true", errors);
        }
    }
    match set.len() {
        0 => errors.push(Error::required(&spec.path, ONE_OF)),
        1 => {}
        _ => {
            let words = format!("{ONE_OF}, but multiple fields are set");
            errors.push(Error::invalid(&spec.path, format!("{{{}}}", set.join(", ")), words));
        }
    }
}

fn validate_counters(counters: &Spot<'_>, errors: &mut Errors) {
    let count = counters.value.as_object().map_or(0, roost_object::Map::len);
    if count == 0 {
        return errors.push(Error::required(&counters.path, ""));
    }
    if count > COUNTERS_MAX {
        return errors.push(Error::too_many(&counters.path, count, COUNTERS_MAX));
    }
    for (name, _) in counters.value.as_object().into_iter().flatten() {
        let problems = names::is_dns1123_label(name);
        errors.extend(problems.into_iter().map(|words| Error::invalid(&counters.path, &**name, words)));
    }
}

fn validate_device(device: &Spot<'_>, old: Option<&Value>, per_device: bool, errors: &mut Errors) {
    device.field("name").text_passes(names::is_dns1123_label, errors);
    let (attributes, capacity) = (device.field("attributes"), device.field("capacity"));
    let size = |map: &Spot<'_>| map.value.as_object().map_or(0, roost_object::Map::len);
    let properties = size(&attributes) + size(&capacity);
    if properties > PROPERTIES_MAX {
        let words = format!("the total number of attributes and capacities must not exceed {PROPERTIES_MAX}");
        errors.push(Error::invalid(&device.path, properties, words));
    }
    validate_map(&attributes, errors, validate_attribute);
    let shared = device.field("allowMultipleAllocations").is_true();
    validate_map(&capacity, errors, |one, errors| {
        let policy = one.field("requestPolicy");
        if !policy.given() {
            return;
        }
        if shared {
            validate_policy(&policy, &one.value["value"], errors);
        } else {
            policy.forbidden("allowMultipleAllocations must be true", errors);
        }
    });
    let taints = device.field("taints");
    if old.is_none_or(|old| !internal::same("[resource.DeviceTaint", &old["taints"], taints.value)) {
        validate_list(&taints, TAINTS_MAX, errors, |taint, errors| {
            taint.field("key").text_passes(names::is_qualified_name, errors);
            taint.field("value").check(&[Check::Text(names::is_label_value)], errors);
            taint.field("effect").check(&[Check::Required, Check::OneOf(EFFECTS)], errors);
        });
    }
    let set = |consumption: &Value| text(consumption, "counterSet").to_owned();
    validate_set(&device.field("consumesCounters"), CONSUMPTIONS_MAX, set, errors, |consumption, errors| {
        consumption.field("counterSet").check(&[Check::Required, LABEL], errors);
        validate_counters(&consumption.field("counters"), errors);
    });
    validate_device_reach(device, per_device, errors);
    validate_binding_conditions(device, errors);
}

fn validate_device_reach(device: &Spot<'_>, per_device: bool, errors: &mut Errors) {
    const ONE_OF: &str = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    let (node, selector, all) = (device.field("nodeName"), device.field("nodeSelector"), device.field("allNodes"));
    if !per_device {
        if node.given() || selector.given() || all.given() {
            let words = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
            errors.push(Error::invalid(&device.path, Value::Null, words));
        }
        return;
    }
    let mut set = Vec::new();
    if node.filled() {
        set.push("`nodeName`");
        node.text_passes(names::is_dns1123_subdomain, errors);
    } else if node.given() {
        node.invalid("must not be empty", errors);
    }
    if selector.given() {
        set.push("`nodeSelector`");
        validate_node_selector(&selector, true, errors);
    }
    if all.is_true() {
        set.push("`allNodes`");
    } else if all.given() {
        all.invalid("must be either unset or set to true", errors);
    }
    match set.len() {
        0 => errors.push(Error::required(&device.path, ONE_OF)),
        1 => {}
        _ => errors.push(Error::invalid(&device.path, format!("{{{}}}", set.join(", ")), ONE_OF)),
    }
}

/// Checks the names and values of a map. Long names are shortened where they are reported.
fn validate_map(map: &Spot<'_>, errors: &mut Errors, mut check: impl FnMut(&Spot<'_>, &mut Errors)) {
    for (name, value) in map.value.as_object().into_iter().flatten() {
        validate_qualified_name(name, &map.path, errors);
        let shown = shorten(name);
        check(&Spot::new(value, map.path.key(&shown)), errors);
    }
}

fn shorten(name: &str) -> String {
    if name.len() <= QUALIFIED_NAME_MAX {
        return name.to_owned();
    }
    let kept = QUALIFIED_NAME_MAX - 3;
    let head: String = name.chars().take(kept.div_ceil(2)).collect();
    let tail: Vec<char> = name.chars().rev().take(kept / 2).collect();
    format!("{head}...{}", tail.into_iter().rev().collect::<String>())
}

fn validate_attribute(attribute: &Spot<'_>, errors: &mut Errors) {
    static VERSION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$")
            .expect("a fixed expression")
    });
    let (string, version) = (attribute.field("string"), attribute.field("version"));
    string.check(&[Check::Longest(VALUE_MAX)], errors);
    if version.given() && !VERSION.is_match(version.text()) {
        version.invalid("must be a string compatible with semver.org spec 2.0.0", errors);
    }
    version.check(&[Check::Longest(VALUE_MAX)], errors);
    let given = ["bool", "int", "string", "version"].iter().filter(|field| attribute.field(field).given()).count();
    let words = "exactly one value must be specified";
    match given {
        0 => errors.push(Error::invalid(&attribute.path, "", words)),
        1 => {}
        _ => errors.push(shown::invalid(&attribute.path, "resource.DeviceAttribute", attribute.value, words)),
    }
}

pub(super) fn warnings(slice: &Value, warnings: &mut Vec<String>) {
    let driver = text(&slice["spec"], "driver");
    if driver != driver.to_lowercase() {
        let path = Path::new("spec.driver");
        let driver = roost_object::field::quote(driver);
        warnings.push(format!("{path}: driver names should be lowercase; {driver} contains uppercase characters"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    #[test]
    fn slices_say_whose_devices_they_are() {
        assert_eq!(
            words(|errors| validate(
                &json!({"spec": {"pool": {"name": "p"}, "nodeName": "n", "allNodes": true}}),
                None,
                errors
            )),
            [
                "spec.driver: Required value",
                "spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
                r#"spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required, but multiple fields are set"#,
            ]
        );
    }

    #[test]
    fn devices_are_described() {
        let slice = json!({"spec": {"driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}, "allNodes": true, "devices": [
            {"name": "a", "attributes": {"x": {}, "-": {"version": "1"}}, "capacity": {"c": {"value": "10", "requestPolicy": {}}}, "taints": [{"key": "k", "effect": "Odd"}]},
            {"name": "a", "nodeName": "n", "allowMultipleAllocations": true, "capacity": {"c": {"value": "10", "requestPolicy": {"default": "3", "validRange": {"min": "1", "step": "4", "max": "20"}}}}}]}});
        let found = words(|errors| validate(&slice, None, errors));
        assert!(found[0].starts_with(r#"spec.devices[0].attributes: Invalid value: "-": a valid C identifier"#));
        assert_eq!(
            found[1..],
            [
                r#"spec.devices[0].attributes[-].version: Invalid value: "1": must be a string compatible with semver.org spec 2.0.0"#,
                r#"spec.devices[0].attributes[x]: Invalid value: "": exactly one value must be specified"#,
                "spec.devices[0].capacity[c].requestPolicy: Forbidden: allowMultipleAllocations must be true",
                r#"spec.devices[0].taints[0].effect: Unsupported value: "Odd": supported values: "NoExecute", "NoSchedule", "None""#,
                r#"spec.devices[1].capacity[c].requestPolicy.validRange.max: Invalid value: "20": max is larger than capacity value: 10"#,
                r#"spec.devices[1].capacity[c].requestPolicy.validRange.step: Invalid value: "3": value is not a multiple of a given step (4) from (1)"#,
                r#"spec.devices[1].capacity[c].requestPolicy.validRange.step: Invalid value: "20": value is not a multiple of a given step (4) from (1)"#,
                "spec.devices[1]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
                r#"spec.devices[1]: Duplicate value: "a""#,
            ]
        );
    }

    #[test]
    fn features_that_are_off_leave_no_trace() {
        let mut slice = json!({"spec": {"devices": [{"attributes": {"x": {"ints": [1]}}, "nodeAllocatableResourceMappings": {}, "taints": [{}]}]}});
        drop_disabled(&mut slice, None);
        stamp(&mut slice, None, "now");
        assert_eq!(slice["spec"]["devices"][0], json!({"attributes": {"x": {}}, "taints": [{"timeAdded": "now"}]}));
    }
}
