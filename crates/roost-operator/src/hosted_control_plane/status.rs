//! What a HostedControlPlane reports. A pure function of what was read and done.

use jiff::Timestamp;
use roost_pki::plane::{Endpoint, Progress};
use roost_runtime::Health;
use serde_json::{Map, Value, json};

use super::version::{control_plane_version, version_status};
use crate::condition::{self, Condition, Truth};

/// What came of this pass.
pub(crate) struct Pass {
    /// Where the API is published, once that is known.
    pub(crate) endpoint: Option<Endpoint>,
    /// How the plane is.
    pub(crate) health: Health,
    /// Whether there are keys and kubeconfigs.
    pub(crate) has_keys: bool,
    /// Authorities that are being replaced.
    pub(crate) rotations: Vec<Progress>,
    /// What was wrong with the spec.
    pub(crate) invalid: Option<String>,
    /// What was refused.
    pub(crate) failed: Option<String>,
    /// The release that was asked for.
    pub(crate) release: String,
    /// The version that runs.
    pub(crate) version: String,
}

impl Pass {
    /// Whether the hosted API answers, or would at the first request.
    pub(crate) fn is_serving(&self) -> bool {
        matches!(self.health, Health::Ready | Health::Parked)
    }
}

/// The whole status to write.
pub(crate) fn status(plane: &Value, pass: &Pass, now: Timestamp) -> Value {
    let generation = plane["metadata"]["generation"].as_i64().unwrap_or_default();
    let earlier = &plane["status"];
    let is_available = pass.is_serving() && pass.has_keys && pass.endpoint.is_some();
    let mut status = Map::new();
    status.insert(
        "conditions".to_owned(),
        condition::merge(&earlier["conditions"], now, generation, &conditions(pass, is_available)),
    );
    status.insert("externalManagedControlPlane".to_owned(), json!(true));
    status.insert("ready".to_owned(), json!(is_available));
    status.insert("initialized".to_owned(), json!(is_available || earlier["initialized"] == true));
    status.insert("version".to_owned(), json!(pass.version));
    status.insert("releaseImage".to_owned(), json!(pass.release));
    let complete = pass.is_serving();
    status.insert(
        "versionStatus".to_owned(),
        version_status(&earlier["versionStatus"], &pass.release, &pass.version, complete, generation, now),
    );
    status.insert(
        "controlPlaneVersion".to_owned(),
        control_plane_version(&earlier["controlPlaneVersion"], &pass.release, &pass.version, complete, generation, now),
    );
    if let Some(endpoint) = &pass.endpoint {
        status.insert("controlPlaneEndpoint".to_owned(), json!({"host": endpoint.host, "port": endpoint.port}));
    }
    if pass.has_keys {
        status.insert("kubeConfig".to_owned(), json!({"name": "admin-kubeconfig", "key": "kubeconfig"}));
        status.insert("kubeadminPassword".to_owned(), json!({"name": "kubeadmin-password"}));
    }
    status.into()
}

fn conditions(pass: &Pass, is_available: bool) -> Vec<Condition> {
    let mut conditions = vec![
        match &pass.invalid {
            None => Condition::good("ValidHostedControlPlaneConfiguration", "Configuration passes validation"),
            Some(problem) => {
                Condition::bad("ValidHostedControlPlaneConfiguration", "InvalidConfiguration", problem.clone())
            }
        },
        Condition::good(
            "ValidReleaseInfo",
            format!("The embedded runtime needs no image; it runs Kubernetes {}", pass.version),
        ),
        match &pass.endpoint {
            Some(_) => Condition::good("InfrastructureReady", "All is well"),
            None => Condition::bad(
                "InfrastructureReady",
                "WaitingOnInfrastructureReady",
                "Waiting for the Service kube-apiserver to get a port",
            ),
        },
        Condition::new("ExternalDNSReachable", Truth::Unknown, "StatusUnknown", "External DNS is not configured"),
    ];
    let (api, store) = match &pass.health {
        Health::Ready => (
            Condition::good("KubeAPIServerAvailable", "Kube APIServer is available"),
            Condition::new("EtcdAvailable", Truth::True, "QuorumAvailable", "The embedded store is available"),
        ),
        Health::Parked => (
            Condition::good("KubeAPIServerAvailable", "The API sleeps and wakes at the first request"),
            Condition::new("EtcdAvailable", Truth::True, "QuorumAvailable", "The embedded store is available"),
        ),
        Health::Failing(problem) => (
            Condition::bad("KubeAPIServerAvailable", "WaitingForAvailable", problem.clone()),
            Condition::new(
                "EtcdAvailable",
                Truth::Unknown,
                "StatusUnknown",
                "The API that would say so does not answer",
            ),
        ),
        Health::Absent => (
            Condition::bad("KubeAPIServerAvailable", "NotFound", "The API has not been started yet"),
            Condition::bad("EtcdAvailable", "StatefulSetNotFound", "The API that uses it has not been started yet"),
        ),
    };
    conditions.extend([api, store]);
    if pass.health == Health::Parked {
        conditions.push(Condition::good("Hibernating", "The cluster sleeps; any request to its endpoint wakes it"));
    }
    if !pass.rotations.is_empty() {
        let words: Vec<String> = pass.rotations.iter().map(ToString::to_string).collect();
        conditions.push(Condition::new("CertificateRotation", Truth::True, "Rotating", words.join("; ")));
    }
    conditions.push(match &pass.failed {
        None => Condition::bad("Degraded", "AsExpected", ""),
        Some(problem) => Condition::new("Degraded", Truth::True, "ReconcileError", problem.clone()),
    });
    conditions.push(match &pass.failed {
        None => Condition::good("ConfigOperatorReconciliationSucceeded", ""),
        Some(problem) => Condition::bad("ConfigOperatorReconciliationSucceeded", "ReconcileError", problem.clone()),
    });
    conditions.extend(cluster_version(pass));
    conditions.push(available(pass, is_available));
    conditions
}

/// The first thing that is missing is what is waited for.
fn available(pass: &Pass, is_available: bool) -> Condition {
    if is_available {
        return Condition::good("Available", "All is well");
    }
    let (reason, message) = match pass {
        Pass { invalid: Some(problem), .. } => ("InvalidConfiguration", problem.clone()),
        Pass { failed: Some(problem), .. } => ("ReconcileError", problem.clone()),
        Pass { endpoint: None, .. } => {
            ("WaitingOnInfrastructureReady", "Waiting for the Service kube-apiserver to get a port".to_owned())
        }
        Pass { has_keys: false, .. } => {
            ("KubeconfigWaitingForCreate", "Waiting for hosted control plane kubeconfig to be created".to_owned())
        }
        Pass { health: Health::Failing(problem), .. } => ("WaitingForAvailable", problem.clone()),
        _ => ("WaitingForAvailable", "The API has not been started yet".to_owned()),
    };
    Condition::bad("Available", reason, message)
}

fn cluster_version(pass: &Pass) -> Vec<Condition> {
    if !pass.is_serving() {
        return ["ClusterVersionSucceeding", "ClusterVersionAvailable", "ClusterVersionReleaseAccepted"]
            .map(|kind| Condition::new(kind, Truth::Unknown, "StatusUnknown", "The hosted API does not answer yet"))
            .into();
    }
    vec![
        Condition::new(
            "ClusterVersionAvailable",
            Truth::True,
            "FromClusterVersion",
            format!("Done applying {}", pass.version),
        ),
        Condition::new("ClusterVersionSucceeding", Truth::True, "FromClusterVersion", ""),
        Condition::new(
            "ClusterVersionProgressing",
            Truth::False,
            "FromClusterVersion",
            format!("Cluster version is {}", pass.version),
        ),
        Condition::new("ClusterVersionReleaseAccepted", Truth::True, "FromClusterVersion", ""),
    ]
}
