//! What a HostedCluster needs, as documents. A pure function of what was read.

use serde_json::{Map, Value, json};

use super::dereference::{Observed, Referenced};
use super::names::control_plane_namespace;
use crate::names::{CLUSTER, CONTROL_PLANE_LABEL, INHERITED};
use crate::object::{has_all, is_deleting, stamp};
use crate::pause::Pause;

/// Documents to apply, in stages: those of one stage do not depend on each other.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Plan {
    pub(crate) stages: Vec<Vec<Value>>,
    /// What cannot be done now, and why.
    pub(crate) waiting: Option<String>,
}

/// Fields that a control plane's spec has under the same name.
const MIRRORED: [&str; 30] = [
    "additionalTrustBundle",
    "auditWebhook",
    "autoNode",
    "autoscaling",
    "capabilities",
    "channel",
    "clusterID",
    "configuration",
    "controllerAvailabilityPolicy",
    "dns",
    "etcd",
    "fips",
    "imageContentSources",
    "infraID",
    "infrastructureAvailabilityPolicy",
    "issuerURL",
    "kubeAPIServerDNSName",
    "labels",
    "monitoring",
    "networking",
    "nodeSelector",
    "olmCatalogPlacement",
    "operatorConfiguration",
    "pausedUntil",
    "secretEncryption",
    "serviceAccountSigningKey",
    "services",
    "sshKey",
    "tolerations",
    "updateService",
];

/// Where service-account tokens say they come from, unless the user chose.
const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc";

/// The documents that differ from what is there. Of a paused cluster only the control plane is told that it is paused.
pub(crate) fn plan(observed: &Observed, pause: Pause) -> Plan {
    let cluster = &observed.cluster;
    let (namespace, name) = (text(&cluster["metadata"]["namespace"]), text(&cluster["metadata"]["name"]));
    let inside = control_plane_namespace(namespace, name);
    if observed.control_plane_namespace.as_ref().is_some_and(is_deleting) {
        let waiting = format!("the namespace {inside} is being deleted; it is made again when it is gone");
        return Plan { waiting: Some(waiting), ..Plan::default() };
    }
    if observed.control_plane.as_ref().is_some_and(is_deleting) {
        let waiting = format!("HostedControlPlane {inside}/{name} is being deleted; it is made again when it is gone");
        return Plan { waiting: Some(waiting), ..Plan::default() };
    }
    let mut plan = Plan::default();
    if matches!(pause, Pause::Forever | Pause::Until(_)) {
        if let Some(live) = &observed.control_plane {
            plan.stage([(control_plane(cluster, &inside), Some(live))]);
        }
        return plan;
    }
    plan.stage([(control_plane_namespace_document(cluster, &inside), observed.control_plane_namespace.as_ref())]);
    plan.stages.push(copies(observed, &inside));
    plan.stage([
        (control_plane(cluster, &inside), observed.control_plane.as_ref()),
        (managed_cluster(cluster), observed.managed_cluster.as_ref()),
    ]);
    plan.stages.push(credentials(observed));
    plan.stages.retain(|stage| !stage.is_empty());
    plan
}

impl Plan {
    fn stage<const N: usize>(&mut self, documents: [(Value, Option<&Value>); N]) {
        let stamped = documents.map(|(document, live)| (stamp(document), live));
        let differs = |(document, live): &(Value, Option<&Value>)| !live.is_some_and(|live| has_all(live, document));
        self.stages.push(stamped.into_iter().filter(differs).map(|(document, _)| document).collect());
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `namespace/name`, by which children name their cluster.
fn identity(cluster: &Value) -> String {
    format!("{}/{}", text(&cluster["metadata"]["namespace"]), text(&cluster["metadata"]["name"]))
}

fn control_plane_namespace_document(cluster: &Value, inside: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {
            "name": inside,
            "labels": {
                (CONTROL_PLANE_LABEL): "true",
                "pod-security.kubernetes.io/enforce": "restricted",
                "pod-security.kubernetes.io/audit": "restricted",
                "pod-security.kubernetes.io/warn": "restricted",
                "security.openshift.io/scc.podSecurityLabelSync": "false",
            },
            "annotations": {(CLUSTER): identity(cluster)},
        },
    })
}

/// The user's Secrets and ConfigMaps, beside the control plane.
fn copies(observed: &Observed, inside: &str) -> Vec<Value> {
    let identity = identity(&observed.cluster);
    let mut documents = Vec::new();
    for Referenced { reference, found, copy } in &observed.references {
        let Some(found) = found else { continue };
        let mut document = json!({
            "apiVersion": "v1", "kind": reference.kind.name(),
            "metadata": {
                "name": reference.copy_name(),
                "namespace": inside,
                "annotations": {(CLUSTER): identity},
            },
        });
        for field in ["data", "binaryData", "type"] {
            if !found[field].is_null() {
                document[field] = found[field].clone();
            }
        }
        let document = stamp(document);
        if !copy.as_ref().is_some_and(|copy| has_all(copy, &document)) {
            documents.push(document);
        }
    }
    documents
}

/// The HostedControlPlane: a mirror of the cluster's spec.
fn control_plane(cluster: &Value, inside: &str) -> Value {
    let spec = &cluster["spec"];
    let mut mirror = Map::new();
    for field in MIRRORED {
        if !spec[field].is_null() {
            mirror.insert(field.to_owned(), spec[field].clone());
        }
    }
    mirror.insert("releaseImage".to_owned(), spec["release"]["image"].clone());
    if !spec["controlPlaneRelease"]["image"].is_null() {
        mirror.insert("controlPlaneReleaseImage".to_owned(), spec["controlPlaneRelease"]["image"].clone());
    }
    mirror.insert("pullSecret".to_owned(), json!({"name": "pull-secret"}));
    let has_key = !text(&spec["sshKey"]["name"]).is_empty();
    mirror.insert("sshKey".to_owned(), if has_key { json!({"name": "ssh-key"}) } else { json!({"name": ""}) });
    if !spec["additionalTrustBundle"].is_null() {
        mirror.insert("additionalTrustBundle".to_owned(), json!({"name": "user-ca-bundle"}));
    }
    let mut platform = spec["platform"].clone();
    // Hosts of the Agent platform come from outside, so its control plane is that of no platform.
    if platform["type"] == "Agent" {
        platform["type"] = json!("None");
    }
    mirror.insert("platform".to_owned(), platform);
    mirror.entry("issuerURL").or_insert_with(|| json!(DEFAULT_ISSUER));
    mirror.entry("dns").or_insert_with(|| json!({}));
    let mut annotations: Map<String, Value> = Map::new();
    for (name, value) in cluster["metadata"]["annotations"].as_object().into_iter().flatten() {
        if INHERITED.iter().any(|prefix| name.starts_with(prefix)) {
            annotations.insert(name.clone(), value.clone());
        }
    }
    annotations.insert(CLUSTER.to_owned(), json!(identity(cluster)));
    json!({
        "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedControlPlane",
        "metadata": {"name": cluster["metadata"]["name"], "namespace": inside, "annotations": annotations},
        "spec": mirror,
    })
}

/// The cluster as fleet tools know it.
fn managed_cluster(cluster: &Value) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {
            "name": cluster["metadata"]["name"],
            "labels": {
                "name": cluster["metadata"]["name"],
                "cloud": "auto-detect",
                "vendor": "auto-detect",
                "cluster.open-cluster-management.io/clusterset": "default",
            },
            "annotations": {
                "import.open-cluster-management.io/klusterlet-deploy-mode": "Hosted",
                "open-cluster-management/created-via": "hypershift",
                (CLUSTER): identity(cluster),
            },
        },
        "spec": {"hubAcceptsClient": true, "leaseDurationSeconds": 60},
    })
}

/// Kubeconfigs and the password, beside the HostedCluster and owned by it.
fn credentials(observed: &Observed) -> Vec<Value> {
    let metadata = &observed.cluster["metadata"];
    let mut documents = Vec::new();
    for credential in &observed.credentials {
        let Some(original) = &credential.original else { continue };
        let document = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {
                "name": credential.name.copy_of(text(&metadata["name"])),
                "namespace": metadata["namespace"],
                "annotations": {(CLUSTER): identity(&observed.cluster)},
                "ownerReferences": [{
                    "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
                    "name": metadata["name"], "uid": metadata["uid"],
                    "controller": true, "blockOwnerDeletion": true,
                }],
            },
            "type": "Opaque",
            "data": original["data"],
        });
        if !credential.copy.as_ref().is_some_and(|copy| has_all(copy, &document) && copy["data"] == document["data"]) {
            documents.push(document);
        }
    }
    documents
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed() -> Observed {
        Observed {
            cluster: json!({
                "metadata": {"name": "demo", "namespace": "clusters", "uid": "u",
                    "annotations": {"roost.dev/hibernate": "true", "example.com/other": "x"}},
                "spec": {"platform": {"type": "Agent", "agent": {"agentNamespace": "hosts"}},
                    "release": {"image": "embedded:v1"}, "sshKey": {}, "fips": false},
            }),
            control_plane: None,
            control_plane_namespace: None,
            managed_cluster: None,
            references: Vec::new(),
            credentials: Vec::new(),
        }
    }

    fn planned(observed: &Observed, kind: &str) -> Option<Value> {
        plan(observed, Pause::Active).stages.into_iter().flatten().find(|document| document["kind"] == kind)
    }

    #[test]
    fn a_control_plane_mirrors_its_cluster() {
        let plane = planned(&observed(), "HostedControlPlane").expect("a control plane");
        assert_eq!(plane["metadata"]["namespace"], "clusters-demo");
        assert_eq!(plane["spec"]["platform"], json!({"type": "None", "agent": {"agentNamespace": "hosts"}}));
        assert_eq!(plane["spec"]["releaseImage"], "embedded:v1");
        assert_eq!(plane["spec"]["issuerURL"], "https://kubernetes.default.svc");
        assert_eq!(plane["metadata"]["annotations"]["roost.dev/hibernate"], "true");
        assert!(plane["metadata"]["annotations"]["example.com/other"].is_null());
    }

    #[test]
    fn what_is_there_is_not_written_again_until_something_is_added_or_taken_away() {
        let mut observed = observed();
        observed.control_plane = planned(&observed, "HostedControlPlane");
        assert_eq!(planned(&observed, "HostedControlPlane"), None);
        observed.cluster["metadata"]["annotations"] = json!({});
        assert!(planned(&observed, "HostedControlPlane").is_some());
    }

    #[test]
    fn a_paused_cluster_only_hands_on_that_it_is_paused() {
        let mut observed = observed();
        assert!(plan(&observed, Pause::Forever).stages.is_empty());
        observed.control_plane = planned(&observed, "HostedControlPlane");
        observed.cluster["spec"]["pausedUntil"] = json!("true");
        let documents: Vec<Value> = plan(&observed, Pause::Forever).stages.into_iter().flatten().collect();
        assert_eq!(documents.len(), 1);
        assert_eq!(documents[0]["spec"]["pausedUntil"], "true");
    }

    #[test]
    fn nothing_is_made_while_what_is_going_is_not_gone() {
        let mut observed = observed();
        observed.control_plane_namespace = Some(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
        let plan = plan(&observed, Pause::Active);
        assert!(plan.stages.is_empty());
        assert!(plan.waiting.is_some_and(|waiting| waiting.contains("clusters-demo")));
    }
}
