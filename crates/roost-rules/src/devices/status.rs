//! What was given to a claim, and who uses it.

use roost_object::field::{Error, Errors};
use roost_object::{Value, metadata, names};

use super::claim::{RequestNames, validate_configuration};
use super::list::{
    DRIVER_NAME, own_text, validate_binding_conditions, validate_list, validate_opaque_data, validate_pool_name,
    validate_set,
};
use crate::address_range;
use crate::check::{Check, Spot, elements, immutable, text};
use crate::fill::Fill;
use crate::pod::validate_node_selector;
use crate::shown;

const RESERVED_FOR_MAX: usize = 256;
const RESULTS_MAX: usize = 32;
const CONDITIONS_MAX: usize = 8;
const INTERFACE_NAME_MAX: usize = 256;
const HARDWARE_ADDRESS_MAX: usize = 128;
const ADDRESSES_MAX: usize = 16;

/// A device, and which share of it.
/// The internal type by which a device of a claim is named.
const SHARED_DEVICE: &str = "resource.SharedDeviceID";

fn identity(device: &Value) -> String {
    let name = ["driver", "pool", "device"].map(|field| text(device, field)).join("/");
    match text(device, "shareID") {
        "" => name,
        share => format!("{name}/{share}"),
    }
}

fn results(claim: &Value) -> Vec<String> {
    elements(&claim["status"]["allocation"]["devices"]["results"]).iter().map(identity).collect()
}

/// Drops what is said about devices that the claim no longer has.
pub(super) fn prepare_update(new: &mut Value, old: &Value) {
    crate::keep_spec_and_metadata(new, old);
    let kept = results(new);
    let gone: Vec<String> = results(old).into_iter().filter(|device| !kept.contains(device)).collect();
    let Some(status) = new.at("status") else { return };
    if let Some(Value::Array(devices)) = status.at("devices") {
        devices.retain(|device| !gone.contains(&identity(device)));
        if devices.is_empty() {
            status.drop_field("devices");
        }
    }
}

pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut Errors) {
    let root = Spot::root(new);
    let status = root.field("status");
    let (reserved, allocation) = (status.field("reservedFor"), status.field("allocation"));
    let uid = |consumer: &Value| text(consumer, "uid").to_owned();
    validate_set(&reserved, RESERVED_FOR_MAX, uid, errors, |consumer, errors| {
        let required: &[Check] = &[Check::Required];
        for field in ["resource", "name", "uid"] {
            consumer.field(field).check(required, errors);
        }
    });
    let given = results(new);
    let devices = status.field("devices");
    devices.each(|_, device| validate_device(device, &given, errors));
    devices.each(|index, device| {
        let own = identity(device.value);
        if devices.elements()[..index].iter().any(|earlier| identity(earlier) == own) {
            errors.push(shown::duplicate(&device.path, SHARED_DEVICE, device.value));
        }
    });
    if reserved.filled() {
        if !allocation.given() {
            reserved.forbidden("may not be specified when `allocated` is not set", errors);
        } else if !new["metadata"]["deletionTimestamp"].is_null() {
            let before = elements(&old["status"]["reservedFor"]);
            if reserved.elements().iter().any(|consumer| !before.contains(consumer)) {
                let words = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set";
                reserved.forbidden(words, errors);
            }
        }
    }
    let before = &old["status"]["allocation"];
    if !allocation.given() {
        return;
    }
    if before.is_null() {
        validate_allocation(&allocation, &RequestNames::of(&new["spec"]["devices"]), errors);
    } else {
        immutable(&allocation, before, "resource.AllocationResult", errors);
    }
}

fn validate_device(device: &Spot<'_>, given: &[String], errors: &mut Errors) {
    device.field("driver").check(DRIVER_NAME, errors);
    validate_pool_name(&device.field("pool"), errors);
    device.field("device").text_passes(names::is_dns1123_label, errors);
    validate_share(&device.field("shareID"), errors);
    if !given.contains(&identity(device.value)) {
        let words = "must be an allocated device in the claim";
        errors.push(shown::invalid(&device.path, SHARED_DEVICE, device.value, words));
    }
    let conditions = device.field("conditions");
    let count = conditions.elements().len();
    if count > CONDITIONS_MAX {
        errors.push(Error::too_many(&conditions.path, count, CONDITIONS_MAX));
    }
    metadata::validate_conditions(conditions.value, &conditions.path, errors);
    if device.field("data").given() {
        validate_opaque_data(&device.field("data"), errors);
    }
    let network = device.field("networkData");
    network.field("interfaceName").check(&[Check::Longest(INTERFACE_NAME_MAX)], errors);
    network.field("hardwareAddress").check(&[Check::Longest(HARDWARE_ADDRESS_MAX)], errors);
    validate_set(&network.field("ips"), ADDRESSES_MAX, own_text, errors, validate_interface_address);
}

fn validate_share(share: &Spot<'_>, errors: &mut Errors) {
    let dashes = [8, 13, 18, 23];
    let well_formed = share.text().len() == 36
        && share
            .text()
            .bytes()
            .enumerate()
            .all(|(index, byte)| if dashes.contains(&index) { byte == b'-' } else { byte.is_ascii_hexdigit() });
    if !share.given() {
        return;
    }
    if !well_formed {
        share.invalid(format!("error validating uid: invalid UUID length: {}", share.text().len()), errors);
    } else if share.text() != share.text().to_lowercase() {
        let words = "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters";
        share.invalid(words, errors);
    }
}

fn validate_interface_address(address: &Spot<'_>, errors: &mut Errors) {
    let Some((ip, range)) = address_range::parse_leniently(address.text()) else {
        return address.invalid("must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)", errors);
    };
    let canonical = format!("{ip}/{}", range.prefix_len());
    if canonical != address.text() {
        address.invalid(format!("must be in canonical form (\"{canonical}\")"), errors);
    }
}

fn validate_allocation(allocation: &Spot<'_>, known: &RequestNames<'_>, errors: &mut Errors) {
    let devices = allocation.field("devices");
    validate_list(&devices.field("results"), RESULTS_MAX, errors, |result, errors| {
        known.validate(&result.field("request"), errors);
        result.field("driver").check(DRIVER_NAME, errors);
        validate_pool_name(&result.field("pool"), errors);
        result.field("device").text_passes(names::is_dns1123_label, errors);
        validate_binding_conditions(result, errors);
        validate_share(&result.field("shareID"), errors);
    });
    validate_list(&devices.field("config"), 2 * RESULTS_MAX, errors, |config, errors| {
        config.field("source").check(&[Check::Required, Check::OneOf(&["FromClaim", "FromClass"])], errors);
        validate_set(&config.field("requests"), RESULTS_MAX, own_text, errors, |one, errors| {
            known.validate(one, errors);
        });
        validate_configuration(config, errors);
    });
    let selector = allocation.field("nodeSelector");
    if selector.given() {
        validate_node_selector(&selector, true, errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::tests::words;
    use serde_json::json;

    fn claim() -> Value {
        json!({"spec": {"devices": {"requests": [{"name": "r"}]}}, "status": {"allocation": {"devices": {"results": [
            {"request": "r", "driver": "d", "pool": "p", "device": "x"}]}}, "devices": [{"driver": "d", "pool": "p", "device": "x"}]}})
    }

    #[test]
    fn what_is_said_of_returned_devices_is_forgotten() {
        let old = claim();
        let mut new = json!({"spec": {}, "status": {"devices": [{"driver": "d", "pool": "p", "device": "x"}]}});
        prepare_update(&mut new, &old);
        assert_eq!(new["status"], json!({}));
    }

    #[test]
    fn allocations_fit_the_claim_and_stay() {
        let before = json!({"spec": claim()["spec"], "status": {}});
        assert!(words(|errors| validate_update(&claim(), &before, errors)).is_empty());
        let mut new = claim();
        new["status"]["allocation"]["devices"]["results"][0]["request"] = json!("s");
        new["status"]["reservedFor"] = json!([{"resource": "pods", "name": "a", "uid": ""}]);
        let found = words(|errors| validate_update(&new, &before, errors));
        assert_eq!(found[0], "status.reservedFor[0].uid: Required value");
        assert!(
            found[1]
                .starts_with(r#"status.allocation.devices.results[0].request: Invalid value: "s": must be the name"#)
        );
        assert!(words(|errors| validate_update(&new, &claim(), errors))[1].ends_with(": field is immutable"));
    }
}
