//! What a HostedCluster reports. A pure function of what was read and decided.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::dereference::Observed;
use super::validate::Verdict;
use crate::condition::{self, Condition, Truth};
use crate::names::IGNITION_ENDPOINT;
use crate::object::annotation;
use crate::pause::Pause;

/// Conditions that a HostedCluster takes over from its control plane as they are.
const FROM_CONTROL_PLANE: [&str; 13] = [
    "InfrastructureReady",
    "KubeAPIServerAvailable",
    "EtcdAvailable",
    "ValidHostedControlPlaneConfiguration",
    "ValidReleaseInfo",
    "ExternalDNSReachable",
    "ConfigOperatorReconciliationSucceeded",
    "ClusterVersionSucceeding",
    "ClusterVersionProgressing",
    "ClusterVersionAvailable",
    "ClusterVersionReleaseAccepted",
    "CertificateRotation",
    "Hibernating",
];

/// What came of this pass.
pub(crate) enum Outcome {
    /// All that was planned was done.
    Done,
    /// Something has to happen first.
    Waiting(String),
    /// Something was refused; it is tried again.
    Failed(String),
}

/// The whole status to write.
pub(crate) fn status(observed: &Observed, verdict: &Verdict, outcome: &Outcome, pause: Pause, now: Timestamp) -> Value {
    let cluster = &observed.cluster;
    let plane = observed.control_plane.as_ref();
    let plane_status = plane.map_or(&Value::Null, |plane| &plane["status"]);
    let mut conditions = verdict.conditions.clone();
    conditions.push(available(plane));
    conditions.push(progressing(verdict, outcome, plane));
    conditions.push(match condition_of(plane, "Degraded") {
        Some(condition) if condition.truth == Truth::True => condition,
        Some(_) => Condition::bad("Degraded", "AsExpected", "The hosted cluster is not degraded"),
        None => Condition::new("Degraded", Truth::Unknown, "StatusUnknown", "The control plane has not reported yet"),
    });
    for kind in FROM_CONTROL_PLANE {
        conditions.extend(condition_of(plane, kind));
    }
    conditions.extend(reconciliation(outcome, pause));
    let mut status = Map::new();
    status.insert(
        "conditions".to_owned(),
        condition::merge(
            &cluster["status"]["conditions"],
            now,
            cluster["metadata"]["generation"].as_i64().unwrap_or_default(),
            &conditions,
        ),
    );
    let endpoint = &plane_status["controlPlaneEndpoint"];
    status.insert(
        "controlPlaneEndpoint".to_owned(),
        if endpoint.is_object() { endpoint.clone() } else { json!({"host": "", "port": 0}) },
    );
    for (field, source) in
        [("version", "versionStatus"), ("controlPlaneVersion", "controlPlaneVersion"), ("platform", "platform")]
    {
        if !plane_status[source].is_null() {
            status.insert(field.to_owned(), plane_status[source].clone());
        }
    }
    let ignition = plane.map(|plane| annotation(plane, IGNITION_ENDPOINT)).filter(|endpoint| !endpoint.is_empty());
    if let Some(endpoint) = ignition {
        status.insert("ignitionEndpoint".to_owned(), json!(endpoint));
    }
    status.entry("version").or_insert_with(|| first_version(cluster, now));
    let name = cluster["metadata"]["name"].as_str().unwrap_or_default();
    for credential in &observed.credentials {
        if credential.original.is_some() {
            status.insert(credential.name.status.to_owned(), json!({"name": credential.name.copy_of(name)}));
        }
    }
    status.into()
}

/// A history that has begun and says with what.
fn first_version(cluster: &Value, now: Timestamp) -> Value {
    if cluster["status"]["version"].is_object() {
        return cluster["status"]["version"].clone();
    }
    let image = &cluster["spec"]["release"]["image"];
    json!({
        "desired": {"image": image, "version": ""},
        "history": [{
            "state": "Partial", "image": image, "version": "", "verified": false,
            "startedTime": condition::time(now), "completionTime": null,
        }],
        "observedGeneration": cluster["metadata"]["generation"],
        "availableUpdates": null,
    })
}

fn available(plane: Option<&Value>) -> Condition {
    match condition_of(plane, "Available") {
        Some(condition) if condition.truth == Truth::True => {
            Condition::good("Available", "The hosted control plane is available")
        }
        Some(condition) => condition,
        None => Condition::bad("Available", "WaitingForAvailable", "Waiting for hosted control plane to be healthy"),
    }
}

fn progressing(verdict: &Verdict, outcome: &Outcome, plane: Option<&Value>) -> Condition {
    if let Some(problem) = &verdict.blocked {
        return Condition::bad("Progressing", "Blocked", problem.clone());
    }
    match outcome {
        Outcome::Failed(problem) => return Condition::bad("Progressing", "Blocked", problem.clone()),
        Outcome::Waiting(what) => return Condition::new("Progressing", Truth::True, "Progressing", what.clone()),
        Outcome::Done => {}
    }
    let complete = plane.is_some_and(|plane| plane["status"]["versionStatus"]["history"][0]["state"] == "Completed");
    if complete {
        Condition::bad("Progressing", "AsExpected", "HostedCluster is at expected version")
    } else {
        let waiting = condition_of(plane, "Available")
            .map_or_else(|| "the control plane has just been asked for".to_owned(), |condition| condition.message);
        Condition::new(
            "Progressing",
            Truth::True,
            "Progressing",
            format!("Waiting for the control plane to be at the wanted version: {waiting}"),
        )
    }
}

fn reconciliation(outcome: &Outcome, pause: Pause) -> Vec<Condition> {
    let active = match pause {
        Pause::Active => Condition::good("ReconciliationActive", "Reconciliation active on resource"),
        Pause::Unreadable => Condition::new(
            "ReconciliationActive",
            Truth::True,
            "InvalidPausedUntilValue",
            "spec.pausedUntil is neither a time such as 2026-01-01T00:00:00Z nor true or false; going on",
        ),
        Pause::Forever => {
            Condition::bad("ReconciliationActive", "ReconciliationPaused", "Reconciliation paused until field removed")
        }
        Pause::Until(time) => Condition::bad(
            "ReconciliationActive",
            "ReconciliationPaused",
            format!("Reconciliation paused until: {}", condition::time(time)),
        ),
    };
    let succeeded = match outcome {
        Outcome::Failed(problem) => Condition::bad("ReconciliationSucceeded", "ReconciliationError", problem.clone()),
        _ => Condition::new(
            "ReconciliationSucceeded",
            Truth::True,
            // Spelt as upstream spells it, because dashboards match on it.
            "ReconciliatonSucceeded",
            "Reconciliation completed successfully",
        ),
    };
    vec![active, succeeded]
}

/// A condition of the control plane.
fn condition_of(plane: Option<&Value>, kind: &'static str) -> Option<Condition> {
    let found = condition::find(plane?, kind)?;
    let text = |field: &str| found.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let truth = match text("status").as_str() {
        "True" => Truth::True,
        "False" => Truth::False,
        _ => Truth::Unknown,
    };
    Some(Condition { kind, truth, reason: text("reason"), message: text("message") })
}
