//! `NodePool` and `ControlPlaneComponent`.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::{Api, Patch, PatchParams, PostParams};
use roost_api::hypershift::{Architecture, ControlPlaneComponent, ControlPlaneComponentSpec, NodePool, UpgradeType};
use serde_json::{Value, json};

use crate::plane::{change, client, create};

/// A node pool as the command line writes it.
fn node_pool() -> Value {
    json!({
        "apiVersion": "hypershift.openshift.io/v1beta1",
        "kind": "NodePool",
        "metadata": {"name": "example", "namespace": "default"},
        "spec": {
            "clusterName": "example",
            "management": {"autoRepair": false, "upgradeType": "Replace"},
            "nodeDrainTimeout": "0s",
            "nodeVolumeDetachTimeout": "0s",
            "platform": {"agent": {"agentLabelSelector": {"matchLabels": {"size": "large"}}}, "type": "Agent"},
            "release": {"image": "quay.io/openshift-release-dev/ocp-release:4.20.0-multi"},
            "replicas": 2,
        },
        "status": {"replicas": 0},
    })
}

#[tokio::test]
async fn defaults_and_scale() {
    let client = client().await;
    let stored = create(&client, &node_pool()).await.unwrap();
    assert_eq!(stored["spec"]["arch"], "amd64");
    assert_eq!(
        stored["spec"]["management"]["replace"],
        json!({"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}, "strategy": "RollingUpdate"})
    );
    let pools: Api<NodePool> = Api::default_namespaced(client);
    let scale = Patch::Merge(json!({"spec": {"replicas": 5}}));
    pools.patch_scale("example", &PatchParams::default(), &scale).await.unwrap();
    let pool = pools.get("example").await.unwrap();
    assert_eq!(pool.spec.replicas, Some(5));
    assert_eq!(pool.spec.arch, Some(Architecture::Amd64));
    assert_eq!(pool.spec.management.upgrade_type, UpgradeType::Replace);
    let rolling = pool.spec.management.replace.and_then(|replace| replace.rolling_update).unwrap();
    assert_eq!(rolling.max_surge, Some(IntOrString::Int(1)));
}

#[tokio::test]
async fn virtual_machines_have_defaults() {
    let mut pool = node_pool();
    pool["spec"]["platform"] = json!({"type": "KubeVirt", "kubevirt": {"hostDevices": [{"deviceName": "d"}]}});
    let stored = create(&client().await, &pool).await.unwrap();
    assert_eq!(
        stored["spec"]["platform"]["kubevirt"],
        json!({
            "attachDefaultNetwork": true,
            "compute": {"cores": 2, "memory": "8Gi", "qosClass": "Burstable"},
            "hostDevices": [{"deviceName": "d", "count": 1}],
            "networkInterfaceMultiqueue": "Enable",
            "rootVolume": {"persistent": {"size": "32Gi"}, "type": "Persistent"},
        })
    );
}

#[tokio::test]
async fn what_cannot_be_is_refused() {
    let client = client().await;
    let refusals: &[(&str, Value, &str)] = &[
        ("autoScaling", json!({"min": 1, "max": 3}), "Both replicas or autoScaling should not be set"),
        ("arch", json!("s390x"), "s390x"),
        (
            "pausedUntil",
            json!("tomorrow"),
            "PausedUntil must be a date in RFC3339 format or 'True', 'true', 'False' or 'false'",
        ),
        ("clusterName", json!("Example"), "clusterName must consist of lowercase alphanumeric characters or '-'"),
    ];
    for (field, value, words) in refusals {
        let mut pool = node_pool();
        pool["spec"][field] = value.clone();
        let refusal = create(&client, &pool).await.expect_err(field);
        assert!(refusal.contains(words), "{field}: {refusal}");
    }
    let stored = create(&client, &node_pool()).await.unwrap();
    let refusal = change(&client, &stored, |pool| pool["spec"]["clusterName"] = json!("other")).await.unwrap_err();
    assert!(refusal.contains("ClusterName is immutable"), "{refusal}");
}

#[tokio::test]
async fn components_need_no_spec_of_their_own() {
    let components: Api<ControlPlaneComponent> = Api::default_namespaced(client().await);
    let etcd = ControlPlaneComponent::new("etcd", ControlPlaneComponentSpec {});
    components.create(&PostParams::default(), &etcd).await.unwrap();
    let status = json!({"version": "4.20.0", "resources": [{"group": "apps", "kind": "StatefulSet", "name": "etcd"}]});
    let patch = Patch::Merge(json!({"status": status}));
    let patched = components.patch_status("etcd", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(patched.status.unwrap().version.as_deref(), Some("4.20.0"));
}
