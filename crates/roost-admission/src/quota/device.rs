//! What claims for devices use: their number, and devices by class.

use std::collections::BTreeMap;

use roost_object::Value;

use super::pod::is_extended_request;
use crate::amounts::{Amounts, count};

const COUNT: &str = "count/resourceclaims.resource.k8s.io";
const PER_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
const IMPLICIT: &str = "requests.deviceclass.resource.kubernetes.io/";

/// The most devices that one claim gets, which is what asking for all of them counts as.
const MOST_DEVICES: i64 = 32;

/// What the device classes of the cluster say about extended resources.
pub trait DeviceClasses: Sync {
    /// The extended resource that stands for a class.
    fn extended_resource(&self, class: &str) -> Option<String>;
    /// Whether a class stands behind an extended resource.
    fn has_class_for(&self, extended_resource: &str) -> bool;
    /// What the pod uses for which a claim was made by itself; nothing when no pod is behind it.
    fn usage_of_pod(&self, claim: &Value) -> Amounts;
}

/// A cluster without device classes.
pub struct NoDevices;

impl DeviceClasses for NoDevices {
    fn extended_resource(&self, _: &str) -> Option<String> {
        None
    }

    fn has_class_for(&self, _: &str) -> bool {
        false
    }

    fn usage_of_pod(&self, _: &Value) -> Amounts {
        Amounts::new()
    }
}

pub(super) fn is_measured(name: &str, devices: &dyn DeviceClasses) -> bool {
    name == COUNT
        || name.ends_with(PER_CLASS)
        || name.strip_prefix(IMPLICIT).is_some_and(|class| devices.extended_resource(class).is_some())
        || is_extended_request(name) && devices.has_class_for(name.trim_start_matches("requests."))
}

pub(super) fn usage(claim: &Value, devices: &dyn DeviceClasses) -> Amounts {
    let mut by_class: BTreeMap<String, i64> = BTreeMap::new();
    for request in claim["spec"]["devices"]["requests"].as_array().into_iter().flatten() {
        let alternatives = request["firstAvailable"].as_array().filter(|list| !list.is_empty());
        if let Some(alternatives) = alternatives {
            let mut worst: BTreeMap<String, i64> = BTreeMap::new();
            for alternative in alternatives {
                let (class, number) = wanted(alternative);
                let most = worst.entry(class).or_default();
                *most = number.max(*most);
            }
            for (class, number) in worst.into_iter().filter(|(_, number)| *number > 0) {
                *by_class.entry(class).or_default() += number;
            }
        } else if request["exactly"].is_object() {
            let (class, number) = wanted(&request["exactly"]);
            *by_class.entry(class).or_default() += number;
        }
    }
    let mut usage = Amounts::from([(COUNT.to_owned(), count(1))]);
    let of_pod = devices.usage_of_pod(claim);
    for (class, number) in &by_class {
        usage.insert(format!("{class}{PER_CLASS}"), count(*number));
        let mut extended = vec![format!("{IMPLICIT}{class}")];
        extended.extend(devices.extended_resource(class).map(|name| format!("requests.{name}")));
        for name in extended {
            let mut left = count(*number);
            if let Some(counted) = of_pod.get(&name) {
                left.sub(counted);
            }
            if !left.is_zero() && !left.is_negative() {
                usage.insert(name, left);
            }
        }
    }
    usage
}

fn wanted(request: &Value) -> (String, i64) {
    let class = request["deviceClassName"].as_str().unwrap_or_default().to_owned();
    let number = match request["allocationMode"].as_str() {
        Some("ExactCount") => request["count"].as_i64().unwrap_or(0),
        Some("All") => MOST_DEVICES,
        _ => 0,
    };
    (class, number)
}
