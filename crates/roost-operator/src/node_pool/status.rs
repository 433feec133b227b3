//! What a NodePool reports. A pure function of what was read.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::condition::{self, Condition, Truth};
use crate::pause::Pause;

/// The whole status to write.
pub(crate) fn status(pool: &Value, cluster: Option<&Value>, version: &str, now: Timestamp) -> Value {
    let generation = pool["metadata"]["generation"].as_i64().unwrap_or_default();
    let mut status = Map::new();
    status.insert(
        "conditions".to_owned(),
        condition::merge(&pool["status"]["conditions"], now, generation, &conditions(pool, cluster, now)),
    );
    if cluster.is_some() {
        status.insert("version".to_owned(), json!(version));
    }
    if let Some(replicas) = pool["status"].get("replicas") {
        status.insert("replicas".to_owned(), replicas.clone());
    }
    status.into()
}

fn conditions(pool: &Value, cluster: Option<&Value>, now: Timestamp) -> Vec<Condition> {
    let spec = &pool["spec"];
    let name = spec["clusterName"].as_str().unwrap_or_default();
    let mut conditions = vec![autoscaling(spec)];
    let Some(cluster) = cluster else {
        conditions.push(Condition::bad(
            "Ready",
            "NotFound",
            format!("spec.clusterName names the HostedCluster {name}, which does not exist in this namespace"),
        ));
        return conditions;
    };
    let image = spec["release"]["image"].as_str().unwrap_or_default();
    conditions.extend([
        Condition::good("UpdateManagementEnabled", ""),
        Condition::good("ValidReleaseImage", format!("Using release image: {image}")),
        Condition::bad("UpdatingConfig", "AsExpected", ""),
        Condition::bad("UpdatingVersion", "AsExpected", ""),
        if spec["management"]["autoRepair"] == true {
            Condition::good("AutorepairEnabled", "")
        } else {
            Condition::bad("AutorepairEnabled", "AsExpected", "")
        },
        match Pause::of(spec["pausedUntil"].as_str(), now) {
            Pause::Active => Condition::new(
                "ReconciliationActive",
                Truth::True,
                "ReconciliationActive",
                "Reconciliation active on resource",
            ),
            Pause::Unreadable => Condition::new(
                "ReconciliationActive",
                Truth::True,
                "InvalidPausedUntilValue",
                "spec.pausedUntil is neither a time nor true or false; going on",
            ),
            Pause::Forever | Pause::Until(_) => {
                Condition::bad("ReconciliationActive", "ReconciliationPaused", "Reconciliation paused")
            }
        },
    ]);
    let replicas = spec["replicas"].as_i64().unwrap_or_default();
    if cluster["status"]["ignitionEndpoint"].as_str().unwrap_or_default().is_empty() && replicas > 0 {
        conditions.push(Condition::bad(
            "IgnitionEndpointAvailable",
            "IgnitionEndpointMissing",
            format!("The HostedCluster {name} has no ignition endpoint, so no machine can join yet"),
        ));
    }
    if replicas == 0 {
        conditions.push(Condition::good("AllMachinesReady", "NodePool set to no replicas"));
        conditions.push(Condition::good("Ready", ""));
    } else {
        conditions.push(Condition::bad("AllMachinesReady", "NotFound", "No Machines are created"));
        let message = format!("0 of {replicas} nodes have joined: no machine can join yet");
        conditions.push(Condition::bad("Ready", "NodesMissing", message));
    }
    conditions
}

fn autoscaling(spec: &Value) -> Condition {
    match (spec["autoScaling"]["min"].as_i64(), spec["autoScaling"]["max"].as_i64()) {
        (Some(_), Some(_)) if !spec["replicas"].is_null() => Condition::bad(
            "AutoscalingEnabled",
            "ValidationFailed",
            "only one of spec.replicas and spec.autoScaling can be set",
        ),
        (min, Some(max)) => Condition::good(
            "AutoscalingEnabled",
            format!("Maximum nodes: {max}, Minimum nodes: {}", min.unwrap_or_default()),
        ),
        _ => Condition::bad("AutoscalingEnabled", "AsExpected", ""),
    }
}
