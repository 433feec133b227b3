//! What pods use: their number, and what they ask for, until they have ended.

use std::collections::{BTreeMap, BTreeSet};

use roost_object::Value;
use roost_object::time::Timestamp;
use roost_rules::resource_name::{is_extended, is_huge_page, is_huge_page_for_quota, is_native, is_pod_level};

use crate::amounts::{self, Amounts};

const RESOURCES: &[&str] = &[
    "count/pods",
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];

/// What every container must name once a quota counts it.
const REQUIRED: &[&str] = &["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

const DEVICE_CLASS: &str = "deviceclass.resource.kubernetes.io/";

pub(super) fn is_measured(name: &str) -> bool {
    RESOURCES.contains(&name) || is_huge_page_for_quota(name) || is_extended_request(name)
}

/// Whether a quota's name is about an extended resource: `requests.` and the resource.
pub(super) fn is_extended_request(name: &str) -> bool {
    name.strip_prefix("requests.").is_some_and(|rest| !is_native(name) || rest.starts_with(DEVICE_CLASS))
}

/// Why a pod does not say enough to be counted.
pub(super) fn constraint(pod: &Value, counted: &[&str]) -> Option<String> {
    let spec = &pod["spec"];
    let asks_as_a_whole = ["requests", "limits"]
        .iter()
        .any(|kind| spec["resources"][kind].as_object().is_some_and(|list| list.keys().any(|name| is_pod_level(name))));
    if asks_as_a_whole {
        return None;
    }
    let required: Vec<&str> = counted.iter().copied().filter(|name| REQUIRED.contains(name)).collect();
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array().into_iter().flatten() {
            let resources = &container["resources"];
            let used = compute_usage(&amounts::read(&resources["requests"]), &amounts::read(&resources["limits"]));
            for name in required.iter().filter(|name| !used.contains_key(**name)) {
                missing.entry(name).or_default().insert(container["name"].as_str().unwrap_or_default());
            }
        }
    }
    if missing.is_empty() {
        return None;
    }
    let parts: Vec<String> = missing
        .into_iter()
        .map(|(name, containers)| format!("{name} for: {}", containers.into_iter().collect::<Vec<_>>().join(",")))
        .collect();
    Some(format!("must specify {}", parts.join("; ")))
}

/// What a pod uses at a time, in seconds since 1970.
pub fn usage(pod: &Value, now: i64) -> Amounts {
    let mut usage = Amounts::from([("count/pods".to_owned(), amounts::count(1))]);
    if is_over(pod, now) {
        return usage;
    }
    amounts::add(&mut usage, &compute_usage(&total(pod, "requests"), &total(pod, "limits")));
    usage
}

/// Whether a pod has ended, or should have and its node is lost.
fn is_over(pod: &Value, now: i64) -> bool {
    if matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded")) {
        return true;
    }
    let metadata = &pod["metadata"];
    let end = metadata["deletionTimestamp"].as_str().and_then(|text| Timestamp::parse(text).ok());
    match (end, metadata["deletionGracePeriodSeconds"].as_i64()) {
        (Some(end), Some(grace)) => now > end.seconds.saturating_add(grace),
        _ => false,
    }
}

/// Requests and limits under the names that quotas have for them.
fn compute_usage(requests: &Amounts, limits: &Amounts) -> Amounts {
    let mut usage = Amounts::from([("pods".to_owned(), amounts::count(1))]);
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(request) = requests.get(name) {
            usage.insert(name.to_owned(), request.clone());
            usage.insert(format!("requests.{name}"), request.clone());
        }
        if let Some(limit) = limits.get(name) {
            usage.insert(format!("limits.{name}"), limit.clone());
        }
    }
    for (name, request) in requests {
        if is_huge_page(name) {
            usage.insert(name.clone(), request.clone());
            usage.insert(format!("requests.{name}"), request.clone());
        }
        if is_extended(name) || name.starts_with(DEVICE_CLASS) {
            usage.insert(format!("requests.{name}"), request.clone());
        }
    }
    usage
}

/// What the whole pod asks for. A container that is being resized counts with the most it has, gets or wants.
fn total(pod: &Value, kind: &str) -> Amounts {
    let spec = &pod["spec"];
    let mut total = Amounts::new();
    for container in spec["containers"].as_array().into_iter().flatten() {
        amounts::add(&mut total, &of_container(pod, container, kind));
    }
    let (mut restartable, mut starting) = (Amounts::new(), Amounts::new());
    for container in spec["initContainers"].as_array().into_iter().flatten() {
        if container["restartPolicy"] == "Always" {
            let needed = of_container(pod, container, kind);
            amounts::add(&mut total, &needed);
            amounts::add(&mut restartable, &needed);
            amounts::raise(&mut starting, &restartable);
        } else {
            let mut needed = amounts::read(&container["resources"][kind]);
            amounts::add(&mut needed, &restartable);
            amounts::raise(&mut starting, &needed);
        }
    }
    amounts::raise(&mut total, &starting);
    let own = amounts::read(&spec["resources"][kind]);
    total.extend(own.into_iter().filter(|(name, _)| is_pod_level(name)));
    let overhead = amounts::read(&spec["overhead"]);
    if kind == "requests" {
        amounts::add(&mut total, &overhead);
    } else {
        for (name, amount) in overhead {
            if let Some(limit) = total.get_mut(&name).filter(|limit| !limit.is_zero()) {
                limit.add(&amount);
            }
        }
    }
    total
}

fn of_container(pod: &Value, container: &Value, kind: &str) -> Amounts {
    let wanted = amounts::read(&container["resources"][kind]);
    let statuses = ["containerStatuses", "initContainerStatuses"];
    let status = statuses
        .iter()
        .flat_map(|list| pod["status"][list].as_array().into_iter().flatten())
        .find(|status| status["name"] == container["name"] && status["resources"].is_object());
    let Some(status) = status else { return wanted };
    let mut highest = if resize_is_infeasible(pod) { Amounts::new() } else { wanted };
    amounts::raise(&mut highest, &amounts::read(&status["resources"][kind]));
    if kind == "requests" {
        amounts::raise(&mut highest, &amounts::read(&status["allocatedResources"]));
    }
    highest
}

fn resize_is_infeasible(pod: &Value) -> bool {
    pod["status"]["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "PodResizePending")
        .is_some_and(|condition| condition["reason"] == "Infeasible")
}
