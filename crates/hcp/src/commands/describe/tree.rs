//! The tree of a cluster: a pure function of its objects.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::commands::judge::removal_waits_for;
use crate::conditions::{Condition, age, condition, conditions};

/// The objects of a cluster.
pub(super) struct Parts {
    pub(super) cluster: Value,
    pub(super) control_plane: Option<Value>,
    pub(super) components: Vec<Value>,
    pub(super) pools: Vec<Value>,
}

/// A part and the parts below it.
#[derive(Debug)]
pub(super) struct Branch {
    name: String,
    ready: String,
    reason: String,
    since: Option<Timestamp>,
    waiting_on: String,
    below: Vec<Branch>,
}

/// Conditions that are good news when they are false.
const GOOD_WHEN_FALSE: &[&str] = &[
    "Degraded",
    "Progressing",
    "ClusterVersionProgressing",
    "UpdatingVersion",
    "UpdatingConfig",
    "UpdatingPlatformMachineTemplate",
    "EtcdRecoveryActive",
    "CertificateRotation",
    "Hibernating",
    "ClusterNetworkCIDRConflict",
];
/// Conditions that describe a choice, not a state.
const CHOICES: &[&str] = &["AutoscalingEnabled", "AutorepairEnabled"];

pub(super) fn tree(parts: &Parts) -> Branch {
    let mut cluster = branch(&parts.cluster, "HostedCluster", "Available");
    if let Some(control_plane) = &parts.control_plane {
        let mut below = branch(control_plane, "HostedControlPlane", "Available");
        below.below.extend(parts.components.iter().map(|component| {
            let mut leaf = branch(component, "ControlPlaneComponent", "Available");
            leaf.below.clear();
            leaf
        }));
        cluster.below.push(below);
    }
    cluster.below.extend(parts.pools.iter().map(|pool| branch(pool, "NodePool", "Ready")));
    cluster
}

fn branch(object: &Value, kind: &str, ready: &str) -> Branch {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let main = condition(object, ready);
    let deleted = object["metadata"]["deletionTimestamp"].as_str();
    let mut branch = match (deleted, main) {
        (Some(since), _) => Branch {
            name: String::new(),
            ready: "False".to_owned(),
            reason: "Deleting".to_owned(),
            since: since.parse().ok(),
            waiting_on: one_line(&removal_waits_for(object)),
            below: Vec::new(),
        },
        (None, Some(found)) => leaf(&found, found.is_true()),
        (None, None) => Branch {
            name: String::new(),
            ready: "Unknown".to_owned(),
            reason: "NotReported".to_owned(),
            since: object["metadata"]["creationTimestamp"].as_str().and_then(|time| time.parse().ok()),
            waiting_on: format!("the operator has not set the condition {ready} yet"),
            below: Vec::new(),
        },
    };
    branch.name = format!("{kind}/{name}");
    branch.below = conditions(object)
        .filter(|found| found.kind != ready && is_bad(found))
        .map(|found| leaf(&found, false))
        .collect();
    branch
}

/// Whether a condition says something that a reader should know.
fn is_bad(condition: &Condition<'_>) -> bool {
    if CHOICES.contains(&condition.kind) {
        return false;
    }
    if GOOD_WHEN_FALSE.contains(&condition.kind) { condition.is_true() } else { condition.is_false() }
}

fn leaf(condition: &Condition<'_>, good: bool) -> Branch {
    Branch {
        name: condition.kind.to_owned(),
        ready: condition.status.to_owned(),
        reason: condition.reason.to_owned(),
        since: condition.since,
        waiting_on: if good { String::new() } else { one_line(condition.message) },
        below: Vec::new(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Branch {
    /// Rows for people; lines in front show what belongs to what.
    pub(super) fn rows(&self, now: Timestamp) -> Vec<Vec<String>> {
        let mut rows = vec![["NAME", "READY", "REASON", "SINCE", "WAITING ON"].map(str::to_owned).to_vec()];
        self.add_rows(now, "", "", &mut rows);
        rows
    }

    fn add_rows(&self, now: Timestamp, own: &str, inherited: &str, rows: &mut Vec<Vec<String>>) {
        let since = self.since.map(|since| age(now.as_second() - since.as_second())).unwrap_or_default();
        rows.push(vec![
            format!("{own}{}", self.name),
            self.ready.clone(),
            self.reason.clone(),
            since,
            self.waiting_on.clone(),
        ]);
        for (index, below) in self.below.iter().enumerate() {
            let (own, next) = if index + 1 == self.below.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            below.add_rows(now, &format!("{inherited}{own}"), &format!("{inherited}{next}"), rows);
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let mut value = json!({"name": self.name, "ready": self.ready, "reason": self.reason});
        if let Some(since) = self.since {
            value["since"] = json!(since.to_string());
        }
        if !self.waiting_on.is_empty() {
            value["waitingOn"] = json!(self.waiting_on);
        }
        if !self.below.is_empty() {
            value["parts"] = self.below.iter().map(Self::to_json).collect();
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Parts, tree};
    use crate::commands::printed::columns;

    fn object(name: &str, conditions: &Value) -> Value {
        json!({"metadata": {"name": name}, "status": {"conditions": conditions}})
    }

    fn found(kind: &str, status: &str, reason: &str, message: &str) -> Value {
        json!({"type": kind, "status": status, "reason": reason, "message": message,
               "lastTransitionTime": "2026-01-01T00:00:00Z"})
    }

    fn parts() -> Parts {
        let waiting = found("Available", "False", "EtcdWaitingForQuorum", "Waiting for etcd to reach quorum");
        Parts {
            cluster: object(
                "demo",
                &json!([
                    waiting,
                    found("Degraded", "False", "AsExpected", ""),
                    found("ValidReleaseImage", "True", "AsExpected", "")
                ]),
            ),
            control_plane: Some(object(
                "demo",
                &json!([waiting, found("EtcdAvailable", "False", "EtcdWaitingForQuorum", "0 of 1")]),
            )),
            components: vec![
                object("etcd", &json!([found("Available", "False", "NotReady", "starts")])),
                object("kube-apiserver", &json!([found("Available", "True", "AsExpected", "all is well")])),
            ],
            pools: vec![object("demo", &json!([]))],
        }
    }

    #[test]
    fn the_tree_says_what_is_waited_for() {
        let rows = tree(&parts()).rows("2026-01-01T00:00:30Z".parse().unwrap());
        let expected = "\
NAME                                      READY     REASON                 SINCE   WAITING ON
HostedCluster/demo                        False     EtcdWaitingForQuorum   30s     Waiting for etcd to reach quorum
├─ HostedControlPlane/demo                False     EtcdWaitingForQuorum   30s     Waiting for etcd to reach quorum
│  ├─ EtcdAvailable                       False     EtcdWaitingForQuorum   30s     0 of 1
│  ├─ ControlPlaneComponent/etcd          False     NotReady               30s     starts
│  └─ ControlPlaneComponent/kube-apiserver   True      AsExpected             30s
└─ NodePool/demo                          Unknown   NotReported                    the operator has not set the condition Ready yet
";
        let normal = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        assert_eq!(normal(&columns(&rows)), normal(expected));
    }

    #[test]
    fn deletion_names_what_holds_it() {
        let mut parts = parts();
        parts.cluster["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        parts.cluster["metadata"]["finalizers"] = json!(["hypershift.openshift.io/finalizer"]);
        let value = tree(&parts).to_json();
        assert_eq!(value["reason"], "Deleting");
        assert_eq!(value["waitingOn"], "held by hypershift.openshift.io/finalizer");
        assert_eq!(value["parts"][1]["name"], "NodePool/demo");
    }
}
