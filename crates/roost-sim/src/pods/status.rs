//! The status of a pod as a kubelet writes it: a pure function of the pod, what happened to it and the time.

use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::container::{Container, End, Role, State};
use super::pod::Pod;
use crate::clock::seconds;

/// The status of a pod. What was said before keeps its times.
pub(super) fn of(pod: &Value, local: &Pod, host: IpAddr, before: &Value, now: Timestamp) -> Value {
    let initialised = local.containers.iter().filter(|container| container.role != Role::Main);
    let initialised = initialised.clone().all(Container::lets_others_begin) || local.outcome() == Some(true);
    let phase = phase(local, initialised);
    let mut status = json!({
        "conditions": conditions(pod, local, phase, initialised, before, now),
        "containerStatuses": statuses(pod, local, "containers", initialised, now),
        "hostIP": host, "hostIPs": [{"ip": host}],
        "observedGeneration": pod["metadata"]["generation"],
        "phase": phase,
        "startTime": seconds(local.accepted),
    });
    if pod["spec"]["initContainers"].is_array() {
        status["initContainerStatuses"] = statuses(pod, local, "initContainers", initialised, now);
    }
    if let Some(address) = local.address {
        status["podIP"] = json!(address);
        status["podIPs"] = json!([{"ip": address}]);
    }
    status
}

fn phase(local: &Pod, initialised: bool) -> &'static str {
    let main = || local.containers.iter().filter(|container| container.role == Role::Main);
    if local.is_stopped() {
        let failed = main().any(|container| !matches!(container.state, State::Ended(end) if end.code == 0));
        return if failed { "Failed" } else { "Succeeded" };
    }
    match local.outcome() {
        Some(true) => "Succeeded",
        Some(false) => "Failed",
        None if !initialised => "Pending",
        None => {
            let waits = |container: &Container| {
                matches!(container.state, State::Held | State::Creating(_) | State::NoImage) && container.last.is_none()
            };
            if main().any(waits) { "Pending" } else { "Running" }
        }
    }
}

fn conditions(pod: &Value, local: &Pod, phase: &str, initialised: bool, before: &Value, now: Timestamp) -> Vec<Value> {
    let generation = &pod["metadata"]["generation"];
    let condition = |kind: &str, status: bool, reason: &str, message: String| {
        let status = if status { "True" } else { "False" };
        let known = before["conditions"].as_array().into_iter().flatten();
        let known = known.into_iter().find(|known| known["type"] == kind && known["status"] == status);
        let since = known.map_or_else(|| json!(seconds(now)), |known| known["lastTransitionTime"].clone());
        let mut condition = json!({
            "type": kind, "status": status, "lastProbeTime": null, "lastTransitionTime": since,
            "observedGeneration": generation,
        });
        if !reason.is_empty() {
            condition["reason"] = json!(reason);
        }
        if !message.is_empty() {
            condition["message"] = json!(message);
        }
        condition
    };
    let names = |containers: Vec<&Container>| {
        let names: Vec<&str> = containers.iter().map(|container| container.name.as_str()).collect();
        format!("[{}]", names.join(" "))
    };
    let over = matches!(phase, "Succeeded" | "Failed");
    let (done, why) = if phase == "Succeeded" { (true, "PodCompleted") } else { (false, "PodFailed") };
    let waiting = |container: &&Container| container.role != Role::Main && !container.lets_others_begin();
    let waiting: Vec<&Container> = local.containers.iter().filter(waiting).collect();
    let started = if phase == "Succeeded" {
        condition("Initialized", true, "PodCompleted", String::new())
    } else if initialised {
        condition("Initialized", true, "", String::new())
    } else {
        let message = format!("containers with incomplete status: {}", names(waiting));
        condition("Initialized", false, "ContainersNotInitialized", message)
    };
    let unready = |container: &&Container| container.role == Role::Main && !container.is_ready(now);
    let unready: Vec<&Container> = local.containers.iter().filter(unready).collect();
    let ready = |kind: &str| {
        if over {
            let reason = if done { why } else { "PodFailed" };
            condition(kind, false, reason, String::new())
        } else if unready.is_empty() {
            condition(kind, true, "", String::new())
        } else {
            let message = format!("containers with unready status: {}", names(unready.clone()));
            condition(kind, false, "ContainersNotReady", message)
        }
    };
    let gates = unmet_gates(pod);
    let pod_ready = match gates {
        Some(message) if !over && unready.is_empty() => condition("Ready", false, "ReadinessGatesNotReady", message),
        _ => ready("Ready"),
    };
    vec![
        condition("PodReadyToStartContainers", !over && local.address.is_some(), "", String::new()),
        started,
        pod_ready,
        ready("ContainersReady"),
        condition("PodScheduled", true, "", String::new()),
    ]
}

/// The words about readiness gates that others have not opened yet.
fn unmet_gates(pod: &Value) -> Option<String> {
    let conditions = pod["status"]["conditions"].as_array();
    let met = |gate: &str| {
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|condition| condition["type"] == gate && condition["status"] == "True")
    };
    let gates = pod["spec"]["readinessGates"].as_array().into_iter().flatten();
    let unmet: Vec<String> = gates
        .filter_map(|gate| gate["conditionType"].as_str())
        .filter(|gate| !met(gate))
        .map(|gate| format!("corresponding condition of pod readiness gate {gate:?} does not exist."))
        .collect();
    (!unmet.is_empty()).then(|| unmet.join(", "))
}

fn statuses(pod: &Value, local: &Pod, list: &str, initialised: bool, now: Timestamp) -> Value {
    let specs = pod["spec"][list].as_array().into_iter().flatten();
    let statuses = specs.filter_map(|spec| {
        let name = spec["name"].as_str()?;
        let container = local.containers.iter().find(|container| container.name == name)?;
        Some(status(pod, local, spec, container, initialised, now))
    });
    Value::Array(statuses.collect())
}

fn status(pod: &Value, local: &Pod, spec: &Value, container: &Container, initialised: bool, now: Timestamp) -> Value {
    let image = &spec["image"];
    let identifier = |runs: u64| format!("roost-sim://{}-{}-{runs}", local.uid, container.name);
    let mut status = json!({
        "name": container.name,
        "image": image,
        "imageID": if container.runs > 0 { image.clone() } else { json!("") },
        "lastState": container.last.map_or_else(
            || json!({}),
            |end| json!({"terminated": ended(end, &identifier(container.runs.saturating_sub(1)))}),
        ),
        "ready": !local.is_stopped() && container.is_ready(now),
        "restartCount": container.restarts,
        "started": matches!(container.state, State::Running(_)),
        "state": state(pod, container, initialised, &identifier(container.runs)),
    });
    if container.runs > 0 {
        status["containerID"] = json!(identifier(container.runs));
    }
    if let Some(resources) = spec["resources"].as_object() {
        status["resources"] = json!(resources);
        if let Some(requests) = resources.get("requests") {
            status["allocatedResources"] = requests.clone();
        }
    }
    status
}

fn state(pod: &Value, container: &Container, initialised: bool, identifier: &str) -> Value {
    let waiting = |reason: &str, message: Option<String>| {
        let mut waiting = Map::from_iter([("reason".to_owned(), json!(reason))]);
        if let Some(message) = message {
            waiting.insert("message".to_owned(), json!(message));
        }
        json!({"waiting": waiting})
    };
    match container.state {
        State::Held if !initialised || container.role != Role::Main => waiting("PodInitializing", None),
        State::Held | State::Creating(_) => waiting("ContainerCreating", None),
        State::NoImage => {
            let image = image_of(pod, &container.name);
            waiting("ImagePullBackOff", Some(format!("Back-off pulling image {image:?}")))
        }
        State::BackingOff(_) => {
            let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default();
            let message = format!(
                "back-off {} restarting failed container={} pod={}_{}({})",
                written(container.wait()),
                container.name,
                text("name"),
                text("namespace"),
                text("uid"),
            );
            waiting("CrashLoopBackOff", Some(message))
        }
        State::Running(since) => json!({"running": {"startedAt": seconds(since)}}),
        State::Ended(end) => json!({"terminated": ended(end, identifier)}),
    }
}

fn image_of<'a>(pod: &'a Value, name: &str) -> &'a str {
    let all = ["containers", "initContainers"].into_iter().filter_map(|list| pod["spec"][list].as_array());
    all.flatten().find(|spec| spec["name"] == name).and_then(|spec| spec["image"].as_str()).unwrap_or_default()
}

fn ended(end: End, identifier: &str) -> Value {
    let reason = if end.code == 0 { "Completed" } else { "Error" };
    json!({
        "containerID": identifier, "exitCode": end.code, "reason": reason,
        "startedAt": seconds(end.started), "finishedAt": seconds(end.finished),
    })
}

/// A wait as Go writes it.
fn written(wait: SignedDuration) -> String {
    let all = wait.as_secs();
    if all >= 60 { format!("{}m{}s", all / 60, all % 60) } else { format!("{all}s") }
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
