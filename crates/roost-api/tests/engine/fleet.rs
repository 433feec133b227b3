//! Managed clusters and the engine's own switch board, as people type and see them.

use http::Request;
use kube::api::Api;
use roost_api::mce::{MultiClusterEngine, component};
use roost_api::ocm::ManagedCluster;
use serde_json::{Value, json};

use crate::requests::{plane, request, table};

#[tokio::test]
async fn parts_are_turned_on_by_a_patch() {
    let client = plane().await;
    let collection = "/apis/multicluster.openshift.io/v1/multiclusterengines";
    let engine = json!({
        "apiVersion": "multicluster.openshift.io/v1",
        "kind": "MultiClusterEngine",
        "metadata": {"name": "multiclusterengine"},
        "spec": {
            "targetNamespace": "multicluster-engine",
            "overrides": {"components": [{"name": "console-mce", "enabled": true}]},
        },
    });
    let stored = request(&client, "POST", collection, Some(&engine)).await.unwrap();
    assert_eq!(stored["spec"]["localClusterName"], "local-cluster");
    let part = |name: &str| json!({"op": "add", "path": "/spec/overrides/components/-", "value": {"name": name, "enabled": true}});
    let patch = json!([part("hypershift-preview"), part("hypershift-local-hosting")]);
    let request = Request::patch(format!("{collection}/multiclusterengine"))
        .header("content-type", "application/json-patch+json")
        .body(serde_json::to_vec(&patch).unwrap());
    let patched: MultiClusterEngine = client.request(request.unwrap()).await.unwrap();
    let components = patched.spec.overrides.unwrap().components;
    let enabled: Vec<&str> = components.iter().filter(|part| part.enabled).map(|part| part.name.as_str()).collect();
    assert_eq!(enabled, [component::CONSOLE, component::HYPERSHIFT_PREVIEW, component::HYPERSHIFT_LOCAL_HOSTING]);
    let (columns, _) = table(&client, collection).await;
    assert_eq!(columns, ["Name", "Status", "Age", "CurrentVersion", "DesiredVersion"]);
}

#[tokio::test]
async fn managed_clusters_are_shown_as_people_know_them() {
    let client = plane().await;
    let collection = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
    let condition = |type_: &str| {
        json!({
            "type": type_, "status": "True", "reason": "Fine", "message": "",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        })
    };
    let cluster = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": "vcluster1"},
        "spec": {
            "hubAcceptsClient": true,
            "managedClusterClientConfigs": [{"url": "https://api.vcluster1.example.com:30253", "caBundle": "Y2E="}],
        },
        "status": {
            "conditions": [condition("ManagedClusterJoined"), condition("ManagedClusterConditionAvailable")],
            "capacity": {"cpu": 4, "memory": "8Gi"},
            "version": {"kubernetes": "v1.36.3"},
        },
    });
    let mut created = request(&client, "POST", collection, Some(&cluster)).await.unwrap();
    assert_eq!(created["spec"]["leaseDurationSeconds"], 60);
    created["status"] = cluster["status"].clone();
    request(&client, "PUT", &format!("{collection}/vcluster1/status"), Some(&created)).await.unwrap();
    let (columns, rows) = table(&client, collection).await;
    assert_eq!(columns, ["Name", "Hub Accepted", "Managed Cluster URLs", "Joined", "Available", "Age"]);
    let shown: Vec<&Value> = rows[0].as_array().unwrap().iter().take(5).collect();
    assert_eq!(json!(shown), json!(["vcluster1", true, "https://api.vcluster1.example.com:30253", "True", "True"]));
    let typed: ManagedCluster = Api::all(client).get("vcluster1").await.unwrap();
    assert_eq!(typed.spec.managed_cluster_client_configs[0].ca_bundle.as_ref().unwrap().0, b"ca");
}
